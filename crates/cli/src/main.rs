//! The `quorate` command: distributed coordination you can watch, prove and run.
//!
//! Exit codes: 0 all is well, 1 a property fails, 2 the command or its input is wrong.

mod args;
mod bench;
mod commands;
mod paint;
mod report;

use args::{Cli, Verb};
use clap::Parser;
use std::io::ErrorKind;
use std::process::ExitCode;

/// What a command found.
pub(crate) enum Verdict {
    Holds,
    Fails,
}

fn main() -> ExitCode {
    let result = match Cli::parse().verb {
        None => commands::demo::run(&args::DemoArgs::default()),
        Some(Verb::Demo(args)) => commands::demo::run(&args),
        Some(Verb::List(args)) => commands::list::run(&args),
        Some(Verb::Explain(args)) => commands::explain::run(&args),
        Some(Verb::Sim(args)) => commands::sim::run(&args),
        Some(Verb::Sweep(args)) => commands::sweep::run(&args),
        Some(Verb::Replay(args)) => commands::replay::run(&args),
        Some(Verb::Trace(args)) => commands::trace::run(&args),
        Some(Verb::Bench(args)) => bench::run(&args),
    };
    match result {
        Ok(Verdict::Holds) => ExitCode::SUCCESS,
        Ok(Verdict::Fails) => ExitCode::from(1),
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{} {error:#}", paint::warn("quorate:"));
            ExitCode::from(2)
        }
    }
}

/// Whoever read our output has seen enough, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    kind == Some(ErrorKind::BrokenPipe)
}
