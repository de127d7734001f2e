//! All transitions from a state of the reference explorer, and their effects.

use super::views::{Lease, Membership};
use super::{
    Budgets, ClientState, Edge, MessageInFlight, Network, Node, Obligation, Past, State, TransitionSystem, Violation,
};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Effect, Effects, Incarnation, Input, NodeId, Note, Protocol, Sink, Span, Time};
use quorate_erased::{AnyDurable, AnyMessage};
use quorate_journal::disk::Disk;
use quorate_lab::mutex::MutexNode;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// An effect of a step, or a wrapper's note that it delivers a wrapped message.
enum LoggedEffect {
    Effect(Effect<MutexNode>),
    WrappedMessageDelivered { from: NodeId, payload: quorate_core::PayloadId },
}

struct EffectLog(Vec<LoggedEffect>);

impl Sink<MutexNode> for EffectLog {
    fn effect(&mut self, effect: Effect<MutexNode>) {
        self.0.push(LoggedEffect::Effect(effect));
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Delivered { from, payload } = note {
            self.0.push(LoggedEffect::WrappedMessageDelivered { from, payload });
        }
    }
}

const MILLION: i128 = 1_000_000;

/// Returns what a clock with this drift shows at an instant.
fn clock_reading(instant: Time, drift_ppm: i32) -> Time {
    let nanos = i128::from(instant.nanos()) * (MILLION + i128::from(drift_ppm)) / MILLION;
    Time::from_nanos(i64::try_from(nanos).unwrap())
}

/// Returns the first instant at which a clock with this drift shows at least this time.
fn first_instant(reading: Time, drift_ppm: i32) -> Time {
    let ticks_per_million = MILLION + i128::from(drift_ppm);
    // Rounded up.
    let nanos = (i128::from(reading.nanos()) * MILLION + ticks_per_million - 1).div_euclid(ticks_per_million);
    Time::from_nanos(i64::try_from(nanos).unwrap())
}

impl TransitionSystem {
    /// Returns every initial state: one for each combination of fast and slow clocks.
    pub(super) fn initial_states(&mut self) -> Vec<State> {
        let setup = self.bounds.setup.clone();
        let drift = setup.timing.map_or(0, |timing| timing.drift_ppm as i32);
        let mut combinations = vec![Vec::new()];
        for _ in 0..setup.nodes {
            let drifts = if drift == 0 { vec![0] } else { vec![drift, -drift] };
            combinations = combinations
                .iter()
                .flat_map(|chosen: &Vec<i32>| drifts.iter().map(move |drift| [&chosen[..], &[*drift]].concat()))
                .collect();
        }
        combinations.into_iter().map(|drifts_ppm| self.initial_state(drifts_ppm)).collect()
    }

    fn initial_state(&mut self, drifts_ppm: Vec<i32>) -> State {
        let setup = self.bounds.setup.clone();
        let clients = self.bounds.clients;
        let node = |index| Node {
            protocol: Some((self.make)(NodeId::from_index(index))),
            incarnation: Incarnation::FIRST,
            timers: BTreeMap::new(),
            disk: Disk::default(),
            client: ClientState::Outside,
            remaining_requests: clients.rounds,
            awaits_answer: false,
            lease: if setup.views.is_some() { Lease::Valid } else { Lease::None },
        };
        let network =
            if setup.has_fifo_links { Network::Links(BTreeMap::new()) } else { Network::Bag(BTreeMap::new()) };
        let budgets = Budgets {
            losses: setup.losses,
            duplicates: setup.duplicates,
            crashes: setup.crashes,
            restarts: setup.restarts,
            early_timers: setup.early_timers,
            view_changes: setup.views.map_or(0, |views| views.max_changes),
        };
        let membership = setup.views.map(|_| Membership::founding(setup.nodes));
        let past = Past::new(setup.nodes, clients.checks_order, clients.checks_fences);
        let mut state = State {
            nodes: (0..setup.nodes).map(node).map(Rc::new).collect(),
            network,
            budgets,
            now: Time::ZERO,
            drifts_ppm,
            past,
            membership,
        };
        for index in 0..setup.nodes {
            let durable = AnyDurable::default();
            let mut context = StepContext::new(self, &mut state, index);
            context.step(Input::Start { durable, incarnation: Incarnation::FIRST });
            if let Some(view) = context.state.membership.as_ref().map(Membership::view) {
                context.step(Input::View(view));
                context.step(Input::Lease(Time::NEVER));
            }
        }
        state
    }

