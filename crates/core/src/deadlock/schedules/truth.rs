//! The true wait-for graph, derived from events.

use crate::deadlock::{Agent, Event, Graph, Need, Report, Wait, WaitId};
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::String;
use std::vec::Vec;

#[derive(Default)]
pub(super) struct Truth {
    waits: BTreeMap<Agent, (WaitId, Need<Agent>)>,
    /// All edges so far: the waiter, its wait, and the awaited agent.
    pub(super) history: BTreeSet<(Agent, WaitId, Agent)>,
    /// The latest wait of each agent.
    latest: BTreeMap<Agent, WaitId>,
    /// The resources that are in transit to a process that has cancelled, and will be returned.
    returning: BTreeSet<Agent>,
    /// The waits for an agent that the agent knows of: the agent, the waiter, and its wait. For a
    /// process and a resource, the process holds the resource.
    held: BTreeSet<(Agent, Agent, WaitId)>,
    /// The waits that were reported as part of a deadlock.
    reported: BTreeSet<(Agent, WaitId)>,
}

impl Truth {
    /// Applies an event to the graph, or checks that it agrees with it.
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Waits { agent, wait_id, need } => {
                self.latest.insert(*agent, *wait_id);
                self.history.extend(need.on().iter().map(|awaited| (*agent, *wait_id, *awaited)));
                if !self.returning.remove(agent) {
                    self.waits.insert(*agent, (*wait_id, need.clone()));
                }
            }
            Event::Answers { agent, to, wait_id } => {
                let is_awaited = self.release(*agent, *to, *wait_id);
                if agent.is_resource() && !is_awaited {
                    self.returning.insert(*agent);
                }
            }
            Event::Asked { agent, by, wait_id } => {
                self.held.insert((*agent, *by, *wait_id));
            }
            Event::Runs { agent, .. } => drop(self.waits.remove(agent)),
            Event::GaveUp { agent, .. } => {
                self.waits.remove(agent);
                let held = &self.held;
                let is_in_transit = |resource: &Agent, wait_id: WaitId, need: &Need<Agent>| {
                    resource.is_resource() && need.on() == [*agent] && !held.contains(&(*agent, *resource, wait_id))
                };
                self.waits.retain(|resource, (wait_id, need)| !is_in_transit(resource, *wait_id, need));
            }
            Event::Deadlock(report) => {
                self.check_report(report)?;
                self.reported.extend(report.waits.iter().map(|wait| (wait.agent, wait.wait_id)));
            }
            Event::Victim { agent, report } => {
                self.check_report(report)?;
                if report.victim != Some(*agent) || report.wait_id(*agent).is_none() {
                    return Err(format!("{agent} is not part of the deadlock: {report}"));
                }
            }
            Event::Withdrawn { .. } | Event::Refused(_) => {}
        }
        Ok(())
    }

    /// Applies that `agent` has answered `to`. Returns whether that agent waited for it.
    fn release(&mut self, agent: Agent, to: Agent, wait_id: WaitId) -> bool {
        let Some((_, need)) = self.waits.get_mut(&to).filter(|(current, _)| *current == wait_id) else { return false };
        let is_awaited = need.on().contains(&agent);
        let is_met = match need {
            Need::All(awaited) => {
                awaited.retain(|other| *other != agent);
                awaited.is_empty()
            }
            Need::Any(_) => is_awaited,
        };
        if is_met {
            self.waits.remove(&to);
        }
        is_awaited
    }

    /// Checks that a report is true at this instant: all its waits exist, no member has a way out,
    /// and it has no needless members.
    fn check_report(&self, report: &Report) -> Result<(), String> {
        let members: BTreeSet<Agent> = report.waits.iter().map(|wait| wait.agent).collect();
        let exists = |wait: &Wait| {
            let Some((_, need)) = self.waits.get(&wait.agent).filter(|(wait_id, _)| *wait_id == wait.wait_id) else {
                return false;
            };
            let awaited = wait.need.on();
            let is_whole = !need.is_any() || need.on().len() == awaited.len();
            !awaited.is_empty()
                && is_whole
                && awaited.iter().all(|awaited| need.on().contains(awaited) && members.contains(awaited))
        };
        match report.waits.iter().find(|wait| !exists(wait)) {
            Some(wait) => Err(format!("a phantom: {report}; but {} has no such wait", wait.agent)),
            None if members.is_empty() => Err("a deadlock without members".into()),
            None => Ok(()),
        }
    }

    pub(super) fn wait_id(&self, agent: Agent) -> Option<WaitId> {
        self.waits.get(&agent).map(|(wait_id, _)| *wait_id)
    }

    /// Returns the number of an agent's latest wait, whether or not it has ended.
    pub(super) fn latest(&self, agent: Agent) -> Option<WaitId> {
        self.latest.get(&agent).copied()
    }

    fn graph(&self) -> Graph<Agent> {
        let mut graph = Graph::new();
        for (agent, (_, need)) in &self.waits {
            graph.wait(*agent, need.clone());
        }
        graph
    }

    pub(super) fn stuck(&self) -> Vec<Agent> {
        self.graph().stuck().into_iter().collect()
    }

    /// Returns a deadlock or a cycle of which no wait was ever reported, if there is one.
    pub(super) fn missed(&self) -> Option<Vec<Agent>> {
        let is_reported =
            |agent: &Agent| self.wait_id(*agent).is_some_and(|wait_id| self.reported.contains(&(*agent, wait_id)));
        let graph = self.graph();
        let cycles = self.waits.keys().filter_map(|agent| graph.cycle(agent));
        let deadlocks =
            graph.deadlocks().into_iter().map(|deadlock| deadlock.waits.into_iter().map(|(agent, _)| agent).collect());
        deadlocks.chain(cycles).find(|members: &Vec<Agent>| !members.iter().any(is_reported))
    }
}
