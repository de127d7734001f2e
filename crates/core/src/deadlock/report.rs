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
    /// The agent that found it.
    pub by: Agent,
    /// The number of that agent's wait, during which it found the deadlock.
    pub during: WaitId,
    pub shape: Shape,
    /// The waits that cause the deadlock. In a cycle, each agent waits for the next one.
    pub waits: Vec<Wait>,
    /// The process that must abort; `None` if deadlocks are only reported.
    pub victim: Option<Agent>,
}

impl Report {
    /// Reports a cycle, in which each agent waits for the next one.
    pub fn cycle(by: &Wait, mut waits: Vec<Wait>) -> Self {
        let next: Vec<_> = waits.iter().skip(1).chain(waits.first()).map(|wait| wait.agent).collect();
        for (wait, next) in waits.iter_mut().zip(next) {
            wait.need = Need::All([next].into());
        }
        Self { by: by.agent, during: by.wait_id, shape: Shape::Cycle, waits, victim: None }
    }

    /// Returns the deadlocks among these waits, as found by the agent of `by`.
    pub fn among(by: &Wait, waits: &[Wait]) -> Vec<Self> {
        let deadlocks = graph(waits).deadlocks().into_iter();
        deadlocks.map(|deadlock| Self::from_deadlock(by, deadlock, waits)).collect()
    }

    /// Returns the deadlock among these waits that the wait `by` is part of, if there is one.
    pub fn around(by: &Wait, waits: &[Wait]) -> Option<Self> {
        graph(waits).deadlock_of(&by.agent).map(|deadlock| Self::from_deadlock(by, deadlock, waits))
    }

    fn from_deadlock(by: &Wait, deadlock: Deadlock<Agent>, waits: &[Wait]) -> Self {
        let with_details =
            |(agent, need)| Some(Wait { need, ..waits.iter().find(|wait| wait.agent == agent)?.clone() });
        let waits = deadlock.waits.into_iter().filter_map(with_details).collect();
        Self { by: by.agent, during: by.wait_id, shape: deadlock.shape, waits, victim: None }
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
        graph.wait(wait.agent, wait.need.clone());
    }
    graph
}

/// `P0 waits for R1, which P2 holds; P2 waits for P0`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.waits.iter().filter(|wait| !wait.agent.is_resource());
        for (index, Wait { agent, need, .. }) in processes.enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{agent} waits for {need}")?;
            if let [resource] = need.on()
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
