//! `quorate bench`: how fast it is, beside something else in the same run.
//!
//! Contenders have their turns one after the other, and the best turn of each counts, since other work on the machine can
//! only make a turn slower.

mod bare;
mod check;
mod deadlock;
mod net;
mod replica;
mod ring;
mod sim;

pub(crate) use net::Contender;

use crate::args::{BenchArgs, BenchSubject};
use crate::{Verdict, paint, progress};
use indicatif::ProgressBar;

pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<Verdict> {
    anyhow::ensure!(args.turns > 0, "Each contender needs at least one turn: --turns 5.");
    let is = |subject: BenchSubject| args.subject == subject;
    let has_no_folder = args.folder.is_none() || is(BenchSubject::Replica) || args.partner.is_some();
    anyhow::ensure!(has_no_folder, "--folder is for 'bench replica', which alone writes to a disk.");
    let has_no_events = args.events.is_none() || is(BenchSubject::Sim);
    anyhow::ensure!(has_no_events, "--events is for 'bench sim' alone; the other benchmarks take --turns.");
    let has_no_waiters = args.waiters.is_empty() || is(BenchSubject::Deadlock);
    anyhow::ensure!(has_no_waiters, "--waiters is for 'bench deadlock' alone.");
    match args.subject {
        BenchSubject::Sim => sim::run(args),
        BenchSubject::Check => check::run(args),
        BenchSubject::Replica => replica::run(args),
        BenchSubject::Net => net::run(args),
        BenchSubject::Deadlock => deadlock::run(args),
    }
}

/// A bar of so many steps, with a word on the present one.
fn progress_bar(steps: u64) -> ProgressBar {
    progress::bar(steps, "{msg}")
}

/// Whether a mark was reached.
fn word(reached: bool) -> String {
    if reached { paint::good("ok") } else { paint::bad("MISSED") }
}
