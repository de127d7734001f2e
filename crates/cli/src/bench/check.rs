//! `quorate bench check`: the checker beside stateright's, each in a process of its own.

use super::{progress_bar, word};
use crate::Verdict;
use crate::args::{BenchArgs, BenchSearch};
use crate::output::{name, output};
use crate::report::grouped;
use crate::{memory, paint, report};
use anyhow::Context;
use quorate_check::{Effort, Search, Setup};
use quorate_lab::Mutex;
use quorate_lab::check::{self, CheckSpec};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is checked: a fixture that does what stateright's models do, step for step.
const ALGORITHM: &str = "ricart-agrawala-1981";
const NODES: usize = 3;
const ROUNDS: u8 = 2;
const PROPERTY: &str = "exclusion";
/// How many states that has, by every checker's count.
const STATES: u64 = 506_546;

/// What our checker must reach.
const LEAST_RATE: f64 = 2e6;
const LEAST_TIMES: f64 = 4.0;
const LEAST_GAIN: f64 = 1.5;
const MOST_BYTES: f64 = 24.0;

/// The program that runs stateright, and how to get it.
const RIVALS: &str = "quorate-rivals";
const BUILD_RIVALS: &str = "cargo build --release --manifest-path rivals/Cargo.toml";
/// Where that puts it, from the repository's root.
const RIVALS_FOLDER: &str = "rivals/target/release";

/// One who searches the whole space.
struct Contender {
    checker: &'static str,
    model: &'static str,
    search: &'static str,
    threads: usize,
}

const OURS: &str = "quorate";
const THEIRS: &str = "stateright";

/// Ours first; the first one has to be fast alone, the second by half faster together. Then stateright as its users
/// use it, with actors; then stateright on models tuned for it by hand, which are there to be known.
const CONTENDERS: [Contender; 9] = [
    Contender { checker: OURS, model: "nodes", search: "bfs", threads: 1 },
    Contender { checker: OURS, model: "nodes", search: "bfs", threads: 2 },
    Contender { checker: OURS, model: "nodes", search: "dfs", threads: 1 },
    Contender { checker: THEIRS, model: "actors", search: "dfs", threads: 1 },
    Contender { checker: THEIRS, model: "actors", search: "bfs", threads: 1 },
    Contender { checker: THEIRS, model: "nodes", search: "dfs", threads: 1 },
    Contender { checker: THEIRS, model: "nodes", search: "bfs", threads: 1 },
    Contender { checker: THEIRS, model: "nodes", search: "dfs", threads: 2 },
    Contender { checker: THEIRS, model: "packed", search: "dfs", threads: 1 },
];
/// Where those stand that others are compared with.
const ALONE: usize = 0;
const TOGETHER: usize = 1;
const MEASURE: usize = 3;
const MEASURED: &str = "stateright's depth-first search of its own actors";

/// What one turn came to, as both programs print it.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Turn {
    states: u64,
    seconds: f64,
    /// How far the peak of the process's memory rose.
    bytes_per_state: Option<f64>,
    /// What was kept of each state, beyond those that waited. Only ours tells.
    kept_bytes_per_state: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    states: u64,
    contenders: Vec<Row>,
    /// How many times faster two threads are than one.
    gain: f64,
    /// Whether stateright was there.
    compared: bool,
    holds: bool,
}

