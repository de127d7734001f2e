//! Scripts: lists of actions by nodes and of faults, which any observer sees as a run.

use quorate_core::{Class, Epoch, Group, Incarnation, NodeId, PayloadId, Span, Stay, Time, View};
use quorate_journal::moment::{Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use quorate_journal::record::{FORMAT, Header};
use quorate_journal::role::Role;
use std::collections::BTreeMap;

use super::node;

/// One action of a script. From `Start` to `ReceiveFrame`, an action is the input that begins a
/// step. From `DeliverPayload` to `SetTimer`, it is an effect of the current step. All actions
/// after `SetTimer` are faults and other changes. These and `Wait` end the current step, and
/// effects between steps are ignored. Nodes have the numbers 1, 2, … A frame is a message of a
/// reliable link; its payload is a message of the algorithm.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Time passes, in milliseconds.
    Wait(i64),
    /// A node starts, in this incarnation.
    Start(u32, u64),
    Command(u32, String),
    Timer(u32),
    /// A node receives the view of this number, with its members, their incarnations and the views
    /// they joined in.
    View(u32, u64, Vec<(u32, u64, u64)>),
    /// A node receives a lease for this many milliseconds.
    Lease(u32, i64),
    /// A node learns that its first save is durable.
    Saved(u32),
    /// A node has taken all inputs of its turn.
    EndOfTurn(u32),
    /// The message in flight with this index arrives. If it is a frame, the link delivers its
    /// payload.
    Deliver(usize),
    /// The frame in flight with this index arrives, but the link holds its payload back.
    ReceiveFrame(usize),
    /// The link delivers the payload with this sender and number.
    DeliverPayload(u32, u64),
    /// The step sends a message: receiver, kind, class.
    Send(u32, String, Class),
    Multicast(String),
    /// The step multicasts a message with this label.
    LabelledMulticast(String),
    /// The hold-back queue contains this many messages with these names after the step.
    SetHoldBackQueue(usize, String),
    /// The step sends a frame with the payload of this number: receiver, kind, number.
    SendFrame(u32, String, u64),
    /// The step applies a rule: id and note.
    Rule(String, String),
    Emit(String),
    SetTimer,
    /// The message in flight with this index is lost, for this cause.
    Lose(usize, Loss),
    Duplicate(usize),
    Crash(u32),
    Stop(u32),
    Pause(u32),
    Resume(u32),
    /// Another fault or change.
    Change(String),
}

/// Runs a script; the observer sees it as a run.
pub(crate) struct Script<O> {
    observer: O,
    nodes: usize,
    time: Time,
    /// The node that takes the current step; `None` between steps.
    stepping_node: Option<NodeId>,
    /// The number of each node's next message.
    next_numbers: BTreeMap<NodeId, u64>,
    in_flight: Vec<InFlight>,
}

#[derive(Clone)]
struct InFlight {
    id: MessageId,
    to: NodeId,
    kind: String,
    payload: Option<PayloadId>,
}

impl<O: Observer<String, String>> Script<O> {
    pub(crate) fn new(observer: O) -> Self {
        let (next_numbers, in_flight) = Default::default();
        Self { observer, nodes: 3, time: Time::ZERO, stepping_node: None, next_numbers, in_flight }
    }

    pub(crate) fn with_nodes(self, nodes: usize) -> Self {
        Self { nodes, ..self }
    }

    pub(crate) fn run(mut self, actions: &[Action]) -> O {
        for action in actions {
            self.apply(action);
        }
        self.observer
    }

