//! The options of `quorate bank`.

use super::{PictureArgs, whole};
use clap::Args;
use quorate_demos::bank;
use quorate_journal::settings::Latency;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate bank\n  \
    quorate bank --lock none --svg lost.svg\n  \
    quorate bank --lock ricart-agrawala --tellers 4 --trace bank.journal\n  \
    quorate bank --lock ricart-agrawala-node-only --seeds 200\n\n\
    Two tellers at different nodes deposit 10,000 each into an account of 1,000, which lives in a store outside the group: each reads \
    the balance, takes its time and writes the sum. The lock is any algorithm of 'quorate list' for mutual exclusion, or of 'quorate \
    list --fixtures', or none.\n\n\
    Exit codes: 0 every lock kept the money, 1 one did not, 2 the command is wrong, 3 somebody interrupted it.")]
pub(crate) struct BankArgs {
    /// The lock that tellers take, or none; none and every lock, one after the other, unless given.
    #[arg(long, value_name = "NAME")]
    pub(crate) lock: Option<String>,
    /// What all chance follows from.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// Run so many seeds, beginning with --seed, and count in how many money is lost.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seeds: u64,
    /// How many tellers there are, each at a node of its own.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = whole::<usize>)]
    pub(crate) tellers: usize,
    /// What each of them deposits.
    #[arg(long, value_name = "AMOUNT", default_value_t = 10_000, value_parser = whole::<u64>)]
    pub(crate) deposit: u64,
    /// What the account holds before.
    #[arg(long, value_name = "AMOUNT", default_value_t = 1_000, value_parser = whole::<u64>)]
    pub(crate) balance: u64,
    /// How many nodes there are; as many as the tellers and the lock need, but at least 3, unless given.
    #[arg(long, value_parser = whole::<usize>)]
    pub(crate) nodes: Option<usize>,
    /// How long a message takes; customers come within four such times, and a deposit takes one to three.
    #[arg(long, default_value_t = bank::LATENCY)]
    pub(crate) latency: Latency,
    /// Write the run's journal to this file; it replays and can be drawn like any other.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}
