//! Clients that read and write a replicated map, and the operator that changes the group's members.

use super::agenda::Agenda;
use super::client::{AfterRefusal, Client};
use super::operator::{Operator, OperatorActions, OperatorSettings, OperatorTask};
use super::register::Operation;
use super::ticket::{OPERATOR_CLIENT, RequestId};
use super::{Command, Event, Machine};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use quorate_replica::exactly_once::Request;
use quorate_replica::registers::{Change, Read};
use quorate_replica::{Proposal, Refusal};
use std::collections::BTreeMap;

/// The behavior of the clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    pub(super) nodes: usize,
    pub(super) seed: u64,
    pub(super) clients: u64,
    pub(super) operations: u64,
    pub(super) keys: u64,
    /// The tick of the replicas, the unit of timeouts.
    pub(super) tick: Duration,
    /// The end of the last fault. The clients keep the run going until a little later.
    pub(super) faults_end: Time,
}

/// All clients, and the operator.
pub struct Clients {
    demand: Demand,
    rng: SeededRng,
    agenda: Agenda<Action>,
    clients: Vec<Client>,
    /// Number of operations that clients still have to begin.
    remaining_operations: u64,
    pending_operations: u64,
    /// The value of the last write or compare-and-set. No two of these have the same value.
    last_value: u64,
    /// Proposals that wait to be sent in a batch.
    outbox: BTreeMap<NodeId, Vec<Proposal<<Machine as quorate_replica::StateMachine>::Command>>>,
    operator: Operator,
}

/// A scheduled action.
enum Action {
    /// The client with this index begins its next operation.
    Begin(usize),
    /// A client repeats its request, unless it was answered meanwhile.
    Retry {
        request: RequestId,
        node: NodeId,
    },
    Timeout(RequestId),
    /// Sends the batch for this node.
    Flush(NodeId),
    Operator(OperatorTask),
    /// Does nothing, but keeps the run going until the faults have ended.
    FaultsEnded,
}

/// Reads as a percentage of all operations.
const READ_PERCENT: u64 = 40;
/// Unconditional writes as a percentage of all operations; the rest are conditional.
const WRITE_PERCENT: u64 = 35;

/// Maximum number of ticks before a client repeats a request at the leader that a refusal named.
const LEADER_RETRY_TICKS: u64 = 1;
/// Maximum number of ticks before a client repeats a request at a random node.
const RETRY_TICKS: u64 = 5;

impl Clients {
    pub(super) fn new(demand: Demand, settings: OperatorSettings) -> Self {
        let mut rng = SeededRng::new(demand.seed, Stream::Workload);
        let clients = (0..demand.clients).map(|_| Client::new(random_node(demand.nodes, &mut rng)));
        Self {
            clients: clients.collect(),
            rng,
            agenda: Agenda::new(),
            remaining_operations: if demand.clients == 0 { 0 } else { demand.operations },
            pending_operations: 0,
            last_value: 0,
            outbox: BTreeMap::new(),
            operator: Operator::new(settings),
            demand,
        }
    }

    fn draw_pause(&mut self, max_ticks: u64) -> Duration {
        self.rng.between(Duration::from_nanos(self.demand.tick.nanos() / 10), self.demand.tick.times(max_ticks))
    }

    /// Draws the pause before a client's next operation. A quarter of the pauses may be long.
    fn draw_think_time(&mut self) -> Duration {
        let ticks = if self.rng.below(4) == 0 { 40 } else { 2 };
        self.draw_pause(ticks)
    }

    fn draw_node(&mut self) -> NodeId {
        random_node(self.demand.nodes, &mut self.rng)
    }

