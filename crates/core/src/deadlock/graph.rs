//! The wait-for graph with a complete search: the waits, the stuck agents, and the deadlocks.
//!
//! An agent that does not wait runs, and eventually releases what others wait for. So does every
//! agent whose needs such agents meet; all of these are free (the graph is *reduced*). The rest is
//! stuck. If all agents wait for all of several, a cycle is the cause; if all wait for any, a knot:
//! a set whose members can all reach each other and no others.
//!
//! This is the simple reference implementation, which the others are compared with: each search
//! reads the whole graph.

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

/// A set of agents that are stuck because of each other only.
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
    pub fn wait(&mut self, agent: N, need: Need<N>) {
        if !need.on().is_empty() {
            self.needs.entry(agent).or_default().push(need);
        }
    }

    /// Removes all needs of an agent.
    pub fn stop(&mut self, agent: &N) {
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
    pub fn members(&self) -> BTreeSet<&N> {
        let awaited = self.needs.values().flatten().flat_map(|need| need.on());
        self.needs.keys().chain(awaited).collect()
    }

    /// Returns the agents that wait forever unless one aborts. Takes time proportional to the
    /// graph, with a logarithmic factor.
    pub fn stuck(&self) -> BTreeSet<N> {
        let mut waiters: BTreeMap<&N, Vec<&N>> = BTreeMap::new();
        for (agent, need) in self.needs.iter().flat_map(|(agent, needs)| needs.iter().map(move |need| (agent, need))) {
            for awaited in need.on() {
                waiters.entry(awaited).or_default().push(agent);
            }
        }
        let mut stuck: BTreeSet<&N> = self.needs.keys().collect();
        let mut freed: Vec<&N> = waiters.keys().copied().filter(|agent| !stuck.contains(agent)).collect();
        while let Some(freed_agent) = freed.pop() {
            for agent in waiters.get(freed_agent).into_iter().flatten() {
                let is_free = self.needs(agent).iter().all(|need| need.is_met(|on| !stuck.contains(on)));
                if is_free && stuck.remove(agent) {
                    freed.push(agent);
                }
            }
        }
        stuck.into_iter().cloned().collect()
    }

    /// Returns all deadlocks, each with only the agents that cause it: all other stuck agents wait
    /// for one of these. If an agent has several reasons to be stuck, only one counts.
    pub fn deadlocks(&self) -> Vec<Deadlock<N>> {
        let stuck = self.stuck();
        let reasons: BTreeMap<&N, Vec<Need<N>>> =
            stuck.iter().map(|agent| (agent, self.reason(agent, &stuck))).collect();
        let successors = reasons
            .iter()
            .map(|(agent, needs)| (*agent, needs.iter().flat_map(Need::on).collect::<Vec<_>>()))
            .collect();
        terminal_components(&successors).into_iter().filter_map(|members| deadlock_among(&members, &reasons)).collect()
    }

    /// Returns the deadlock that an agent helps to cause: the cycle through it, if there is one,
    /// else the knot that it is in.
    pub fn deadlock_of(&self, agent: &N) -> Option<Deadlock<N>> {
        if let Some(cycle) = self.cycle(agent) {
            let next = cycle.iter().skip(1).chain(cycle.first()).cloned();
            let waits =
                cycle.iter().cloned().zip(next).map(|(agent, next)| (agent, Need::All([next].into()))).collect();
            return Some(Deadlock { shape: Shape::Cycle, waits });
        }
        self.deadlocks().into_iter().find(|deadlock| deadlock.waits.iter().any(|(member, _)| member == agent))
    }

    /// Returns a shortest cycle through an agent, along needs in which each single agent is
    /// required.
    pub fn cycle(&self, agent: &N) -> Option<Vec<N>> {
        let required = |agent: &N| self.needs(agent).iter().filter(|need| !need.is_any()).flat_map(Need::on);
        // Breadth-first search. The key of an entry was first reached from its value.
        let mut predecessors: BTreeMap<&N, &N> = BTreeMap::new();
        let (start, _) = self.needs.get_key_value(agent)?;
        let mut level = alloc::vec![start];
        while !level.is_empty() {
            let mut next_level = Vec::new();
            for agent in level {
                for awaited in required(agent) {
                    if awaited == start {
                        let mut cycle = alloc::vec![agent.clone()];
                        let mut last = agent;
                        while let Some(predecessor) = predecessors.get(last) {
                            cycle.push((*predecessor).clone());
                            last = predecessor;
                        }
                        cycle.reverse();
                        return Some(cycle);
                    }
                    if !predecessors.contains_key(awaited) {
                        predecessors.insert(awaited, agent);
                        next_level.push(awaited);
                    }
                }
            }
            level = next_level;
        }
        None
    }

    /// Returns the reason why an agent is stuck: a stuck agent that it requires, or else a need
    /// whose agents are all stuck.
    fn reason(&self, agent: &N, stuck: &BTreeSet<N>) -> Vec<Need<N>> {
        let needs = self.needs(agent);
        let required =
            needs.iter().filter(|need| !need.is_any()).flat_map(Need::on).find(|agent| stuck.contains(agent));
        if let Some(required) = required {
            return alloc::vec![Need::All([required.clone()].into())];
        }
        let unmet = needs.iter().find(|need| !need.is_met(|on| !stuck.contains(on)));
        unmet.cloned().into_iter().collect()
    }
}

/// Describes the deadlock of these members: a cycle in order, a knot in the order of its members.
fn deadlock_among<N: Ord + Clone>(members: &[&N], reasons: &BTreeMap<&N, Vec<Need<N>>>) -> Option<Deadlock<N>> {
    let needs = |agent: &N| reasons.get(agent).map_or(&[][..], Vec::as_slice);
    let is_cycle = members.iter().all(|agent| needs(agent).iter().map(|need| need.on().len()).sum::<usize>() == 1);
    let first = *members.iter().min()?;
    let mut waits = Vec::new();
    if is_cycle {
        let mut agent = first;
        loop {
            let need = needs(agent).first()?;
            waits.push((agent.clone(), need.clone()));
            agent = need.on().first()?;
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
