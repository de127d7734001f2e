//! Arguments of `quorate bank`.

use super::{PictureArgs, parse_whole};
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
    By default two tellers at different nodes deposit 10,000 each into an account of 1,000, which is in a store \
    outside the group. Each teller reads the balance, waits, and writes the sum. The lock is any algorithm for mutual \
    exclusion of 'quorate list' or 'quorate list --fixtures', or none.\n\n\
    Exit codes: 0 the final balance is correct with every lock, 1 it is wrong with a lock or with a requested \
    --lock none, 2 the command is invalid, 3 the command was interrupted.")]
pub(crate) struct BankArgs {
    /// Lock that the tellers take, or none [default: none, then each lock that is not a fixture]
    #[arg(long, value_name = "NAME")]
    pub(crate) lock: Option<String>,
    /// Random seed. The same seed repeats the same run.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
    pub(crate) seed: u64,
    /// Number of seeds to run, starting with --seed. The command counts the seeds with which money
    /// is lost.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = parse_whole::<u64>)]
    pub(crate) seeds: u64,
    /// Number of tellers, each at its own node.
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = parse_whole::<usize>)]
    pub(crate) tellers: usize,
    /// Amount that each teller deposits.
    #[arg(long, value_name = "AMOUNT", default_value_t = 10_000, value_parser = parse_whole::<u64>)]
    pub(crate) deposit: u64,
    /// Balance of the account before the deposits.
    #[arg(long, value_name = "AMOUNT", default_value_t = 1_000, value_parser = parse_whole::<u64>)]
    pub(crate) balance: u64,
    /// Number of nodes [default: as many as the tellers and the lock need, and at least 3]
    #[arg(long, value_parser = parse_whole::<usize>)]
    pub(crate) nodes: Option<usize>,
    /// Time a message takes. With T as the longest time (for long-tail the median), each teller
    /// requests the lock within 4 T, and its deposit takes T to 3 T.
    #[arg(long, default_value_t = bank::LATENCY)]
    pub(crate) latency: Latency,
    /// Write the run's journal to this file, for 'quorate replay', 'trace' or 'draw'. Needs --lock
    /// and a single seed.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}
