//! Arguments of `quorate voting-risk`.

use super::parse_whole;
use clap::{Args, ValueEnum};
use quorate_journal::settings::Length;
use serde::Serialize;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    quorate voting-risk --replicas 32 --majority 24 --lifetime 3h --interval 10s\n  \
    quorate voting-risk --replicas 5 --majority 3 --lifetime 1m --interval 10s --json\n  \
    quorate voting-risk --replicas 9 --majority 7 --lifetime 1m --interval 12s --method draws\n\n\
    A voter that crashes restarts at once and has forgotten its vote. A node needs m votes of n to enter the critical \
    section. While it is there, a second node can enter as soon as 2m−n of its m voters have forgotten their votes. \
    Each voter forgets with probability p = interval / lifetime. See docs/voting.md.")]
pub(crate) struct VotingRiskArgs {
    /// Number of replicas of the resource, each with one voter: n.
    #[arg(long, value_name = "COUNT", default_value_t = 32, value_parser = parse_whole::<u64>)]
    pub(crate) replicas: u64,
    /// Number of votes that a node needs to enter: m, more than half of n [default: three quarters
    /// of n, rounded up]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u64>)]
    majority: Option<u64>,
    /// Mean time until a voter crashes.
    #[arg(long, value_name = "DURATION", default_value = "3h")]
    pub(crate) lifetime: Length,
    /// Time for which a node needs its votes: from the first to the last instant at which a
    /// competing request can arrive.
    #[arg(long, value_name = "DURATION", default_value = "10s")]
    pub(crate) interval: Length,
    /// Also simulate: always, never, or auto, which simulates if the probability is high enough to
    /// be observed.
    #[arg(long, value_enum, default_value = "auto")]
    pub(crate) simulate: SimulateArg,
    /// Method of the simulation: nodes runs 'voting' in the simulator with voters that crash and
    /// restart; draws, which is faster, only draws at random which voters have forgotten their
    /// votes [default: nodes for up to 100 replicas]
    #[arg(long, alias = "by", value_enum)]
    method: Option<MethodArg>,
    /// Number of simulated trials [default: 20000 with nodes and 100000 with draws]
    #[arg(long, value_name = "COUNT", value_parser = parse_whole::<u64>)]
    trials: Option<u64>,
    /// Random seed. The same seed repeats the same run.
    #[arg(long, default_value_t = 1, value_parser = parse_whole::<u64>)]
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
pub(crate) enum MethodArg {
    Nodes,
    Draws,
}

/// Largest group that is simulated with nodes by default; draws are faster.
const DEFAULT_MAX_NODES: u64 = 100;

/// Largest group that can be simulated with nodes.
const MAX_NODES: u64 = 1_000;

impl VotingRiskArgs {
    /// Returns the number of votes that a node needs.
    pub(crate) fn majority(&self) -> u64 {
        self.majority.unwrap_or_else(|| self.replicas - self.replicas / 4)
    }

    /// Returns the method of the simulation. Fails if the group is too large for it.
    pub(crate) fn method(&self) -> anyhow::Result<MethodArg> {
        let default = if self.replicas > DEFAULT_MAX_NODES { MethodArg::Draws } else { MethodArg::Nodes };
        let method = self.method.unwrap_or(default);
        anyhow::ensure!(
            method == MethodArg::Draws || self.replicas <= MAX_NODES,
            "--replicas must be at most {MAX_NODES} with --method nodes; got {}. Use --method draws.",
            self.replicas
        );
        Ok(method)
    }

    /// Returns the number of trials. Fails if the command line sets it to 0.
    pub(crate) fn trials(&self, method: MethodArg) -> anyhow::Result<u64> {
        let default = match method {
            MethodArg::Nodes => 20_000,
            MethodArg::Draws => 100_000,
        };
        anyhow::ensure!(
            self.trials != Some(0),
            "--trials must be at least 1; got 0. Use --simulate never to skip the simulation."
        );
        Ok(self.trials.unwrap_or(default))
    }
}