    fn apply(&mut self, action: &Action) {
        match action {
            // A step takes no time, so it ends here.
            Action::Wait(millis) => {
                self.time = Time::from_nanos(self.time.nanos() + millis * 1_000_000);
                self.stepping_node = None;
            }
            Action::Start(id, incarnation) => {
                self.observe_input(
                    node(*id),
                    ObservedInput::Start { incarnation: Incarnation(*incarnation), is_disk_blank: false },
                );
            }
            Action::Command(id, text) => self.observe_input(node(*id), ObservedInput::Command(text)),
            Action::Timer(id) => self.observe_input(node(*id), ObservedInput::Timer(&"tick")),
            Action::View(id, epoch, members) => {
                let stay = |(id, incarnation, since): &(u32, u64, u64)| {
                    (node(*id), Stay { incarnation: Incarnation(*incarnation), since: Epoch(*since) })
                };
                let view = View::new(Epoch(*epoch), members.iter().map(stay));
                self.observe_input(node(*id), ObservedInput::View(&view));
            }
            Action::Lease(id, millis) => {
                let until = Time::from_nanos(self.time.nanos() + millis * 1_000_000);
                self.observe_input(node(*id), ObservedInput::Lease(until));
            }
            Action::Saved(id) => self.observe_input(node(*id), ObservedInput::Saved(1)),
            Action::EndOfTurn(id) => self.observe_input(node(*id), ObservedInput::EndOfTurn),
            Action::Deliver(index) | Action::ReceiveFrame(index) => {
                let delivers_payload = matches!(action, Action::Deliver(_));
                self.deliver(*index, delivers_payload);
            }
            Action::DeliverPayload(from, number) => {
                self.observe_effect(ObservedEffect::Delivered { from: node(*from), payload_id: payload_id(*number) });
            }
            Action::Send(to, kind, class) => self.send(node(*to), kind, *class, None),
            Action::SendFrame(to, kind, number) => {
                self.send(node(*to), kind, Class::Algorithm, Some(payload_id(*number)));
            }
            Action::Multicast(kind) => self.multicast(kind, None),
            Action::LabelledMulticast(label) => self.multicast("data", Some(label)),
            Action::SetHoldBackQueue(count, names) => {
                self.observe_effect(ObservedEffect::HoldBack { count: *count, names: format_args!("{names}") });
            }
            Action::Rule(rule, text) => {
                self.observe_effect(ObservedEffect::Rule { rule, text: format_args!("{text}") });
            }
            Action::Emit(text) => self.observe_effect(ObservedEffect::Emit(text)),
            Action::SetTimer => {
                self.observe_effect(ObservedEffect::SetTimer { timer: &"tick", span: Span::between(ms(1), ms(2)) });
            }
            Action::Lose(index, cause) => {
                if let Some(InFlight { id, to, .. }) = self.remove_in_flight(*index) {
                    self.observe_world_event(WorldEvent::Lost { id, to, cause: *cause });
                }
            }
            Action::Duplicate(index) => {
                if let Some(message) = self.in_flight.get(*index).cloned() {
                    self.observe_world_event(WorldEvent::Duplicated { id: message.id });
                    self.in_flight.push(message);
                }
            }
            Action::Crash(id) => self.observe_world_event(WorldEvent::Crashed { node: node(*id), lost_writes: 0 }),
            Action::Stop(id) => self.observe_world_event(WorldEvent::Ended { node: node(*id) }),
            Action::Pause(id) => self.observe_world_event(WorldEvent::Paused { node: node(*id) }),
            Action::Resume(id) => self.observe_world_event(WorldEvent::Resumed { node: node(*id) }),
            Action::Change(text) => self.observe_world_event(WorldEvent::Changed { text }),
        }
    }

    fn remove_in_flight(&mut self, index: usize) -> Option<InFlight> {
        (index < self.in_flight.len()).then(|| self.in_flight.remove(index))
    }

    /// Delivers the message in flight with this index. A frame's payload reaches the algorithm only
    /// with `delivers_payload`.
    fn deliver(&mut self, index: usize, delivers_payload: bool) {
        let Some(InFlight { id, to, kind, payload }) = self.remove_in_flight(index) else { return };
        let is_wrapped = payload.is_some();
        self.observe_input(to, ObservedInput::Message { id, kind: &kind, is_wrapped, incarnation: Incarnation::FIRST });
        if let Some(payload) = payload.filter(|_| delivers_payload) {
            self.observe_effect(ObservedEffect::Delivered { from: id.sender, payload_id: payload });
        }
    }

