//! The options of `quorate shrink`.

use super::{RunArgs, whole};
use clap::Args;
use quorate_lab::shrink;
use std::path::PathBuf;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
    quorate shrink ricart-agrawala-clock-only --nodes 5 --seed 1\n  \
    quorate shrink replica-applied-twice --chaos --seeds 100 --out small.script\n  \
    quorate check ricart-agrawala-first-only --trace found.journal\n  \
    quorate shrink found.journal\n\n\
    The run becomes the smallest one found in which the same property fails: fewer nodes, commands, faults and events. It \
    is saved as a script, whose first lines name the one command that repeats it.\n\n\
    Instead of an algorithm, name a journal of any kind: what 'sim --trace', 'check --trace', 'run --trace' or 'record' wrote. \
    It says itself what was run, so the options of the run are left out then.",
    mut_arg("algorithm", |algorithm| algorithm.value_name("ALGORITHM|JOURNAL").help("The algorithm's name, as `quorate list` shows it, or a journal"))
)]
pub(crate) struct ShrinkArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Look for the first seed that fails among so many, beginning with --seed.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>)]
    pub(crate) seeds: Option<u64>,
    /// The property that is to fail; the first one that does unless given.
    #[arg(long, value_name = "NAME")]
    pub(crate) property: Option<String>,
    /// How many runs to try at most.
    #[arg(long = "tries", value_name = "COUNT", default_value_t = shrink::TRIES, value_parser = whole::<u64>)]
    pub(crate) most_tries: u64,
    /// Save the script in this file; ALGORITHM.script unless given.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
