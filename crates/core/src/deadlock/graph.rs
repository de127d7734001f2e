//! The wait-for graph with a complete search: the waits, the stuck agents, and the deadlocks.
//!
//! An agent that does not wait runs, and eventually releases what others wait for. So does an agent
//! whose needs are met once running agents have released: removing the agents that can run, one
//! after the other, *reduces* the graph. The agents that remain are **stuck**: they wait forever.
//! If every agent waits for all of the others that it names, the cause is a cycle; if every agent
//! waits for any one of them, it is a knot: a set whose members can all reach each other and no
//! others.
//!
//! A search may read the whole graph. Tests compare the detectors with this search.

mod components;
#[cfg(test)]
mod tests;

use super::Need;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use components::terminal_components;

/// A wait-for graph.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Graph<N> {
    needs: BTreeMap<N, Vec<Need<N>>>,
}

impl<N> Default for Graph<N> {
    fn default() -> Self {
        Self { needs: BTreeMap::new() }
    }
}

/// A set of agents that wait forever because of each other only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Deadlock<N> {
    pub shape: Shape,
    /// The agents with their needs within the deadlock. In a cycle, each agent waits for the next
    /// one, and the last for the first.
    pub waits: Vec<(N, Need<N>)>,
}

/// The structure of a deadlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Shape {
    /// Each agent waits for the next one.
    Cycle,
    /// Some agents wait for any of several, all of which are members.
    Knot,
}

impl Shape {
    /// Returns the name of the shape.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycle => "cycle",
            Self::Knot => "knot",
        }
    }
}

impl<N: Ord + Clone> Graph<N> {
    /// A graph without waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a need of an agent. An empty need has no effect.
    pub fn add_need(&mut self, agent: N, need: Need<N>) {
        if !need.awaited().is_empty() {
            self.needs.entry(agent).or_default().push(need);
        }
    }

    /// Removes all needs of an agent.
    pub fn remove_needs(&mut self, agent: &N) {
        self.needs.remove(agent);
    }

    /// Returns the waiting agents with their needs.
    pub fn waits(&self) -> impl Iterator<Item = (&N, &[Need<N>])> {
        self.needs.iter().map(|(agent, needs)| (agent, needs.as_slice()))
    }

    /// Returns the needs of an agent.
    pub fn needs(&self, agent: &N) -> &[Need<N>] {
        self.needs.get(agent).map_or(&[], Vec::as_slice)
    }

    /// Returns all agents that wait or are waited for.
    pub fn agents(&self) -> BTreeSet<&N> {
        let awaited = self.needs.values().flatten().flat_map(|need| need.awaited());
        self.needs.keys().chain(awaited).collect()
    }

    /// Returns the agents that wait forever unless one of them aborts. Takes O(d·n·log n) time for
    /// a graph of n edges, if no agent waits for more than d others.
    pub fn stuck_agents(&self) -> BTreeSet<N> {
        let mut waiters: BTreeMap<&N, Vec<&N>> = BTreeMap::new();
        for (agent, need) in self.needs.iter().flat_map(|(agent, needs)| needs.iter().map(move |need| (agent, need))) {
            for awaited in need.awaited() {
                waiters.entry(awaited).or_default().push(agent);
            }
        }
        let mut stuck: BTreeSet<&N> = self.needs.keys().collect();
        let mut freed: Vec<&N> = waiters.keys().copied().filter(|agent| !stuck.contains(agent)).collect();
        while let Some(freed_agent) = freed.pop() {
            for agent in waiters.get(freed_agent).into_iter().flatten() {
                let is_free = self.needs(agent).iter().all(|need| need.is_met(|awaited| !stuck.contains(awaited)));
                if is_free && stuck.remove(agent) {
                    freed.push(agent);
                }
            }
        }
        stuck.into_iter().cloned().collect()
    }

    /// Returns the deadlocks, each with only the agents that cause it: all other stuck agents wait
    /// for one of these, directly or through others. If an agent has several reasons to be stuck,
    /// only one counts, so a deadlock whose agents also wait for another one may be missing.
    pub fn deadlocks(&self) -> Vec<Deadlock<N>> {
        let stuck = self.stuck_agents();
        let reasons: BTreeMap<&N, Vec<Need<N>>> =
            stuck.iter().map(|agent| (agent, self.blocking_needs(agent, &stuck))).collect();
        let successors = reasons
            .iter()
            .map(|(agent, needs)| (*agent, needs.iter().flat_map(Need::awaited).collect::<Vec<_>>()))
            .collect();
        terminal_components(&successors).into_iter().filter_map(|members| deadlock_among(&members, &reasons)).collect()
    }

