//! What users type after `quorate sim local`, `quorate sim race` and `quorate check local`: nothing about nodes and networks. And what
//! else stands in the place of an algorithm.

use super::{ArmiesCheckArgs, ArmiesSimArgs, BerkeleyArgs, DetectorSimArgs, whole};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use quorate_demos::local::{LOCKINGS, Locking};

/// What `quorate sim` runs that is no algorithm of a group.
#[derive(Subcommand)]
pub(crate) enum LocalSim {
    /// Run counter++ beside counter-- in one process, in an order that the seed chooses.
    Local(LocalSimArgs),
    /// Show all that counter++ beside counter-- can come to, unlocked and locked, and how.
    Race(RaceArgs),
    /// Let two armies agree on who leads the attack, and on when, in a run that the seed chooses.
    Armies(ArmiesSimArgs),
    /// Watch a leader at work: it keeps the clocks of its group together, until it crashes and the next one goes on.
    Berkeley(BerkeleyArgs),
    /// Measure failure detectors: how soon they notice a crash, against how often they suspect the living.
    Detector(DetectorSimArgs),
}

/// What `quorate check` goes through that is no algorithm of a group.
#[derive(Subcommand)]
pub(crate) enum LocalCheck {
    /// Run counter++ beside counter-- in one process, in every order, with no lock and with each.
    Local(LocalCheckArgs),
    /// Let two armies agree on who leads the attack, and on when, in every run of either model of time.
    Armies(ArmiesCheckArgs),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate sim local --seed 2\n  quorate sim local --lock semaphore --json\n\n\
    Exit codes: 0 the counter is right in the end, 1 it is not.")]
pub(crate) struct LocalSimArgs {
    /// What decides which thread is next.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// What protects the counter; test-then-set is wrong on purpose.
    #[arg(long, value_name = "LOCK", default_value = "none", value_parser = lock())]
    pub(crate) lock: Locking,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate check local\n  quorate check local --lock test-then-set\n  \
    quorate check local --json\n\n\
    Exit codes: without --lock, 0 if changes are lost without a lock and never with one, else 1;\n\
    with it, 0 if none is ever lost with that one, else 1.")]
pub(crate) struct LocalCheckArgs {
    /// Only this lock; test-then-set is wrong on purpose.
    #[arg(long, value_name = "LOCK", value_parser = lock())]
    pub(crate) lock: Option<Locking>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate sim race\n  quorate sim race --lock semaphore --start 0\n\n\
    Exit codes: 0 changes are lost only where nothing protects the counter; with --lock, 0 if none is ever lost; else 1.")]
pub(crate) struct RaceArgs {
    /// Only this lock; test-then-set is wrong on purpose.
    #[arg(long, value_name = "LOCK", value_parser = lock())]
    pub(crate) lock: Option<Locking>,
    /// What the counter is at first.
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = whole::<u32>)]
    pub(crate) start: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Every lock by its name, and the one that is none.
fn lock() -> impl TypedValueParser<Value = Locking> {
    let known = || LOCKINGS.into_iter().chain([Locking::TestThenSet]);
    let named = move |name: String| known().find(|locking| locking.name() == name).unwrap_or(Locking::None);
    PossibleValuesParser::new(known().map(Locking::name)).map(named)
}
