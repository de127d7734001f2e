//! Steps the nodes: computes what an input does to a local state, and numbers the results.

use crate::action::MAX_MOVES;
use crate::clients::{ClientStep, Clients, StepRecord};
use crate::content::{content_fingerprint, mix};
use crate::executor::{Executor, NodeStep};
use crate::expand::Stepper;
use crate::findings::Setup;
use crate::interner::Interner;
use crate::local::{ArmedTimer, Checkable, LocalState, local_time, true_time};
use crate::membership::{Lease, PackedView, view_sender};
use crate::memory_of_past;
use crate::notices::{CrashNotices, notice_sender};
use crate::tables::{
    Consequences, EnvelopeInfo, EnvelopeTiming, LifecycleNotices, LocalDetail, LocalInfo, MoveDetail, MoveKind, NONE,
    Outcome, PayloadInfo, StepEvent, Tables, TimeWindow,
};
use quorate_core::{Describe, Incarnation, Input, NodeId, Protocol, Span, Time, View};
use quorate_journal::disk::Disk;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Creates a node, at start-up and at every restart.
pub type MakeNode<P> = Arc<dyn Fn(NodeId) -> P + Send + Sync>;

/// A message or notice with its sender and receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope<M> {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) content: Content<M>,
    /// When the envelope may and must arrive, if delays are bounded.
    pub(crate) arrival: Option<TimeWindow>,
}

/// Without bounded delays, the fingerprint depends only on sender, receiver and content.
impl<M: Hash> Hash for Envelope<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.from.hash(state);
        self.to.hash(state);
        self.content.hash(state);
        if let Some(arrival) = self.arrival {
            arrival.hash(state);
        }
    }
}

/// The content of an envelope on its way to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Content<M> {
    Message(M),
    View(View),
    /// Notice that the process of a node crashed.
    Crashed(NodeId),
    /// Notice that the process of a node restarted.
    Restarted(NodeId),
}

/// A step that a node takes without receiving an envelope.
pub(crate) enum Move<C, T> {
    Command(C),
    Timer(T),
    /// The disk has synced all pending writes.
    Sync,
    /// The node crashes, and the first `survivors` of its unsynced writes survive.
    Crash {
        survivors: u64,
    },
    Restart,
    /// The membership service renews the node's lease (`LEASE_VALID`), or the lease ends
    /// (`LEASE_ENDED`).
    Lease {
        until: Time,
    },
}

type MoveOf<P> = Move<<P as Protocol>::Command, <P as Protocol>::Timer>;

/// Steps the nodes of a group, and stores each local state, envelope and move under its number.
pub(crate) struct StepTable<P: Checkable, C: Clients<Command = P::Command, Event = P::Event>> {
    make_node: MakeNode<P>,
    clients: C,
    nodes: usize,
    is_timed: bool,
    delay: Option<Span>,
    crash_notices: CrashNotices,
    has_prompt_disks: bool,
    locals: Interner<LocalState<P, C::Client>>,
    envelopes: Interner<Envelope<P::Message>>,
    moves: Vec<MoveOf<P>>,
    /// Whether a node had more moves than an action can encode.
    has_too_many_moves: bool,
}

/// Separates the obligation to deliver a message from the fingerprint of the message itself.
const DELIVERY_OBLIGATION: u64 = 0x6d65_7373;

/// Returns the fingerprint of the obligation to deliver a message, which a fair run must meet.
pub(crate) fn delivery_obligation(envelope: &EnvelopeInfo) -> u64 {
    mix(envelope.fingerprint ^ DELIVERY_OBLIGATION)
}

/// Views are checked without time, so a lease has no length: it is valid, or it has ended.
pub(crate) const LEASE_VALID: Time = Time::NEVER;
const LEASE_ENDED: Time = Time::ZERO;

// Each kind of obligation but delivery has its own number, so that their fingerprints differ. The
// obligation to remove a member, in `membership`, has number 4.
const COMMAND_OBLIGATION: u8 = 1;
const TIMER_OBLIGATION: u8 = 2;
const SYNC_OBLIGATION: u8 = 3;