    /// Returns the first of `count` new message ids of the stepping node; `None` between steps.
    fn next_id(&mut self, count: u64) -> Option<MessageId> {
        let sender = self.stepping_node?;
        let number = self.next_numbers.entry(sender).or_insert(1);
        let id = MessageId { sender, number: *number };
        *number += count;
        Some(id)
    }

    fn send(&mut self, to: NodeId, kind: &str, class: Class, payload: Option<PayloadId>) {
        let Some(id) = self.next_id(1) else { return };
        let sent = Sent {
            id,
            kind,
            label: None,
            class,
            on_behalf_of: None,
            bytes: 1,
            payload_id: payload,
            is_retransmission: false,
            body: &kind,
        };
        self.observe_effect(ObservedEffect::Send { to, sent });
        self.in_flight.push(InFlight { id, to, kind: kind.into(), payload });
    }

    fn multicast(&mut self, kind: &str, label: Option<&String>) {
        let group = Group::of_size(self.nodes);
        let Some(id) = self.next_id(self.nodes as u64 - 1) else { return };
        let class = Class::Algorithm;
        let label = label.map(|label| label as &dyn std::fmt::Display);
        let (on_behalf_of, payload_id, is_retransmission) = Default::default();
        let sent = Sent { id, kind, label, class, on_behalf_of, bytes: 1, payload_id, is_retransmission, body: &kind };
        self.observe_effect(ObservedEffect::Multicast { to: &group, sent });
        for (to, id) in quorate_journal::moment::receivers(&group, id) {
            self.in_flight.push(InFlight { id, to, kind: kind.into(), payload: None });
        }
    }

    fn observe_input(&mut self, node: NodeId, input: ObservedInput<'_, String>) {
        self.stepping_node = Some(node);
        self.observer.observe(&Moment::Input { time: self.time, now: self.time, node, input });
    }

    fn observe_effect(&mut self, effect: ObservedEffect<'_, String>) {
        if let Some(node) = self.stepping_node {
            self.observer.observe(&Moment::Effect { time: self.time, node, effect });
        }
    }

    fn observe_world_event(&mut self, event: WorldEvent<'_>) {
        self.stepping_node = None;
        self.observer.observe(&Moment::World { time: self.time, event });
    }
}

fn payload_id(number: u64) -> PayloadId {
    PayloadId { incarnation: Incarnation::FIRST, number }
}

fn ms(millis: u64) -> quorate_core::Duration {
    quorate_core::Duration::from_millis(millis)
}

/// Returns the role that a moment gives a node: it waits after `acquire`, is chosen after `ENTERS`,
/// and is idle after `LEAVES`, a crash or a stop.
pub(crate) fn roles(moment: &Moment<'_, String, String>, _before: &[Role]) -> Option<(NodeId, Role)> {
    match moment {
        Moment::Input { node, input: ObservedInput::Command(text), .. } if *text == "acquire" => {
            Some((*node, Role::Waiting))
        }
        Moment::Effect { node, effect: ObservedEffect::Emit(text), .. } if *text == "ENTERS" => {
            Some((*node, Role::Chosen))
        }
        Moment::Effect { node, effect: ObservedEffect::Emit(text), .. } if *text == "LEAVES" => {
            Some((*node, Role::Idle))
        }
        Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
            Some((*node, Role::Idle))
        }
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}

pub(crate) fn header(nodes: usize) -> Header {
    Header {
        journal: FORMAT,
        algorithm: "scripted".into(),
        family: "mutex".into(),
        nodes,
        seed: 1,
        found_by: None,
        recorded: false,
        origin: 0,
        live: None,
        run: serde_json::Value::Null,
    }
}