    fn begin_operation(&mut self, now: Time, index: usize, plan: &mut Plan<Command>) {
        if self.remaining_operations == 0 {
            return;
        }
        self.remaining_operations -= 1;
        self.pending_operations += 1;
        let operation = self.draw_operation(index);
        let reads_anywhere = !operation.is_change() && self.rng.below(2) == 0;
        let any_node = self.draw_node();
        let Some(client) = self.clients.get_mut(index) else { return };
        let node = if reads_anywhere { any_node } else { client.preferred_node };
        client.begin(operation);
        self.send_attempt(now, index, node, plan);
    }

    fn draw_operation(&mut self, index: usize) -> Operation {
        let key = self.rng.below(self.demand.keys.max(1));
        let kind = self.rng.below(100);
        if kind < READ_PERCENT {
            return Operation::Read { key };
        }
        self.last_value += 1;
        let value = self.last_value;
        let known_value = self.clients.get(index).and_then(|client| client.known_value(key));
        Operation::Change(if kind < READ_PERCENT + WRITE_PERCENT {
            Change::Write { key, value }
        } else {
            Change::CompareAndSet { key, expect: known_value, value }
        })
    }

    fn send_attempt(&mut self, now: Time, index: usize, node: NodeId, plan: &mut Plan<Command>) {
        let Some((request, operation)) =
            self.clients.get_mut(index).and_then(|client| client.next_attempt(index, node))
        else {
            return;
        };
        let ticket = request.to_ticket();
        match operation {
            Operation::Read { key } => plan.command(now, node, Command::Query { ticket, query: Read { key } }),
            Operation::Change(command) => {
                let command = Request { client: request.client, number: request.number, command };
                self.outbox.entry(node).or_default().push(Proposal { ticket, command });
                if self.rng.below(4) == 0 {
                    let later = now + self.draw_pause(1);
                    self.agenda.schedule(later, Action::Flush(node), plan);
                } else {
                    self.flush(now, node, plan);
                }
            }
        }
        let timeout = self.demand.tick.times(10 + self.rng.below(21));
        self.agenda.schedule(now + timeout, Action::Timeout(request), plan);
    }

    fn flush(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        if let Some(proposals) = self.outbox.remove(&node) {
            plan.command(now, node, Command::Propose(proposals));
        }
    }

    fn retry_later(&mut self, now: Time, request: RequestId, node: NodeId, max_ticks: u64, plan: &mut Plan<Command>) {
        let later = now + self.draw_pause(max_ticks);
        self.agenda.schedule(later, Action::Retry { request, node }, plan);
    }

    /// Schedules a retry after a refusal or, if `refusal` is `None`, after an unknown outcome.
    fn handle_refusal(&mut self, now: Time, request: RequestId, refusal: Option<Refusal>, plan: &mut Plan<Command>) {
        let any_node = self.draw_node();
        match client_of(&mut self.clients, request)
            .map_or(AfterRefusal::Stale, |client| client.record_refusal(request, refusal))
        {
            AfterRefusal::TryLeader(leader) => self.retry_later(now, request, leader, LEADER_RETRY_TICKS, plan),
            AfterRefusal::TryAnyNode => self.retry_later(now, request, any_node, RETRY_TICKS, plan),
            AfterRefusal::Stale => {}
        }
    }

    fn node_crashed(&mut self, now: Time, node: NodeId, plan: &mut Plan<Command>) {
        self.outbox.remove(&node);
        for index in 0..self.clients.len() {
            if let Some(request) = self.clients.get_mut(index).and_then(|client| client.node_crashed(index, node)) {
                let any_node = self.draw_node();
                self.retry_later(now, request, any_node, RETRY_TICKS, plan);
            }
        }
    }