impl<P, C> StepTable<P, C>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
{
    pub(crate) fn new(make_node: MakeNode<P>, clients: C, setup: &Setup) -> Self {
        Self {
            make_node,
            clients,
            nodes: setup.nodes,
            is_timed: setup.timing.is_some(),
            delay: setup.timing.and_then(|timing| timing.delay),
            crash_notices: setup.crash_notices,
            // With restarts it matters which saves are durable, so syncs stay separate moves.
            has_prompt_disks: setup.has_prompt_disks && setup.restarts == 0,
            locals: Interner::new(),
            envelopes: Interner::new(),
            moves: Vec::new(),
            has_too_many_moves: false,
        }
    }

    pub(crate) fn make_node(&self, node: NodeId) -> P {
        (self.make_node)(node)
    }

    pub(crate) fn envelope(&self, number: u32) -> &Envelope<P::Message> {
        self.envelopes.get(number)
    }

    pub(crate) fn move_at(&self, number: u32) -> &MoveOf<P> {
        &self.moves[number as usize]
    }

    /// Whether nodes are notified of crashes, and not only their clients.
    pub(crate) fn notifies_nodes(&self) -> bool {
        self.crash_notices == CrashNotices::ToNodes
    }

    pub(crate) fn has_prompt_disks(&self) -> bool {
        self.has_prompt_disks
    }

    pub(crate) fn local(&self, number: u32) -> &LocalState<P, C::Client> {
        self.locals.get(number)
    }

    /// Starts every node, each with its own clock drift and in the `founding` view, if the group
    /// has views. Returns the numbers of the local states and of the envelopes in flight.
    pub(crate) fn start_nodes(
        &mut self,
        tables: &mut Tables,
        drifts_ppm: &[i32],
        founding: Option<PackedView>,
    ) -> (Vec<u32>, Vec<u32>) {
        let mut locals = Vec::new();
        let mut in_flight = Vec::new();
        for (index, drift_ppm) in drifts_ppm.iter().enumerate() {
            let node = NodeId::from_index(index);
            let local = LocalState {
                node,
                protocol: Some(self.make_node(node)),
                incarnation: Incarnation::FIRST,
                timers: Vec::new(),
                disk: Disk::default(),
                drift_ppm: *drift_ppm,
                lease: if founding.is_some() { Lease::Valid } else { Lease::NotRequired },
                client: self.clients.initial(node),
            };
            let start = Input::Start { durable: P::Durable::default(), incarnation: Incarnation::FIRST };
            let view_inputs = founding.map(|packed| [Input::View(packed.unpack()), Input::Lease(LEASE_VALID)]);
            let mut local = local;
            for input in std::iter::once(start).chain(view_inputs.into_iter().flatten()) {
                let step = self.step(local, Time::ZERO, Some(input), StepRecord::empty_at(Time::ZERO));
                local = step.local;
                in_flight.extend(step.sends.into_iter().map(|envelope| self.number_envelope(tables, envelope)));
            }
            locals.push(self.number_local(tables, local));
        }
        (locals, in_flight)
    }

    /// Gives an input to a node, if it is up and there is an input, and collects the effects. If
    /// disks are prompt, the node's saves become durable within the step. The input is a turn of
    /// its own, which ends within the step.
    fn step(
        &self,
        mut local: LocalState<P, C::Client>,
        time: Time,
        input: Option<Input<P>>,
        record: StepRecord,
    ) -> NodeStep<P, C> {
        let now = local_time(time, local.drift_ppm);
        let events = record.past.iter().copied().map(StepEvent::Past).collect();
        let mut protocol = local.protocol.take();
        let mut executor = Executor {
            clients: &self.clients,
            is_timed: self.is_timed,
            now,
            arrival: self.delay.map(|span| TimeWindow { earliest: time + span.earliest, latest: time + span.latest }),
            step: NodeStep { local, sends: Vec::new(), events, timer_obligations: Vec::new(), record },
            nodes: self.nodes,
        };
        let mut next_input = input;
        while let (Some(protocol), Some(input)) = (&mut protocol, next_input.take()) {
            let ends_turn = matches!(input, Input::EndOfTurn);
            executor.give_input(protocol, input);
            let disk = &mut executor.step.local.disk;
            next_input = match disk.saves_after_sync().filter(|_| self.has_prompt_disks) {
                Some(count) => {
                    disk.sync(count);
                    Some(Input::Saved(count))
                }
                None => (protocol.uses_end_of_turn() && !ends_turn).then_some(Input::EndOfTurn),
            };
        }
        let mut step = executor.step;
        step.local.protocol = protocol;
        step.local.timers.sort_by_key(|armed| armed.fingerprint);
        step
    }

