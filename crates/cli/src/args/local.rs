//! Subcommands of `quorate sim` and `quorate check` that run a demonstration instead of an
//! algorithm, and the arguments of the local ones: `sim local`, `sim race` and `check local`.

use super::{ArmiesCheckArgs, ArmiesSimArgs, BerkeleyArgs, DetectorSimArgs, parse_whole};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use quorate_demos::local::{DEFAULT_LOCKINGS, Locking};

/// Demonstrations of `quorate sim`.
#[derive(Subcommand)]
pub(crate) enum SimDemonstration {
    /// Run counter++ and counter-- in two threads, interleaved as the seed chooses.
    Local(LocalSimArgs),
    /// Show all possible results of counter++ and counter-- in two threads, without and with locks.
    Race(RaceArgs),
    /// Let two armies agree on the leader and the time of an attack, in a run that the seed
    /// chooses.
    Armies(ArmiesSimArgs),
    /// Synchronize the clocks of a group with the Berkeley algorithm, under an elected leader.
    Berkeley(BerkeleyArgs),
    /// Measure failure detectors: their detection times against their wrong suspicions.
    Detector(DetectorSimArgs),
}

/// Demonstrations of `quorate check`.
#[derive(Subcommand)]
pub(crate) enum CheckDemonstration {
    /// Run counter++ and counter-- in two threads, in every order, without a lock and with each
    /// correct lock.
    Local(LocalCheckArgs),
    /// Let two armies agree on the leader and the time of an attack, in every run of the
    /// asynchronous model or, with --delay, of the synchronous one.
    Armies(ArmiesCheckArgs),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate sim local --seed 2\n  quorate sim local --lock semaphore --json\n\n\
    Exit codes: 0 the final counter is correct, 1 it is not.")]
pub(crate) struct LocalSimArgs {
    /// Random seed, which chooses the order of the steps.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    pub(crate) seed: u64,
    /// Lock that protects the counter; test-then-set is wrong on purpose.
    #[arg(long, value_name = "LOCK", default_value = "none", value_parser = lock_parser())]
    pub(crate) lock: Locking,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate check local\n  quorate check local --lock test-then-set\n  \
    quorate check local --json\n\n\
    Exit codes: without --lock, 0 if updates are lost without a lock and never with one, else 1;\n\
    with --lock, 0 if no update is ever lost with that lock, else 1.")]
pub(crate) struct LocalCheckArgs {
    /// Lock to try; test-then-set is wrong on purpose [default: none and then each correct lock]
    #[arg(long, value_name = "LOCK", value_parser = lock_parser())]
    pub(crate) lock: Option<Locking>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  quorate sim race\n  quorate sim race --lock semaphore --start 0\n\n\
    Exit codes: without --lock, 0 if updates are lost without a lock and never with one, else 1; with --lock, 0 if no \
    update is ever lost, else 1.")]
pub(crate) struct RaceArgs {
    /// Lock to try; test-then-set is wrong on purpose [default: none and then each correct lock]
    #[arg(long, value_name = "LOCK", value_parser = lock_parser())]
    pub(crate) lock: Option<Locking>,
    /// Initial value of the counter.
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = parse_whole::<u32>)]
    pub(crate) start: u32,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses the name of a lock, `none` and the faulty `test-then-set` included.
fn lock_parser() -> impl TypedValueParser<Value = Locking> {
    let known = || DEFAULT_LOCKINGS.into_iter().chain([Locking::TestThenSet]);
    // `PossibleValuesParser` has rejected unknown names, so the fallback is never used.
    let by_name = move |name: String| known().find(|locking| locking.name() == name).unwrap_or(Locking::None);
    PossibleValuesParser::new(known().map(Locking::name)).map(by_name)
}
