//! All transitions from a state, and their effects.

use super::views::{Lease, Membership};
use super::{Budgets, Carried, ClientState, Edge, Network, Node, Obligation, Past, State, Violation, World};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Describe, Effect, Effects, Incarnation, Input, NodeId, Note, Protocol, Sink, Span, Time};
use quorate_erased::{AnyDurable, AnyMessage};
use quorate_journal::disk::Disk;
use quorate_lab::mutex::MutexNode;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// An effect of a step, or a wrapper's note that a parcel is handed over.
enum Logged {
    Effect(Effect<MutexNode>),
    Handed { from: NodeId, parcel: quorate_core::PayloadId },
}

struct EffectLog(Vec<Logged>);

impl Sink<MutexNode> for EffectLog {
    fn effect(&mut self, effect: Effect<MutexNode>) {
        self.0.push(Logged::Effect(effect));
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Delivered { from, parcel } = note {
            self.0.push(Logged::Handed { from, parcel });
        }
    }
}

const MILLION: i128 = 1_000_000;

/// Returns the reading of a clock of this rate.
fn reading(time: Time, rate: i32) -> Time {
    let nanos = i128::from(time.nanos()) * (MILLION + i128::from(rate)) / MILLION;
    Time::from_nanos(i64::try_from(nanos).unwrap())
}

/// Returns the first instant at which a clock of this rate shows this time.
fn first_instant(due: Time, rate: i32) -> Time {
    let pace = MILLION + i128::from(rate);
    let nanos = (i128::from(due.nanos()) * MILLION + pace - 1).div_euclid(pace);
    Time::from_nanos(i64::try_from(nanos).unwrap())
}

impl World {
    /// Returns every initial state: one for each combination of fast and slow clocks.
    pub(super) fn initial(&mut self) -> Vec<State> {
        let setup = self.bounds.setup.clone();
        let drift = setup.timing.map_or(0, |timing| timing.drift_ppm as i32);
        let mut choices = vec![Vec::new()];
        for _ in 0..setup.nodes {
            let rates = if drift == 0 { vec![0] } else { vec![drift, -drift] };
            choices = choices
                .iter()
                .flat_map(|chosen: &Vec<i32>| rates.iter().map(move |rate| [&chosen[..], &[*rate]].concat()))
                .collect();
        }
        choices.into_iter().map(|rates| self.begin(rates)).collect()
    }

