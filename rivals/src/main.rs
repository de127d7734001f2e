//! The `quorate-rivals` command: runs another model checker once and prints its figures as one line
//! of JSON.
//!
//! Exit codes: 0 success, 2 invalid command or invalid figures.

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use quorate_rivals::{Job, Search, Variant, check};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

/// Stateright's model checker on models that Quorate checks.
#[derive(Parser)]
#[command(
    name = "quorate-rivals",
    version,
    after_help = "Example:\n  quorate-rivals check --checker dfs --threads 1 --nodes 3 --rounds 2"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Search the state space of Ricart–Agrawala (1981) with stateright, and print the figures as
    /// one line of JSON.
    Check(CheckArgs),
}

#[derive(Args)]
#[command(after_help = "Example:\n  quorate-rivals check --checker bfs --threads 2 --nodes 3 --rounds 2\n\n\
    Three nodes have 6445 states with one round and 506546 with two, in every model.\n\
    Compare release builds only.")]
struct CheckArgs {
    /// The search of stateright to use.
    #[arg(long, value_enum, default_value = "dfs")]
    checker: Search,
    /// Number of threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Number of nodes, from 2 to 5.
    #[arg(long, default_value_t = 3)]
    nodes: u8,
    /// Number of entries of each node, from 1 to 10.
    #[arg(long, default_value_t = 2)]
    rounds: u8,
    /// The model of the algorithm.
    #[arg(long, value_enum, default_value = "nodes")]
    model: Variant,
}

#[derive(Serialize)]
struct Line {
    rival: &'static str,
    model: Variant,
    checker: Search,
    threads: usize,
    nodes: u8,
    rounds: u8,
    states: usize,
    generated: usize,
    seconds: f64,
    bytes_per_state: Option<f64>,
}

fn main() -> ExitCode {
    let Verb::Check(args) = Cli::parse().verb;
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Ignore a failed write: there is no other place to report it.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &CheckArgs) -> anyhow::Result<()> {
    let CheckArgs { checker, threads, nodes, rounds, model } = *args;
    let outcome = check(Job { variant: model, search: checker, threads, nodes, rounds })?;
    let line = Line {
        rival: "stateright",
        model,
        checker,
        threads,
        nodes,
        rounds,
        states: outcome.states,
        generated: outcome.generated,
        seconds: rounded(outcome.seconds, 6),
        bytes_per_state: outcome.bytes_per_state.map(|bytes| rounded(bytes, 1)),
    };
    writeln!(io::stdout(), "{}", serde_json::to_string(&line)?).context("cannot write the output")
}

fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10_f64.powi(decimals);
    (value * scale).round() / scale
}
