//! `quorate bench check`: measures the checker beside stateright, each search in its own process.

use super::{Steps, conclude, format_met_or_missed};
use crate::CommandOutcome;
use crate::args::{BenchArgs, BenchSearch};
use crate::output::{display_path, output};
use crate::report::format_thousands;
use crate::{memory, paint, report};
use anyhow::Context;
use quorate_check::{Effort, Search, Setup};
use quorate_lab::Mutex;
use quorate_lab::check::{self, CheckSpec};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Ricart–Agrawala as published, a fixture whose steps match those of the stateright models one for
/// one. Its bug cannot violate [`PROPERTY`] here, because no client cancels a request.
const ALGORITHM: &str = "ricart-agrawala-1981";
const NODES: usize = 3;
const ROUNDS: u8 = 2;
const PROPERTY: &str = "exclusion";
/// Number of reachable states of the algorithm with these nodes and rounds. Every checker must find
/// this number.
const STATES: u64 = 506_546;

/// Targets of the checker: states per second with one thread, speed relative to stateright,
/// speed-up of a second thread, and bytes kept per state.
const MIN_STATES_PER_SECOND: f64 = 2e6;
const MIN_STATERIGHT_RATIO: f64 = 4.0;
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
    /// Model of the algorithm. Quorate has only `nodes`; stateright has its own `actors`, and
    /// `nodes` and `packed`, which are tuned by hand.
    model: &'static str,
    /// `bfs` or `dfs`.
    search: &'static str,
    threads: usize,
}

const OURS: &str = "quorate";
const THEIRS: &str = "stateright";

/// The contenders: first the Quorate checker, then stateright. The targets apply to Quorate's
/// breadth-first searches with one and with two threads. stateright's actors are what its
/// documentation recommends; the rows of its tuned models are for information only.
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
/// Indices in [`CONTENDERS`]: our searches that the targets apply to, and the search of stateright
/// that they are compared with.
const ONE_THREAD: usize = 0;
const TWO_THREADS: usize = 1;
const BASELINE: usize = 3;
const BASELINE_NAME: &str = "stateright's depth-first search of its own actors";

/// The figures of one search, as both programs print them.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Measurement {
    states: u64,
    seconds: f64,
    /// Growth of the process's peak memory during the search, per state; `None` except on Linux.
    bytes_per_state: Option<f64>,
    /// Memory kept per visited state, without the frontier. Only Quorate reports it.
    kept_bytes_per_state: Option<f64>,
}

#[derive(Serialize)]
struct CheckBenchReport {
    states: u64,
    contenders: Vec<ContenderRow>,
    /// Speed of two threads relative to one.
    #[serde(rename = "gain")]
    speedup: f64,
    /// Whether stateright was measured too.
    compared: bool,
    /// Whether all targets are met.
    holds: bool,
}

#[derive(Serialize)]
struct ContenderRow {
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
    #[serde(rename = "times_stateright")]
    stateright_ratio: Option<f64>,
}

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    if let Some(search) = args.search {
        writeln!(output(), "{}", serde_json::to_string(&search_once(search, args.threads)?)?)?;
        return Ok(CommandOutcome::Holds);
    }
    let report = measure_all(args.runs())?;
    conclude(&report, args, |report| print(report, args.runs()), report.holds)
}

fn measure_all(runs: u64) -> anyhow::Result<CheckBenchReport> {
    let ours = std::env::current_exe().context("cannot find the path of this program")?;
    let theirs = find_rivals(&ours);
    let contenders = || CONTENDERS.iter().filter(|contender| contender.checker == OURS || theirs.is_some());
    let mut best: Vec<Option<Measurement>> = contenders().map(|_| None).collect();
    let steps = Steps::new(runs.saturating_mul(best.len() as u64));
    for _ in 0..runs {
        for (contender, best) in contenders().zip(&mut best) {
            let name = format!("{}, {}", contender.name(), contender.describe_threads());
            let measurement = steps.perform(name, || contender.measure(&ours, theirs.as_deref()))?;
            *best = Some(best.filter(|best| best.seconds <= measurement.seconds).unwrap_or(measurement));
        }
    }
    let best_runs: Vec<_> = contenders().zip(best.into_iter().flatten()).collect();
    Ok(build_report(&best_runs))
}

