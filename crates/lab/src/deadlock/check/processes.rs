//! The clients of the deadlock family in a check: each process sends a limited number of requests
//! to other processes or for resources, and when it runs, it releases what others wait for.
//!
//! No process is required to send a request. But a running process eventually releases what others
//! wait for, and a victim eventually aborts. So all wait-for graphs that these requests can form
//! arise, in every order. A client's facet, the part of its state that properties see, describes
//! its own process and the resource at its site. From the facets of all clients follows the actual
//! wait-for graph, which no detector can see.

use super::client_state::{self, ClientState, MAX_RESOURCES, MAX_SITES, SATURATED};
use crate::deadlock::run::WaitMode;
use quorate_check::{CheckError, ClientStep, Clients, Judged, Offer, Property, StateCondition, StepRecord};
use quorate_core::NodeId;
use quorate_core::deadlock::{Agent, Command, Event, Need, Report, WaitId};
use std::collections::BTreeSet;

/// The clients of all sites in a check.
#[derive(Clone, Debug)]
pub struct Requesters {
    sites: usize,
    /// The resources; empty if processes send requests to each other.
    resources: Vec<Agent>,
    /// Number of requests that each process may send.
    rounds: u8,
    wait_mode: WaitMode,
    /// Maximum number of agents in one request.
    fan_out: usize,
    /// Whether all processes acquire resources in the same order.
    is_ordered: bool,
    /// Whether victims resolve deadlocks.
    has_victims: bool,
}

impl Requesters {
    /// Creates one process per site, with `rounds` requests each. `wait_mode`, `fan_out` and
    /// `is_ordered` limit the requests. Fails if `rounds` is `None`, or if the state of a client
    /// would not fit into one word.
    pub fn new(
        sites: usize,
        resources: Vec<Agent>,
        rounds: Option<u8>,
        (wait_mode, fan_out, is_ordered): (WaitMode, usize, bool),
        has_victims: bool,
    ) -> Result<Self, CheckError> {
        let is_one_resource_per_site = resources.iter().all(|resource| resource.number == 0);
        // A resource waits once per grant, and each round of each process can cause one.
        let max_waits = |rounds: u8| usize::from(rounds) * if resources.is_empty() { 1 } else { sites };
        let rounds = rounds.filter(|rounds| max_waits(*rounds) < usize::from(SATURATED));
        match rounds {
            Some(rounds) if sites <= MAX_SITES && resources.len() <= MAX_RESOURCES && is_one_resource_per_site => {
                Ok(Self { sites, resources, rounds, wait_mode, fan_out, is_ordered, has_victims })
            }
            Some(_) | None => Err(CheckError::DeadlockGroupTooLarge {
                max_nodes: MAX_SITES,
                max_resources: MAX_RESOURCES,
                max_rounds: SATURATED - 1,
            }),
        }
    }

    /// The agents that the process may request next.
    fn requestable_agents(&self, client: &Requester) -> Vec<Agent> {
        if self.resources.is_empty() {
            let all_processes = (0..self.sites).map(|site| Agent::process(NodeId::from_index(site), 0));
            return all_processes.filter(|other| other.site != client.node).collect();
        }
        let keeps_order = |resource: &Agent| !self.is_ordered || client.obligations.iter().all(|held| held < resource);
        let not_held = self.resources.iter().copied().filter(|resource| !client.obligations.contains(resource));
        not_held.filter(keeps_order).collect()
    }

    /// The requests that the process may send next.
    fn possible_needs(&self, client: &Requester) -> Vec<Need<Agent>> {
        let agents_to_request = self.requestable_agents(client);
        let mut needs = Vec::new();
        // Each number is a nonempty subset of these agents, one bit each.
        for subset in 1_u32..1 << agents_to_request.len() {
            let agents: Vec<_> = agents_to_request
                .iter()
                .enumerate()
                .filter(|(index, _)| subset >> index & 1 == 1)
                .map(|(_, agent)| *agent)
                .collect();
            if agents.len() > self.fan_out {
                continue;
            }
            let is_single = agents.len() == 1;
            match self.wait_mode {
                WaitMode::All => needs.push(Need::All(agents)),
                WaitMode::Any => needs.push(Need::Any(agents)),
                WaitMode::Mixed if is_single => needs.push(Need::All(agents)),
                WaitMode::Mixed => needs.extend([Need::All(agents.clone()), Need::Any(agents)]),
            }
        }
        needs
    }

    fn resource_number(&self, resource: Agent) -> Option<usize> {
        self.resources.iter().position(|known| *known == resource)
    }
}

/// The client of one site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Requester {
    node: NodeId,
    /// Number of requests that the process may still send.
    remaining: u8,
    /// Whether the client sent a command and has received no event since.
    awaits_event: bool,
    is_waiting: bool,
    /// The agents that wait for its process, or the resources that the process holds.
    obligations: BTreeSet<Agent>,
    state: ClientState,
}

