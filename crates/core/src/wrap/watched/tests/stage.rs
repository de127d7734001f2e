//! A watched node alone on a stage: its clock is ours, its peers say what we say they do.

use crate::wrap::prelude::*;
use crate::wrap::{Detector, Signal, Threshold, Watched, WatchedTimer};
use std::format;
use std::string::{String, ToString};

/// Tells all it hears, and does all it is asked to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Listener {
    pub(super) group: Group,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Say(NodeId),
    SayToAll,
    Save,
    SetTimer,
    CancelTimer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Word;

impl Describe for Word {
    fn kind(&self) -> &'static str {
        "word"
    }
    fn class(&self) -> Class {
        Class::Announcement
    }
    fn on_behalf_of(&self) -> Option<NodeId> {
        Some(number(7))
    }
    fn parcel(&self) -> Option<Parcel> {
        Some(Parcel { incarnation: Incarnation(3), number: 4 })
    }
    fn again(&self) -> bool {
        true
    }
    fn wrapped(&self) -> bool {
        true
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pages(pub(super) u32);

impl Durable for Pages {
    type Write = ();
    fn apply(&mut self, (): ()) {
        self.0 += 1;
    }
}

impl Protocol for Listener {
    type Command = Command;
    type Message = Word;
    type Timer = ();
    type Event = String;
    type Durable = Pages;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: Pages(pages), incarnation } => {
                out.emit(format!("STARTS life {incarnation}, {pages} pages"));
            }
            Input::Command(Command::Say(to)) => out.send(to, Word),
            Input::Command(Command::SayToAll) => out.multicast(&self.group, Word),
            Input::Command(Command::Save) => out.save(()),
            Input::Command(Command::SetTimer) => out.set_timer((), Span::exactly(Duration::from_millis(1))),
            Input::Command(Command::CancelTimer) => out.cancel_timer(()),
            Input::Message { from, message: Word } => out.emit(format!("HEARS {from}")),
            Input::Timer(()) => out.emit(format!("WAKES at {now}")),
            Input::Saved(count) => out.emit(format!("HAS SAVED {count}")),
            Input::Suspect(node) => out.emit(format!("SUSPECTS {node}")),
            Input::Trust(node) => out.emit(format!("TRUSTS {node}")),
            Input::DiskFull => out.emit("DISK FULL".into()),
            Input::DiskFree => out.emit("DISK FREE".into()),
            Input::View(view) => out.emit(format!("SEES {view}")),
            Input::Lease(until) => out.emit(format!("MAY ACT until {until}")),
        }
    }
}

pub(super) type Subject = Watched<Listener>;

pub(super) struct Stage {
    pub(super) node: Subject,
    pub(super) now: Time,
    pub(super) timers: BTreeMap<WatchedTimer<()>, Time>,
}

/// What a step did, a few words an effect.
#[derive(Default)]
struct Ear(Vec<String>, Vec<(WatchedTimer<()>, Option<Span>)>);

impl Sink<Subject> for Ear {
    fn effect(&mut self, effect: Effect<Subject>) {
        let ahead = |order| if order == Order::Ahead { " ahead" } else { "" };
        match effect {
            Effect::Send { to, message, order } => self.0.push(format!("{}{} → {to}", shown(&message), ahead(order))),
            Effect::Multicast { to, message, order } => {
                self.0.push(format!("{}{} → {to}", shown(&message), ahead(order)));
            }
            Effect::Save(()) => self.0.push("saves".into()),
            Effect::SetTimer { timer, span } => {
                self.0.push(format!("{} in {span}", awaited(timer)));
                self.1.push((timer, Some(span)));
            }
            Effect::CancelTimer(timer) => {
                self.0.push(format!("no {}", awaited(timer)));
                self.1.push((timer, None));
            }
            Effect::Emit { event, .. } => self.0.push(event),
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, .. } = note {
            self.0.push(rule.to_string());
        }
    }
}

fn shown(signal: &Signal<Word>) -> String {
    match signal {
        Signal::Beat { life, number } => format!("[beat {number} of life {life}]"),
        Signal::Inner { life, message: Word } => format!("[word of life {life}]"),
    }
}

fn awaited(timer: WatchedTimer<()>) -> String {
    match timer {
        WatchedTimer::Beat => "beats".into(),
        WatchedTimer::Silence(peer) => format!("doubts {peer}"),
        WatchedTimer::Inner(()) => "alarm".into(),
    }
}

impl Stage {
    /// Node 1 of a group of this size, which has not started.
    pub(super) fn new(size: usize, detector: Detector) -> Self {
        let group = Group::of_size(size);
        let node = Watched::new(number(1), group.clone(), Listener { group }, detector);
        Self { node, now: Time::ZERO, timers: BTreeMap::new() }
    }

    /// The same after its start.
    pub(super) fn started(size: usize, detector: Detector) -> Self {
        let mut stage = Self::new(size, detector);
        stage.start(0);
        stage
    }

    pub(super) fn start(&mut self, life: u64) -> String {
        self.timers.clear();
        self.step(Input::Start { durable: Pages(2), incarnation: Incarnation(life) })
    }

    pub(super) fn beat(&mut self, from: u32, life: u64, number: u64) -> String {
        let message = Signal::Beat { life: Incarnation(life), number };
        self.step(Input::Message { from: self::number(from), message })
    }

    pub(super) fn word(&mut self, from: u32, life: u64) -> String {
        let message = Signal::Inner { life: Incarnation(life), message: Word };
        self.step(Input::Message { from: number(from), message })
    }

    pub(super) fn step(&mut self, input: Input<Subject>) -> String {
        let mut ear = Ear::default();
        self.node.step(self.now, input, &mut Effects::new(&mut ear));
        for (timer, span) in ear.1 {
            match span {
                Some(span) => self.timers.insert(timer, self.now + span.latest),
                None => self.timers.remove(&timer),
            };
        }
        ear.0.join("; ")
    }

    /// Lets time go by, and every timer fire that comes due: what the steps did, a line each.
    pub(super) fn wait(&mut self, millis: u64) -> Vec<String> {
        let end = self.now + Duration::from_millis(millis);
        let mut lines = Vec::new();
        while let Some((&timer, &at)) = self.timers.iter().min_by_key(|(_, at)| **at).filter(|(_, at)| **at <= end) {
            self.timers.remove(&timer);
            self.now = at;
            let did = self.step(Input::Timer(timer));
            lines.push(format!("{at}: {did}"));
        }
        self.now = end;
        lines
    }
}

/// Ten milliseconds from beat to beat, and five more for the way.
pub(super) fn bounded() -> Detector {
    Detector::FixedBound { period: Duration::from_millis(10), bound: Duration::from_millis(5) }
}

/// Ten milliseconds from beat to beat, and four gaps to judge by.
pub(super) fn accrual(window: u16) -> Detector {
    Detector::Accrual { period: Duration::from_millis(10), threshold: Threshold::USUAL, window }
}

pub(super) fn number(number: u32) -> NodeId {
    NodeId::new(number).expect("a node's number")
}
