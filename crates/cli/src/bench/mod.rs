//! `quorate bench`: measures parts of Quorate against a baseline in the same run.
//!
//! The contenders run alternately, several times. The best run of each counts, since other load on
//! the machine can only slow a run down.
//!
//! `sim` compares the simulator, which runs the protocol of `ring`, with the event loop of `bare`.

mod bare;
mod check;
mod deadlock;
mod net;
mod replica;
mod ring;
mod sim;

pub(crate) use net::NetContender;

use crate::args::{BenchArgs, BenchSubject};
use crate::{CommandOutcome, paint, progress};
use indicatif::ProgressBar;

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<CommandOutcome> {
    anyhow::ensure!(args.runs > 0, "--runs must be at least 1; got 0.");
    let measures = |subject: BenchSubject| args.subject == subject;
    // The first process of 'bench net' passes the folder of its certificates to its partner.
    let folder_applies = args.folder.is_none() || measures(BenchSubject::Replica) || args.partner.is_some();
    anyhow::ensure!(folder_applies, "--folder applies only to 'bench replica'; no other benchmark measures a disk.");
    let events_apply = args.events.is_none() || measures(BenchSubject::Sim);
    anyhow::ensure!(events_apply, "--events applies only to 'bench sim'; use --runs for the other benchmarks.");
    let waiters_apply = args.waiters.is_empty() || measures(BenchSubject::Deadlock);
    anyhow::ensure!(waiters_apply, "--waiters applies only to 'bench deadlock'.");
    match args.subject {
        BenchSubject::Sim => sim::run(args),
        BenchSubject::Check => check::run(args),
        BenchSubject::Replica => replica::run(args),
        BenchSubject::Net => net::run(args),
        BenchSubject::Deadlock => deadlock::run(args),
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
