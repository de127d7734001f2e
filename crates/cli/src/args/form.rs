//! Options that choose among the forms of an algorithm.

use crate::commands::demonstration;
use clap::{Args, ValueEnum};
use quorate_lab::registry::{Entry, all, find, find_variant, fixtures};
use std::collections::BTreeSet;

/// Options that choose the form of an algorithm. Each form also has its own name.
#[derive(Args, Default)]
#[command(next_help_heading = "Forms of an algorithm")]
pub(crate) struct FormArgs {
    /// Answer of the coordinator of 'central' while the lock is held: block (queue the request
    /// without an answer), deny (the client asks again), or deny-and-queue.
    #[arg(long, value_enum, value_name = "MODE")]
    when_busy: Option<WhenBusy>,
    /// Transport of requests of 'ricart-agrawala': unicast to each node, one broadcast, from node
    /// to node round a ring, or implicit, where no answer means consent.
    #[arg(long, value_enum, value_name = "MODE")]
    requests: Option<Requests>,
    /// Form of 'maekawa': deadlock-free, or plain, which can deadlock.
    #[arg(long, value_enum, value_name = "FORM")]
    form: Option<MaekawaForm>,
    /// Quorums of 'maekawa': rows and columns of a grid, or lines of a projective plane.
    #[arg(long, value_enum, value_name = "KIND")]
    quorums: Option<Quorums>,
    /// Token passing of 'token-ring': trusting (the successor is assumed to be alive), or
    /// acknowledged (crashed successors are skipped).
    #[arg(long, value_enum, value_name = "MODE")]
    passing: Option<Passing>,
    /// Let 'voting' ask one replica after the other instead of all at once.
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
enum MaekawaForm {
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
    /// Returns the name of the form of this algorithm that the options choose. Returns the name
    /// unchanged if no option is given, or if it is unknown: the registry reports an unknown name
    /// with a better error. Fails for the name of a demonstration, which is not an algorithm.
    pub(crate) fn resolve(&self, name: &str) -> anyhow::Result<String> {
        demonstration::reject_name(name)?;
        let options = self.options();
        if options.is_empty() || find(name).is_none() {
            return Ok(name.to_owned());
        }
        let options: Vec<_> = options.iter().map(|(option, value)| (*option, value.as_str())).collect();
        match find_variant(name, &options).map(Entry::name) {
            Some(name) => Ok(name.to_owned()),
            None => {
                let given_options: Vec<_> =
                    options.iter().map(|(option, value)| format_option(option, value)).collect();
                if let Some(form) = find(name).filter(|entry| entry.algorithm() != name) {
                    let algorithm = form.algorithm();
                    let choices = form.variant_choices().iter();
                    let choices: Vec<_> = choices.map(|choice| format_option(choice.option, choice.value)).collect();
                    anyhow::bail!(
                        "'{name}' is '{algorithm}' with {}, so {} does not apply. Name '{algorithm}' to choose another \
                         form.",
                        choices.join(" "),
                        given_options.join(" ")
                    );
                }
                match form_options(find(name)) {
                    choices if choices.is_empty() => {
                        anyhow::bail!(
                            "'{name}' has only one form, so {} does not apply; omit it.",
                            given_options.join(" ")
                        )
                    }
                    choices => {
                        anyhow::bail!(
                            "'{name}' has no form for {}. Its forms are chosen by {choices}.",
                            given_options.join(" ")
                        )
                    }
                }
            }
        }
    }

    /// Returns the given options, by their names in the registry, with their values.
    fn options(&self) -> Vec<(&'static str, String)> {
        let Self { when_busy, requests, form, quorums, passing, sequential } = self;
        let options = [
            ("when-busy", when_busy.map(value_name)),
            ("requests", requests.map(value_name)),
            ("form", form.map(value_name)),
            ("quorums", quorums.map(value_name)),
            ("passing", passing.map(value_name)),
            // In the registry, --sequential is the option `asks` with a value.
            ("asks", sequential.then(|| "sequential".to_owned())),
        ];
        options.into_iter().filter_map(|(option, value)| Some((option, value?))).collect()
    }
}

/// Lists the options that choose among the forms of this algorithm; empty if it has only one form.
fn form_options(entry: Option<&Entry>) -> String {
    let Some(entry) = entry else { return String::new() };
    let algorithm = entry.algorithm();
    let choices =
        all().iter().chain(fixtures()).flat_map(Entry::variant_choices).filter(|choice| choice.algorithm == algorithm);
    let options: BTreeSet<_> = choices.map(|choice| format_option(choice.option, choice.value)).collect();
    options.into_iter().collect::<Vec<_>>().join(", ")
}

/// Returns an option as on the command line.
fn format_option(option: &str, value: &str) -> String {
    match (option, value) {
        ("asks", "sequential") => "--sequential".into(),
        _ => format!("--{option} {value}"),
    }
}

fn value_name<V: ValueEnum>(value: V) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
