//! A test harness around one watched node: the test controls its clock and its peers' messages.

use crate::wrap::prelude::*;
use crate::wrap::{Detector, Signal, Threshold, Watched, WatchedTimer};
use core::fmt;
use std::format;
use std::string::{String, ToString};

/// A protocol that executes simple commands, and emits an event for every other input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reporter {
    pub(super) group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Send(NodeId),
    SendToAll,
    Save,
    SetTimer,
    CancelTimer,
}

/// The message of the inner protocol. Nothing in its description is a default value, so a test
/// notices if the wrapper passes on only a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Text;

impl Describe for Text {
    fn kind(&self) -> &'static str {
        "text"
    }
    fn label(&self) -> Option<&dyn fmt::Display> {
        Some(&"the label")
    }
    fn class(&self) -> Class {
        Class::Announcement
    }
    fn on_behalf_of(&self) -> Option<NodeId> {
        Some(node(7))
    }
    fn payload_id(&self) -> Option<PayloadId> {
        Some(PayloadId { incarnation: Incarnation(3), number: 4 })
    }
    fn is_retransmission(&self) -> bool {
        true
    }
    fn is_wrapped(&self) -> bool {
        true
    }
}

/// The number of writes to the disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Writes(pub(super) u32);

impl Durable for Writes {
    type Write = ();
    fn apply(&mut self, (): ()) {
        self.0 += 1;
    }
}

impl Protocol for Reporter {
    type Command = Command;
    type Message = Text;
    type Timer = ();
    type Event = String;
    type Durable = Writes;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: Writes(writes), incarnation } => {
                out.emit(format!("STARTS incarnation {incarnation}, {writes} writes"));
            }
            Input::Command(Command::Send(to)) => out.send(to, Text),
            Input::Command(Command::SendToAll) => out.multicast(&self.group, Text),
            Input::Command(Command::Save) => out.save(()),
            Input::Command(Command::SetTimer) => out.set_timer((), Span::exactly(Duration::from_millis(1))),
            Input::Command(Command::CancelTimer) => out.cancel_timer(()),
            Input::Message { from, message: Text } => out.emit(format!("RECEIVES from {from}")),
            Input::Timer(()) => out.emit(format!("TIMER FIRES at {now}")),
            Input::Saved(count) => out.emit(format!("HAS SAVED {count}")),
            Input::Suspect(node) => out.emit(format!("SUSPECTS {node}")),
            Input::Trust(node) => out.emit(format!("TRUSTS {node}")),
            Input::DiskFull => out.emit("DISK FULL".into()),
            Input::DiskFree => out.emit("DISK FREE".into()),
            Input::View(view) => out.emit(format!("VIEW {view}")),
            Input::Lease(until) => out.emit(format!("MAY ACT until {until}")),
            Input::EndOfTurn => out.emit("END OF TURN".into()),
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        true
    }
}

pub(super) type WatchedReporter = Watched<Reporter>;

pub(super) struct Harness {
    pub(super) node: WatchedReporter,
    pub(super) now: Time,
    /// The timers that are set, with the times at which they fire.
    pub(super) timers: BTreeMap<WatchedTimer<()>, Time>,
}

#[derive(Default)]
struct StepRecorder {
    /// The effects and the ids of applied rules, as short texts.
    texts: Vec<String>,
    /// The timers that the step set, or cancelled (`None`).
    timers: Vec<(WatchedTimer<()>, Option<Span>)>,
}

impl Sink<WatchedReporter> for StepRecorder {
    fn effect(&mut self, effect: Effect<WatchedReporter>) {
        let order_suffix = |order| if order == Order::Ahead { " ahead" } else { "" };
        match effect {
            Effect::Send { to, message, order } => {
                self.texts.push(format!("{}{} → {to}", signal_text(&message), order_suffix(order)));
            }
            Effect::Multicast { to, message, order } => {
                self.texts.push(format!("{}{} → {to}", signal_text(&message), order_suffix(order)));
            }
            Effect::Save(()) => self.texts.push("saves".into()),
            Effect::SetTimer { timer, span } => {
                self.texts.push(format!("{} in {span}", timer_text(timer)));
                self.timers.push((timer, Some(span)));
            }
            Effect::CancelTimer(timer) => {
                self.texts.push(format!("no {}", timer_text(timer)));
                self.timers.push((timer, None));
            }
            Effect::Emit { event, .. } => self.texts.push(event),
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, .. } = note {
            self.texts.push(rule.to_string());
        }
    }
}

