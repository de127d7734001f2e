//! The actual waits, as an observer of all events at once sees them.
//!
//! A wait exists from the request until the other agent answers, even if the answer has not arrived
//! yet.

use quorate_core::deadlock::{Agent, Deadlock, Event, Graph, Need, Report, WaitId};
use std::collections::{BTreeMap, BTreeSet};

/// The actual waits of all agents.
#[derive(Clone, Debug, Default)]
pub struct ActualWaits {
    waits: BTreeMap<Agent, (WaitId, Need<Agent>)>,
    /// The last grant of each resource: the holder, and the holder's wait that the grant answered.
    granted: BTreeMap<Agent, (Agent, WaitId)>,
    received: BTreeMap<Agent, WaitId>,
    given_up: BTreeMap<Agent, WaitId>,
}

impl ActualWaits {
    pub fn record_event(&mut self, event: &Event) {
        match event {
            Event::Waits { agent, wait_id, need } => {
                // A grant to a process that has aborted returns automatically.
                let is_void = self.granted.get(agent).is_some_and(|(holder, asked)| self.has_given_up(*holder, *asked));
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
            Event::GaveUp { agent, wait_id } => self.abort(*agent, *wait_id),
            Event::Asked { .. }
            | Event::Withdrawn { .. }
            | Event::Deadlock(_)
            | Event::Victim { .. }
            | Event::Refused(_) => {}
        }
    }

    fn has_given_up(&self, agent: Agent, wait_id: WaitId) -> bool {
        self.given_up.get(&agent).is_some_and(|latest| wait_id <= *latest)
    }

    /// Records that an agent answers another one's wait.
    fn record_answer(&mut self, agent: Agent, to: Agent, wait_id: WaitId) {
        let Some((_, need)) = self.waits.get_mut(&to).filter(|(waits, _)| *waits == wait_id) else { return };
        let has_ended = match need {
            Need::All(on) => {
                on.retain(|other| *other != agent);
                on.is_empty()
            }
            Need::Any(on) => on.contains(&agent),
        };
        if has_ended {
            self.waits.remove(&to);
        }
    }

    fn end_wait(&mut self, agent: Agent, wait_id: WaitId) {
        if self.waits.get(&agent).is_some_and(|(waits, _)| *waits == wait_id) {
            self.waits.remove(&agent);
        }
    }

    /// Records that an agent aborts a wait.
    fn abort(&mut self, agent: Agent, wait_id: WaitId) {
        self.end_wait(agent, wait_id);
        self.given_up.insert(agent, wait_id);
        let Self { waits, granted, received, .. } = self;
        waits.retain(|resource, (own, _)| {
            let is_void = granted.get(resource) == Some(&(agent, wait_id)) && received.get(resource) != Some(own);
            !(resource.is_resource() && is_void)
        });
    }

    pub fn graph(&self) -> Graph<Agent> {
        let mut graph = Graph::new();
        for (agent, (_, need)) in &self.waits {
            graph.wait(*agent, need.clone());
        }
        graph
    }

    /// The agents that wait forever unless a victim aborts.
    pub fn deadlocked_agents(&self) -> BTreeSet<Agent> {
        self.graph().stuck()
    }

    pub fn waits(&self, agent: Agent) -> bool {
        self.waits.contains_key(&agent)
    }

    /// Every deadlock, and every cycle of agents that wait for all, including one that is hidden
    /// behind another deadlock.
    pub fn deadlocks(&self) -> Vec<Deadlock<Agent>> {
        let graph = self.graph();
        let behind = self.waits.keys().filter_map(|agent| graph.deadlock_of(agent));
        graph.deadlocks().into_iter().chain(behind).collect()
    }

    /// Returns why a report does not describe an actual deadlock; `None` if it does.
    pub fn objection(&self, report: &Report) -> Option<String> {
        let wrong = |agent: &Agent, wait_id: WaitId, need: &Need<Agent>| {
            let Some((own, on)) = self.waits.get(agent) else { return Some(format!("{agent} does not wait")) };
            if *own != wait_id {
                return Some(format!("{agent} has another wait by now"));
            }
            let gone = need.on().iter().find(|other| !on.on().contains(other));
            gone.map(|other| format!("{agent} does not wait for {other} any more"))
        };
        let untrue = report.waits.iter().find_map(|wait| wrong(&wait.agent, wait.wait_id, &wait.need));
        untrue.or_else(|| self.is_no_deadlock(report).then(|| "the reported agents can continue".to_owned()))
    }

    /// Whether the reported agents do not block each other: without the others they form no cycle,
    /// or can continue.
    fn is_no_deadlock(&self, report: &Report) -> bool {
        let mut graph = Graph::new();
        for wait in &report.waits {
            // An agent that needs any of several is blocked only by all of them, regardless of the
            // report.
            let need = match self.waits.get(&wait.agent) {
                Some((_, need)) if need.is_any() => need.clone(),
                Some(_) | None => wait.need.clone(),
            };
            graph.wait(wait.agent, need);
        }
        let stuck = graph.stuck();
        report.waits.is_empty() || report.waits.iter().any(|wait| !stuck.contains(&wait.agent))
    }
}
