//! Scripts: a list of actions by nodes and faults, replayed to any observer.

use quorate_core::{Class, Epoch, Group, Incarnation, NodeId, PayloadId, Span, Stay, Time, View};
use quorate_journal::moment::{Loss, MessageId, Moment, ObservedEffect, ObservedInput, Observer, Sent, WorldEvent};
use quorate_journal::record::{FORMAT, Header};
use quorate_journal::role::Role;
use std::collections::BTreeMap;

use super::node;

/// One action of a script. Actions that begin a step name its node; the others belong to the step
/// before them.
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
    Saved(u32),
    /// A message in flight arrives, by its index; its parcel is handed over.
    Deliver(usize),
    /// A message in flight arrives, but its parcel is held back.
    Hold(usize),
    /// The step hands over the parcel with this sender and number.
    Hand(u32, u64),
    Send(u32, String, Class),
    Multicast(String),
    /// The step multicasts a message with this label.
    Labelled(String),
    /// The hold-back queue contains this many messages with these names after the step.
    Queue(usize, String),
    /// The step sends a frame with a parcel of this number.
    Parcel(u32, String, u64),
    Rule(String, String),
    Emit(String),
    Set,
    Lose(usize, Loss),
    Double(usize),
    Crash(u32),
    End(u32),
    Pause(u32),
    Resume(u32),
    /// Another fault or change.
    Change(String),
}

/// Replays a script to an observer.
pub(crate) struct Script<O> {
    observer: O,
    nodes: usize,
    time: Time,
    stepping: Option<NodeId>,
    numbers: BTreeMap<NodeId, u64>,
    in_flight: Vec<InFlight>,
}

#[derive(Clone)]
struct InFlight {
    id: MessageId,
    to: NodeId,
    kind: String,
    parcel: Option<PayloadId>,
}

impl<O: Observer<String, String>> Script<O> {
    pub(crate) fn new(observer: O) -> Self {
        let (numbers, in_flight) = Default::default();
        Self { observer, nodes: 3, time: Time::ZERO, stepping: None, numbers, in_flight }
    }

    pub(crate) fn with_nodes(self, nodes: usize) -> Self {
        Self { nodes, ..self }
    }

    pub(crate) fn run(mut self, actions: &[Action]) -> O {
        for action in actions {
            self.action(action);
        }
        self.observer
    }

    fn action(&mut self, action: &Action) {
        match action {
            // A step takes no time, so it ends here.
            Action::Wait(millis) => {
                self.time = Time::from_nanos(self.time.nanos() + millis * 1_000_000);
                self.stepping = None;
            }
            Action::Start(id, life) => {
                self.input(node(*id), ObservedInput::Start { incarnation: Incarnation(*life), blank: false });
            }
            Action::Command(id, text) => self.input(node(*id), ObservedInput::Command(text)),
            Action::Timer(id) => self.input(node(*id), ObservedInput::Timer(&"tick")),
            Action::View(id, epoch, members) => {
                let stay = |(id, life, since): &(u32, u64, u64)| {
                    (node(*id), Stay { incarnation: Incarnation(*life), since: Epoch(*since) })
                };
                let view = View::new(Epoch(*epoch), members.iter().map(stay));
                self.input(node(*id), ObservedInput::View(&view));
            }
            Action::Lease(id, millis) => {
                let until = Time::from_nanos(self.time.nanos() + millis * 1_000_000);
                self.input(node(*id), ObservedInput::Lease(until));
            }
            Action::Saved(id) => self.input(node(*id), ObservedInput::Saved(1)),
            Action::Deliver(which) => self.deliver(*which, true),
            Action::Hold(which) => self.deliver(*which, false),
            Action::Hand(from, number) => {
                self.effect(ObservedEffect::Delivered { from: node(*from), parcel: parcel(*number) });
            }
            Action::Send(to, kind, class) => self.send(node(*to), kind, *class, None),
            Action::Parcel(to, kind, number) => self.send(node(*to), kind, Class::Algorithm, Some(parcel(*number))),
            Action::Multicast(kind) => self.multicast(kind, None),
            Action::Labelled(label) => self.multicast("data", Some(label)),
            Action::Queue(count, names) => {
                self.effect(ObservedEffect::HoldBack { count: *count, names: format_args!("{names}") });
            }
            Action::Rule(rule, text) => self.effect(ObservedEffect::Rule { rule, text: format_args!("{text}") }),
            Action::Emit(text) => self.effect(ObservedEffect::Emit(text)),
            Action::Set => self.effect(ObservedEffect::SetTimer { timer: &"tick", span: Span::between(ms(1), ms(2)) }),
            Action::Lose(which, why) => {
                if let Some(InFlight { id, to, .. }) = self.take(*which) {
                    self.world(WorldEvent::Lost { id, to, why: *why });
                }
            }
            Action::Double(which) => {
                if let Some(message) = self.in_flight.get(*which).cloned() {
                    self.world(WorldEvent::Duplicated { id: message.id });
                    self.in_flight.push(message);
                }
            }
            Action::Crash(id) => self.world(WorldEvent::Crashed { node: node(*id), lost_writes: 0 }),
            Action::End(id) => self.world(WorldEvent::Ended { node: node(*id) }),
            Action::Pause(id) => self.world(WorldEvent::Paused { node: node(*id) }),
            Action::Resume(id) => self.world(WorldEvent::Resumed { node: node(*id) }),
            Action::Change(text) => self.world(WorldEvent::Changed { text }),
        }
    }

