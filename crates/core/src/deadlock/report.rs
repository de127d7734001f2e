//! The report of a deadlock: its waits, and the victim.

use super::{AbortCost, Agent, Deadlock, Graph, Need, Shape, WaitId};
use alloc::vec::Vec;
use core::fmt;

/// A wait of an agent, as a detector knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wait {
    #[cfg_attr(feature = "serde", serde(rename = "who"))]
    pub agent: Agent,
    #[cfg_attr(feature = "serde", serde(rename = "spell"))]
    pub wait_id: WaitId,
    pub need: Need<Agent>,
    #[cfg_attr(feature = "serde", serde(rename = "stake"))]
    pub abort_cost: AbortCost,
}

/// The report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    /// The agent that found the deadlock, which may be outside it. If the central detector found
    /// it, the agent of the first entry of this report's `waits`.
    #[cfg_attr(feature = "serde", serde(rename = "by"))]
    pub finder: Agent,
    /// The number of `finder`'s wait when the deadlock was found.
    #[cfg_attr(feature = "serde", serde(rename = "during"))]
    pub finder_wait_id: WaitId,
    pub shape: Shape,
    /// The waits that cause the deadlock. In a cycle, each agent waits for the next one.
    pub waits: Vec<Wait>,
    /// The process that must abort; `None` until the resolver has chosen it, and if deadlocks are
    /// only reported.
    pub victim: Option<Agent>,
}

impl Report {
    /// Returns the report of a cycle through these waits. Narrows the need of each wait to the
    /// agent of the next one.
    pub fn cycle(finder: &Wait, mut waits: Vec<Wait>) -> Self {
        let next: Vec<_> = waits.iter().skip(1).chain(waits.first()).map(|wait| wait.agent).collect();
        for (wait, next) in waits.iter_mut().zip(next) {
            wait.need = Need::All([next].into());
        }
        Self { finder: finder.agent, finder_wait_id: finder.wait_id, shape: Shape::Cycle, waits, victim: None }
    }

    /// Returns a report for each deadlock that [`Graph::deadlocks`] finds among these waits. A
    /// deadlock whose agents also wait for another deadlock may be missing.
    pub fn all_among(finder: &Wait, waits: &[Wait]) -> Vec<Self> {
        let deadlocks = graph(waits).deadlocks().into_iter();
        deadlocks.map(|deadlock| Self::from_deadlock(finder, deadlock, waits)).collect()
    }

    /// Returns a report of the deadlock among these waits that the finder is part of, if there is
    /// one.
    pub fn around_finder(finder: &Wait, waits: &[Wait]) -> Option<Self> {
        graph(waits).deadlock_of(&finder.agent).map(|deadlock| Self::from_deadlock(finder, deadlock, waits))
    }

    fn from_deadlock(finder: &Wait, deadlock: Deadlock<Agent>, waits: &[Wait]) -> Self {
        let with_details =
            |(agent, need)| Some(Wait { need, ..waits.iter().find(|wait| wait.agent == agent)?.clone() });
        let waits = deadlock.waits.into_iter().filter_map(with_details).collect();
        Self { finder: finder.agent, finder_wait_id: finder.wait_id, shape: deadlock.shape, waits, victim: None }
    }

    /// Returns the possible victims with their abort costs: processes, not resources.
    pub fn candidates(&self) -> impl Iterator<Item = (Agent, AbortCost)> + '_ {
        self.waits.iter().filter(|wait| !wait.agent.is_resource()).map(|wait| (wait.agent, wait.abort_cost))
    }

    /// Returns the number of an agent's wait, if the agent is part of the deadlock.
    pub fn wait_id(&self, agent: Agent) -> Option<WaitId> {
        self.waits.iter().find(|wait| wait.agent == agent).map(|wait| wait.wait_id)
    }

    /// Returns the need of a resource, which names its holder, if the resource is part of the
    /// deadlock.
    fn holder(&self, resource: Agent) -> Option<&Need<Agent>> {
        self.waits.iter().find(|wait| wait.agent == resource && resource.is_resource()).map(|wait| &wait.need)
    }
}

fn graph(waits: &[Wait]) -> Graph<Agent> {
    let mut graph = Graph::new();
    for wait in waits {
        graph.add_need(wait.agent, wait.need.clone());
    }
    graph
}

/// `P1 waits for R2, which P3 holds; P3 waits for P1`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.waits.iter().filter(|wait| !wait.agent.is_resource());
        for (index, Wait { agent, need, .. }) in processes.enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{agent} waits for {need}")?;
            if let [resource] = need.awaited()
                && let Some(holder) = self.holder(*resource)
            {
                write!(f, ", which {holder} holds")?;
            }
        }
        match self.victim {
            Some(victim) => write!(f, "; {victim} must abort"),
            None => Ok(()),
        }
    }
}
