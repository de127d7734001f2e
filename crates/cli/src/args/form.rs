//! Options that choose among the forms of an algorithm.

use clap::{Args, ValueEnum};
use quorate_lab::registry::{Entry, all, find, fixtures, form};
use std::collections::BTreeSet;

/// Which form of an algorithm is meant. Each form has a name of its own too.
#[derive(Args, Default)]
#[command(next_help_heading = "Forms of an algorithm")]
pub(crate) struct FormArgs {
    /// What a busy coordinator of 'central' does: queue in silence, deny so that the client asks again, or both.
    #[arg(long, value_enum, value_name = "WAY")]
    when_busy: Option<WhenBusy>,
    /// How requests of 'ricart-agrawala' travel: one to each, one that all hear, node by node, or so that silence is consent.
    #[arg(long, value_enum, value_name = "WAY")]
    requests: Option<Requests>,
    /// Which form of 'maekawa': the one that cannot deadlock, or the plain one.
    #[arg(long, value_enum, value_name = "FORM")]
    form: Option<Plainness>,
    /// Which quorums 'maekawa' has: rows and columns of a grid, or the lines of a projective plane.
    #[arg(long, value_enum, value_name = "KIND")]
    quorums: Option<Quorums>,
    /// How 'token-ring' passes its token: trusting that the next one is alive, or acknowledged, so that the dead are skipped.
    #[arg(long, value_enum, value_name = "WAY")]
    passing: Option<Passing>,
    /// 'voting' asks one replica after the other instead of all at once.
    #[arg(long)]
    sequential: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum WhenBusy {
    Block,
    Deny,
    DenyAndQueue,
}

#[derive(Clone, Copy, ValueEnum)]
enum Requests {
    Unicast,
    Broadcast,
    Ring,
    Implicit,
}

#[derive(Clone, Copy, ValueEnum)]
enum Plainness {
    DeadlockFree,
    Plain,
}

#[derive(Clone, Copy, ValueEnum)]
enum Quorums {
    Grid,
    Plane,
}

#[derive(Clone, Copy, ValueEnum)]
enum Passing {
    Trusting,
    Acknowledged,
}

impl FormArgs {
    /// The name of the form that is meant of the algorithm of this name. A name that nobody knows is left as it is: those
    /// who look it up complain better.
    pub(crate) fn resolve(&self, name: &str) -> anyhow::Result<String> {
        let options = self.options();
        if options.is_empty() || find(name).is_none() {
            return Ok(name.to_owned());
        }
        let options: Vec<_> = options.iter().map(|(option, value)| (*option, value.as_str())).collect();
        match form(name, &options).map(Entry::name) {
            Some(name) => Ok(name.to_owned()),
            None => {
                let given: Vec<_> = options.iter().map(|(option, value)| written(option, value)).collect();
                let name = name.escape_debug();
                match known(find(&name.to_string())) {
                    known if known.is_empty() => {
                        anyhow::bail!("'{name}' has one form only, and none for {}.", given.join(" "))
                    }
                    known => anyhow::bail!("'{name}' has no form for {}. It has {known}.", given.join(" ")),
                }
            }
        }
    }

    fn options(&self) -> Vec<(&'static str, String)> {
        let Self { when_busy, requests, form, quorums, passing, sequential } = self;
        let options = [
            ("when-busy", when_busy.map(word)),
            ("requests", requests.map(word)),
            ("form", form.map(word)),
            ("quorums", quorums.map(word)),
            ("passing", passing.map(word)),
            ("asks", sequential.then(|| "sequential".to_owned())),
        ];
        options.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }
}

/// The options by which the forms of the same algorithm are chosen.
fn known(entry: Option<&Entry>) -> String {
    let Some(entry) = entry else { return String::new() };
    let of = entry.algorithm();
    let choices = all().iter().chain(fixtures()).flat_map(Entry::form).filter(|choice| choice.of == of);
    let options: BTreeSet<_> = choices.map(|choice| written(choice.option, choice.value)).collect();
    options.into_iter().collect::<Vec<_>>().join(", ")
}

/// An option as users type it.
fn written(option: &str, value: &str) -> String {
    match (option, value) {
        ("asks", "sequential") => "--sequential".into(),
        _ => format!("--{option} {value}"),
    }
}

fn word<V: ValueEnum>(value: V) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
