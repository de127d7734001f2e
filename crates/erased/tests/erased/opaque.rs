//! Nodes that cannot be copied: they run, and say what they are not fit for.

use quorate_core::election::{Command, Event};
use quorate_core::{Effect, Effects, Epoch, Incarnation, Input, Never, NodeId, Note, Protocol, Sink, Time};
use quorate_erased::Erased;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A node that neither copies nor compares: its state is a closure.
struct Secret(Box<dyn Fn(u64) -> u64 + Send + Sync>, u64);

impl Protocol for Secret {
    type Command = Command;
    type Message = Never;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Campaign) | Input::DiskFull | Input::DiskFree => {
                self.1 = (self.0)(self.1);
                out.emit(Event::elected(NodeId::from_index(0), Epoch(self.1)));
            }
            Input::Message { message, .. } => match message {},
            Input::Timer(never) => match never {},
            Input::Command(Command::Resign)
            | Input::Start { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

#[derive(Default)]
struct Heard {
    events: Vec<Event>,
    notes: Vec<String>,
}

impl Sink<Erased<Command, Event>> for Heard {
    fn effect(&mut self, effect: Effect<Erased<Command, Event>>) {
        if let Effect::Emit { event, .. } = effect {
            self.events.push(event);
        }
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.notes.push(format!("{rule}: {text}"));
        }
    }
}

fn secret() -> Erased<Command, Event> {
    Erased::opaque(Secret(Box::new(|number| number + 1), 0))
}

fn campaign(node: &mut Erased<Command, Event>) -> Heard {
    let mut heard = Heard::default();
    node.step(Time::ZERO, Input::Command(Command::Campaign), &mut Effects::new(&mut heard));
    heard
}

#[test]
fn the_original_works() {
    let mut node = secret();
    let start = Input::Start { durable: Default::default(), incarnation: Incarnation::FIRST };
    node.step(Time::ZERO, start, &mut Effects::new(&mut Heard::default()));
    let epochs: Vec<_> = (0..3).map(|_| campaign(&mut node).events).collect();
    let elected = |epoch| vec![Event::elected(NodeId::from_index(0), Epoch(epoch))];
    assert_eq!(epochs, [elected(1), elected(2), elected(3)]);
}

#[test]
fn news_of_the_disk_reaches_the_node() {
    let (mut node, mut heard) = (secret(), Heard::default());
    for news in [Input::DiskFull, Input::DiskFree] {
        node.step(Time::ZERO, news, &mut Effects::new(&mut heard));
    }
    assert_eq!(heard.events.len(), 2);
}

#[test]
fn a_copy_is_an_empty_seat_and_so_is_its_copy() {
    let node = secret();
    for mut copy in [node.clone(), node.clone().clone()] {
        let Heard { events, notes } = campaign(&mut copy);
        assert_eq!(events, []);
        assert!(matches!(&notes[..], [note] if note.starts_with("opaque: ignores an input")), "{notes:?}");
    }
}

#[test]
fn no_two_of_them_are_taken_for_one_another() {
    let (node, other) = (secret(), secret());
    let itself = &node;
    assert!(node == *itself && node != other && node != node.clone() && node.clone() != node);
    assert!(node.clone() == other.clone());
    let hash = |node: &Erased<Command, Event>| {
        let mut hasher = DefaultHasher::new();
        node.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&node.clone()), hash(&other.clone()));
}