    /// Returns the deadlock that an agent helps to cause: a shortest cycle through it, if there is
    /// one, else the deadlock of [`Self::deadlocks`] that it is a member of. Returns `None` if
    /// there is neither, even if the agent is stuck.
    pub fn deadlock_of(&self, agent: &N) -> Option<Deadlock<N>> {
        if let Some(cycle) = self.shortest_cycle(agent) {
            let next = cycle.iter().skip(1).chain(cycle.first()).cloned();
            let waits =
                cycle.iter().cloned().zip(next).map(|(agent, next)| (agent, Need::All([next].into()))).collect();
            return Some(Deadlock { shape: Shape::Cycle, waits });
        }
        self.deadlocks().into_iter().find(|deadlock| deadlock.waits.iter().any(|(member, _)| member == agent))
    }

    /// Returns a shortest cycle through an agent, along needs that require each agent they name.
    pub fn shortest_cycle(&self, agent: &N) -> Option<Vec<N>> {
        let required =
            |agent: &N| self.needs(agent).iter().filter(|need| !need.has_alternatives()).flat_map(Need::awaited);
        // Breadth-first search. Maps each agent to the one from which the search first reached it.
        let mut reached_from: BTreeMap<&N, &N> = BTreeMap::new();
        let (start, _) = self.needs.get_key_value(agent)?;
        let mut level = alloc::vec![start];
        while !level.is_empty() {
            let mut next_level = Vec::new();
            for agent in level {
                for awaited in required(agent) {
                    if awaited == start {
                        let mut cycle = alloc::vec![agent.clone()];
                        let mut last = agent;
                        while let Some(predecessor) = reached_from.get(last) {
                            cycle.push((*predecessor).clone());
                            last = predecessor;
                        }
                        cycle.reverse();
                        return Some(cycle);
                    }
                    if !reached_from.contains_key(awaited) {
                        reached_from.insert(awaited, agent);
                        next_level.push(awaited);
                    }
                }
            }
            level = next_level;
        }
        None
    }

    /// Returns one need that keeps an agent stuck: a need for the first stuck agent among those
    /// that it requires, or else its first need whose agents are all stuck. Returns no need for an
    /// agent that is not stuck.
    fn blocking_needs(&self, agent: &N, stuck: &BTreeSet<N>) -> Vec<Need<N>> {
        let needs = self.needs(agent);
        let required = needs
            .iter()
            .filter(|need| !need.has_alternatives())
            .flat_map(Need::awaited)
            .find(|awaited| stuck.contains(awaited));
        if let Some(required) = required {
            return alloc::vec![Need::All([required.clone()].into())];
        }
        let unmet = needs.iter().find(|need| !need.is_met(|awaited| !stuck.contains(awaited)));
        unmet.cloned().into_iter().collect()
    }
}

/// Returns the deadlock of these members: a cycle along its waits, a knot sorted by member.
fn deadlock_among<N: Ord + Clone>(members: &[&N], reasons: &BTreeMap<&N, Vec<Need<N>>>) -> Option<Deadlock<N>> {
    let needs = |agent: &N| reasons.get(agent).map_or(&[][..], Vec::as_slice);
    let is_cycle = members.iter().all(|agent| needs(agent).iter().map(|need| need.awaited().len()).sum::<usize>() == 1);
    let first = *members.iter().min()?;
    let mut waits = Vec::new();
    if is_cycle {
        let mut agent = first;
        loop {
            let need = needs(agent).first()?;
            waits.push((agent.clone(), need.clone()));
            agent = need.awaited().first()?;
            if agent == first || waits.len() > members.len() {
                break;
            }
        }
        return Some(Deadlock { shape: Shape::Cycle, waits });
    }
    let mut sorted = members.to_vec();
    sorted.sort();
    for agent in sorted {
        waits.extend(needs(agent).iter().map(|need| (agent.clone(), need.clone())));
    }
    Some(Deadlock { shape: Shape::Knot, waits })
}
