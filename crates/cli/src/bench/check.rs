//! `quorate bench check`: measures the checker beside stateright, each search in its own process.

use super::{met_or_missed, progress_bar};
use crate::CommandOutcome;
use crate::args::{BenchArgs, BenchSearch};
use crate::output::{display_path, output};
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

/// The algorithm to check: a fixture whose steps match those of the stateright models one for one.
const ALGORITHM: &str = "ricart-agrawala-1981";
const NODES: usize = 3;
const ROUNDS: u8 = 2;
const PROPERTY: &str = "exclusion";
/// Number of its states, which every checker must find.
const STATES: u64 = 506_546;

/// Targets of the checker: states per second with one thread, speed relative to stateright,
/// speed-up of a second thread, and bytes kept per state.
const MIN_RATE: f64 = 2e6;
const MIN_TIMES_STATERIGHT: f64 = 4.0;
const MIN_SPEEDUP: f64 = 1.5;
const MAX_BYTES_PER_STATE: f64 = 24.0;

/// The program that runs stateright, and the command that builds it.
const RIVALS: &str = "quorate-rivals";
const BUILD_RIVALS: &str = "cargo build --release --manifest-path rivals/Cargo.toml";
/// Folder of the built program, relative to the root of the repository.
const RIVALS_FOLDER: &str = "rivals/target/release";

/// A checker with one configuration, which searches the whole state space.
struct Contender {
    checker: &'static str,
    model: &'static str,
    search: &'static str,
    threads: usize,
}

const OURS: &str = "quorate";
const THEIRS: &str = "stateright";

/// The contenders: the Quorate checker first, with one and with two threads, to which the targets
/// apply. Then stateright with its actors, as its documentation recommends, and stateright with
/// models tuned by hand, for information only.
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
/// Indices of the contenders that figures are compared with.
const ONE_THREAD: usize = 0;
const TWO_THREADS: usize = 1;
const BASELINE: usize = 3;
const BASELINE_NAME: &str = "stateright's depth-first search of its own actors";

/// The figures of one search, as both programs print them.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Measurement {
    states: u64,
    seconds: f64,
    /// Growth of the process's peak memory during the search.
    bytes_per_state: Option<f64>,
    /// Memory kept per visited state, without the frontier. Only Quorate reports it.
    kept_bytes_per_state: Option<f64>,
}

#[derive(Serialize)]
struct Report {
    states: u64,
    contenders: Vec<Row>,
    /// Speed of two threads relative to one.
    gain: f64,
    /// Whether stateright was measured too.
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
    /// The rate relative to that of the baseline: stateright's depth-first search of its own actors
    /// with one thread.
    times_stateright: Option<f64>,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    if let Some(search) = args.search {
        writeln!(output(), "{}", serde_json::to_string(&search_once(search, args.threads)?)?)?;
        return Ok(CommandOutcome::Holds);
    }
    let report = measure_all(args.runs)?;
    if args.json {
        report::print_json(&report)?;
    } else {
        print(&report, args.runs)?;
    }
    Ok(CommandOutcome::from_holds(report.holds))
}

