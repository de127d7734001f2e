//! Clients with sessions that use a replicated state machine, and the operator that changes the
//! group's members.

use super::agenda::Agenda;
use super::aimed_faults::AimedFaults;
use super::client::{AfterAnswer, Client, Outgoing, OutgoingCommand};
use super::machine::{CommandOf, EventOf, TestedMachine};
use super::operator::{Operator, OperatorActions, OperatorSettings, OperatorTask};
use super::ticket::{OPERATOR_CLIENT, RequestId};
use quorate_core::{Duration, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::workload::{ClientEvent, Plan, Workload};
use quorate_replica::sessions::{Command as SessionCommand, Outcome};
use quorate_replica::{Command, Event, Proposal, Refusal, SessionId};
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
pub struct Clients<M: TestedMachine> {
    demand: Demand,
    rng: SeededRng,
    agenda: Agenda<Action>,
    clients: Vec<ScheduledClient<M>>,
    /// The client of each session, by index.
    sessions: BTreeMap<SessionId, usize>,
    /// Number of operations that clients still have to begin.
    remaining_operations: u64,
    pending_operations: u64,
    /// Number of operations so far, which makes each of them unique.
    operation_count: u64,
    /// Proposals that wait to be sent in a batch.
    outbox: BTreeMap<NodeId, Vec<Proposal<SessionCommand<M::Command>>>>,
    operator: Operator<M>,
    aimed_faults: AimedFaults,
    /// Whether the clients have attached their sessions once more, after everything else was done,
    /// so that they do not wait at a node that is no member any more.
    has_attached_finally: bool,
}

struct ScheduledClient<M: TestedMachine> {
    client: Client<M>,
    /// The time to live of the client's next session, or of its present one.
    ttl: Duration,
    /// Whether the beginning of an operation is scheduled.
    will_begin: bool,
}

/// A scheduled action. Clients are given by index.
enum Action {
    /// A client opens its first session.
    Start(usize),
    /// A client begins its next operation, if it has a session.
    Begin(usize),
    /// A client repeats its request at another node, unless it was answered meanwhile.
    Retry(RequestId),
    Timeout(RequestId),
    /// A client renews its session, if it still has that one.
    Renew {
        index: usize,
        session: SessionId,
    },
    /// A client turns to another node, if its node is still this one, which has crashed or has
    /// detached the session.
    Leave {
        index: usize,
        node: NodeId,
    },
    /// A client turns to a new leader.
    Follow {
        index: usize,
        leader: NodeId,
    },
    /// Sends the batch for this node.
    Flush(NodeId),
    Operator(OperatorTask),
    /// Does nothing, but keeps the run going until the faults have ended.
    FaultsEnded,
}

/// Maximum number of ticks before a client repeats a request.
const RETRY_TICKS: u64 = 5;
/// The times to live of sessions, each of which half of them have. Log time stands still without a
/// leader, so short sessions end if their clients reach no replica that can reach the leader. Long
/// ones outlast the end of the run, so that all their outcomes must have reached them.
const TTLS: [Duration; 2] = [Duration::from_millis(600), Duration::from_secs(10)];
/// Number of renewals within the time to live.
const RENEWALS_PER_TTL: u64 = 4;
/// Of this many operations, a client closes its session after about one.
const OPERATIONS_PER_SESSION: u64 = 20;

impl<M: TestedMachine> Clients<M> {
    pub(super) fn new(demand: Demand, settings: OperatorSettings, aimed_faults: AimedFaults) -> Self {
        let mut rng = SeededRng::new(demand.seed, Stream::Workload);
        let count = usize::try_from(demand.clients).unwrap_or(usize::MAX);
        let clients = (0..count).map(|index| Client::new(index, random_node(demand.nodes, &mut rng)));
        Self {
            clients: clients.map(|client| ScheduledClient { client, ttl: TTLS[0], will_begin: false }).collect(),
            rng,
            agenda: Agenda::new(),
            sessions: BTreeMap::new(),
            remaining_operations: if demand.clients == 0 { 0 } else { demand.operations },
            pending_operations: 0,
            operation_count: 0,
            outbox: BTreeMap::new(),
            operator: Operator::new(settings),
            aimed_faults,
            has_attached_finally: false,
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

    fn client(&mut self, index: usize) -> Option<&mut Client<M>> {
        self.clients.get_mut(index).map(|scheduled| &mut scheduled.client)
    }

    fn client_of(&mut self, request: RequestId) -> Option<&mut Client<M>> {
        self.client(index_of(request)?)
    }

    /// Opens a session with a random time to live.
    fn open_session(&mut self, now: Time, index: usize, plan: &mut Plan<CommandOf<M>>) {
        let ttl = TTLS[self.rng.below(TTLS.len() as u64) as usize];
        let Some(scheduled) = self.clients.get_mut(index) else { return };
        scheduled.ttl = ttl;
        let open = scheduled.client.open(ttl);
        self.send(now, index, Some(open), plan);
    }

    /// Begins an operation, or closes the session, after which the client opens another one.
    fn begin_operation(&mut self, now: Time, index: usize, plan: &mut Plan<CommandOf<M>>) {
        let Some(scheduled) = self.clients.get_mut(index) else { return };
        scheduled.will_begin = false;
        if self.remaining_operations == 0 || !scheduled.client.has_session() {
            return;
        }
        let outgoing = if self.rng.below(OPERATIONS_PER_SESSION) == 0 {
            scheduled.client.close()
        } else {
            self.remaining_operations -= 1;
            self.pending_operations += 1;
            self.operation_count += 1;
            let client = &mut scheduled.client;
            let keys = self.demand.keys;
            client.begin(M::draw_operation(&client.knowledge, keys, self.operation_count, &mut self.rng));
            client.next_attempt()
        };
        self.send(now, index, outgoing, plan);
    }

    fn schedule_begin(&mut self, at: Time, index: usize, plan: &mut Plan<CommandOf<M>>) {
        let Some(scheduled) = self.clients.get_mut(index) else { return };
        if !scheduled.will_begin && !scheduled.client.has_operation() {
            scheduled.will_begin = true;
            self.agenda.schedule(at, Action::Begin(index), plan);
        }
    }

    /// Sends a request to the client's node, alone or together with others, and waits for an
    /// answer.
    fn send(&mut self, now: Time, index: usize, outgoing: Option<Outgoing<M>>, plan: &mut Plan<CommandOf<M>>) {
        let Some(Outgoing { request, command }) = outgoing else { return };
        let Some(node) = self.client(index).map(|client| client.node) else { return };
        match command {
            OutgoingCommand::Single(command) => plan.command(now, node, command),
            OutgoingCommand::Proposal(proposal) => {
                self.outbox.entry(node).or_default().push(proposal);
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

    fn flush(&mut self, now: Time, node: NodeId, plan: &mut Plan<CommandOf<M>>) {
        if let Some(proposals) = self.outbox.remove(&node) {
            plan.command(now, node, Command::Propose(proposals));
        }
    }

    /// Turns a client to a random node.
    fn move_client(&mut self, now: Time, index: usize, plan: &mut Plan<CommandOf<M>>) {
        let node = self.draw_node();
        self.move_client_to(now, index, node, plan);
    }

    /// Turns a client to a node, where it opens or attaches its session and repeats its pending
    /// operation.
    fn move_client_to(&mut self, now: Time, index: usize, node: NodeId, plan: &mut Plan<CommandOf<M>>) {
        let Some(ScheduledClient { client, ttl, .. }) = self.clients.get_mut(index) else { return };
        client.move_to(node);
        let session = if client.has_session() { client.attach() } else { Some(client.open(*ttl)) };
        let (closing, operation) = (client.repeat_close(), client.next_attempt());
        for outgoing in [session, closing, operation] {
            self.send(now, index, outgoing, plan);
        }
    }

    fn retry_later(&mut self, now: Time, request: RequestId, plan: &mut Plan<CommandOf<M>>) {
        if self.client_of(request).is_some_and(|client| client.end_attempt(request)) {
            let later = now + self.draw_pause(RETRY_TICKS);
            self.agenda.schedule(later, Action::Retry(request), plan);
        }
    }

    fn node_crashed(&mut self, now: Time, node: NodeId, plan: &mut Plan<CommandOf<M>>) {
        self.outbox.remove(&node);
        for index in 0..self.clients.len() {
            if self.client(index).is_some_and(|client| client.node == node) {
                let later = now + self.draw_pause(RETRY_TICKS);
                self.agenda.schedule(later, Action::Leave { index, node }, plan);
            }
        }
    }

    /// Some clients turn to a new leader soon, so that it has requests while an earlier one may
    /// still believe that it leads.
    fn follow_leader(&mut self, now: Time, leader: NodeId, plan: &mut Plan<CommandOf<M>>) {
        for index in 0..self.clients.len() {
            let later = now + self.draw_pause(2);
            if self.rng.below(2) == 0 {
                self.agenda.schedule(later, Action::Follow { index, leader }, plan);
            }
        }
    }

    /// Lets a client go on after an answer or an outcome.
    fn go_on(&mut self, now: Time, index: usize, after: AfterAnswer, plan: &mut Plan<CommandOf<M>>) {
        match after {
            AfterAnswer::SessionOpened => {
                let Some(client) = self.client(index) else { return };
                let (session, attach) = (client.session_id(), client.attach());
                self.send(now, index, attach, plan);
                if let Some(session) = session {
                    self.sessions.insert(session, index);
                    self.schedule_renewal(now, index, session, plan);
                }
                let later = now + self.draw_think_time();
                self.schedule_begin(later, index, plan);
            }
            AfterAnswer::SessionLost { is_abandoned } => {
                self.sessions.retain(|_, owner| *owner != index);
                // The client begins another operation for one that it has abandoned.
                self.pending_operations -= u64::from(is_abandoned);
                self.remaining_operations += u64::from(is_abandoned);
                // Otherwise sessions that expire at the end would be replaced forever.
                if !self.are_operations_done() {
                    self.open_session(now, index, plan);
                }
            }
            AfterAnswer::OperationEnded => {
                self.pending_operations -= 1;
                let later = now + self.draw_think_time();
                self.schedule_begin(later, index, plan);
            }
            AfterAnswer::Nothing => {}
        }
    }

    fn schedule_renewal(&mut self, now: Time, index: usize, session: SessionId, plan: &mut Plan<CommandOf<M>>) {
        let Some(ttl) = self.clients.get(index).map(|scheduled| scheduled.ttl) else { return };
        let interval = Duration::from_nanos(ttl.nanos() / RENEWALS_PER_TTL);
        self.agenda.schedule(now + interval, Action::Renew { index, session }, plan);
    }

    /// Whether all operations have ended. Then clients renew their sessions no longer, so that the
    /// run can end.
    fn are_operations_done(&self) -> bool {
        self.remaining_operations == 0 && self.pending_operations == 0
    }

    /// Once everything else is done, attaches all sessions once more.
    fn attach_finally(&mut self, now: Time, plan: &mut Plan<CommandOf<M>>) {
        let have_faults_ended = now >= self.demand.faults_end;
        if self.has_attached_finally || !have_faults_ended || !self.are_operations_done() || !self.operator.is_done() {
            return;
        }
        self.has_attached_finally = true;
        for index in 0..self.clients.len() {
            if self.client(index).is_some_and(|client| client.has_session()) {
                self.move_client(now, index, plan);
            }
        }
    }

    /// Renews a session. A client whose last renewal was not answered turns to another node first.
    fn renew(&mut self, now: Time, index: usize, session: SessionId, plan: &mut Plan<CommandOf<M>>) {
        if self.are_operations_done() || self.client(index).and_then(|client| client.session_id()) != Some(session) {
            return;
        }
        let mut renewal = self.client(index).and_then(Client::renew);
        if renewal.is_none() {
            self.move_client(now, index, plan);
            renewal = self.client(index).and_then(Client::renew);
        }
        self.send(now, index, renewal, plan);
        self.schedule_renewal(now, index, session, plan);
    }

    fn handle_event(&mut self, now: Time, node: NodeId, event: &EventOf<M>, plan: &mut Plan<CommandOf<M>>) {
        match event {
            Event::Answered { ticket, answer, .. } => {
                let request = RequestId::from_ticket(*ticket);
                let Some(index) = index_of(request) else { return };
                let after = self.client(index).map(|client| client.record_answer(request, answer));
                self.go_on(now, index, after.unwrap_or(AfterAnswer::Nothing), plan);
            }
            Event::Refused { ticket, refusal: Refusal::NoSession } => {
                let request = RequestId::from_ticket(*ticket);
                let Some(index) = index_of(request) else { return };
                if self.client(index).is_some_and(|client| client.has_session() && client.end_attempt(request)) {
                    self.lose_session(now, index, plan);
                }
            }
            Event::Refused { ticket, .. } | Event::Unknown { ticket } => {
                self.retry_later(now, RequestId::from_ticket(*ticket), plan);
            }
            Event::Attached { ticket, session, outcomes, .. } => {
                let Some(index) = self.sessions.get(session).copied() else { return };
                if self.client(index).is_some_and(|client| client.record_attached(node, *ticket)) {
                    for outcome in outcomes {
                        self.record_outcome(now, node, *session, outcome, plan);
                    }
                }
            }
            Event::Outcome { session, outcome, .. } => self.record_outcome(now, node, *session, outcome, plan),
            Event::Detached { session } => {
                if let Some(index) = self.sessions.get(session).copied() {
                    self.agenda.schedule(now, Action::Leave { index, node }, plan);
                }
            }
            Event::Leads { .. } => self.follow_leader(now, node, plan),
            Event::Changed { .. }
            | Event::Configured { .. }
            | Event::Retired
            | Event::Follows { .. }
            | Event::Applied { .. }
            | Event::Restored(_)
            | Event::Halted { .. } => {}
        }
    }

    fn record_outcome(
        &mut self,
        now: Time,
        node: NodeId,
        session: SessionId,
        outcome: &Outcome<M::Outcome>,
        plan: &mut Plan<CommandOf<M>>,
    ) {
        let Some(index) = self.sessions.get(&session).copied() else { return };
        let after = self.client(index).map(|client| client.record_outcome(node, outcome));
        self.go_on(now, index, after.unwrap_or(AfterAnswer::Nothing), plan);
    }

    fn lose_session(&mut self, now: Time, index: usize, plan: &mut Plan<CommandOf<M>>) {
        let after = self.client(index).map(Client::lose_session);
        self.go_on(now, index, after.unwrap_or(AfterAnswer::Nothing), plan);
    }

    fn perform(&mut self, now: Time, action: Action, plan: &mut Plan<CommandOf<M>>) {
        match action {
            Action::Start(index) => self.open_session(now, index, plan),
            Action::Begin(index) => self.begin_operation(now, index, plan),
            Action::Retry(request) => {
                if self.client_of(request).is_some_and(|client| client.needs_retry(request))
                    && let Some(index) = index_of(request)
                {
                    self.move_client(now, index, plan);
                }
            }
            Action::Timeout(request) => {
                if self.client_of(request).is_some_and(|client| client.end_attempt(request))
                    && let Some(index) = index_of(request)
                {
                    self.move_client(now, index, plan);
                }
            }
            Action::Renew { index, session } => self.renew(now, index, session, plan),
            Action::Leave { index, node } => {
                if self.client(index).is_some_and(|client| client.node == node) {
                    self.move_client(now, index, plan);
                }
            }
            Action::Follow { index, leader } => {
                if self.client(index).is_some_and(|client| client.node != leader) {
                    self.move_client_to(now, index, leader, plan);
                }
            }
            Action::Flush(node) => self.flush(now, node, plan),
            Action::FaultsEnded => {}
            Action::Operator(task) => self.operate(now, plan, |operator, _| operator.perform(task)),
        }
    }

    /// Lets the operator react, and schedules the commands and tasks that it chooses.
    fn operate(
        &mut self,
        now: Time,
        plan: &mut Plan<CommandOf<M>>,
        react: impl FnOnce(&mut Operator<M>, &mut SeededRng),
    ) {
        react(&mut self.operator, &mut self.rng);
        let OperatorActions { commands, tasks } = self.operator.take_actions(now, &mut self.rng);
        for (node, command) in commands {
            self.aimed_faults.on_command(now, node, &command, plan);
            plan.command(now, node, command);
        }
        for (at, task) in tasks {
            self.agenda.schedule(at, Action::Operator(task), plan);
        }
    }
}

/// Returns the index in `clients` of the client of this request; `None` for the operator.
fn index_of(request: RequestId) -> Option<usize> {
    usize::try_from(request.client.checked_sub(OPERATOR_CLIENT + 1)?).ok()
}

fn random_node(nodes: usize, rng: &mut SeededRng) -> NodeId {
    NodeId::from_index(rng.below(nodes as u64) as usize)
}

impl<M: TestedMachine> Workload<CommandOf<M>, EventOf<M>> for Clients<M> {
    fn begin(&mut self, plan: &mut Plan<CommandOf<M>>) {
        for index in 0..self.clients.len() {
            let first_time = Time::ZERO + self.draw_pause(16);
            self.agenda.schedule(first_time, Action::Start(index), plan);
        }
        self.agenda.schedule(self.demand.faults_end + self.demand.tick.times(20), Action::FaultsEnded, plan);
        self.operate(Time::ZERO, plan, |operator, rng| operator.schedule_tasks(rng));
    }

    fn on_event(
        &mut self,
        now: Time,
        node: NodeId,
        notification: &ClientEvent<EventOf<M>>,
        plan: &mut Plan<CommandOf<M>>,
    ) {
        self.aimed_faults.on_event(now, node, notification, plan);
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
        self.attach_finally(now, plan);
    }

    fn is_done(&self) -> bool {
        let are_settled = self.clients.iter().all(|scheduled| scheduled.client.is_settled());
        self.are_operations_done() && are_settled && self.has_attached_finally && self.operator.is_done()
    }
}
