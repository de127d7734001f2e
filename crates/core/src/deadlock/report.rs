//! What is told of a deadlock: who holds, who waits for what, and who gives up.

use super::{Agent, Deadlock, Graph, Need, Shape, Spell, Stake};
use alloc::vec::Vec;
use core::fmt;

/// One who waits, as a detector knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Wait {
    pub who: Agent,
    pub spell: Spell,
    pub need: Need<Agent>,
    pub stake: Stake,
}

/// A deadlock that was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Report {
    pub by: Agent,
    pub during: Spell,
    pub shape: Shape,
    /// Those who bring it about, each with what it waits for. In a cycle each waits for the next one.
    pub waits: Vec<Wait>,
    /// Who is to give up, if anybody is.
    pub victim: Option<Agent>,
}

impl Report {
    /// A cycle, each of whose members waits for the next one.
    pub fn cycle(by: &Wait, mut waits: Vec<Wait>) -> Self {
        let next: Vec<_> = waits.iter().skip(1).chain(waits.first()).map(|wait| wait.who).collect();
        for (wait, next) in waits.iter_mut().zip(next) {
            wait.need = Need::All([next].into());
        }
        Self { by: by.who, during: by.spell, shape: Shape::Cycle, waits, victim: None }
    }

    /// The deadlocks among these waits, found by somebody who waits.
    pub fn among(by: &Wait, waits: &[Wait]) -> Vec<Self> {
        let deadlocks = graph(waits).deadlocks().into_iter();
        deadlocks.map(|deadlock| Self::told(by, deadlock, waits)).collect()
    }

    /// The deadlock among these waits that somebody is one of those who bring it about, if there is any.
    pub fn around(by: &Wait, waits: &[Wait]) -> Option<Self> {
        graph(waits).deadlock_of(&by.who).map(|deadlock| Self::told(by, deadlock, waits))
    }

    fn told(by: &Wait, deadlock: Deadlock<Agent>, waits: &[Wait]) -> Self {
        let known = |(who, need)| Some(Wait { need, ..waits.iter().find(|wait| wait.who == who)?.clone() });
        let waits = deadlock.waits.into_iter().filter_map(known).collect();
        Self { by: by.who, during: by.spell, shape: deadlock.shape, waits, victim: None }
    }

    /// Who can give up: processes, not what they hold.
    pub fn candidates(&self) -> impl Iterator<Item = (Agent, Stake)> + '_ {
        self.waits.iter().filter(|wait| !wait.who.is_resource()).map(|wait| (wait.who, wait.stake))
    }

    /// How often somebody had waited who is part of it.
    pub fn spell(&self, who: Agent) -> Option<Spell> {
        self.waits.iter().find(|wait| wait.who == who).map(|wait| wait.spell)
    }

    /// Who holds a resource, if that is part of it.
    fn holder(&self, resource: Agent) -> Option<&Need<Agent>> {
        self.waits.iter().find(|wait| wait.who == resource && resource.is_resource()).map(|wait| &wait.need)
    }
}

fn graph(waits: &[Wait]) -> Graph<Agent> {
    let mut graph = Graph::new();
    for wait in waits {
        graph.wait(wait.who, wait.need.clone());
    }
    graph
}

/// `P0 waits for R1, which P2 holds; P2 waits for P0`.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let processes = self.waits.iter().filter(|wait| !wait.who.is_resource());
        for (place, Wait { who, need, .. }) in processes.enumerate() {
            let before = if place == 0 { "" } else { "; " };
            write!(f, "{before}{who} waits for {need}")?;
            if let [resource] = need.on()
                && let Some(holder) = self.holder(*resource)
            {
                write!(f, ", which {holder} holds")?;
            }
        }
        match self.victim {
            Some(victim) => write!(f, "; {victim} is to give up"),
            None => Ok(()),
        }
    }
}
