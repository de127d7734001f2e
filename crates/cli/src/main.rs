//! The `quorate` command: simulates, checks, draws and runs algorithms of distributed coordination.
//!
//! Exit codes: 0 success; 1 a property fails, or the result is bad in another way
//! ([`CommandOutcome::Fails`]); 2 the command or its input is invalid, or an operation failed; 3 a
//! check or a run did not finish or is inconclusive; 130 a second signal ended the program
//! ([`interrupt`]).

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

use args::{Cli, CliCommand};
use clap::error::{ContextKind, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use quorate_journal::property;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// Result of a command, which determines the exit code.
pub(crate) enum CommandOutcome {
    /// The command succeeded, and no property it judged fails.
    Holds,
    /// A property fails, a figure misses its target, a graph has a deadlock, or a node had to stop.
    Fails,
    /// No property failed, but the command did not finish or could not decide.
    Unfinished,
}

impl CommandOutcome {
    pub(crate) fn from_holds(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Fails }
    }

    pub(crate) fn from_verdicts(verdicts: &[property::Verdict]) -> Self {
        if verdicts.iter().any(property::Verdict::is_violated) {
            Self::Fails
        } else if verdicts.iter().any(|verdict| verdict.holds.is_none()) {
            Self::Unfinished
        } else {
            Self::Holds
        }
    }
}

fn main() -> ExitCode {
    match parse_command_line().and_then(run) {
        Ok(CommandOutcome::Holds) => ExitCode::SUCCESS,
        Ok(CommandOutcome::Fails) => ExitCode::from(1),
        Ok(CommandOutcome::Unfinished) => ExitCode::from(3),
        Err(error) => {
            // Ignore a failed write: there is no other place to report it.
            let _ = writeln!(io::stderr(), "{} {}", paint::bad_on_stderr("error:"), format_error(&error));
            ExitCode::from(2)
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<CommandOutcome> {
    match cli.command {
        None => commands::demo::run(&args::DemoArgs::default()),
        Some(CliCommand::Demo(args)) => commands::demo::run(&args),
        Some(CliCommand::List(args)) => commands::list::run(&args),
        Some(CliCommand::Explain(args)) => commands::explain::run(&args),
        Some(CliCommand::Sim(args)) => commands::sim::run(&args),
        Some(CliCommand::Run(args)) => commands::live::run(&args),
        Some(CliCommand::Record(args)) => commands::record::run(&args),
        Some(CliCommand::Sweep(args)) => commands::sweep::run(&args),
        Some(CliCommand::Check(args)) => commands::check::run(&args),
        Some(CliCommand::Shrink(args)) => commands::shrink::run(&args),
        Some(CliCommand::Compare(args)) => commands::compare::run(&args),
        Some(CliCommand::Bank(args)) => commands::bank::run(&args),
        Some(CliCommand::VotingRisk(args)) => commands::voting_risk::run(&args),
        Some(CliCommand::WaitFor(args)) => commands::wait_for::run(&args),
        Some(CliCommand::Replay(args)) => commands::replay::run(&args),
        Some(CliCommand::Trace(args)) => commands::trace::run(&args),
        Some(CliCommand::Draw(args)) => commands::draw::run(&args),
        Some(CliCommand::Gallery(args)) => commands::gallery::run(&args),
        Some(CliCommand::Bench(args)) => bench::run(&args),
        Some(CliCommand::BenchServer(args)) => bench::run_server(&args),
        Some(CliCommand::Node(args)) => commands::node::run(&args),
        Some(CliCommand::Certs(args)) => commands::certs::run(&args),
    }
}

/// Parses the command line. A negative number is parsed as a value, not as an option, so an error
/// names the value.
fn parse_command_line() -> anyhow::Result<Cli> {
    let accept_negative_numbers = |arg: clap::Arg| {
        let takes_values = arg.get_action().takes_values();
        arg.allow_negative_numbers(takes_values)
    };
    let command = Cli::command().mut_subcommands(|subcommand| {
        let subcommand = subcommand.mut_args(accept_negative_numbers);
        subcommand.mut_subcommands(|nested| nested.mut_args(accept_negative_numbers))
    });
    let matches = command.try_get_matches().map_err(argument_error)?;
    args::reject_ignored_options(&matches)?;
    Cli::from_arg_matches(&matches).map_err(argument_error)
}

/// Returns the error of a value parser with the name of the option, and explains negative values
/// with a unit, such as `-1ms`, which clap takes for options. clap prints all other errors and
/// exits.
fn argument_error(error: clap::Error) -> anyhow::Error {
    let option = error.get(ContextKind::InvalidArg).map(|option| option.to_string());
    match (error.kind(), error.source(), option) {
        (ErrorKind::ValueValidation, Some(source), Some(option)) => {
            anyhow::anyhow!("{}: {source}", option.split(' ').next().unwrap_or_default())
        }
        (ErrorKind::UnknownArgument, _, Some(option)) if is_negative(&option) => anyhow::anyhow!(
            "'{option}' is not an option. Most values cannot be negative; one that can be must follow '=', as in \
             --from=-1ms."
        ),
        (_, _, _) => error.exit(),
    }
}

fn is_negative(argument: &str) -> bool {
    argument.strip_prefix('-').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

/// Returns the text of an error. An I/O error is always from writing to standard output or standard
/// error. Commands turn an I/O error of a file into a text of their own, and never add context to
/// it, because this function would find the I/O error inside.
fn format_error(error: &anyhow::Error) -> String {
    match error.downcast_ref::<io::Error>() {
        Some(error) => format!("cannot write the output: {error}."),
        None => format!("{error:#}"),
    }
}