fn signal_text(signal: &Signal<Text>) -> String {
    match signal {
        Signal::Heartbeat { incarnation, number } => format!("[beat {number} of incarnation {incarnation}]"),
        Signal::Inner { incarnation, message: Text } => format!("[text of incarnation {incarnation}]"),
    }
}

fn timer_text(timer: WatchedTimer<()>) -> String {
    match timer {
        WatchedTimer::NextHeartbeat => "beats".into(),
        WatchedTimer::Silence(peer) => format!("timeout of {peer}"),
        WatchedTimer::Inner(()) => "timer".into(),
    }
}

impl Harness {
    /// Node 1 of a group of this size, before its start.
    pub(super) fn new(size: usize, detector: Detector) -> Self {
        let group = Group::of_size(size);
        let node = Watched::new(node(1), group.clone(), Reporter { group }, detector);
        Self { node, now: Time::ZERO, timers: BTreeMap::new() }
    }

    /// Node 1 of a group of this size, after its start.
    pub(super) fn started(size: usize, detector: Detector) -> Self {
        let mut harness = Self::new(size, detector);
        harness.start(0);
        harness
    }

    /// Starts this incarnation of the node, with two saved writes.
    pub(super) fn start(&mut self, incarnation: u64) -> String {
        self.timers.clear();
        self.step(Input::Start { durable: Writes(2), incarnation: Incarnation(incarnation) })
    }

    /// Delivers the heartbeat with this number from an incarnation of a peer.
    pub(super) fn receive_heartbeat(&mut self, from: u32, incarnation: u64, number: u64) -> String {
        let message = Signal::Heartbeat { incarnation: Incarnation(incarnation), number };
        self.step(Input::Message { from: node(from), message })
    }

    /// Delivers a message of the inner protocol from an incarnation of a peer.
    pub(super) fn receive_text(&mut self, from: u32, incarnation: u64) -> String {
        let message = Signal::Inner { incarnation: Incarnation(incarnation), message: Text };
        self.step(Input::Message { from: node(from), message })
    }

    /// Steps the node and returns the texts of its effects and rules, in order.
    pub(super) fn step(&mut self, input: Input<WatchedReporter>) -> String {
        let mut recorder = StepRecorder::default();
        self.node.step(self.now, input, &mut Effects::new(&mut recorder));
        for (timer, span) in recorder.timers {
            match span {
                Some(span) => self.timers.insert(timer, self.now + span.latest),
                None => self.timers.remove(&timer),
            };
        }
        recorder.texts.join("; ")
    }

    /// Advances time and fires every timer that expires meanwhile. Returns a line per step.
    pub(super) fn wait(&mut self, millis: u64) -> Vec<String> {
        let end = self.now + Duration::from_millis(millis);
        let mut lines = Vec::new();
        while let Some((&timer, &at)) = self.timers.iter().min_by_key(|(_, at)| **at).filter(|(_, at)| **at <= end) {
            self.timers.remove(&timer);
            self.now = at;
            let texts = self.step(Input::Timer(timer));
            lines.push(format!("{at}: {texts}"));
        }
        self.now = end;
        lines
    }
}

/// A heartbeat every 10 ms, and a bound of 5 ms: a silence of 15 ms is too long.
pub(super) fn fixed_bound_detector() -> Detector {
    Detector::FixedBound { period: Duration::from_millis(10), bound: Duration::from_millis(5) }
}

/// A heartbeat every 10 ms, and a window of this many gaps.
pub(super) fn accrual_detector(window: u16) -> Detector {
    Detector::Accrual { period: Duration::from_millis(10), threshold: Threshold::DEFAULT, window }
}

pub(super) fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("a node's number")
}
