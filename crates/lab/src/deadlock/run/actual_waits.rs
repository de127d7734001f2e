//! The actual waits, as known to an observer that sees the events of all nodes without delay.
//!
//! A wait exists from the request until the other agent sends its answer, which may arrive later,
//! or until the waiter aborts.

use quorate_core::deadlock::{Agent, Deadlock, Event, Graph, Need, Report, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// The actual waits of all agents.
#[derive(Clone, Debug, Default)]
pub struct ActualWaits {
    waits: BTreeMap<Agent, (WaitId, Need<Agent>)>,
    /// The last grant of each resource: the holder, and the holder's wait that the grant answered.
    granted: BTreeMap<Agent, (Agent, WaitId)>,
    /// For each resource, the last of its waits whose holder has received the grant.
    received: BTreeMap<Agent, WaitId>,
    /// The last wait that each agent has aborted.
    aborted: BTreeMap<Agent, WaitId>,
}

impl ActualWaits {
    pub fn record_event(&mut self, event: &Event) {
        match event {
            Event::Waits { agent, wait_id, need } => {
                // If the holder aborted the wait that the grant answered, it will return the
                // resource immediately, so the resource does not wait for it.
                let is_void =
                    self.granted.get(agent).is_some_and(|(holder, answered)| self.has_aborted(*holder, *answered));
                if !(agent.is_resource() && is_void) {
                    self.waits.insert(*agent, (*wait_id, need.clone()));
                }
            }
            Event::Asked { by, wait_id, .. } if by.is_resource() => {
                self.received.insert(*by, *wait_id);
            }
            Event::Answers { agent, to, wait_id } => {
                if agent.is_resource() {
                    self.granted.insert(*agent, (*to, *wait_id));
                }
                self.record_answer(*agent, *to, *wait_id);
            }
            Event::Runs { agent, wait_id } => self.end_wait(*agent, *wait_id),
            Event::Cancelled { agent, wait_id } => self.abort(*agent, *wait_id),
            Event::Asked { .. }
            | Event::Withdrawn { .. }
            | Event::Deadlock(_)
            | Event::Victim { .. }
            | Event::Refused(_) => {}
        }
    }

    fn has_aborted(&self, agent: Agent, wait_id: WaitId) -> bool {
        self.aborted.get(&agent).is_some_and(|latest| wait_id <= *latest)
    }

    /// Records that an agent answers another one's wait.
    fn record_answer(&mut self, agent: Agent, to: Agent, wait_id: WaitId) {
        let Some((_, need)) = self.waits.get_mut(&to).filter(|(current_id, _)| *current_id == wait_id) else { return };
        let has_ended = match need {
            Need::All(awaited) => {
                awaited.retain(|other| *other != agent);
                awaited.is_empty()
            }
            Need::Any(awaited) => awaited.contains(&agent),
        };
        if has_ended {
            self.waits.remove(&to);
        }
    }

    fn end_wait(&mut self, agent: Agent, wait_id: WaitId) {
        if self.waits.get(&agent).is_some_and(|(current_id, _)| *current_id == wait_id) {
            self.waits.remove(&agent);
        }
    }

    /// Records that an agent aborts a wait. If a grant that answered this wait has not arrived yet,
    /// the agent will return the resource immediately, so the resource no longer waits for it.
    fn abort(&mut self, agent: Agent, wait_id: WaitId) {
        self.end_wait(agent, wait_id);
        self.aborted.insert(agent, wait_id);
        let Self { waits, granted, received, .. } = self;
        waits.retain(|resource, (current_id, _)| {
            let is_void =
                granted.get(resource) == Some(&(agent, wait_id)) && received.get(resource) != Some(current_id);
            !(resource.is_resource() && is_void)
        });
    }

    pub fn graph(&self) -> Graph<Agent> {
        let mut graph = Graph::new();
        for (agent, (_, need)) in &self.waits {
            graph.add_need(*agent, need.clone());
        }
        graph
    }

    /// The agents that wait forever unless a victim aborts.
    pub fn deadlocked_agents(&self) -> BTreeSet<Agent> {
        self.graph().stuck_agents()
    }

    pub fn is_waiting(&self, agent: Agent) -> bool {
        self.waits.contains_key(&agent)
    }

    /// At least one deadlock for each agent that helps to cause one; some occur more than once.
    /// [`Graph::deadlocks`] alone may omit a cycle whose agents also wait for another deadlock.
    pub fn deadlocks(&self) -> Vec<Deadlock<Agent>> {
        let graph = self.graph();
        let deadlocks_by_agent = self.waits.keys().filter_map(|agent| graph.deadlock_of(agent));
        graph.deadlocks().into_iter().chain(deadlocks_by_agent).collect()
    }

    /// Returns why a report does not describe an actual deadlock; `None` if it does.
    pub fn find_objection(&self, report: &Report) -> Option<String> {
        let objection_to = |agent: &Agent, wait_id: WaitId, need: &Need<Agent>| {
            let Some((current_id, current_need)) = self.waits.get(agent) else {
                return Some(format!("{agent} does not wait"));
            };
            if *current_id != wait_id {
                return Some(format!("{agent} has another wait by now"));
            }
            let no_longer_awaited = need.awaited().iter().find(|other| !current_need.awaited().contains(other));
            no_longer_awaited.map(|other| format!("{agent} does not wait for {other} any more"))
        };
        let first_objection = report.waits.iter().find_map(|wait| objection_to(&wait.agent, wait.wait_id, &wait.need));
        first_objection
            .or_else(|| self.can_some_continue(report).then(|| "the reported agents can continue".to_owned()))
    }

    /// Whether some reported agent could continue if only the reported waits existed. True for a
    /// report without waits.
    fn can_some_continue(&self, report: &Report) -> bool {
        let mut graph = Graph::new();
        for wait in &report.waits {
            // An agent that needs any of several is blocked only by all of them, even if the report
            // names only some.
            let need = match self.waits.get(&wait.agent) {
                Some((_, need)) if need.has_alternatives() => need.clone(),
                Some(_) | None => wait.need.clone(),
            };
            graph.add_need(wait.agent, need);
        }
        let stuck = graph.stuck_agents();
        report.waits.is_empty() || report.waits.iter().any(|wait| !stuck.contains(&wait.agent))
    }
}