fn measure_all(runs: u64) -> anyhow::Result<Report> {
    let ours = std::env::current_exe().context("cannot find the path of this program")?;
    let theirs = find_rivals(&ours);
    let contenders = || CONTENDERS.iter().filter(|contender| contender.checker == OURS || theirs.is_some());
    let mut best: Vec<Option<Measurement>> = contenders().map(|_| None).collect();
    let bar = progress_bar(runs.saturating_mul(best.len() as u64));
    for _ in 0..runs {
        for (contender, best) in contenders().zip(&mut best) {
            bar.set_message(format!("{}, {}", contender.name(), contender.threads()));
            let measurement = contender.measure(&ours, theirs.as_deref())?;
            *best = Some(best.filter(|best| best.seconds <= measurement.seconds).unwrap_or(measurement));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let runs: Vec<_> = contenders().zip(best.into_iter().flatten()).collect();
    Ok(report_on(&runs))
}

fn report_on(runs: &[(&Contender, Measurement)]) -> Report {
    let rate = |index: usize| runs.get(index).map(|(_, measurement)| measurement.rate());
    let baseline = rate(BASELINE);
    let row = |(contender, measurement): &(&Contender, Measurement)| Row {
        checker: contender.checker,
        model: contender.model,
        search: contender.search,
        threads: contender.threads,
        seconds: measurement.seconds,
        states_per_second: measurement.rate(),
        bytes_per_state: measurement.bytes_per_state,
        kept_bytes_per_state: measurement.kept_bytes_per_state,
        times_stateright: baseline.map(|baseline| measurement.rate() / baseline),
    };
    let mut report = Report {
        states: STATES,
        contenders: runs.iter().map(row).collect(),
        gain: rate(TWO_THREADS).unwrap_or(0.0) / rate(ONE_THREAD).unwrap_or(1.0),
        compared: baseline.is_some(),
        holds: false,
    };
    report.holds = report.targets().iter().all(|target| target.is_met);
    report
}

/// A figure with its target.
struct Target {
    text: String,
    is_met: bool,
}

impl Report {
    fn targets(&self) -> Vec<Target> {
        let one_thread = self.contenders.get(ONE_THREAD);
        let mut targets = Vec::new();
        let mut target = |text: String, is_met: bool| targets.push(Target { text, is_met });
        if let Some(one_thread) = one_thread {
            let (rate, min) = (one_thread.states_per_second / 1e6, MIN_RATE / 1e6);
            target(format!("one thread: {rate:.2} M states/s (at least {min:.1})"), rate >= min);
            if let Some(times) = one_thread.times_stateright {
                let text =
                    format!("speed relative to {BASELINE_NAME}: {times:.1} times (at least {MIN_TIMES_STATERIGHT:.1})");
                target(text, times >= MIN_TIMES_STATERIGHT);
            }
        }
        let gain = self.gain;
        let text = format!("two threads relative to one: {gain:.2} times (at least {MIN_SPEEDUP:.1})");
        target(text, gain >= MIN_SPEEDUP);
        let kept = one_thread.and_then(|one_thread| one_thread.kept_bytes_per_state).unwrap_or(f64::INFINITY);
        target(
            format!("memory kept per state: {kept:.1} bytes (at most {MAX_BYTES_PER_STATE})"),
            kept <= MAX_BYTES_PER_STATE,
        );
        targets
    }
}

/// Returns the path of the built program: beside this one, as in a shared target folder, or in its
/// workspace of the repository in which this program was built. `None` if it was not built.
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

    fn measure(&self, ours: &Path, theirs: Option<&Path>) -> anyhow::Result<Measurement> {
        let threads = self.threads.to_string();
        match theirs.filter(|_| self.checker == THEIRS) {
            None => run_program(ours, &["bench", "check", "--search", self.search, "--threads", &threads])
                .with_context(|| format!("cannot measure '{}'", self.name())),
            Some(theirs) => {
                let (nodes, rounds) = (NODES.to_string(), ROUNDS.to_string());
                let model = ["check", "--model", self.model, "--nodes", &nodes, "--rounds", &rounds];
                let words = [&model[..], &["--checker", self.search, "--threads", &threads]].concat();
                run_program(theirs, &words).with_context(|| {
                    format!("cannot measure with {}; build it again: {BUILD_RIVALS}", display_path(theirs))
                })
            }
        }
    }
}

/// Runs a program that prints its figures as one line of JSON.
fn run_program(program: &Path, words: &[&str]) -> anyhow::Result<Measurement> {
    let output = Command::new(program).args(words).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "the program failed with {}: {}", output.status, errors.trim());
    let measurement: Measurement = serde_json::from_slice(&output.stdout)?;
    let (found, wanted) = (grouped(measurement.states), grouped(STATES));
    anyhow::ensure!(measurement.states == STATES, "the program found {found} states; expected {wanted}.");
    Ok(measurement)
}

impl Measurement {
    fn rate(self) -> f64 {
        self.states as f64 / self.seconds.max(1e-9)
    }
}

fn search_once(search: BenchSearch, threads: usize) -> anyhow::Result<Measurement> {
    let default = CheckSpec::<Mutex>::named(ALGORITHM)?;
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
            ..default.effort.clone()
        },
        ..default
    };
    let before = memory::peak_bytes().ok();
    let findings = check::run(&spec, &mut |_, _| true)?.findings;
    anyhow::ensure!(
        findings.is_complete() && !findings.has_violation(),
        "the search stopped early, so its figures are invalid."
    );
    let growth = before.zip(memory::peak_bytes().ok()).map(|(before, after)| after.saturating_sub(before));
    let pass = findings.states;
    Ok(Measurement {
        states: pass.states,
        seconds: pass.seconds,
        bytes_per_state: growth.map(|growth| growth as f64 / pass.states.max(1) as f64),
        kept_bytes_per_state: pass.bytes_per_state,
    })
}

fn print(report: &Report, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(out, "All {} states of {NODES} nodes of Ricart–Agrawala that enter {ROUNDS} times each", grouped(STATES))?;
    let runs = report::count(runs, "run");
    writeln!(out, "(best of {runs} each, every run in its own process; bytes per state: growth of its peak memory;")?;
    writeln!(out, "times stateright: relative to {BASELINE_NAME} with one thread)\n")?;
    let heading =
        format!("{:<38}{:>7}{:>12}{:>15}{:>18}", "checker", "threads", "states/s", "bytes/state", "times stateright");
    writeln!(out, "{}", paint::bold(&heading))?;
    for (contender, row) in CONTENDERS.iter().zip(&report.contenders) {
        let bytes = row.bytes_per_state.map_or("–".into(), |bytes| format!("{bytes:.1}"));
        let times = row.times_stateright.map_or("–".into(), |times| format!("{times:.1}"));
        let rate = format!("{:.2} M", row.states_per_second / 1e6);
        writeln!(out, "{:<38}{:>7}{rate:>12}{bytes:>15}{times:>18}", contender.name(), row.threads)?;
    }
    writeln!(out)?;
    for Target { text, is_met } in report.targets() {
        writeln!(out, "{text}  {}", met_or_missed(is_met))?;
    }
    if !report.compared {
        writeln!(out, "\nTo compare with stateright, build {RIVALS} in the repository: {BUILD_RIVALS}")?;
    }
    Ok(())
}