    fn handle_event(&mut self, now: Time, node: NodeId, event: &Event, plan: &mut Plan<Command>) {
        match event {
            Event::Answered { ticket, answer, .. } => {
                let request = RequestId::from_ticket(*ticket);
                let is_first_answer = client_of(&mut self.clients, request)
                    .is_some_and(|client| client.record_answer(request, node, *answer));
                if is_first_answer {
                    self.pending_operations -= 1;
                    let later = now + self.draw_think_time();
                    self.agenda.schedule(later, Action::Begin(index_of(request)), plan);
                }
            }
            Event::Refused { ticket, refusal } => {
                self.handle_refusal(now, RequestId::from_ticket(*ticket), Some(*refusal), plan);
            }
            Event::Unknown { ticket } => self.handle_refusal(now, RequestId::from_ticket(*ticket), None, plan),
            Event::Changed { .. }
            | Event::Leads { .. }
            | Event::Follows { .. }
            | Event::Applied(_)
            | Event::Restored(_)
            | Event::Halted { .. } => {}
        }
    }

    fn perform(&mut self, now: Time, action: Action, plan: &mut Plan<Command>) {
        match action {
            Action::Begin(index) => self.begin_operation(now, index, plan),
            Action::Retry { request, node } => {
                if client_of(&mut self.clients, request).is_some_and(|client| client.needs_retry(request)) {
                    self.send_attempt(now, index_of(request), node, plan);
                }
            }
            Action::Timeout(request) => {
                let any_node = self.draw_node();
                if client_of(&mut self.clients, request).is_some_and(|client| client.end_attempt(request)) {
                    self.send_attempt(now, index_of(request), any_node, plan);
                }
            }
            Action::Flush(node) => self.flush(now, node, plan),
            Action::FaultsEnded => {}
            Action::Operator(task) => self.operate(now, plan, |operator, _| operator.perform(task)),
        }
    }

    /// Lets the operator react, and schedules the commands and tasks that it chooses.
    fn operate(&mut self, now: Time, plan: &mut Plan<Command>, react: impl FnOnce(&mut Operator, &mut SeededRng)) {
        react(&mut self.operator, &mut self.rng);
        let OperatorActions { commands, tasks } = self.operator.take_actions(now, &mut self.rng);
        for (node, command) in commands {
            plan.command(now, node, command);
        }
        for (at, task) in tasks {
            self.agenda.schedule(at, Action::Operator(task), plan);
        }
    }
}

/// Returns the index in `clients` of the client of this request, which is not the operator's.
fn index_of(request: RequestId) -> usize {
    usize::try_from(request.client.saturating_sub(OPERATOR_CLIENT + 1)).unwrap_or(usize::MAX)
}

fn client_of(clients: &mut [Client], request: RequestId) -> Option<&mut Client> {
    if request.client == OPERATOR_CLIENT { None } else { clients.get_mut(index_of(request)) }
}

fn random_node(nodes: usize, rng: &mut SeededRng) -> NodeId {
    NodeId::from_index(rng.below(nodes as u64) as usize)
}

impl Workload<Command, Event> for Clients {
    fn begin(&mut self, plan: &mut Plan<Command>) {
        for index in 0..self.clients.len() {
            let first_time = Time::ZERO + self.draw_pause(16);
            self.agenda.schedule(first_time, Action::Begin(index), plan);
        }
        self.agenda.schedule(self.demand.faults_end + self.demand.tick.times(20), Action::FaultsEnded, plan);
        self.operate(Time::ZERO, plan, |operator, rng| operator.schedule_tasks(rng));
    }

    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<Event>, plan: &mut Plan<Command>) {
        match notification {
            ClientEvent::Emitted(event) => {
                self.handle_event(now, node, event, plan);
                self.operate(now, plan, |operator, _| operator.handle_event(node, event));
            }
            ClientEvent::Crashed => {
                self.node_crashed(now, node, plan);
                self.operate(now, plan, |operator, _| operator.node_crashed(node));
            }
            ClientEvent::Restarted => self.operate(now, plan, |operator, _| operator.node_restarted(now, node)),
            ClientEvent::Alarm => {
                while let Some(action) = self.agenda.take_next(now) {
                    self.perform(now, action, plan);
                }
            }
        }
    }

    fn is_done(&self) -> bool {
        self.remaining_operations == 0 && self.pending_operations == 0 && self.operator.is_done()
    }
}
