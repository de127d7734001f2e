//! What users type after `quorate check`.

use super::{FormArgs, LinksArg, LocalCheck, PictureArgs, threads, whole};
use crate::commands::local;
use crate::memory::{self, Memory};
use clap::Args;
use quorate_check::{Effort, Search, Setup, Timing, Walks};
use quorate_core::Time;
use quorate_journal::settings::{Between, Length, Ppm};
use quorate_lab::Algorithm;
use quorate_lab::check::{CheckSpec, CheckedFamily, HabitArgs, USUAL_HORIZON, few};
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
    Faults are bounds, at most 31 of a kind: with --loss 2, every way to lose none, one or two messages is tried.\n\
    Exit codes: 0 all properties hold in every reachable state, 1 one fails, 2 the command is wrong,\n\
    3 nothing fails so far, but the check is not finished.",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Without an algorithm of a group",
    subcommand_value_name = "local|armies"
)]
pub(crate) struct CheckArgs {
    #[command(subcommand)]
    pub(crate) local: Option<LocalCheck>,
    /// The algorithm's name, as `quorate list` shows it.
    #[arg(required = true)]
    algorithm: Option<String>,
    /// How many nodes there are, numbered from 1.
    #[arg(long, default_value = "3", value_parser = few)]
    pub(crate) nodes: u8,
    /// How many requests each node makes, how many elections each starter starts, or how often each process asks: up to 255, or unbounded; 1 unless given.
    #[arg(long)]
    rounds: Option<Rounds>,
    /// Links keep the order of messages.
    #[arg(long)]
    fifo: bool,
    /// How many messages may be lost.
    #[arg(long, default_value = "0", value_parser = few, hide_default_value = true)]
    loss: u8,
    /// How many messages may arrive twice.
    #[arg(long, default_value = "0", value_parser = few, hide_default_value = true)]
    duplicate: u8,
    /// How many nodes may crash.
    #[arg(long, default_value = "0", value_parser = few, hide_default_value = true)]
    crashes: u8,
    /// How many crashed nodes may come back.
    #[arg(long, default_value = "0", value_parser = few, hide_default_value = true)]
    restarts: u8,
    /// How many timers may fire although messages are under way; the others wait until none are.
    #[arg(long, default_value = "0", value_parser = few, hide_default_value = true)]
    hasty_timers: u8,
    /// Whether a layer that repeats and orders messages is put under the algorithm; auto: where messages can be lost.
    #[arg(long, value_enum, default_value = "auto")]
    links: LinksArg,
    /// Time counts, and every clock may be off by this much, such as 1000ppm, either way.
    #[arg(long, value_name = "PPM", value_parser = drift)]
    drift: Option<u32>,
    /// Time counts, and is followed so far; 3s unless given.
    #[arg(long, value_name = "LENGTH")]
    until: Option<Length>,
    /// Time counts, and every message takes at least and at most so long; any time unless given.
    #[arg(long, value_name = "MIN..MAX")]
    delay: Option<Between>,
    /// Judge only these properties, such as exclusion,served.
    #[arg(long = "property", value_name = "NAME", value_delimiter = ',')]
    properties: Option<Vec<String>>,
    /// Search depth first, which takes less memory, instead of breadth first, which finds shortest counterexamples.
    #[arg(long, conflicts_with = "walks")]
    dfs: bool,
    /// Take so many random walks instead of searching everything.
    #[arg(long, value_name = "NUMBER", value_parser = whole::<u64>)]
    walks: Option<u64>,
    /// How many steps a random walk takes at most.
    #[arg(long, default_value_t = 1_000, requires = "walks", value_parser = whole::<u64>)]
    steps: u64,
    /// What the chance of random walks follows from.
    #[arg(long, default_value_t = 1, requires = "walks", value_parser = whole::<u64>)]
    seed: u64,
    /// Follow orders that make no difference too.
    #[arg(long)]
    no_reduction: bool,
    /// How many threads search; all cores unless given, but one where more would leave the outcome to chance (--dfs,
    /// and --walks with --first).
    #[arg(long, value_parser = whole::<usize>)]
    threads: Option<usize>,
    /// How much memory it may take, in GB; three quarters of what is free unless given.
    #[arg(long, value_name = "GB")]
    memory: Option<Memory>,
    /// Stop at the first breach.
    #[arg(long)]
    first: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the journal of the shortest counterexample to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    habits: HabitArgs,
    #[command(flatten)]
    pub(crate) picture: PictureArgs,
}

