//! `quorate bench`: measures parts of Quorate against a baseline in the same run.
//!
//! The contenders run alternately, several times. The best run of each counts, since other load on
//! the machine can only slow a run down.
//!
//! `sim` compares the simulator, which runs the protocol of `ring`, with the event loop of `bare`.

mod bare;
mod check;
mod cluster;
mod deadlock;
mod folder;
mod in_process;
mod net;
mod ring;
mod sim;

pub(crate) use cluster::run_server;
pub(crate) use net::NetContender;

use crate::args::{BenchArgs, BenchSubject, no_effect};
use crate::{CommandOutcome, paint, progress};
use clap::ValueEnum;
use indicatif::ProgressBar;

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    if let Some((option, subjects)) = args.ignored_option() {
        let names: Vec<_> = subjects.iter().filter_map(ValueEnum::to_possible_value).collect();
        let names: Vec<_> = names.iter().map(|name| format!("'bench {}'", name.get_name())).collect();
        anyhow::bail!("{option} applies only to {}.", join_words(&names));
    }
    let without_processes = [("spread", args.spread), ("in-flight", !args.in_flight.is_empty())];
    if let Some((option, _)) = without_processes.iter().find(|(_, is_given)| *is_given && args.in_process) {
        return Err(no_effect(option, "with --in-process: the replicas have one client"));
    }
    anyhow::ensure!(args.runs() > 0, "--runs must be at least 1; got 0.");
    match args.subject {
        BenchSubject::Sim => sim::run(args),
        BenchSubject::Check => check::run(args),
        BenchSubject::Replica if args.in_process => in_process::run(args),
        BenchSubject::Replica => cluster::throughput::run(args),
        BenchSubject::FailOver => cluster::fail_over::run(args),
        BenchSubject::Members => cluster::members::run(args),
        BenchSubject::Net => net::run(args),
        BenchSubject::Deadlock => deadlock::run(args),
    }
}

/// Joins words by commas, and the last one by "and".
fn join_words(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// Returns a progress bar that shows the current step.
fn progress_bar(steps: u64) -> ProgressBar {
    progress::bar(steps, "{msg}")
}

/// Formats whether a target is met.
fn format_met_or_missed(is_met: bool) -> String {
    if is_met { paint::good("ok") } else { paint::bad("MISSED") }
}
