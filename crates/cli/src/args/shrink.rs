//! The options of `quorate shrink`.

use super::{RunArgs, whole};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
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
    It says itself what was run, so the options of the run are left out then.\n\n\
    Exit codes: 0 it still fails and is as small as it gets, also if it was so before; 2 nothing fails, or the input is wrong; \
    3 it was interrupted, and the smallest so far was saved.",
    mut_arg("algorithm", |algorithm| algorithm.value_name("ALGORITHM|JOURNAL").help("The algorithm's name, as `quorate list` shows it, or a journal"))
)]
pub(crate) struct ShrinkArgs {
    // It must come first: whoever reads an argument takes it away.
    #[command(flatten)]
    pub(crate) given: Given,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Look for the first seed that fails among so many, beginning with --seed.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>)]
    pub(crate) seeds: Option<u64>,
    /// The property that is to fail; the first one that does unless given.
    #[arg(long, value_name = "NAME")]
    pub(crate) property: Option<String>,
    /// How many runs to try at most.
    #[arg(long = "tries", value_name = "COUNT", default_value_t = shrink::TRIES, value_parser = some)]
    pub(crate) most_tries: u64,
    /// Save the script in this file, or print nothing but it: -. ALGORITHM.script unless given.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// At least one.
fn some(text: &str) -> Result<u64, String> {
    match whole::<u64>(text)? {
        0 => Err("without a try nothing becomes smaller; write at least 1.".into()),
        count => Ok(count),
    }
}

/// Whether anything was typed that says what is to run, be it what would be so anyway.
pub(crate) struct Given {
    pub(crate) run: bool,
}

/// What says nothing of the run.
const OTHERS: [&str; 5] = ["algorithm", "property", "most_tries", "out", "json"];

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // Groups of arguments have the names of types, in capitals.
        let is_argument = |name: &str| name.starts_with(|first: char| first.is_ascii_lowercase());
        let is_typed = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut names = matches.ids().map(|id| id.as_str()).filter(|name| is_argument(name) && is_typed(name));
        Ok(Self { run: names.any(|name| !OTHERS.contains(&name)) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
