//! Options that would be ignored beside others, or without them. Each is refused with a sentence.
//!
//! What follows from the options alone is in one table. What depends on the algorithm, its settings or a script is found
//! where these are known, and refused by the same sentence.

use clap::ArgMatches;
use clap::parser::ValueSource;
use quorate_lab::options::OptionsError;

/// The complaint about an option that has no effect under a condition, such as "without --views".
pub(crate) fn no_effect(option: &str, condition: &str) -> anyhow::Error {
    OptionsError::no_effect(option, condition).into()
}

/// An option that has no effect under a condition.
struct Rule {
    verbs: &'static [&'static str],
    option: &'static str,
    ignored: Ignored,
    /// The condition in words.
    words: &'static str,
}

/// When an option is ignored.
enum Ignored {
    /// If none of these is given.
    Without(&'static [&'static str]),
    /// If this one is given.
    Beside(&'static str),
    /// If this one has this value.
    BesideValue(&'static str, &'static str),
    /// Always, by this command.
    Always,
}

/// Commands that run, check or carry out one algorithm.
const RUNS: &[&str] = &["sim", "sweep", "shrink", "run", "node", "check"];

const OVERVIEW: &str = "beside --overview, which shows no single step";

const RULES: &[Rule] = &[
    Rule {
        verbs: &["check"],
        option: "restarts",
        ignored: Ignored::Without(&["crashes", "views"]),
        words: "without --crashes: only a node that crashed can come back",
    },
    Rule {
        verbs: &["check"],
        option: "no-reduction",
        ignored: Ignored::Beside("walks"),
        words: "beside --walks: a random walk follows one order",
    },
    Rule {
        verbs: &["check"],
        option: "upheaval",
        ignored: Ignored::Always,
        words: "in a check: --crashes and --restarts say what happens to nodes",
    },
    Rule {
        verbs: &["run"],
        option: "upheaval",
        ignored: Ignored::Always,
        words: "between real processes: --kill and --chaos say what happens to them",
    },
    Rule {
        verbs: &["run"],
        option: "medium",
        ignored: Ignored::Always,
        words: "between real processes, which are connected by TCP",
    },
    Rule {
        verbs: RUNS,
        option: "piece",
        ignored: Ignored::Without(&["views"]),
        words: "without --views: no newcomer is sent the state",
    },
    Rule {
        verbs: &["sweep"],
        option: "fixtures",
        ignored: Ignored::Without(&["family"]),
        words: "without --family: one algorithm is swept",
    },
    Rule {
        verbs: &["check"],
        option: "steps",
        ignored: Ignored::Without(&["walks"]),
        words: "without --walks: every other search goes on to the end",
    },
    Rule {
        verbs: &["check"],
        option: "seed",
        ignored: Ignored::Without(&["walks"]),
        words: "without --walks: every other search tries all orders",
    },
    Rule { verbs: &["draw"], option: "notes", ignored: Ignored::Beside("overview"), words: OVERVIEW },
    Rule { verbs: &["draw"], option: "clocks", ignored: Ignored::Beside("overview"), words: OVERVIEW },
    Rule { verbs: &["draw"], option: "all", ignored: Ignored::Beside("overview"), words: OVERVIEW },
    Rule {
        verbs: &["trace"],
        option: "clocks",
        ignored: Ignored::Beside("json"),
        words: "beside --json, where every step has its clock",
    },
    Rule {
        verbs: &["voting-risk"],
        option: "by",
        ignored: Ignored::BesideValue("simulate", "never"),
        words: "beside --simulate never",
    },
    Rule {
        verbs: &["voting-risk"],
        option: "trials",
        ignored: Ignored::BesideValue("simulate", "never"),
        words: "beside --simulate never",
    },
    Rule {
        verbs: &["voting-risk"],
        option: "seed",
        ignored: Ignored::BesideValue("simulate", "never"),
        words: "beside --simulate never",
    },
];

/// Refuses the first option that was typed and that the command would ignore.
pub(crate) fn refuse_ignored(matches: &ArgMatches) -> anyhow::Result<()> {
    let Some((verb, given)) = matches.subcommand() else { return Ok(()) };
    let mut of_verb = RULES.iter().filter(|rule| rule.verbs.contains(&verb));
    match of_verb.find(|rule| is_given(given, rule.option) && rule.ignored.holds(given)) {
        Some(rule) => Err(no_effect(rule.option, rule.words)),
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
                values.into_iter().flatten().any(|given| given == *value)
            }
            Self::Always => true,
        }
    }
}

/// Whether somebody typed this option.
fn is_given(given: &ArgMatches, option: &str) -> bool {
    let id = id(option);
    let is_known = given.try_contains_id(&id).unwrap_or(false);
    is_known && given.value_source(&id) == Some(ValueSource::CommandLine)
}

/// What an option is called among the arguments.
fn id(option: &str) -> String {
    option.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{RULES, id};
    use crate::args::Cli;
    use clap::CommandFactory;

    /// A rule about an option that was renamed would never apply.
    #[test]
    fn rules_are_about_options_that_there_are() {
        let command = Cli::command();
        for rule in RULES {
            for verb in rule.verbs {
                let verb = command.find_subcommand(verb).unwrap();
                let is_there = verb.get_arguments().any(|argument| argument.get_id() == id(rule.option).as_str());
                assert!(is_there, "{} has no --{}", verb.get_name(), rule.option);
            }
        }
    }
}
