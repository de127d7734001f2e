//! The options of `quorate voting-risk`.

use super::whole;
use clap::{Args, ValueEnum};
use quorate_journal::settings::Length;
use serde::Serialize;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate voting-risk --replicas 32 --majority 24 --lifetime 3h --interval 10s\n  \
    quorate voting-risk --replicas 5 --majority 3 --lifetime 1m --interval 10s --json\n  \
    quorate voting-risk --replicas 9 --majority 7 --lifetime 1m --interval 12s --by draws\n\n\
    A voter that crashes comes back at once and has forgotten whom it voted for. While a node is inside with the votes of a majority, a \
    rival gets in as soon as enough of these have forgotten: 2m−n of m, with m votes of n that let a node in. Each of them forgets with \
    probability p = interval / lifetime. docs/voting.md tells more.")]
pub(crate) struct VotingRiskArgs {
    /// How many replicas the resource has, each with a voter: n.
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = whole::<u64>)]
    pub(crate) replicas: u64,
    /// How many votes let a node in: m, more than half of n; three quarters unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>)]
    majority: Option<u64>,
    /// How long a voter lives on average before it crashes: T.
    #[arg(long, value_name = "LENGTH", default_value = "3h")]
    pub(crate) lifetime: Length,
    /// How long the votes are needed: from the first to the last moment at which a rival may ask.
    #[arg(long, value_name = "LENGTH", default_value = "10s")]
    pub(crate) interval: Length,
    /// Whether to simulate it too: where it is likely enough to be seen, always, or never.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) simulate: SimulateArg,
    /// By what: nodes of 'voting' in the simulator, whose voters crash and come back, or draws alone, which are faster; by nodes up
    /// to 100 replicas unless given.
    #[arg(long, value_enum)]
    by: Option<ByArg>,
    /// How often it is simulated; 20000 times with nodes, 100000 times with draws unless given.
    #[arg(long, value_name = "COUNT", value_parser = whole::<u64>)]
    trials: Option<u64>,
    /// What all chance follows from.
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>)]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SimulateArg {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ByArg {
    Nodes,
    Draws,
}

/// Groups beyond that take long to simulate, unless somebody insists.
const USUAL_NODES: u64 = 100;

/// However much somebody insists.
const MOST_NODES: u64 = 1_000;

impl VotingRiskArgs {
    /// How many votes let a node in. The deck takes three quarters of the replicas.
    pub(crate) fn majority(&self) -> u64 {
        self.majority.unwrap_or_else(|| self.replicas - self.replicas / 4)
    }

    /// By what it is simulated.
    pub(crate) fn by(&self) -> anyhow::Result<ByArg> {
        let by = self.by.unwrap_or(if self.replicas > USUAL_NODES { ByArg::Draws } else { ByArg::Nodes });
        anyhow::ensure!(
            by == ByArg::Draws || self.replicas <= MOST_NODES,
            "{} replicas are too many to simulate their nodes: at most {MOST_NODES}. Use --by draws.",
            self.replicas
        );
        Ok(by)
    }

    /// How often it is simulated.
    pub(crate) fn trials(&self, by: ByArg) -> anyhow::Result<u64> {
        let usual = match by {
            ByArg::Nodes => 20_000,
            ByArg::Draws => 100_000,
        };
        anyhow::ensure!(
            self.trials != Some(0),
            "Nothing is learnt from no trials: use --trials {usual}, or --simulate never."
        );
        Ok(self.trials.unwrap_or(usual))
    }
}
