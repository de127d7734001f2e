//! The `quorate` command: distributed coordination you can watch, prove and run.
//!
//! Exit codes: 0 all is well, 1 a property fails, 2 the command or its input is wrong, 3 a check or a run
//! did not finish, or cannot say.

mod args;
mod bench;
mod commands;
mod interrupt;
mod memory;
mod output;
mod paint;
mod picture;
mod progress;
mod report;

use args::{Cli, Verb};
use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use quorate_journal::property;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// What a command found.
pub(crate) enum Verdict {
    Holds,
    Fails,
    /// Nothing fails so far, but not everything was looked at.
    Unfinished,
}

impl Verdict {
    pub(crate) fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    pub(crate) fn of_run(verdicts: &[property::Verdict]) -> Self {
        if verdicts.iter().any(property::Verdict::is_breach) {
            Self::Fails
        } else if verdicts.iter().any(|verdict| verdict.holds.is_none()) {
            Self::Unfinished
        } else {
            Self::Holds
        }
    }
}

fn main() -> ExitCode {
    match parse().and_then(run) {
        Ok(Verdict::Holds) => ExitCode::SUCCESS,
        Ok(Verdict::Fails) => ExitCode::from(1),
        Ok(Verdict::Unfinished) => ExitCode::from(3),
        Err(error) => {
            // Nobody is left to tell if this fails too.
            let _ = writeln!(io::stderr(), "{} {}", paint::warn("error:"), sentence(&error));
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<Verdict> {
    match cli.verb {
        None => commands::demo::run(&args::DemoArgs::default()),
        Some(Verb::Demo(args)) => commands::demo::run(&args),
        Some(Verb::List(args)) => commands::list::run(&args),
        Some(Verb::Explain(args)) => commands::explain::run(&args),
        Some(Verb::Sim(args)) => commands::sim::run(&args),
        Some(Verb::Run(args)) => commands::live::run(&args),
        Some(Verb::Record(args)) => commands::record::run(&args),
        Some(Verb::Sweep(args)) => commands::sweep::run(&args),
        Some(Verb::Check(args)) => commands::check::run(&args),
        Some(Verb::Shrink(args)) => commands::shrink::run(&args),
        Some(Verb::Compare(args)) => commands::compare::run(&args),
        Some(Verb::Bank(args)) => commands::bank::run(&args),
        Some(Verb::VotingRisk(args)) => commands::voting_risk::run(&args),
        Some(Verb::WaitFor(args)) => commands::wait_for::run(&args),
        Some(Verb::Replay(args)) => commands::replay::run(&args),
        Some(Verb::Trace(args)) => commands::trace::run(&args),
        Some(Verb::Draw(args)) => commands::draw::run(&args),
        Some(Verb::Gallery(args)) => commands::gallery::run(&args),
        Some(Verb::Bench(args)) => bench::run(&args),
        Some(Verb::Node(args)) => commands::node::run(&args),
        Some(Verb::Certs(args)) => commands::certs::run(&args),
    }
}

/// What was typed. A negative number is a value, not an option, so that the complaint names the value.
fn parse() -> anyhow::Result<Cli> {
    let negative = |arg: clap::Arg| {
        let takes = arg.get_action().takes_values();
        arg.allow_negative_numbers(takes)
    };
    let command = Cli::command().mut_subcommands(|verb| {
        let verb = verb.mut_args(negative);
        verb.mut_subcommands(|part| part.mut_args(negative))
    });
    let matches = command.try_get_matches().map_err(complaint)?;
    args::refuse_ignored(&matches)?;
    Cli::from_arg_matches(&matches).map_err(complaint)
}

/// A setting says in a sentence of its own what is wrong with its value; everything else is for clap to tell.
fn complaint(error: clap::Error) -> anyhow::Error {
    let option = error.get(ContextKind::InvalidArg).map(|option| option.to_string());
    match (error.kind(), error.source(), option) {
        (ErrorKind::ValueValidation, Some(sentence), Some(option)) => {
            anyhow::anyhow!("{}: {sentence}", option.split(' ').next().unwrap_or_default())
        }
        (_, _, _) => error.exit(),
    }
}

/// Files speak for themselves; what is left is standard output.
fn sentence(error: &anyhow::Error) -> String {
    match error.downcast_ref::<io::Error>() {
        Some(error) => format!("The output could not be written: {error}."),
        None => format!("{error:#}"),
    }
}