    fn make_move(&self, mut local: LocalState<P, C::Client>, time: Time, node_move: &MoveOf<P>) -> NodeStep<P, C> {
        let mut record = StepRecord::empty_at(time);
        let input = match node_move {
            Move::Command(command) => {
                self.clients.observe(&mut local.client, ClientStep::Issued(command), &mut record);
                Some(Input::Command(command.clone()))
            }
            Move::Timer(timer) => {
                local.timers.retain(|armed| armed.timer != *timer);
                Some(Input::Timer(timer.clone()))
            }
            Move::Sync => local.disk.saves_after_sync().map(|count| {
                local.disk.sync(count);
                Input::Saved(count)
            }),
            Move::Crash { survivors } => {
                local.protocol = None;
                local.lease = local.lease.after_loss();
                local.timers.clear();
                local.disk.crash(*survivors);
                self.clients.observe(&mut local.client, ClientStep::Crashed, &mut record);
                None
            }
            Move::Restart => {
                local.incarnation = local.incarnation.next();
                local.protocol = Some(self.make_node(local.node));
                self.clients.observe(&mut local.client, ClientStep::Restarted, &mut record);
                Some(Input::Start { durable: local.disk.contents(), incarnation: local.incarnation })
            }
            Move::Lease { until } => {
                local.lease = if *until == LEASE_VALID { Lease::Valid } else { Lease::Expired };
                Some(Input::Lease(*until))
            }
        };
        self.step(local, time, input, record)
    }

    /// Numbers the results of a step from the local state with the number `before`, and returns the
    /// number of its outcome.
    fn record_outcome(&mut self, tables: &mut Tables, before: u32, step: NodeStep<P, C>) -> u32 {
        let NodeStep { local, sends, events, timer_obligations, record } = step;
        let next_local = self.number_local(tables, local);
        let sends: Box<[u32]> = sends.into_iter().map(|envelope| self.number_envelope(tables, envelope)).collect();
        let (old, new) = (&tables.local_details[before as usize], &tables.local_details[next_local as usize]);
        // Properties of states see a client's facet and how long it holds what it holds. Properties
        // of steps see a violation of the step itself.
        let is_visible = (old.facet, old.held_until) != (new.facet, new.held_until) || record.violation.is_some();
        let sent = sends.iter().map(|number| tables.envelopes[*number as usize].fingerprint);
        let delta = sent.fold(new.fingerprint.wrapping_sub(old.fingerprint), u64::wrapping_add);
        let receivers = sends.iter().fold(0, |nodes, number| nodes | 1 << tables.envelopes[*number as usize].to);
        let events = events.into_iter().map(|event| match event {
            // Until here, a message is identified by its index among those sent.
            StepEvent::Sent(index) => StepEvent::Sent(sends[index as usize]),
            StepEvent::PayloadDelivered(_) | StepEvent::Past(_) => event,
        });
        let events = events.collect();
        let consequences = Consequences { sends, events, timer_obligations: timer_obligations.into() };
        tables.add_outcome(Outcome::new(delta, next_local, receivers, record.violation, is_visible), consequences)
    }

    /// Numbers all notices of crashes and restarts, if any are sent.
    pub(crate) fn assign_notice_numbers(&mut self, tables: &mut Tables) {
        if !self.crash_notices.are_sent() {
            return;
        }
        for subject in (0..self.nodes).map(NodeId::from_index) {
            for to in (0..self.nodes).map(NodeId::from_index) {
                let mut notice = |content| match subject == to {
                    true => NONE,
                    false => self
                        .number_envelope(tables, Envelope { from: notice_sender(subject), to, content, arrival: None }),
                };
                let (crashed, restarted) = (notice(Content::Crashed(subject)), notice(Content::Restarted(subject)));
                tables.notices.push(LifecycleNotices { crashed, restarted });
            }
        }
    }

