//! Arguments of `quorate check`.

use super::{CheckDemonstration, FormArgs, LinksArg, PictureArgs, parse_property, parse_whole, thread_count};
use crate::memory::{self, Memory};
use clap::Args;
use quorate_check::{Effort, Search, Setup, Timing, Walks};
use quorate_core::Time;
use quorate_journal::settings::{DurationRange, Length, Ppm};
use quorate_lab::Algorithm;
use quorate_lab::check::{BehaviorArgs, CheckSpec, CheckedFamily, DEFAULT_HORIZON, parse_fault_count};
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
    quorate check ricart-agrawala --nodes 3 --rounds 2\n  \
    quorate check ricart-agrawala-modulo --rounds unbounded\n  \
    quorate check central --crashes 1 --property exclusion\n  \
    quorate check central --views --crashes 1\n  \
    quorate check bully --nodes 3 --crashes 1 --starters lowest\n  \
    quorate check deadlock-and --nodes 2 --victim youngest\n  \
    quorate check toy-lease --nodes 2 --drift 1000ppm --trace broken.journal --svg broken.svg\n  \
    quorate check bully --nodes 3 --starters lowest --delay 1ms..4ms\n  \
    quorate check armies --delay 2ms..5ms\n  \
    quorate check local\n\n\
    Numbers of faults are upper bounds, at most 31 of a kind: with --loss 2, the check explores every way to lose \
    none, one or two messages.\n\n\
    Exit codes: 0 no property fails in any reachable state, 1 one fails, 2 the command is invalid,\n\
    3 no property failed, but the check did not finish.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Demonstrations instead of an algorithm",
    subcommand_value_name = "local|armies"
)]
pub(crate) struct CheckArgs {
    #[command(subcommand)]
    pub(crate) demonstration: Option<CheckDemonstration>,
    /// Name of the algorithm, as 'quorate list' shows it.
    #[arg(required = true)]
    algorithm: Option<String>,
    /// Number of nodes; their ids start at 1.
    #[arg(long, default_value = "3", value_parser = parse_whole::<usize>)]
    pub(crate) nodes: usize,
    /// Number of requests of each node (mutual exclusion) or process (deadlocks), or of elections
    /// that each starter starts: up to 255, or unbounded [default: 1]
    #[arg(long)]
    rounds: Option<Rounds>,
    /// Links deliver messages in the order in which they were sent (FIFO).
    #[arg(long)]
    fifo: bool,
    /// Maximum number of lost messages.
    #[arg(long, default_value = "0", value_parser = parse_fault_count)]
    loss: u8,
    /// Maximum number of messages delivered twice.
    #[arg(long, default_value = "0", value_parser = parse_fault_count)]
    duplicate: u8,
    /// Maximum number of crashes.
    #[arg(long, default_value = "0", value_parser = parse_fault_count)]
    crashes: u8,
    /// Maximum number of restarts of crashed nodes. Needs --crashes.
    #[arg(long, default_value = "0", value_parser = parse_fault_count)]
    restarts: u8,
    /// Maximum number of timers that fire while messages are in flight. All other timers wait
    /// until no message is in flight. If time is modelled, timers fire at their times instead.
    #[arg(long, alias = "hasty-timers", value_name = "COUNT", default_value = "0", value_parser = parse_fault_count)]
    early_timers: u8,
    /// Links below the algorithm: reliable adds a layer that retransmits and orders messages, bare
    /// adds none, and auto adds it if messages can be lost or duplicated and the algorithm does not
    /// tolerate loss.
    #[arg(long, value_enum, default_value = "auto")]
    links: LinksArg,
    /// Model time, with clocks that run fast or slow by this rate, such as 1000ppm.
    #[arg(long, value_name = "RATE", value_parser = parse_drift)]
    drift: Option<u32>,
    /// Model time up to this instant [default: 3s if --drift or --delay is given]
    #[arg(long, value_name = "DURATION")]
    until: Option<Length>,
    /// Model time, with messages that take between MIN and MAX. Without it messages take any time.
    #[arg(long, value_name = "MIN..MAX")]
    delay: Option<DurationRange>,
    /// Check only these properties, such as exclusion,served.
    #[arg(long = "property", value_name = "NAME", value_delimiter = ',', value_parser = parse_property)]
    properties: Option<Vec<String>>,
    /// Search depth first, which needs less memory. The default, breadth first, finds shortest
    /// counterexamples.
    #[arg(long, conflicts_with = "walks")]
    dfs: bool,
    /// Take this number of random walks instead of exploring every state.
    #[arg(long, value_name = "NUMBER", value_parser = parse_whole::<u64>)]
    walks: Option<u64>,
    /// Maximum number of steps of a random walk. Needs --walks.
    #[arg(long, default_value_t = 1_000, requires = "walks", value_parser = parse_whole::<u64>)]
    steps: u64,
    /// Random seed of the walks. Needs --walks.
    #[arg(long, default_value_t = 1, requires = "walks", value_parser = parse_whole::<u64>)]
    seed: u64,
    /// Do not skip orders that lead to the same states (no partial-order reduction).
    #[arg(long)]
    no_reduction: bool,
    /// Number of threads [default: the number of cores; 1 with --dfs, and with --stop-at-first
    /// together with --walks, because with several threads the figures would differ from run to
    /// run]
    #[arg(long, value_parser = parse_whole::<usize>)]
    threads: Option<usize>,
    /// Memory limit in GB [default: three quarters of the free memory]
    #[arg(long, value_name = "GB")]
    memory: Option<Memory>,
    /// Stop at the first violation.
    #[arg(long, alias = "first")]
    stop_at_first: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the journal of the shortest counterexample to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    behavior: BehaviorArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

impl CheckArgs {
    /// Returns the algorithm's name in the registry, with the form options applied.
    pub(crate) fn algorithm(&self) -> anyhow::Result<String> {
        let algorithm = self.algorithm.as_deref().unwrap_or_default();
        self.form.resolve(algorithm)
    }