impl CheckArgs {
    /// The algorithm that is meant, as the registry calls it.
    pub(crate) fn algorithm(&self) -> anyhow::Result<String> {
        let algorithm = self.algorithm.as_deref().unwrap_or_default();
        local::refuse(algorithm)?;
        self.form.resolve(algorithm)
    }

    /// The check of an algorithm that these arguments describe.
    pub(crate) fn spec<F: CheckedFamily>(&self, algorithm: &str) -> anyhow::Result<CheckSpec<F>> {
        anyhow::ensure!(self.walks != Some(0), "A check by random walks needs at least one: --walks 1000.");
        anyhow::ensure!(self.steps > 0, "A random walk needs at least one step: --steps 1000.");
        self.habits.refuse_others(F::FAMILY, algorithm)?;
        anyhow::ensure!(
            F::IN_ROUNDS || self.rounds.is_none(),
            "--rounds means nothing to '{algorithm}': --messages says how much is sent."
        );
        let Rounds(rounds) = self.rounds.unwrap_or(Rounds(Some(1)));
        Ok(CheckSpec {
            algorithm: Algorithm::named(algorithm)?,
            rounds,
            habits: F::habits(&self.habits, self.nodes.into())?,
            links: self.links.into(),
            setup: Setup {
                nodes: self.nodes.into(),
                fifo: self.fifo,
                losses: self.loss,
                duplicates: self.duplicate,
                crashes: self.crashes,
                restarts: self.restarts,
                hasty_timers: self.hasty_timers,
                timing: self.timing(),
                views: self.habits.views(),
                ..Setup::new(self.nodes.into())
            },
            effort: Effort {
                search: self.search(),
                threads: threads(self.threads.or(self.is_up_to_chance().then_some(1)), "check")?,
                memory: self.memory.unwrap_or_else(memory::usual).within_limits().bytes(),
                reduce: !self.no_reduction,
                first: self.first,
                properties: self.properties.clone(),
            },
        })
    }

    /// Time counts as soon as anything is said about it.
    fn timing(&self) -> Option<Timing> {
        let until = self.until.map(|Length(length)| length);
        let delay = self.delay.map(|Between(span)| span);
        (self.drift.is_some() || until.is_some() || delay.is_some()).then(|| Timing {
            drift_ppm: self.drift.unwrap_or(0),
            until: Time::ZERO + until.unwrap_or(USUAL_HORIZON),
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
}

impl CheckArgs {
    /// Whether the figures of several threads depend on which of them is first.
    fn is_up_to_chance(&self) -> bool {
        self.dfs || (self.walks.is_some() && self.first)
    }
}

/// How many requests each node makes, if there is an end to them.
#[derive(Clone, Copy)]
struct Rounds(Option<u8>);

impl FromStr for Rounds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "unbounded" {
            return Ok(Self(None));
        }
        let rounds: u64 = whole(text).map_err(|error| format!("{error} Without an end it is --rounds unbounded."))?;
        let most = u8::MAX;
        let told = || format!("{rounds} rounds are too many: at most {most} are counted. Or use --rounds unbounded.");
        u8::try_from(rounds).map(|rounds| Self(Some(rounds))).map_err(|_| told())
    }
}

/// By how much clocks are off, in millionths.
pub(super) fn drift(text: &str) -> Result<u32, String> {
    let drift: Ppm = text.parse().map_err(|error: quorate_journal::settings::SettingError| error.to_string())?;
    match u32::try_from(drift.parts()) {
        Ok(parts) if Ppm::new(-drift.parts()).is_some() => Ok(parts),
        Ok(_) | Err(_) => Err(format!(
            "'{}' does not fit: every clock is tried both too fast and too slow by it, so write 0ppm to 999999ppm.",
            text.escape_debug()
        )),
    }
}
