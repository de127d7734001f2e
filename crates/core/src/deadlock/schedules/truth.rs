//! The true wait-for graph, derived from events.

use crate::deadlock::{Agent, Event, Graph, Need, Report, Wait, WaitId};
use std::collections::{BTreeMap, BTreeSet};
use std::format;
use std::string::String;
use std::vec::Vec;

#[derive(Default)]
pub(super) struct Truth {
    /// The waits that exist now, each with the need that remains.
    waits: BTreeMap<Agent, (WaitId, Need<Agent>)>,
    /// All edges that `Waits` events have announced: the waiter, the number of its wait, and the
    /// awaited agent.
    pub(super) history: BTreeSet<(Agent, WaitId, Agent)>,
    /// The number of each agent's latest wait.
    latest_wait_ids: BTreeMap<Agent, WaitId>,
    /// The resources granted to a process that has cancelled its request. They do not wait for the
    /// process, because its site will return them.
    returning: BTreeSet<Agent>,
    /// The waits that the awaited agent has learnt of: the awaited agent, the waiter, and the
    /// number of the waiter's wait. If the awaited agent is a process and the waiter a resource,
    /// the process has received the resource.
    known_waits: BTreeSet<(Agent, Agent, WaitId)>,
    /// The waits that were reported as part of a deadlock.
    reported: BTreeSet<(Agent, WaitId)>,
}

impl Truth {
    /// Applies an event to the graph; checks that a report or victim agrees with the graph.
    pub(super) fn apply(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::Waits { agent, wait_id, need } => {
                self.latest_wait_ids.insert(*agent, *wait_id);
                self.history.extend(need.awaited().iter().map(|awaited| (*agent, *wait_id, *awaited)));
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
                self.known_waits.insert((*agent, *by, *wait_id));
            }
            Event::Runs { agent, .. } => drop(self.waits.remove(agent)),
            Event::Cancelled { agent, .. } => {
                self.waits.remove(agent);
                // A grant that is still in transit to the process will be returned, so the granted
                // resource does not wait for the process.
                let known_waits = &self.known_waits;
                let is_in_transit = |resource: &Agent, wait_id: WaitId, need: &Need<Agent>| {
                    resource.is_resource()
                        && need.awaited() == [*agent]
                        && !known_waits.contains(&(*agent, *resource, wait_id))
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
                    return Err(format!("{agent} is not the victim, or not part, of the deadlock: {report}"));
                }
            }
            Event::Withdrawn { .. } | Event::Refused(_) => {}
        }
        Ok(())
    }

    /// Removes the wait of `to` for `agent`, which has answered. Returns whether `to` waited for
    /// `agent` in its wait `wait_id`.
    fn release(&mut self, agent: Agent, to: Agent, wait_id: WaitId) -> bool {
        let Some((_, need)) = self.waits.get_mut(&to).filter(|(current_wait, _)| *current_wait == wait_id) else {
            return false;
        };
        let is_awaited = need.awaited().contains(&agent);
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

    /// Checks that a report is true at this instant: it has members, all its waits exist, each
    /// names at least one agent and only members, and a reported wait for any of several agents
    /// names all of those agents.
    fn check_report(&self, report: &Report) -> Result<(), String> {
        let members: BTreeSet<Agent> = report.waits.iter().map(|wait| wait.agent).collect();
        let exists = |wait: &Wait| {
            let Some((_, need)) = self.waits.get(&wait.agent).filter(|(wait_id, _)| *wait_id == wait.wait_id) else {
                return false;
            };
            let awaited = wait.need.awaited();
            let names_all = !need.has_alternatives() || need.awaited().len() == awaited.len();
            !awaited.is_empty()
                && names_all
                && awaited.iter().all(|awaited| need.awaited().contains(awaited) && members.contains(awaited))
        };
        match report.waits.iter().find(|wait| !exists(wait)) {
            Some(wait) => Err(format!("a phantom: {report}; but {} has no such wait", wait.agent)),
            None if members.is_empty() => Err("a deadlock without members".into()),
            None => Ok(()),
        }
    }

    pub(super) fn current_wait_id(&self, agent: Agent) -> Option<WaitId> {
        self.waits.get(&agent).map(|(wait_id, _)| *wait_id)
    }

    /// Returns the number of an agent's latest wait, even if that wait has ended.
    pub(super) fn latest_wait_id(&self, agent: Agent) -> Option<WaitId> {
        self.latest_wait_ids.get(&agent).copied()
    }

    fn graph(&self) -> Graph<Agent> {
        let mut graph = Graph::new();
        for (agent, (_, need)) in &self.waits {
            graph.add_need(*agent, need.clone());
        }
        graph
    }

    pub(super) fn stuck_agents(&self) -> Vec<Agent> {
        self.graph().stuck_agents().into_iter().collect()
    }

    /// Returns the members of a deadlock or cycle in which no wait was ever reported, if there is
    /// one.
    pub(super) fn find_unreported(&self) -> Option<Vec<Agent>> {
        let is_reported = |agent: &Agent| {
            self.current_wait_id(*agent).is_some_and(|wait_id| self.reported.contains(&(*agent, wait_id)))
        };
        let graph = self.graph();
        let cycles = self.waits.keys().filter_map(|agent| graph.shortest_cycle(agent));
        let deadlocks =
            graph.deadlocks().into_iter().map(|deadlock| deadlock.waits.into_iter().map(|(agent, _)| agent).collect());
        deadlocks.chain(cycles).find(|members: &Vec<Agent>| !members.iter().any(is_reported))
    }
}