    fn begin(&mut self, rates: Vec<i32>) -> State {
        let setup = self.bounds.setup.clone();
        let clients = self.bounds.clients;
        let node = |index| Node {
            protocol: Some((self.make)(NodeId::from_index(index))),
            incarnation: Incarnation::FIRST,
            timers: BTreeMap::new(),
            disk: Disk::default(),
            client: ClientState::Outside,
            left: clients.rounds,
            awaits_answer: false,
            lease: if setup.views.is_some() { Lease::Valid } else { Lease::None },
        };
        let network = if setup.fifo { Network::Links(BTreeMap::new()) } else { Network::Bag(BTreeMap::new()) };
        let budgets = Budgets {
            losses: setup.losses,
            duplicates: setup.duplicates,
            crashes: setup.crashes,
            restarts: setup.restarts,
            early_timers: setup.early_timers,
            changes: setup.views.map_or(0, |views| views.changes),
        };
        let membership = setup.views.map(|_| Membership::founding(setup.nodes));
        let past = Past::new(setup.nodes, clients.order, clients.fences);
        let mut state = State {
            nodes: (0..setup.nodes).map(node).map(Rc::new).collect(),
            network,
            budgets,
            now: Time::ZERO,
            rates,
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

    pub(super) fn edges(&mut self, state: &State) -> Vec<Edge> {
        let mut edges = Vec::new();
        for node in 0..state.nodes.len() {
            self.own_edges(state, node, &mut edges);
        }
        self.deliveries(state, &mut edges);
        self.faults(state, &mut edges);
        self.membership_edges(state, &mut edges);
        edges.extend(self.pass_time(state));
        edges
    }

    fn own_edges(&mut self, state: &State, node: usize, edges: &mut Vec<Edge>) {
        let at = &state.nodes[node];
        if at.protocol.is_none() {
            if state.budgets.restarts > 0 {
                edges.push(self.edge(state, node, true, |context| {
                    context.state.budgets.restarts -= 1;
                    context.restart();
                }));
            }
            return;
        }
        for command in self.offers(at) {
            edges.push(self.edge(state, node, true, |context| {
                if command == Command::Release {
                    context.meets.push(Obligation::Release(node));
                }
                context.command(command);
            }));
        }
        for (timer, (earliest, _)) in &at.timers {
            let timed = self.bounds.setup.timing.is_some();
            let is_early = !timed && !state.is_quiet();
            // A timer whose deadline passed earlier by the node's own clock fires first.
            let is_first = at.timers.values().all(|(_, latest)| latest >= earliest);
            let ready = is_first && first_instant(*earliest, state.rates[node]) <= state.now;
            if (timed && !ready) || (is_early && state.budgets.early_timers == 0) {
                continue;
            }
            edges.push(self.edge(state, node, true, |context| {
                context.state.budgets.early_timers -= u8::from(is_early);
                context.meets.push(Obligation::Fire(node, *timer));
                context.fire(*timer);
            }));
        }
        if at.disk.pending() > 0 {
            edges.push(self.edge(state, node, true, |context| {
                context.meets.push(Obligation::Sync(node));
                context.sync();
            }));
        }
        self.lease_edges(state, node, edges);
        let change = state.costs_a_change(node);
        if state.budgets.crashes > 0 && (!change || state.budgets.changes > 0) {
            for survivors in 0..=at.disk.pending() {
                edges.push(self.edge(state, node, false, |context| {
                    context.state.budgets.crashes -= 1;
                    context.state.budgets.changes -= u8::from(change);
                    context.crash(survivors);
                }));
            }
        }
    }

    fn offers(&self, node: &Node) -> Vec<Command> {
        let clients = self.bounds.clients;
        match node.client {
            ClientState::Waiting | ClientState::Inside if node.awaits_answer => vec![],
            ClientState::Outside if node.left == Some(0) => vec![],
            ClientState::Outside if clients.tries => vec![Command::Acquire, Command::Try],
            ClientState::Outside => vec![Command::Acquire],
            ClientState::Waiting if clients.cancels => vec![Command::Cancel],
            ClientState::Inside => vec![Command::Release],
            ClientState::Waiting | ClientState::Down => vec![],
        }
    }

    pub(super) fn edge(
        &mut self,
        state: &State,
        node: usize,
        regular: bool,
        act: impl FnOnce(&mut StepContext<'_>),
    ) -> Edge {
        let mut to = state.clone();
        let mut context = StepContext::new(self, &mut to, node);
        act(&mut context);
        let StepContext { meets, violations, .. } = context;
        Edge { to, regular, meets, violations }
    }

    fn deliveries(&mut self, state: &State, edges: &mut Vec<Edge>) {
        // Any message of a bag may arrive next, of a link only the first one.
        let next: Vec<Carried> = match &state.network {
            Network::Bag(bag) => bag.keys().cloned().collect(),
            Network::Links(links) => links.values().map(|link| link[0].clone()).collect(),
        };
        for carried in next {
            let (from, to, message, _) = self.messages[carried.0].clone();
            if self.arrival(carried.0).is_some_and(|(earliest, _)| state.now < earliest) {
                continue;
            }
            edges.push(self.edge(state, to, true, |context| {
                context.meets.push(Obligation::Deliver(carried.0));
                context.state.network.take(&carried, (from, to), 0);
                if context.state.nodes[to].protocol.is_some() {
                    if !message.is_wrapped() {
                        context.state.past.learns(to, &carried.1);
                    }
                    context.step(Input::Message { from: NodeId::from_index(from), message });
                }
            }));
        }
    }

    fn faults(&mut self, state: &State, edges: &mut Vec<Edge>) {
        for (carried, place) in state.network.distinct() {
            let (from, to, ..) = self.messages[carried.0].clone();
            if state.budgets.losses > 0 {
                edges.push(self.edge(state, to, false, |context| {
                    context.state.budgets.losses -= 1;
                    context.state.network.take(&carried, (from, to), place);
                }));
            }
            if state.budgets.duplicates > 0 {
                edges.push(self.edge(state, to, false, |context| {
                    context.state.budgets.duplicates -= 1;
                    context.state.network.put(carried.clone(), (from, to), Some(place));
                }));
            }
        }
    }

    /// Returns the delay bounds, if there are any.
    pub(super) fn delay(&self) -> Option<Span> {
        self.bounds.setup.timing?.delay
    }

    /// Returns the earliest and the latest arrival of a message, if delays are bounded.
    fn arrival(&self, message: usize) -> Option<(Time, Time)> {
        let sent = self.messages[message].3?;
        self.delay().map(|delay| (sent + delay.earliest, sent + delay.latest))
    }

    /// Advances time to the next instant at which a timer or message becomes possible or due,
    /// unless one is due now.
    fn pass_time(&self, state: &State) -> Option<Edge> {
        let until = self.bounds.setup.timing?.until;
        let mut instants = Vec::new();
        for (node, rate) in state.nodes.iter().zip(&state.rates) {
            for (earliest, latest) in node.timers.values() {
                let (earliest, latest) = (first_instant(*earliest, *rate), first_instant(*latest, *rate));
                if latest <= state.now {
                    return None;
                }
                instants.extend([earliest, latest].into_iter().find(|instant| *instant > state.now));
            }
        }
        for ((message, _), _) in state.network.distinct() {
            let Some((first, last)) = self.arrival(message) else { continue };
            if last <= state.now {
                return None;
            }
            instants.push(if first > state.now { first } else { last });
        }
        let now = instants.into_iter().min().filter(|next| *next <= until)?;
        Some(Edge { to: State { now, ..state.clone() }, regular: true, meets: vec![], violations: vec![] })
    }

    /// Returns the obligations of a fair run in a state.
    pub(super) fn due(&self, state: &State) -> Vec<Obligation> {
        let mut due: Vec<Obligation> =
            state.network.distinct().iter().map(|((message, _), _)| Obligation::Deliver(*message)).collect();
        for (index, node) in state.nodes.iter().enumerate() {
            due.extend(
                (node.client == ClientState::Inside && !node.awaits_answer).then_some(Obligation::Release(index)),
            );
            due.extend(node.timers.keys().map(|timer| Obligation::Fire(index, *timer)));
            due.extend((node.disk.pending() > 0).then_some(Obligation::Sync(index)));
        }
        due.extend(state.membership_obligations());
        due.sort_unstable();
        due.dedup();
        due
    }
}

impl Network {
    fn put(&mut self, carried: Carried, link: (usize, usize), place: Option<usize>) {
        match self {
            Self::Bag(bag) => *bag.entry(carried).or_default() += 1,
            Self::Links(links) => {
                let link = links.entry(link).or_default();
                link.insert(place.unwrap_or(link.len()), carried);
            }
        }
    }

    fn take(&mut self, carried: &Carried, link: (usize, usize), place: usize) {
        match self {
            Self::Bag(bag) => {
                let copies = bag.get_mut(carried).unwrap();
                *copies -= 1;
                if *copies == 0 {
                    bag.remove(carried);
                }
            }
            Self::Links(links) => {
                let row: &mut VecDeque<_> = links.get_mut(&link).unwrap();
                assert_eq!(row.remove(place).as_ref(), Some(carried));
                if row.is_empty() {
                    links.remove(&link);
                }
            }
        }
    }

    /// Returns every message whose loss makes a difference, with its index on its link.
    fn distinct(&self) -> Vec<(Carried, usize)> {
        match self {
            Self::Bag(bag) => bag.keys().map(|carried| (carried.clone(), 0)).collect(),
            Self::Links(links) => {
                let places = links.values().flat_map(|link| {
                    let first = |place: &usize| *place == 0 || link[*place] != link[place - 1];
                    (0..link.len()).filter(first).map(|place| (link[place].clone(), place))
                });
                places.collect()
            }
        }
    }
}

pub(super) struct StepContext<'a> {
    world: &'a mut World,
    pub(super) state: &'a mut State,
    pub(super) node: usize,
    pub(super) meets: Vec<Obligation>,
    violations: Vec<Violation>,
}

impl<'a> StepContext<'a> {
    fn new(world: &'a mut World, state: &'a mut State, node: usize) -> Self {
        Self { world, state, node, meets: Vec::new(), violations: Vec::new() }
    }

    pub(super) fn at(&mut self) -> &mut Node {
        Rc::make_mut(&mut self.state.nodes[self.node])
    }

    fn command(&mut self, command: Command) {
        if matches!(command, Command::Acquire | Command::Try | Command::Share) {
            let node = self.at();
            node.client = ClientState::Waiting;
            node.left = node.left.map(|left| left - 1);
            self.state.past.asks(self.node);
        }
        let ends_request = matches!(command, Command::Cancel | Command::Release);
        self.at().awaits_answer = ends_request && self.world.bounds.clients.views;
        self.step(Input::Command(command));
    }

    fn fire(&mut self, timer: usize) {
        self.at().timers.remove(&timer);
        let timer = self.world.timers[timer].clone();
        self.step(Input::Timer(timer));
    }

    fn sync(&mut self) {
        let count = self.at().disk.saves_after_sync().unwrap();
        self.at().disk.sync(count);
        while let Some(effect) = self.at().disk.release() {
            self.carry_out(effect);
        }
        self.step(Input::Saved(count));
    }

    fn crash(&mut self, survivors: u64) {
        let waited = self.at().client == ClientState::Waiting;
        let node = self.at();
        node.protocol = None;
        node.timers.clear();
        node.disk.crash(survivors);
        node.client = ClientState::Down;
        node.awaits_answer = false;
        if node.lease != Lease::None {
            node.lease = Lease::Lost;
        }
        if waited {
            self.state.past.ends(self.node, &mut self.state.network);
        }
    }

    fn restart(&mut self) {
        let protocol = (self.world.make)(NodeId::from_index(self.node));
        let node = self.at();
        node.protocol = Some(protocol);
        node.incarnation = node.incarnation.next();
        node.client = ClientState::Outside;
        let (durable, incarnation) = (node.disk.contents(), node.incarnation);
        self.step(Input::Start { durable, incarnation });
    }

    pub(super) fn step(&mut self, input: Input<MutexNode>) {
        let now = reading(self.state.now, self.state.rates[self.node]);
        let mut protocol = self.at().protocol.take().unwrap();
        let mut log = EffectLog(Vec::new());
        protocol.step(now, input, &mut Effects::new(&mut log));
        self.at().protocol = Some(protocol);
        for logged in log.0 {
            match logged {
                Logged::Handed { from, parcel } => {
                    self.state.past.receives_parcel(from, NodeId::from_index(self.node), parcel);
                }
                Logged::Effect(effect) => {
                    if let Some(effect) = self.at().disk.admit(effect) {
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
            Effect::Save(write) => self.at().disk.write(write),
            Effect::SetTimer { timer, span } => {
                let number = self.world.number_timer(&timer);
                let timed = self.world.bounds.setup.timing.is_some();
                let now = reading(self.state.now, self.state.rates[self.node]);
                if now + span.earliest == Time::NEVER {
                    self.at().timers.remove(&number);
                    return;
                }
                let due = |length| if timed { now + length } else { Time::ZERO };
                self.at().timers.insert(number, (due(span.earliest), due(span.latest)));
                self.meets.push(Obligation::Fire(self.node, number));
            }
            Effect::CancelTimer(timer) => {
                let number = self.world.number_timer(&timer);
                self.at().timers.remove(&number);
            }
            Effect::Emit { event, .. } => self.emit(event),
        }
    }

    fn send(&mut self, to: NodeId, message: AnyMessage) {
        if to.index() >= self.state.nodes.len() {
            return;
        }
        let from = NodeId::from_index(self.node);
        let known = self.state.past.known_to(self.node);
        // A wrapper retransmits a parcel as control traffic; the knowledge at the first
        // transmission counts.
        if let Some(parcel) = message.payload_id().filter(|_| !message.is_retransmission()) {
            self.state.past.sends_parcel(from, to, parcel);
        }
        let known = if message.is_wrapped() { Default::default() } else { known };
        let number = self.world.number_message(self.node, to.index(), message, self.state.now);
        self.state.network.put((number, known), (self.node, to.index()), None);
    }

    fn emit(&mut self, event: Event) {
        let waited = self.at().client == ClientState::Waiting;
        self.at().awaits_answer &= matches!(event, Event::Extended { .. });
        match event {
            Event::Entered { fence, .. } => {
                if !waited {
                    self.violations.push(Violation::Unrequested);
                }
                self.at().client = ClientState::Inside;
                self.state.past.enters(self.node, fence, &mut self.state.network, &mut self.violations);
            }
            Event::Left | Event::Lost | Event::Denied | Event::Cancelled => {
                self.at().client = ClientState::Outside;
                if waited {
                    self.state.past.ends(self.node, &mut self.state.network);
                }
            }
            Event::Refused(_) | Event::Extended { .. } => {}
        }
    }
}
