//! Rejects options that would have no effect.
//!
//! The table [`RULES`] covers conditions that depend on the options alone. Conditions that depend
//! on the algorithm, its settings or a script are checked where these are known, and use the same
//! error ([`no_effect`]).

use clap::ArgMatches;
use clap::parser::ValueSource;
use quorate_lab::options::OptionsError;

/// Returns the error for an option that has no effect under a condition, such as "without --views".
pub(crate) fn no_effect(option: &str, condition: &str) -> anyhow::Error {
    OptionsError::no_effect(option, condition).into()
}

/// An option that has no effect under a condition.
struct Rule {
    verbs: &'static [&'static str],
    option: &'static str,
    ignored: Ignored,
    /// Describes the condition in the error message.
    condition: &'static str,
}

/// A condition under which an option has no effect.
enum Ignored {
    /// None of these options is given.
    Without(&'static [&'static str]),
    /// This option is given.
    Beside(&'static str),
    /// This option has this value.
    BesideValue(&'static str, &'static str),
    /// The command always ignores the option.
    Always,
}

/// Commands that run or check one algorithm.
const RUN_COMMANDS: &[&str] = &["sim", "sweep", "shrink", "run", "node", "check"];

const OVERVIEW: &str = "with --overview, which shows no single steps";

const RULES: &[Rule] = &[
    Rule {
        verbs: &["check"],
        option: "restarts",
        ignored: Ignored::Without(&["crashes", "views"]),
        condition: "without --crashes: only a crashed node can restart",
    },
    Rule {
        verbs: &["check"],
        option: "no-reduction",
        ignored: Ignored::Beside("walks"),
        condition: "with --walks: a random walk follows one order",
    },
    Rule {
        verbs: &["check"],
        option: "upheaval",
        ignored: Ignored::Always,
        condition: "in a check: --crashes and --restarts set the faults of nodes",
    },
    Rule {
        verbs: &["run"],
        option: "upheaval",
        ignored: Ignored::Always,
        condition: "with real processes: --kill and --chaos set their faults",
    },
    Rule {
        verbs: &["run"],
        option: "medium",
        ignored: Ignored::Always,
        condition: "with real processes, which communicate over TCP",
    },
    Rule {
        verbs: RUN_COMMANDS,
        option: "piece",
        ignored: Ignored::Without(&["views"]),
        condition: "without --views: there are no joiners to send state to",
    },
    Rule {
        verbs: &["sweep"],
        option: "fixtures",
        ignored: Ignored::Without(&["family"]),
        condition: "without --family: the sweep runs one algorithm",
    },
    Rule {
        verbs: &["check"],
        option: "steps",
        ignored: Ignored::Without(&["walks"]),
        condition: "without --walks: other searches have no step limit",
    },
    Rule {
        verbs: &["check"],
        option: "seed",
        ignored: Ignored::Without(&["walks"]),
        condition: "without --walks: other searches do not use randomness",
    },
    Rule { verbs: &["draw"], option: "notes", ignored: Ignored::Beside("overview"), condition: OVERVIEW },
    Rule { verbs: &["draw"], option: "clocks", ignored: Ignored::Beside("overview"), condition: OVERVIEW },
    Rule { verbs: &["draw"], option: "all-steps", ignored: Ignored::Beside("overview"), condition: OVERVIEW },
    Rule {
        verbs: &["trace"],
        option: "clocks",
        ignored: Ignored::Beside("json"),
        condition: "with --json, which always includes clocks",
    },
    Rule {
        verbs: &["voting-risk"],
        option: "method",
        ignored: Ignored::BesideValue("simulate", "never"),
        condition: "with --simulate never",
    },
    Rule {
        verbs: &["voting-risk"],
        option: "trials",
        ignored: Ignored::BesideValue("simulate", "never"),
        condition: "with --simulate never",
    },
    Rule {
        verbs: &["voting-risk"],
        option: "seed",
        ignored: Ignored::BesideValue("simulate", "never"),
        condition: "with --simulate never",
    },
];

/// Returns an error for the first option on the command line that would have no effect.
pub(crate) fn reject_ignored_options(matches: &ArgMatches) -> anyhow::Result<()> {
    let Some((verb, given)) = matches.subcommand() else { return Ok(()) };
    let mut rules_of_verb = RULES.iter().filter(|rule| rule.verbs.contains(&verb));
    match rules_of_verb.find(|rule| is_given(given, rule.option) && rule.ignored.holds(given)) {
        Some(rule) => Err(no_effect(rule.option, rule.condition)),
        None => Ok(()),
    }
}

impl Ignored {
    fn holds(&self, given: &ArgMatches) -> bool {
        match self {
            Self::Without(options) => !options.iter().any(|option| is_given(given, option)),
            Self::Beside(option) => is_given(given, option),
            Self::BesideValue(option, value) => {
                let values = given.try_get_raw(&id(option)).ok().flatten();
                values.into_iter().flatten().any(|given_value| given_value == *value)
            }
            Self::Always => true,
        }
    }
}

/// Whether this option is on the command line, as opposed to its default.
fn is_given(given: &ArgMatches, option: &str) -> bool {
    let id = id(option);
    let is_known = given.try_contains_id(&id).unwrap_or(false);
    is_known && given.value_source(&id) == Some(ValueSource::CommandLine)
}

/// Returns the id of an option in [`ArgMatches`].
fn id(option: &str) -> String {
    option.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{RULES, id};
    use crate::args::Cli;
    use clap::CommandFactory;

    /// A rule about an option that does not exist would never apply.
    #[test]
    fn every_rule_names_an_existing_option() {
        let command = Cli::command();
        for rule in RULES {
            for verb in rule.verbs {
                let verb = command.find_subcommand(verb).unwrap();
                let exists = verb.get_arguments().any(|argument| argument.get_id() == id(rule.option).as_str());
                assert!(exists, "{} has no --{}", verb.get_name(), rule.option);
            }
        }
    }
}