#[derive(Serialize)]
struct Row {
    checker: &'static str,
    model: &'static str,
    search: &'static str,
    threads: usize,
    seconds: f64,
    states_per_second: f64,
    bytes_per_state: Option<f64>,
    kept_bytes_per_state: Option<f64>,
    /// The rate over that of stateright's depth-first search of its own actors with one thread.
    times_stateright: Option<f64>,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Verdict> {
    if let Some(search) = args.search {
        writeln!(output(), "{}", serde_json::to_string(&turn(search, args.threads)?)?)?;
        return Ok(Verdict::Holds);
    }
    let found = contest(args.turns)?;
    if args.json {
        report::json(&found)?;
    } else {
        print(&found, args.turns)?;
    }
    Ok(Verdict::of(found.holds))
}

fn contest(turns: u64) -> anyhow::Result<Report> {
    let ours = std::env::current_exe().context("This program does not know where it lies")?;
    let theirs = find_rivals(&ours);
    let contenders = || CONTENDERS.iter().filter(|contender| contender.checker == OURS || theirs.is_some());
    let mut best: Vec<Option<Turn>> = contenders().map(|_| None).collect();
    let bar = progress_bar(turns.saturating_mul(best.len() as u64));
    for _ in 0..turns {
        for (contender, best) in contenders().zip(&mut best) {
            bar.set_message(format!("{}, {}", contender.name(), contender.threads()));
            let turn = contender.take_turn(&ours, theirs.as_deref())?;
            *best = Some(best.filter(|best| best.seconds <= turn.seconds).unwrap_or(turn));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let turns: Vec<_> = contenders().zip(best.into_iter().flatten()).collect();
    Ok(judge(&turns))
}

fn judge(turns: &[(&Contender, Turn)]) -> Report {
    let rate = |place: usize| turns.get(place).map(|(_, turn)| turn.rate());
    let measure = rate(MEASURE);
    let row = |(contender, turn): &(&Contender, Turn)| Row {
        checker: contender.checker,
        model: contender.model,
        search: contender.search,
        threads: contender.threads,
        seconds: turn.seconds,
        states_per_second: turn.rate(),
        bytes_per_state: turn.bytes_per_state,
        kept_bytes_per_state: turn.kept_bytes_per_state,
        times_stateright: measure.map(|measure| turn.rate() / measure),
    };
    let mut found = Report {
        states: STATES,
        contenders: turns.iter().map(row).collect(),
        gain: rate(TOGETHER).unwrap_or(0.0) / rate(ALONE).unwrap_or(1.0),
        compared: measure.is_some(),
        holds: false,
    };
    found.holds = found.marks().iter().all(|mark| mark.reached);
    found
}

/// Something that must be reached.
struct Mark {
    what: String,
    reached: bool,
}

impl Report {
    fn marks(&self) -> Vec<Mark> {
        let alone = self.contenders.get(ALONE);
        let mut marks = Vec::new();
        let mut mark = |what: String, reached: bool| marks.push(Mark { what, reached });
        if let Some(alone) = alone {
            let (rate, least) = (alone.states_per_second / 1e6, LEAST_RATE / 1e6);
            mark(format!("one thread: {rate:.2} M states/s (at least {least:.1})"), rate >= least);
            if let Some(times) = alone.times_stateright {
                let what = format!("times {MEASURED}: {times:.1} (at least {LEAST_TIMES:.1})");
                mark(what, times >= LEAST_TIMES);
            }
        }
        let gain = self.gain;
        mark(format!("two threads over one: {gain:.2} (at least {LEAST_GAIN:.1})"), gain >= LEAST_GAIN);
        let kept = alone.and_then(|alone| alone.kept_bytes_per_state).unwrap_or(f64::INFINITY);
        mark(format!("kept of a state: {kept:.1} bytes (at most {MOST_BYTES})"), kept <= MOST_BYTES);
        marks
    }
}

/// The program, if it was built: beside this one, where a shared target folder has it, or in its own workspace of the
/// repository that this one was built in.
fn find_rivals(ours: &Path) -> Option<PathBuf> {
    let program = format!("{RIVALS}{}", std::env::consts::EXE_SUFFIX);
    let beside = ours.with_file_name(&program);
    let in_repository = ours.ancestors().skip(1).map(|folder| folder.join(RIVALS_FOLDER).join(&program));
    std::iter::once(beside).chain(in_repository).find(|path| path.is_file())
}

impl Contender {
    fn name(&self) -> String {
        let search = if self.search == "bfs" { "breadth first" } else { "depth first" };
        let model = match (self.checker, self.model) {
            (THEIRS, "actors") => ", its actors",
            (THEIRS, "packed") => ", packed by hand",
            (THEIRS, _) => ", tuned model",
            _ => "",
        };
        format!("{} {search}{model}", self.checker)
    }

    fn threads(&self) -> String {
        report::count(self.threads as u64, "thread")
    }

    fn take_turn(&self, ours: &Path, theirs: Option<&Path>) -> anyhow::Result<Turn> {
        let threads = self.threads.to_string();
        match theirs.filter(|_| self.checker == THEIRS) {
            None => figures(ours, &["bench", "check", "--search", self.search, "--threads", &threads])
                .with_context(|| format!("'{}' gave no figures", self.name())),
            Some(theirs) => {
                let (nodes, rounds) = (NODES.to_string(), ROUNDS.to_string());
                let model = ["check", "--model", self.model, "--nodes", &nodes, "--rounds", &rounds];
                let words = [&model[..], &["--checker", self.search, "--threads", &threads]].concat();
                figures(theirs, &words)
                    .with_context(|| format!("{} gave no figures; build it anew: {BUILD_RIVALS}", name(theirs)))
            }
        }
    }
}

/// Starts a program that prints its figures on one line.
fn figures(program: &Path, words: &[&str]) -> anyhow::Result<Turn> {
    let output = Command::new(program).args(words).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "It ended with {}: {}", output.status, complaint.trim());
    let turn: Turn = serde_json::from_slice(&output.stdout)?;
    let (found, wanted) = (grouped(turn.states), grouped(STATES));
    anyhow::ensure!(turn.states == STATES, "It found {found} states where there are {wanted}.");
    Ok(turn)
}

impl Turn {
    fn rate(self) -> f64 {
        self.states as f64 / self.seconds.max(1e-9)
    }
}

fn turn(search: BenchSearch, threads: usize) -> anyhow::Result<Turn> {
    let usual = CheckSpec::<Mutex>::named(ALGORITHM)?;
    let spec = CheckSpec {
        rounds: Some(ROUNDS),
        setup: Setup::new(NODES),
        effort: Effort {
            search: match search {
                BenchSearch::Bfs => Search::Breadth,
                BenchSearch::Dfs => Search::Depth,
            },
            threads,
            reduce: false,
            properties: Some(vec![PROPERTY.into()]),
            ..usual.effort.clone()
        },
        ..usual
    };
    let before = memory::peak().ok();
    let findings = check::run(&spec, &mut |_, _| true)?.findings;
    anyhow::ensure!(
        findings.is_complete() && !findings.is_broken(),
        "The search ended early: its figures mean nothing."
    );
    let rise = before.zip(memory::peak().ok()).map(|(before, after)| after.saturating_sub(before));
    let pass = findings.states;
    Ok(Turn {
        states: pass.states,
        seconds: pass.seconds,
        bytes_per_state: rise.map(|rise| rise as f64 / pass.states.max(1) as f64),
        kept_bytes_per_state: pass.bytes_per_state,
    })
}

fn print(report: &Report, turns: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(
        out,
        "All {} states of {NODES} nodes that enter {ROUNDS} times each by Ricart and Agrawala's rules",
        grouped(STATES)
    )?;
    writeln!(out, "(best of {turns} turns each, every turn in a process of its own; bytes by the rise of its peak;")?;
    writeln!(out, "times {MEASURED} with one thread)\n")?;
    let heading =
        format!("{:<38}{:>7}{:>12}{:>15}{:>18}", "checker", "threads", "states/s", "bytes a state", "times stateright");
    writeln!(out, "{}", paint::bold(&heading))?;
    for (contender, row) in CONTENDERS.iter().zip(&report.contenders) {
        let bytes = row.bytes_per_state.map_or("–".into(), |bytes| format!("{bytes:.1}"));
        let times = row.times_stateright.map_or("–".into(), |times| format!("{times:.1}"));
        let rate = format!("{:.2} M", row.states_per_second / 1e6);
        writeln!(out, "{:<38}{:>7}{rate:>12}{bytes:>15}{times:>18}", contender.name(), row.threads)?;
    }
    writeln!(out)?;
    for Mark { what, reached } in report.marks() {
        writeln!(out, "{what}  {}", word(reached))?;
    }
    if !report.compared {
        writeln!(out, "\nTo compare with stateright, build {RIVALS} in the repository: {BUILD_RIVALS}")?;
    }
    Ok(())
}
