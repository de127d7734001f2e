//! Nodes that cannot be cloned: they run, and their clones ignore all inputs and emit a note.

use quorate_core::election::{Command, Event};
use quorate_core::{Effect, Effects, Epoch, Incarnation, Input, Never, NodeId, Note, Protocol, Sink, Time};
use quorate_erased::Erased;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A node that can be neither cloned nor compared, because it contains a closure. The number is the
/// latest epoch; a campaign or a report about the disk applies the closure to it.
struct ClosureNode(Box<dyn Fn(u64) -> u64 + Send + Sync>, u64);

impl Protocol for ClosureNode {
    type Command = Command;
    type Message = Never;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Command(Command::Campaign) | Input::DiskFull | Input::DiskFree | Input::EndOfTurn => {
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

    fn uses_end_of_turn(&self) -> bool {
        true
    }
}

#[derive(Default)]
struct EffectRecorder {
    events: Vec<Event>,
    notes: Vec<String>,
}

impl Sink<Erased<Command, Event>> for EffectRecorder {
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

fn closure_node() -> Erased<Command, Event> {
    Erased::new_opaque(ClosureNode(Box::new(|number| number + 1), 0))
}

fn campaign(node: &mut Erased<Command, Event>) -> EffectRecorder {
    let mut recorder = EffectRecorder::default();
    node.step(Time::ZERO, Input::Command(Command::Campaign), &mut Effects::new(&mut recorder));
    recorder
}

#[test]
fn the_original_works() {
    let mut node = closure_node();
    let start = Input::Start { durable: Default::default(), incarnation: Incarnation::FIRST };
    node.step(Time::ZERO, start, &mut Effects::new(&mut EffectRecorder::default()));
    let epochs: Vec<_> = (0..3).map(|_| campaign(&mut node).events).collect();
    let elected = |epoch| vec![Event::elected(NodeId::from_index(0), Epoch(epoch))];
    assert_eq!(epochs, [elected(1), elected(2), elected(3)]);
}

#[test]
fn disk_inputs_and_ends_of_turns_reach_the_node() {
    let (mut node, mut recorder) = (closure_node(), EffectRecorder::default());
    assert!(node.uses_end_of_turn());
    for input in [Input::DiskFull, Input::DiskFree, Input::EndOfTurn] {
        node.step(Time::ZERO, input, &mut Effects::new(&mut recorder));
    }
    assert_eq!(recorder.events.len(), 3);
}

#[test]
fn a_clone_and_its_clone_ignore_inputs() {
    let node = closure_node();
    for mut copy in [node.clone(), node.clone().clone()] {
        let EffectRecorder { events, notes } = campaign(&mut copy);
        assert_eq!(events, []);
        assert!(!copy.uses_end_of_turn());
        assert!(matches!(&notes[..], [note] if note.starts_with("opaque: ignores an input")), "{notes:?}");
    }
}

#[test]
fn two_opaque_nodes_are_never_equal() {
    let (node, other) = (closure_node(), closure_node());
    let itself = &node;
    assert!(node == *itself && node != other && node != node.clone() && node.clone() != node);
    // All clones are equal: they are placeholders without state.
    assert!(node.clone() == other.clone());
    let hash = |node: &Erased<Command, Event>| {
        let mut hasher = DefaultHasher::new();
        node.hash(&mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&node.clone()), hash(&other.clone()));
}