impl Requester {
    fn record_event(&mut self, event: &Event, clients: &Requesters) {
        match event {
            Event::Waits { agent, wait_id, need } if agent.is_resource() => {
                if let [holder] = need.awaited() {
                    self.state.set_holder(holder.site, *wait_id);
                }
            }
            Event::Waits { wait_id, need, .. } => {
                self.is_waiting = true;
                let bit_of = |agent: &Agent| clients.resource_number(*agent).unwrap_or(agent.site.index());
                let awaited = need.awaited().iter().fold(0, |mask, agent| mask | 1_u64 << bit_of(agent));
                self.state.record_wait(*wait_id, awaited, need.has_alternatives());
            }
            // A resource asks its holder: the process has acquired it.
            Event::Asked { by, wait_id, .. } if by.is_resource() => {
                self.obligations.insert(*by);
                if let Some(number) = clients.resource_number(*by) {
                    self.state.record_received(number, *wait_id);
                }
            }
            Event::Asked { agent, by, .. } => {
                if !agent.is_resource() {
                    self.obligations.insert(*by);
                }
            }
            // The process answers a resource: it releases it.
            Event::Answers { to, wait_id, .. } if to.is_resource() => {
                self.obligations.remove(to);
                if let Some(number) = clients.resource_number(*to) {
                    self.state.record_released(number, *wait_id);
                }
            }
            Event::Answers { agent, to, wait_id } => {
                if !agent.is_resource() {
                    self.obligations.remove(to);
                }
                self.state.record_answer(to.site, *wait_id);
            }
            Event::Runs { agent, .. } if agent.is_resource() => self.state.clear_holder(),
            Event::Runs { .. } => self.resume(None),
            Event::Cancelled { wait_id, .. } => self.resume(Some(*wait_id)),
            Event::Withdrawn { agent, by } => {
                if !agent.is_resource() {
                    self.obligations.remove(by);
                }
            }
            Event::Deadlock(report) if !clients.has_victims => self.state.record_report(reported_processes(report)),
            Event::Victim { .. } => self.state.set_victim(),
            Event::Deadlock(_) | Event::Refused(_) => {}
        }
    }

    fn resume(&mut self, aborted: Option<WaitId>) {
        self.is_waiting = false;
        self.state.end_wait(aborted);
    }
}

/// The reported processes, one bit per site.
fn reported_processes(report: &Report) -> u64 {
    let processes = report.waits.iter().filter(|wait| !wait.agent.is_resource());
    processes.fold(0, |mask, wait| mask | 1_u64 << wait.agent.site.index())
}

impl Clients for Requesters {
    type Command = Command;
    type Event = Event;
    type Client = Requester;

    fn initial(&self, node: NodeId) -> Requester {
        let state = ClientState::new(self.resources.len());
        Requester {
            node,
            remaining: self.rounds,
            awaits_event: false,
            is_waiting: false,
            obligations: BTreeSet::new(),
            state,
        }
    }

    fn offers(&self, client: &Requester) -> Vec<Offer<Command>> {
        let optional = |command| Offer { command, is_obliged: false };
        let obliged = |command| Offer { command, is_obliged: true };
        if client.awaits_event {
            return Vec::new();
        }
        if client.is_waiting {
            let abort = client.state.is_victim().then(|| obliged(Command::Cancel { process: 0 }));
            return abort.into_iter().collect();
        }
        let answers = client.obligations.iter().map(|to| obliged(Command::Answer { process: 0, to: *to }));
        let needs = if client.remaining > 0 { self.possible_needs(client) } else { Vec::new() };
        let requests = needs.into_iter().map(|need| optional(Command::Ask { process: 0, need }));
        answers.chain(requests).collect()
    }

    fn observe(&self, client: &mut Requester, step: ClientStep<'_, Command, Event>, _record: &mut StepRecord) {
        match step {
            ClientStep::Issued(command) => {
                client.awaits_event = true;
                if let Command::Ask { .. } = command {
                    client.remaining = client.remaining.saturating_sub(1);
                }
            }
            ClientStep::Emitted(event) => {
                client.awaits_event = false;
                client.record_event(event, self);
            }
            // The detectors assume that no node crashes, so these clients ignore crashes.
            ClientStep::Crashed | ClientStep::Restarted | ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => {
            }
        }
    }

    /// A wait without end is not a violation: the detector must find it.
    fn is_waiting(&self, _client: &Requester) -> bool {
        false
    }

    fn facet(&self, client: &Requester, _may_act: bool) -> u64 {
        client.state.pack()
    }

    fn properties(&self) -> Vec<Property> {
        let no_phantom: StateCondition =
            if self.has_victims { client_state::victims_are_deadlocked } else { client_state::reported_are_deadlocked };
        let all_found: StateCondition =
            if self.has_victims { client_state::none_is_deadlocked } else { client_state::deadlocks_are_reported };
        vec![
            Property { name: "no-phantom", judged: Judged::ByState(no_phantom) },
            Property { name: "all-found", judged: Judged::ByEnds(all_found) },
        ]
    }
}
