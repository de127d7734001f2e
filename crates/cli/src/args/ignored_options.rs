//! Rejects options that would have no effect.
//!
//! The table [`IGNORED_OPTIONS`] covers conditions that depend on the options alone. Conditions
//! that depend on the algorithm, its settings or a script are checked where these are known, and
//! use the same error ([`no_effect`]).

use clap::ArgMatches;
use clap::parser::ValueSource;
use quorate_lab::options::OptionsError;

/// Returns the error for an option that has no effect under a condition, such as "without --views".
pub(crate) fn no_effect(option: &str, condition: &str) -> anyhow::Error {
    OptionsError::no_effect(option, condition).into()
}

/// An option that has no effect under a condition.
struct IgnoredOption {
    commands: &'static [&'static str],
    option: &'static str,
    condition: Condition,
    /// Describes the condition in the error message.
    reason: &'static str,
}

/// A condition under which an option has no effect.
enum Condition {
    /// None of these options is given.
    Without(&'static [&'static str]),
    /// This option is given.
    Beside(&'static str),
    /// This option has this value.
    BesideValue(&'static str, &'static str),
    /// The command always ignores the option.
    Always,
}

/// Commands that run or check algorithms.
const RUN_COMMANDS: &[&str] = &["sim", "sweep", "shrink", "run", "node", "check"];

const WITH_OVERVIEW: &str = "with --overview, which shows no single steps";

const IGNORED_OPTIONS: &[IgnoredOption] = &[
    IgnoredOption {
        commands: &["check"],
        option: "restarts",
        condition: Condition::Without(&["crashes"]),
        reason: "without --crashes: only a crashed node can restart",
    },
    IgnoredOption {
        commands: &["check"],
        option: "no-reduction",
        condition: Condition::Beside("walks"),
        reason: "with --walks: a random walk follows one order",
    },
    IgnoredOption {
        commands: &["check"],
        option: "churn",
        condition: Condition::Always,
        reason: "in a check: --crashes and --restarts set the faults of nodes",
    },
    IgnoredOption {
        commands: &["run"],
        option: "churn",
        condition: Condition::Always,
        reason: "with real processes: --kill and --chaos set their faults",
    },
    IgnoredOption {
        commands: &["run"],
        option: "medium",
        condition: Condition::Always,
        reason: "with real processes, which communicate over TCP",
    },
    IgnoredOption {
        commands: RUN_COMMANDS,
        option: "piece",
        condition: Condition::Without(&["views"]),
        reason: "without --views: there are no joiners to send state to",
    },
    IgnoredOption {
        commands: &["sweep"],
        option: "fixtures",
        condition: Condition::Without(&["family"]),
        reason: "without --family: the sweep runs one algorithm",
    },
    IgnoredOption {
        commands: &["check"],
        option: "steps",
        condition: Condition::Without(&["walks"]),
        reason: "without --walks: other searches have no step limit",
    },
    IgnoredOption {
        commands: &["check"],
        option: "seed",
        condition: Condition::Without(&["walks"]),
        reason: "without --walks: other searches do not use randomness",
    },
    IgnoredOption {
        commands: &["draw"],
        option: "notes",
        condition: Condition::Beside("overview"),
        reason: WITH_OVERVIEW,
    },
    IgnoredOption {
        commands: &["draw"],
        option: "clocks",
        condition: Condition::Beside("overview"),
        reason: WITH_OVERVIEW,
    },
    IgnoredOption {
        commands: &["draw"],
        option: "all-steps",
        condition: Condition::Beside("overview"),
        reason: WITH_OVERVIEW,
    },
    IgnoredOption {
        commands: &["trace"],
        option: "clocks",
        condition: Condition::Beside("json"),
        reason: "with --json, which always includes clocks",
    },
    IgnoredOption {
        commands: &["voting-risk"],
        option: "method",
        condition: Condition::BesideValue("simulate", "never"),
        reason: "with --simulate never",
    },
    IgnoredOption {
        commands: &["voting-risk"],
        option: "trials",
        condition: Condition::BesideValue("simulate", "never"),
        reason: "with --simulate never",
    },
    IgnoredOption {
        commands: &["voting-risk"],
        option: "seed",
        condition: Condition::BesideValue("simulate", "never"),
        reason: "with --simulate never",
    },
];

/// Returns an error if an option on the command line would have no effect. Of several such options,
/// the error names the one that comes first in [`IGNORED_OPTIONS`].
pub(crate) fn reject_ignored_options(matches: &ArgMatches) -> anyhow::Result<()> {
    let Some((command, matches)) = matches.subcommand() else { return Ok(()) };
    let mut rows_of_command = IGNORED_OPTIONS.iter().filter(|row| row.commands.contains(&command));
    match rows_of_command.find(|row| is_given(matches, row.option) && row.condition.holds(matches)) {
        Some(row) => Err(no_effect(row.option, row.reason)),
        None => Ok(()),
    }
}

impl Condition {
    fn holds(&self, matches: &ArgMatches) -> bool {
        match self {
            Self::Without(options) => !options.iter().any(|option| is_given(matches, option)),
            Self::Beside(option) => is_given(matches, option),
            Self::BesideValue(option, value) => {
                let values = matches.try_get_raw(&argument_id(option)).ok().flatten();
                values.into_iter().flatten().any(|given_value| given_value == *value)
            }
            Self::Always => true,
        }
    }
}

/// Whether this option is on the command line, as opposed to its default.
fn is_given(matches: &ArgMatches, option: &str) -> bool {
    let id = argument_id(option);
    let is_known = matches.try_contains_id(&id).unwrap_or(false);
    is_known && matches.value_source(&id) == Some(ValueSource::CommandLine)
}

/// Returns the id of an option in [`ArgMatches`].
fn argument_id(option: &str) -> String {
    option.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{IGNORED_OPTIONS, argument_id};
    use crate::args::Cli;
    use clap::CommandFactory;

    /// A row about an option that does not exist would never apply.
    #[test]
    fn every_row_names_an_existing_option() {
        let command = Cli::command();
        for row in IGNORED_OPTIONS {
            for name in row.commands {
                let subcommand = command.find_subcommand(name).unwrap();
                let exists =
                    subcommand.get_arguments().any(|argument| argument.get_id() == argument_id(row.option).as_str());
                assert!(exists, "{name} has no --{}", row.option);
            }
        }
    }
}