    /// Returns the number of an envelope, and adds it to the tables if it is new.
    fn number_envelope(&mut self, tables: &mut Tables, envelope: Envelope<P::Message>) -> u32 {
        let (from, to) = (envelope.from.index() as u8, envelope.to.index() as u8);
        let message = match &envelope.content {
            Content::Message(message) => Some(message),
            Content::View(_) | Content::Crashed(_) | Content::Restarted(_) => None,
        };
        let is_wrapped = message.is_some_and(Describe::is_wrapped);
        let first_copy = message.filter(|message| !message.is_retransmission());
        let payload = first_copy.and_then(Describe::payload_id);
        let payload = payload.map(|payload| memory_of_past::pack_payload(envelope.from, envelope.to, payload));
        let arrival = envelope.arrival;
        // A replay identifies messages without their delivery windows, so the envelope without its
        // window needs a number too.
        let undated = arrival.map(|_| Envelope { arrival: None, ..envelope.clone() });
        let undated = undated.map(|undated| self.number_envelope(tables, undated));
        let (number, fingerprint, is_new) = self.envelopes.intern(envelope);
        if is_new {
            tables.envelopes.push(EnvelopeInfo { fingerprint, from, to });
            tables.payloads.push(PayloadInfo { is_wrapped, payload });
            tables.timings.push(EnvelopeTiming { arrival, undated_envelope: undated.unwrap_or(number) });
        }
        number
    }

    /// Returns the number of a local state. If it is new, adds it and its moves to the tables.
    fn number_local(&mut self, tables: &mut Tables, local: LocalState<P, C::Client>) -> u32 {
        let (number, fingerprint, is_new) = self.locals.intern(local);
        if !is_new {
            return number;
        }
        let local = self.locals.get(number);
        let window = |armed: &ArmedTimer<P::Timer>| TimeWindow {
            earliest: true_time(armed.earliest, local.drift_ppm),
            latest: true_time(armed.latest, local.drift_ppm),
        };
        let timer_windows = if self.is_timed { local.timers.iter().map(window).collect() } else { Box::default() };
        // The client of a node that may not act counts neither as holding anything nor as waiting,
        // even if the client does not know yet that its node may not act.
        let may_act = local.lease.allows_action();
        let facet = self.clients.facet(&local.client, may_act);
        let held_until = if may_act && self.is_timed { self.clients.held_until(&local.client) } else { None };
        let held_until = held_until.map_or(Time::ZERO, |until| true_time(until, local.drift_ppm));
        tables.local_details.push(LocalDetail { fingerprint, facet, held_until, timer_windows });
        let moves = self.moves_of(local);
        let crashes = moves.iter().filter(|(node_move, _)| matches!(node_move, Move::Crash { .. })).count();
        let info = LocalInfo {
            first_move: self.moves.len() as u32,
            move_count: moves.len().min(MAX_MOVES) as u16,
            crash_moves: crashes.min(MAX_MOVES) as u16,
            is_waiting: may_act && self.clients.is_waiting(&local.client),
            is_up: local.protocol.is_some(),
            has_valid_lease: local.lease == Lease::Valid,
        };
        tables.locals.push(info);
        self.has_too_many_moves |= moves.len() > MAX_MOVES;
        for (node_move, detail) in moves {
            tables.add_move(node_move.kind(), detail);
            self.moves.push(node_move);
        }
        number
    }