    /// Returns the check that these arguments describe, for this algorithm.
    pub(crate) fn spec<F: CheckedFamily>(&self, algorithm: &str) -> anyhow::Result<CheckSpec<F>> {
        anyhow::ensure!(self.walks != Some(0), "--walks must be at least 1; got 0.");
        anyhow::ensure!(self.steps > 0, "--steps must be at least 1; got 0.");
        self.behavior.reject_other_families(F::FAMILY, algorithm)?;
        anyhow::ensure!(
            F::ACTS_IN_ROUNDS || self.rounds.is_none(),
            "--rounds has no effect on '{algorithm}'; --messages sets how many messages are multicast."
        );
        let Rounds(rounds) = self.rounds.unwrap_or(Rounds(Some(1)));
        Ok(CheckSpec {
            algorithm: Algorithm::named(algorithm)?,
            rounds,
            behavior: F::behavior(&self.behavior, self.nodes)?,
            links: self.links.into(),
            setup: Setup {
                nodes: self.nodes,
                has_fifo_links: self.fifo,
                losses: self.loss,
                duplicates: self.duplicate,
                crashes: self.crashes,
                restarts: self.restarts,
                early_timers: self.early_timers,
                timing: self.timing(),
                views: self.behavior.views(),
                ..Setup::new(self.nodes)
            },
            effort: Effort {
                search: self.search(),
                threads: thread_count(self.threads.or(self.is_nondeterministic().then_some(1)))?,
                memory_limit: self.memory.unwrap_or_else(memory::default_limit).capped_by_process_limit().bytes(),
                reduce: !self.no_reduction,
                stop_at_first: self.stop_at_first,
                properties: self.properties.clone(),
            },
        })
    }

    /// Returns the model of time if any option of it is given; `None` leaves time out of the model.
    fn timing(&self) -> Option<Timing> {
        let until = self.until.map(|Length(length)| length);
        let delay = self.delay.map(|DurationRange(span)| span);
        (self.drift.is_some() || until.is_some() || delay.is_some()).then(|| Timing {
            drift_ppm: self.drift.unwrap_or(0),
            until: Time::ZERO + until.unwrap_or(DEFAULT_HORIZON),
            delay,
        })
    }

    fn search(&self) -> Search {
        match self.walks {
            Some(count) => Search::Walks(Walks { count, steps: self.steps, seed: self.seed }),
            None if self.dfs => Search::Depth,
            None => Search::Breadth,
        }
    }

    /// Whether the figures of a search with several threads depend on how the threads are
    /// scheduled.
    fn is_nondeterministic(&self) -> bool {
        self.dfs || (self.walks.is_some() && self.stop_at_first)
    }
}

/// Value of `--rounds`: how often each client makes a request or starts an election; `None` if
/// unbounded.
#[derive(Clone, Copy)]
struct Rounds(Option<u8>);

impl FromStr for Rounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unbounded" {
            return Ok(Self(None));
        }
        let rounds: u64 = parse_whole(text).map_err(|error| format!("{error} For no limit use --rounds unbounded."))?;
        let max = u8::MAX;
        let too_many = || format!("the number must be between 1 and {max}, or unbounded; got {rounds}.");
        // The check itself rejects 0, with the reason.
        u8::try_from(rounds).map(|rounds| Self(Some(rounds))).map_err(|_| too_many())
    }
}

/// Parses a clock drift, in parts per million. The negative drift must be valid too, because clocks
/// run fast or slow by it.
pub(super) fn parse_drift(text: &str) -> Result<u32, String> {
    let drift: Ppm = text.parse().map_err(|error: quorate_journal::settings::SettingError| error.to_string())?;
    match u32::try_from(drift.parts()) {
        Ok(parts) if Ppm::new(-drift.parts()).is_some() => Ok(parts),
        Ok(_) | Err(_) => Err(format!(
            "'{}' is invalid: a drift must be between 0ppm and 999999ppm, because it applies in both directions.",
            text.escape_debug()
        )),
    }
}