    /// All transitions from a state.
    pub(super) fn all_edges(&mut self, state: &State) -> Vec<Edge> {
        let mut edges = Vec::new();
        for node in 0..state.nodes.len() {
            self.add_node_edges(state, node, &mut edges);
        }
        self.add_delivery_edges(state, &mut edges);
        self.add_network_fault_edges(state, &mut edges);
        self.add_membership_edges(state, &mut edges);
        edges.extend(self.time_edge(state));
        edges
    }

    /// Adds the transitions of one node: restart, commands, timers, saves, lease and crash.
    fn add_node_edges(&mut self, state: &State, node: usize, edges: &mut Vec<Edge>) {
        let node_state = &state.nodes[node];
        if node_state.protocol.is_none() {
            if state.budgets.restarts > 0 {
                edges.push(self.make_regular_edge(state, node, |context| {
                    context.state.budgets.restarts -= 1;
                    context.restart();
                }));
            }
            return;
        }
        for command in self.possible_commands(node_state) {
            edges.push(self.make_regular_edge(state, node, |context| {
                if command == Command::Release {
                    context.met_obligations.push(Obligation::Release { node });
                }
                context.command(command);
            }));
        }
        for (timer, (earliest, _)) in &node_state.timers {
            let has_timing = self.bounds.setup.timing.is_some();
            let is_early = !has_timing && !state.has_nothing_in_flight();
            // A timer whose deadline passed earlier by the node's own clock fires first.
            let is_first = node_state.timers.values().all(|(_, latest)| latest >= earliest);
            let is_ready = is_first && first_instant(*earliest, state.drifts_ppm[node]) <= state.now;
            if (has_timing && !is_ready) || (is_early && state.budgets.early_timers == 0) {
                continue;
            }
            edges.push(self.make_regular_edge(state, node, |context| {
                context.state.budgets.early_timers -= u8::from(is_early);
                context.met_obligations.push(Obligation::Fire { node, timer: *timer });
                context.fire(*timer);
            }));
        }
        if node_state.disk.pending_writes() > 0 {
            edges.push(self.make_regular_edge(state, node, |context| {
                context.met_obligations.push(Obligation::Sync { node });
                context.sync();
            }));
        }
        self.add_lease_edges(state, node, edges);
        let needs_view_change = state.crash_costs_view_change(node);
        if state.budgets.crashes > 0 && (!needs_view_change || state.budgets.view_changes > 0) {
            for surviving_writes in 0..=node_state.disk.pending_writes() {
                edges.push(self.make_fault_edge(state, node, |context| {
                    context.state.budgets.crashes -= 1;
                    context.state.budgets.view_changes -= u8::from(needs_view_change);
                    context.crash(surviving_writes);
                }));
            }
        }
    }

    /// Returns the commands that the client of a node may give.
    fn possible_commands(&self, node: &Node) -> Vec<Command> {
        let clients = self.bounds.clients;
        match node.client {
            ClientState::Waiting | ClientState::Inside if node.awaits_answer => vec![],
            ClientState::Outside if node.remaining_requests == Some(0) => vec![],
            ClientState::Outside if clients.allows_tries => vec![Command::Acquire, Command::Try],
            ClientState::Outside => vec![Command::Acquire],
            ClientState::Waiting if clients.allows_cancels => vec![Command::Cancel],
            ClientState::Inside => vec![Command::Release],
            ClientState::Waiting | ClientState::Down => vec![],
        }
    }

