//! The requests of processes: to which agents, and when.

use quorate_core::Duration;
use quorate_core::deadlock::{Agent, Need};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::Latency;
use serde::{Deserialize, Serialize};

/// The behavior of the processes.
#[derive(Clone, Debug)]
pub struct Demand {
    pub processes: Vec<Agent>,
    pub resources: Vec<Agent>,
    /// Number of rounds per process.
    pub rounds: u64,
    /// Maximum number of processes in a request. Of resources, a process requests exactly this
    /// number in each round, or all if there are fewer.
    pub fan_out: usize,
    pub wait_mode: WaitMode,
    pub acquire_mode: AcquireMode,
    /// How long a process runs before it sends a request.
    pub think: Latency,
    /// How long a process holds what others wait for.
    pub hold: Latency,
    /// Probability in percent that a process sends a request in a round.
    pub request_percent: u64,
    /// Whether victims resolve deadlocks.
    pub has_victims: bool,
}

/// Whether a process waits for all requested processes or for any of them. Of resources, it always
/// waits for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitMode {
    #[default]
    All,
    Any,
    /// All or any, at random.
    Mixed,
}

/// How a process acquires resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcquireMode {
    /// One after the other, in an order that each process chooses at random.
    #[default]
    AnyOrder,
    /// One after the other, in the same order for all processes, so that no cycle can arise.
    InOrder,
    /// All in one request.
    AtOnce,
}

/// The random choices of the processes.
pub(super) struct Choices {
    demand: Demand,
    rng: SeededRng,
}

impl Choices {
    pub(super) fn new(demand: Demand, seed: u64) -> Self {
        Self { demand, rng: SeededRng::new(seed, Stream::Workload) }
    }

    pub(super) fn demand(&self) -> &Demand {
        &self.demand
    }

    pub(super) fn draw_think_time(&mut self) -> Duration {
        self.rng.draw_latency(self.demand.think)
    }

    pub(super) fn draw_hold_time(&mut self) -> Duration {
        self.rng.draw_latency(self.demand.hold)
    }

    /// Draws whether the process sends requests in a round.
    pub(super) fn draw_whether_to_request(&mut self) -> bool {
        self.rng.below(100) < self.demand.request_percent
    }

    /// The requests of one round. The process waits for each before it sends the next.
    pub(super) fn next_round(&mut self, agent: Agent) -> Vec<Need<Agent>> {
        let uses_resources = !self.demand.resources.is_empty();
        let mut candidates: Vec<_> = match uses_resources {
            true => self.demand.resources.clone(),
            false => self.demand.processes.iter().copied().filter(|other| *other != agent).collect(),
        };
        let maximum = self.demand.fan_out.clamp(1, candidates.len().max(1));
        let count = if uses_resources { maximum } else { 1 + self.rng.below(maximum as u64) as usize };
        let mut chosen = Vec::new();
        while chosen.len() < count && !candidates.is_empty() {
            let index = self.rng.below(candidates.len() as u64) as usize;
            chosen.push(candidates.swap_remove(index));
        }
        match (uses_resources, self.demand.acquire_mode) {
            (false, _) => self.make_need(chosen).into_iter().collect(),
            (true, AcquireMode::AtOnce) => vec![Need::All(chosen)],
            (true, AcquireMode::AnyOrder) => chosen.into_iter().map(|resource| Need::All(vec![resource])).collect(),
            (true, AcquireMode::InOrder) => {
                chosen.sort();
                chosen.into_iter().map(|resource| Need::All(vec![resource])).collect()
            }
        }
    }

    /// Returns the need for these agents; `None` if there are none.
    fn make_need(&mut self, chosen: Vec<Agent>) -> Option<Need<Agent>> {
        let is_any = match self.demand.wait_mode {
            WaitMode::All => false,
            WaitMode::Any => true,
            WaitMode::Mixed => self.rng.below(2) == 0,
        };
        (!chosen.is_empty()).then_some(if is_any { Need::Any(chosen) } else { Need::All(chosen) })
    }
}