fn build_report(best_runs: &[(&Contender, Measurement)]) -> CheckBenchReport {
    let rate = |index: usize| best_runs.get(index).map(|(_, measurement)| measurement.states_per_second());
    let baseline = rate(BASELINE);
    let row = |(contender, measurement): &(&Contender, Measurement)| ContenderRow {
        checker: contender.checker,
        model: contender.model,
        search: contender.search,
        threads: contender.threads,
        seconds: measurement.seconds,
        states_per_second: measurement.states_per_second(),
        bytes_per_state: measurement.bytes_per_state,
        kept_bytes_per_state: measurement.kept_bytes_per_state,
        stateright_ratio: baseline.map(|baseline| measurement.states_per_second() / baseline),
    };
    let mut report = CheckBenchReport {
        states: STATES,
        contenders: best_runs.iter().map(row).collect(),
        speedup: rate(TWO_THREADS).unwrap_or(0.0) / rate(ONE_THREAD).unwrap_or(1.0),
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

impl CheckBenchReport {
    fn targets(&self) -> Vec<Target> {
        let one_thread = self.contenders.get(ONE_THREAD);
        let mut targets = Vec::new();
        let mut add_target = |text: String, is_met: bool| targets.push(Target { text, is_met });
        if let Some(one_thread) = one_thread {
            let (rate, min) = (one_thread.states_per_second / 1e6, MIN_STATES_PER_SECOND / 1e6);
            add_target(format!("one thread: {rate:.2} M states/s (at least {min:.1})"), rate >= min);
            if let Some(ratio) = one_thread.stateright_ratio {
                let text =
                    format!("speed relative to {BASELINE_NAME}: {ratio:.1} times (at least {MIN_STATERIGHT_RATIO:.1})");
                add_target(text, ratio >= MIN_STATERIGHT_RATIO);
            }
        }
        let speedup = self.speedup;
        let text = format!("two threads relative to one: {speedup:.2} times (at least {MIN_SPEEDUP:.1})");
        add_target(text, speedup >= MIN_SPEEDUP);
        let kept_bytes = one_thread.and_then(|one_thread| one_thread.kept_bytes_per_state).unwrap_or(f64::INFINITY);
        add_target(
            format!("memory kept per state: {kept_bytes:.1} bytes (at most {MAX_BYTES_PER_STATE})"),
            kept_bytes <= MAX_BYTES_PER_STATE,
        );
        targets
    }
}

/// Returns the path of the program that runs stateright; `None` if it was not built. Looks in the
/// folder of `ours`, which is this program, and then for [`RIVALS_FOLDER`] in that folder and each
/// one above it.
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

    fn describe_threads(&self) -> String {
        report::format_count(self.threads as u64, "thread")
    }

    fn measure(&self, ours: &Path, theirs: Option<&Path>) -> anyhow::Result<Measurement> {
        let threads = self.threads.to_string();
        match theirs.filter(|_| self.checker == THEIRS) {
            None => run_program(ours, &["bench", "check", "--search", self.search, "--threads", &threads])
                .with_context(|| format!("cannot measure '{}'", self.name())),
            Some(theirs) => {
                let (nodes, rounds) = (NODES.to_string(), ROUNDS.to_string());
                let model = ["check", "--model", self.model, "--nodes", &nodes, "--rounds", &rounds];
                let arguments = [&model[..], &["--checker", self.search, "--threads", &threads]].concat();
                run_program(theirs, &arguments).with_context(|| {
                    format!("cannot measure with {}; build it again: {BUILD_RIVALS}", display_path(theirs))
                })
            }
        }
    }
}

/// Runs a program that prints its figures as one line of JSON. Fails if the program found another
/// number of states than [`STATES`].
fn run_program(program: &Path, arguments: &[&str]) -> anyhow::Result<Measurement> {
    let output = Command::new(program).args(arguments).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "the program failed with {}: {}", output.status, errors.trim());
    let measurement: Measurement = serde_json::from_slice(&output.stdout)?;
    let (found_states, expected_states) = (format_thousands(measurement.states), format_thousands(STATES));
    anyhow::ensure!(
        measurement.states == STATES,
        "the program found {found_states} states; expected {expected_states}."
    );
    Ok(measurement)
}

impl Measurement {
    fn states_per_second(self) -> f64 {
        self.states as f64 / self.seconds.max(1e-9)
    }
}

/// Searches the whole state space in this process. Fails if the search stops early or finds a
/// violation.
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
            // Stateright does not reduce its models, so no contender may skip a state.
            reduce: false,
            properties: Some(vec![PROPERTY.into()]),
            ..default.effort.clone()
        },
        ..default
    };
    let peak_before = memory::peak_bytes().ok();
    // The closure receives the progress, and never stops the search.
    let findings = check::run(&spec, &mut |_, _| true)?.findings;
    anyhow::ensure!(
        findings.is_complete() && !findings.has_violation(),
        "the search stopped early or found a violation, so its figures are invalid."
    );
    let peak_growth = peak_before.zip(memory::peak_bytes().ok()).map(|(before, after)| after.saturating_sub(before));
    let main_search = findings.main_pass;
    Ok(Measurement {
        states: main_search.states,
        seconds: main_search.seconds,
        bytes_per_state: peak_growth.map(|growth| growth as f64 / main_search.states.max(1) as f64),
        kept_bytes_per_state: main_search.bytes_per_state,
    })
}

fn print(report: &CheckBenchReport, runs: u64) -> anyhow::Result<()> {
    let mut out = output();
    writeln!(
        out,
        "All {} states, without reduction, of {NODES} nodes of {ALGORITHM} that enter {ROUNDS} times each",
        format_thousands(STATES)
    )?;
    let runs = report::format_count(runs, "run");
    writeln!(out, "(best of {runs} each, every run in its own process; bytes per state: growth of its peak memory;")?;
    writeln!(out, "times stateright: relative to {BASELINE_NAME} with one thread)\n")?;
    let heading =
        format!("{:<38}{:>7}{:>12}{:>15}{:>18}", "checker", "threads", "states/s", "bytes/state", "times stateright");
    writeln!(out, "{}", paint::bold(&heading))?;
    for (contender, row) in CONTENDERS.iter().zip(&report.contenders) {
        let bytes = row.bytes_per_state.map_or("–".into(), |bytes| format!("{bytes:.1}"));
        let ratio = row.stateright_ratio.map_or("–".into(), |ratio| format!("{ratio:.1}"));
        let rate = format!("{:.2} M", row.states_per_second / 1e6);
        writeln!(out, "{:<38}{:>7}{rate:>12}{bytes:>15}{ratio:>18}", contender.name(), row.threads)?;
    }
    writeln!(out)?;
    for Target { text, is_met } in report.targets() {
        writeln!(out, "{text}  {}", format_met_or_missed(is_met))?;
    }
    if !report.compared {
        writeln!(out, "\nTo compare with stateright, build {RIVALS} in the repository: {BUILD_RIVALS}")?;
    }
    Ok(())
}