    pub(super) fn make_regular_edge(
        &mut self,
        state: &State,
        node: usize,
        act: impl FnOnce(&mut StepContext<'_>),
    ) -> Edge {
        self.make_edge(state, node, true, act)
    }

    pub(super) fn make_fault_edge(
        &mut self,
        state: &State,
        node: usize,
        act: impl FnOnce(&mut StepContext<'_>),
    ) -> Edge {
        self.make_edge(state, node, false, act)
    }

    pub(super) fn make_edge(
        &mut self,
        state: &State,
        node: usize,
        is_regular: bool,
        act: impl FnOnce(&mut StepContext<'_>),
    ) -> Edge {
        let mut to = state.clone();
        let mut context = StepContext::new(self, &mut to, node);
        act(&mut context);
        let StepContext { met_obligations, violations, .. } = context;
        Edge { to, is_regular, met_obligations, violations }
    }

    fn add_delivery_edges(&mut self, state: &State, edges: &mut Vec<Edge>) {
        // Any message of a bag may arrive next, but only the first message of a link.
        let deliverable: Vec<MessageInFlight> = match &state.network {
            Network::Bag(bag) => bag.keys().cloned().collect(),
            Network::Links(links) => links.values().map(|link| link[0].clone()).collect(),
        };
        for in_flight in deliverable {
            let (number, knowledge) = &in_flight;
            let (from, to, message, _) = self.messages[*number].clone();
            if self.arrival_times(*number).is_some_and(|(earliest, _)| state.now < earliest) {
                continue;
            }
            edges.push(self.make_regular_edge(state, to, |context| {
                context.met_obligations.push(Obligation::Deliver { message: *number });
                context.state.network.remove(&in_flight, (from, to), 0);
                if context.state.nodes[to].protocol.is_some() {
                    if !message.is_wrapped() {
                        context.state.past.add_knowledge(to, knowledge);
                    }
                    context.step(Input::Message { from: NodeId::from_index(from), message });
                }
            }));
        }
    }

    /// Adds the losses and duplications of messages.
    fn add_network_fault_edges(&mut self, state: &State, edges: &mut Vec<Edge>) {
        for (in_flight, index) in state.network.distinct() {
            let (number, _) = &in_flight;
            let (from, to, ..) = self.messages[*number].clone();
            if state.budgets.losses > 0 {
                edges.push(self.make_fault_edge(state, to, |context| {
                    context.state.budgets.losses -= 1;
                    context.state.network.remove(&in_flight, (from, to), index);
                }));
            }
            if state.budgets.duplicates > 0 {
                edges.push(self.make_fault_edge(state, to, |context| {
                    context.state.budgets.duplicates -= 1;
                    context.state.network.insert(in_flight.clone(), (from, to), Some(index));
                }));
            }
        }
    }

    /// Returns the delay bounds, if there are any.
    pub(super) fn delay(&self) -> Option<Span> {
        self.bounds.setup.timing?.delay
    }

    /// Returns the earliest and the latest arrival of a message, if delays are bounded.
    fn arrival_times(&self, message: usize) -> Option<(Time, Time)> {
        let sent_at = self.messages[message].3?;
        self.delay().map(|delay| (sent_at + delay.earliest, sent_at + delay.latest))
    }

    /// Advances time to the next instant at which a timer may or must fire, or a message may or
    /// must arrive. Returns `None` without timing, if one of them must happen now, or if no such
    /// instant lies within the time limit.
    fn time_edge(&self, state: &State) -> Option<Edge> {
        let until = self.bounds.setup.timing?.until;
        let mut instants = Vec::new();
        for (node, drift) in state.nodes.iter().zip(&state.drifts_ppm) {
            for (earliest, latest) in node.timers.values() {
                let (earliest, latest) = (first_instant(*earliest, *drift), first_instant(*latest, *drift));
                if latest <= state.now {
                    return None;
                }
                instants.extend([earliest, latest].into_iter().find(|instant| *instant > state.now));
            }
        }
        for ((message, _), _) in state.network.distinct() {
            let Some((earliest, latest)) = self.arrival_times(message) else { continue };
            if latest <= state.now {
                return None;
            }
            instants.push(if earliest > state.now { earliest } else { latest });
        }
        let now = instants.into_iter().min().filter(|next| *next <= until)?;
        Some(Edge { to: State { now, ..state.clone() }, is_regular: true, met_obligations: vec![], violations: vec![] })
    }

    /// Returns the obligations of a fair run in a state.
    pub(super) fn obligations(&self, state: &State) -> Vec<Obligation> {
        let mut obligations: Vec<Obligation> = state
            .network
            .distinct()
            .iter()
            .map(|((message, _), _)| Obligation::Deliver { message: *message })
            .collect();
        for (index, node) in state.nodes.iter().enumerate() {
            obligations.extend(
                (node.client == ClientState::Inside && !node.awaits_answer)
                    .then_some(Obligation::Release { node: index }),
            );
            obligations.extend(node.timers.keys().map(|timer| Obligation::Fire { node: index, timer: *timer }));
            obligations.extend((node.disk.pending_writes() > 0).then_some(Obligation::Sync { node: index }));
        }
        obligations.extend(state.membership_obligations());
        obligations.sort_unstable();
        obligations.dedup();
        obligations
    }
}

impl Network {
    /// Adds a message at this index of its link, or as the last one. A bag ignores the index.
    fn insert(&mut self, in_flight: MessageInFlight, link: (usize, usize), index: Option<usize>) {
        match self {
            Self::Bag(bag) => *bag.entry(in_flight).or_default() += 1,
            Self::Links(links) => {
                let link = links.entry(link).or_default();
                link.insert(index.unwrap_or(link.len()), in_flight);
            }
        }
    }

    /// Removes one copy of a message, on a link the one at this index.
    fn remove(&mut self, in_flight: &MessageInFlight, link: (usize, usize), index: usize) {
        match self {
            Self::Bag(bag) => {
                let copies = bag.get_mut(in_flight).unwrap();
                *copies -= 1;
                if *copies == 0 {
                    bag.remove(in_flight);
                }
            }
            Self::Links(links) => {
                let queue: &mut VecDeque<_> = links.get_mut(&link).unwrap();
                assert_eq!(queue.remove(index).as_ref(), Some(in_flight));
                if queue.is_empty() {
                    links.remove(&link);
                }
            }
        }
    }

    /// Returns every message with its index on its link. Of equal messages in a row it returns only
    /// the first, because losing another one leads to the same state.
    fn distinct(&self) -> Vec<(MessageInFlight, usize)> {
        match self {
            Self::Bag(bag) => bag.keys().map(|in_flight| (in_flight.clone(), 0)).collect(),
            Self::Links(links) => {
                let messages = links.values().flat_map(|link| {
                    let differs = |index: &usize| *index == 0 || link[*index] != link[index - 1];
                    (0..link.len()).filter(differs).map(|index| (link[index].clone(), index))
                });
                messages.collect()
            }
        }
    }
}

/// One transition in progress: the state to change, the acting node, and the obligations and
/// violations of the transition so far.
pub(super) struct StepContext<'a> {
    system: &'a mut TransitionSystem,
    pub(super) state: &'a mut State,
    pub(super) node: usize,
    pub(super) met_obligations: Vec<Obligation>,
    violations: Vec<Violation>,
}

impl<'a> StepContext<'a> {
    fn new(system: &'a mut TransitionSystem, state: &'a mut State, node: usize) -> Self {
        Self { system, state, node, met_obligations: Vec::new(), violations: Vec::new() }
    }

    pub(super) fn node_mut(&mut self) -> &mut Node {
        Rc::make_mut(&mut self.state.nodes[self.node])
    }

    fn command(&mut self, command: Command) {
        if matches!(command, Command::Acquire | Command::Try | Command::Share) {
            let node = self.node_mut();
            node.client = ClientState::Waiting;
            node.remaining_requests = node.remaining_requests.map(|count| count - 1);
            self.state.past.begin_request(self.node);
        }
        let ends_request = matches!(command, Command::Cancel | Command::Release);
        self.node_mut().awaits_answer = ends_request && self.system.bounds.clients.has_views;
        self.step(Input::Command(command));
    }

    fn fire(&mut self, timer: usize) {
        self.node_mut().timers.remove(&timer);
        let timer = self.system.timers[timer].clone();
        self.step(Input::Timer(timer));
    }

    fn sync(&mut self) {
        let count = self.node_mut().disk.saves_after_sync().unwrap();
        self.node_mut().disk.sync(count);
        while let Some(effect) = self.node_mut().disk.release() {
            self.carry_out(effect);
        }
        self.step(Input::Saved(count));
    }

    fn crash(&mut self, surviving_writes: u64) {
        let waited = self.node_mut().client == ClientState::Waiting;
        let node = self.node_mut();
        node.protocol = None;
        node.timers.clear();
        node.disk.crash(surviving_writes);
        node.client = ClientState::Down;
        node.awaits_answer = false;
        if node.lease != Lease::None {
            node.lease = Lease::Lost;
        }
        if waited {
            self.state.past.end_request(self.node, &mut self.state.network);
        }
    }

    fn restart(&mut self) {
        let protocol = (self.system.make)(NodeId::from_index(self.node));
        let node = self.node_mut();
        node.protocol = Some(protocol);
        node.incarnation = node.incarnation.next();
        node.client = ClientState::Outside;
        let (durable, incarnation) = (node.disk.contents(), node.incarnation);
        self.step(Input::Start { durable, incarnation });
    }

    /// Steps the node with an input, which is a turn of its own.
    pub(super) fn step(&mut self, input: Input<MutexNode>) {
        self.step_within_turn(input);
        if self.node_mut().protocol.as_ref().is_some_and(MutexNode::uses_end_of_turn) {
            self.step_within_turn(Input::EndOfTurn);
        }
    }

    fn step_within_turn(&mut self, input: Input<MutexNode>) {
        let now = clock_reading(self.state.now, self.state.drifts_ppm[self.node]);
        let mut protocol = self.node_mut().protocol.take().unwrap();
        let mut log = EffectLog(Vec::new());
        protocol.step(now, input, &mut Effects::new(&mut log));
        self.node_mut().protocol = Some(protocol);
        for logged in log.0 {
            match logged {
                LoggedEffect::WrappedMessageDelivered { from, payload } => {
                    self.state.past.deliver_wrapped_knowledge(from, NodeId::from_index(self.node), payload);
                }
                LoggedEffect::Effect(effect) => {
                    if let Some(effect) = self.node_mut().disk.admit(effect) {
                        self.carry_out(effect);
                    }
                }
            }
        }
    }

    fn carry_out(&mut self, effect: Effect<MutexNode>) {
        match effect {
            Effect::Send { to, message, .. } => self.send(to, message),
            Effect::Multicast { to, message, .. } => {
                for to in to.others(NodeId::from_index(self.node)) {
                    self.send(to, message.clone());
                }
            }
            Effect::Save(write) => self.node_mut().disk.write(write),
            Effect::SetTimer { timer, span } => {
                let number = self.system.number_timer(&timer);
                let has_timing = self.system.bounds.setup.timing.is_some();
                let now = clock_reading(self.state.now, self.state.drifts_ppm[self.node]);
                // A timer that never fires is like no timer.
                if now + span.earliest == Time::NEVER {
                    self.node_mut().timers.remove(&number);
                    return;
                }
                let deadline = |delay| if has_timing { now + delay } else { Time::ZERO };
                self.node_mut().timers.insert(number, (deadline(span.earliest), deadline(span.latest)));
                self.met_obligations.push(Obligation::Fire { node: self.node, timer: number });
            }
            Effect::CancelTimer(timer) => {
                let number = self.system.number_timer(&timer);
                self.node_mut().timers.remove(&number);
            }
            Effect::Emit { event, .. } => self.emit(event),
        }
    }

    fn send(&mut self, to: NodeId, message: AnyMessage) {
        // A message to a node outside the group is dropped.
        if to.index() >= self.state.nodes.len() {
            return;
        }
        let from = NodeId::from_index(self.node);
        let knowledge = self.state.past.knowledge_of(self.node);
        // A wrapper may retransmit a message; the knowledge at its first transmission counts.
        if let Some(payload) = message.payload_id().filter(|_| !message.is_retransmission()) {
            self.state.past.record_wrapped_send(from, to, payload);
        }
        let knowledge = if message.is_wrapped() { Default::default() } else { knowledge };
        let number = self.system.number_message(self.node, to.index(), message, self.state.now);
        self.state.network.insert((number, knowledge), (self.node, to.index()), None);
    }

    fn emit(&mut self, event: Event) {
        let waited = self.node_mut().client == ClientState::Waiting;
        // Every event answers the client, except the extension of a lease.
        self.node_mut().awaits_answer &= matches!(event, Event::Extended { .. });
        match event {
            Event::Entered { fence, .. } => {
                if !waited {
                    self.violations.push(Violation::Unrequested);
                }
                self.node_mut().client = ClientState::Inside;
                self.state.past.record_entry(self.node, fence, &mut self.state.network, &mut self.violations);
            }
            Event::Left | Event::Lost | Event::Denied | Event::Cancelled => {
                self.node_mut().client = ClientState::Outside;
                if waited {
                    self.state.past.end_request(self.node, &mut self.state.network);
                }
            }
            Event::Refused(_) | Event::Extended { .. } => {}
        }
    }
}
