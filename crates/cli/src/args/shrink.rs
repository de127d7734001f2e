//! Arguments of `quorate shrink`.

use super::{RunArgs, parse_property, parse_whole};
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
    The command searches for a smaller run in which the same property fails, with fewer nodes, commands, faults and \
    events. It saves the smallest one as a script. The first lines of the script contain the command that repeats the \
    run.\n\n\
    Instead of an algorithm, you can give a journal that 'sim --trace', 'check --trace', 'run --trace' or 'record' \
    wrote. The journal describes the run, so leave out the options of the run.\n\n\
    Exit codes: 0 the smallest failing run was saved, even if it equals the given one; 2 no property fails, or the \
    input is invalid; 3 the command was interrupted, and the smallest run so far was saved.",
    mut_arg("algorithm", |algorithm| {
        let help = "Name of an algorithm, as 'quorate list' shows it, or path of a journal";
        algorithm.value_name("ALGORITHM|JOURNAL").help(help)
    })
)]
pub(crate) struct ShrinkArgs {
    // Must come first: clap removes each argument from the matches as it parses it.
    #[command(flatten)]
    pub(crate) given: GivenOptions,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Try up to this number of seeds, starting with --seed, and shrink the first failing run.
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u64>)]
    pub(crate) seeds: Option<u64>,
    /// Property that must fail [default: the first property that fails]
    #[arg(long, value_name = "NAME", value_parser = parse_property)]
    pub(crate) property: Option<String>,
    /// Maximum number of runs to try.
    #[arg(long = "tries", value_name = "COUNT", default_value_t = shrink::DEFAULT_MAX_RUNS, value_parser = parse_positive)]
    pub(crate) max_tries: u64,
    /// Write the script to this file; - prints only the script to standard output [default:
    /// ALGORITHM.script]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_positive(text: &str) -> Result<u64, String> {
    match parse_whole::<u64>(text)? {
        0 => Err("the number must be at least 1; got 0.".into()),
        count => Ok(count),
    }
}

/// Records whether the command line describes the run by options.
pub(crate) struct GivenOptions {
    /// The first given option that describes the run, even with its default value.
    pub(crate) run_option: Option<String>,
}

/// Arguments that may stand beside a journal. The field `algorithm` has the path of the journal.
const ALLOWED_WITH_JOURNAL: [&str; 5] = ["algorithm", "property", "max_tries", "out", "json"];

/// Returns the option of an argument, given the name of its field, by which clap identifies it. The
/// field `tries` belongs to the option `--try` of the run; the field of `--tries` is `max_tries`.
fn option_name(argument: &str) -> String {
    match argument {
        "faults" => "fault".into(),
        "tries" => "try".into(),
        "cancels" => "cancel".into(),
        _ => argument.replace('_', "-"),
    }
}

impl FromArgMatches for GivenOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // Ids of argument groups are type names, which start with a capital letter.
        let is_argument = |name: &str| name.starts_with(|first: char| first.is_ascii_lowercase());
        let is_given = |name: &str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let mut names = matches.ids().map(|id| id.as_str()).filter(|name| is_argument(name) && is_given(name));
        let run_option = names.find(|name| !ALLOWED_WITH_JOURNAL.contains(name)).map(option_name);
        Ok(Self { run_option })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for GivenOptions {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
