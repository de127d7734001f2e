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
use crate::interrupt::{self, Interrupted};
use crate::{CommandOutcome, paint, progress, report};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressFinish};
use serde::Serialize;

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
    // The other processes of a benchmark end at a signal, and the first one reports it.
    if args.partner.is_none() && args.search.is_none() && args.memory_of.is_none() {
        interrupt::install_handler();
    }
    let measured = match args.subject {
        BenchSubject::Sim => sim::run(args),
        BenchSubject::Check => check::run(args),
        BenchSubject::Replica if args.in_process => in_process::run(args),
        BenchSubject::Replica => cluster::throughput::run(args),
        BenchSubject::FailOver => cluster::fail_over::run(args),
        BenchSubject::Members => cluster::members::run(args),
        BenchSubject::Net => net::run(args),
        BenchSubject::Deadlock => deadlock::run(args),
    };
    match measured {
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("Interrupted: there is no result.");
            Ok(CommandOutcome::Unfinished)
        }
        measured => measured,
    }
}

/// Converts an error of a measurement to text, because the caller would report an `io::Error` as a
/// failed write to the output. If a signal asked the benchmark to stop, that caused the error.
fn measurement_error(error: anyhow::Error) -> anyhow::Error {
    interrupt::check().map_or_else(Into::into, |()| anyhow::anyhow!("{}.", format!("{error:#}").trim_end_matches('.')))
}

/// Prints the result of a benchmark.
fn conclude<R: Serialize>(
    report: &R,
    args: &BenchArgs,
    print: impl FnOnce(&R) -> anyhow::Result<()>,
    holds: bool,
) -> anyhow::Result<CommandOutcome> {
    interrupt::check()?;
    if args.json {
        report::print_json(report)?;
    } else {
        print(report)?;
    }
    Ok(CommandOutcome::from_holds(holds))
}

/// Joins words by commas, and the last one by "and".
fn join_words(words: &[String]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// The progress of a benchmark: a bar that shows the current step.
#[derive(Clone)]
struct Steps(ProgressBar);

impl Steps {
    fn new(count: u64) -> Self {
        Self(progress::bar(count, "{msg}").with_finish(ProgressFinish::AndClear))
    }

    /// Performs a step, unless the user has interrupted the benchmark.
    fn perform<T>(&self, name: String, step: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        interrupt::check()?;
        self.0.set_message(name);
        let result = step().map_err(measurement_error)?;
        self.0.inc(1);
        Ok(result)
    }
}

/// Formats whether a target is met.
fn format_met_or_missed(is_met: bool) -> String {
    if is_met { paint::good("ok") } else { paint::bad("MISSED") }
}