    /// The moves that a node can make; crashes come last.
    fn moves_of(&self, local: &LocalState<P, C::Client>) -> Vec<(MoveOf<P>, MoveDetail)> {
        let node = local.node.index();
        let mut moves = Vec::new();
        let mut add = |node_move, obligation, earliest| moves.push((node_move, MoveDetail { obligation, earliest }));
        if local.protocol.is_none() {
            add(Move::Restart, None, Time::ZERO);
            return moves;
        }
        for offer in self.clients.offers(&local.client) {
            let obligation = offer.is_obliged.then(|| content_fingerprint(&(node, COMMAND_OBLIGATION)));
            add(Move::Command(offer.command), obligation, Time::ZERO);
        }
        for armed in &local.timers {
            // By the node's own clock, another timer must fire before this one can. Rounding to
            // true time may hide this order.
            if self.is_timed && local.timers.iter().any(|other| other.latest < armed.earliest) {
                continue;
            }
            let earliest = if self.is_timed { true_time(armed.earliest, local.drift_ppm) } else { Time::ZERO };
            add(Move::Timer(armed.timer.clone()), Some(timer_obligation(node, armed.fingerprint)), earliest);
        }
        if local.disk.pending_writes() > 0 {
            add(Move::Sync, Some(content_fingerprint(&(node, SYNC_OBLIGATION))), Time::ZERO);
        }
        match local.lease {
            Lease::Valid => add(Move::Lease { until: LEASE_ENDED }, None, Time::ZERO),
            Lease::Expired => add(Move::Lease { until: LEASE_VALID }, None, Time::ZERO),
            Lease::NotRequired | Lease::NotMember => {}
        }
        for survivors in 0..=local.disk.pending_writes() {
            add(Move::Crash { survivors }, None, Time::ZERO);
        }
        moves
    }
}

impl<C, T> Move<C, T> {
    fn kind(&self) -> MoveKind {
        match self {
            Self::Command(_) => MoveKind::Command,
            Self::Timer(_) => MoveKind::Timer,
            Self::Sync => MoveKind::Sync,
            Self::Crash { .. } => MoveKind::Crash,
            Self::Restart => MoveKind::Restart,
            Self::Lease { until: LEASE_VALID } => MoveKind::LeaseRenewed,
            Self::Lease { .. } => MoveKind::LeaseEnds,
        }
    }
}

/// Returns the fingerprint of the obligation to let a timer fire or to set it again.
pub(crate) fn timer_obligation(node: usize, fingerprint: u64) -> u64 {
    content_fingerprint(&(node, TIMER_OBLIGATION, fingerprint))
}

impl<P, C> Stepper for StepTable<P, C>
where
    P: Checkable,
    C: Clients<Command = P::Command, Event = P::Event>,
{
    fn deliver(&mut self, tables: &mut Tables, local: u32, envelope: u32, time: Time) -> u32 {
        let Envelope { from, content, .. } = self.envelopes.get(envelope).clone();
        let mut receiver = self.locals.get(local).clone();
        let mut record = StepRecord::empty_at(time);
        let notifies_nodes = self.notifies_nodes();
        let input = match content {
            Content::Message(message) => Some(Input::Message { from, message }),
            Content::View(view) => {
                if view.stay(receiver.node).is_none_or(|stay| stay.incarnation != receiver.incarnation) {
                    receiver.lease = receiver.lease.after_loss();
                }
                Some(Input::View(view))
            }
            Content::Crashed(other) => {
                self.clients.observe(&mut receiver.client, ClientStep::PeerCrashed(other), &mut record);
                notifies_nodes.then_some(Input::Suspect(other))
            }
            Content::Restarted(other) => {
                self.clients.observe(&mut receiver.client, ClientStep::PeerRestarted(other), &mut record);
                notifies_nodes.then_some(Input::Trust(other))
            }
        };
        let step = self.step(receiver, time, input, record);
        self.record_outcome(tables, local, step)
    }

    fn number_view(&mut self, tables: &mut Tables, packed: PackedView) -> u32 {
        let from = view_sender(self.nodes, packed.epoch());
        let envelope =
            |to| Envelope { from, to: NodeId::from_index(to), content: Content::View(packed.unpack()), arrival: None };
        let envelopes = (0..self.nodes).map(|to| self.number_envelope(tables, envelope(to))).collect();
        tables.record_view(packed, envelopes)
    }

    fn execute_move(&mut self, tables: &mut Tables, local: u32, move_number: u32, time: Time) -> u32 {
        let step = self.make_move(self.locals.get(local).clone(), time, &self.moves[move_number as usize]);
        self.record_outcome(tables, local, step)
    }

    fn has_too_many_moves(&self) -> bool {
        self.has_too_many_moves
    }
}