    fn take(&mut self, which: usize) -> Option<InFlight> {
        (which < self.in_flight.len()).then(|| self.in_flight.remove(which))
    }

    fn deliver(&mut self, which: usize, hand: bool) {
        let Some(InFlight { id, to, kind, parcel }) = self.take(which) else { return };
        let wrapped = parcel.is_some();
        self.input(to, ObservedInput::Message { id, kind: &kind, wrapped, incarnation: Incarnation::FIRST });
        if let Some(parcel) = parcel.filter(|_| hand) {
            self.effect(ObservedEffect::Delivered { from: id.sender, parcel });
        }
    }

    fn next_id(&mut self, count: u64) -> Option<MessageId> {
        let sender = self.stepping?;
        let number = self.numbers.entry(sender).or_insert(1);
        let id = MessageId { sender, number: *number };
        *number += count;
        Some(id)
    }

    fn send(&mut self, to: NodeId, kind: &str, class: Class, parcel: Option<PayloadId>) {
        let Some(id) = self.next_id(1) else { return };
        let sent = Sent {
            id,
            kind,
            label: None,
            class,
            on_behalf_of: None,
            bytes: 1,
            payload_id: parcel,
            is_retransmission: class == Class::Control && parcel.is_some(),
            body: &kind,
        };
        self.effect(ObservedEffect::Send { to, sent });
        self.in_flight.push(InFlight { id, to, kind: kind.into(), parcel });
    }

    fn multicast(&mut self, kind: &str, label: Option<&String>) {
        let group = Group::of_size(self.nodes);
        let Some(id) = self.next_id(self.nodes as u64 - 1) else { return };
        let class = Class::Algorithm;
        let label = label.map(|label| label as &dyn std::fmt::Display);
        let (on_behalf_of, parcel, again) = Default::default();
        let sent = Sent {
            id,
            kind,
            label,
            class,
            on_behalf_of,
            bytes: 1,
            payload_id: parcel,
            is_retransmission: again,
            body: &kind,
        };
        self.effect(ObservedEffect::Multicast { to: &group, sent });
        for (to, id) in quorate_journal::moment::receivers(&group, id) {
            self.in_flight.push(InFlight { id, to, kind: kind.into(), parcel: None });
        }
    }

    fn input(&mut self, node: NodeId, input: ObservedInput<'_, String>) {
        self.stepping = Some(node);
        self.observer.observe(&Moment::Input { time: self.time, now: self.time, node, input });
    }

    fn effect(&mut self, effect: ObservedEffect<'_, String>) {
        if let Some(node) = self.stepping {
            self.observer.observe(&Moment::Effect { time: self.time, node, effect });
        }
    }

    fn world(&mut self, event: WorldEvent<'_>) {
        self.stepping = None;
        self.observer.observe(&Moment::World { time: self.time, event });
    }
}

fn parcel(number: u64) -> PayloadId {
    PayloadId { incarnation: Incarnation::FIRST, number }
}

fn ms(millis: u64) -> quorate_core::Duration {
    quorate_core::Duration::from_millis(millis)
}

/// A node waits after `acquire`, is chosen after `ENTERS` and idle after `LEAVES`.
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
