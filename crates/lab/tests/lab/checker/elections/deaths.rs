//! Word of deaths: who is told what, in which order, and what is void.

use crate::checker::elections::setup;
use quorate_check::{Checker, Deaths, Effort, Search, Setup};
use quorate_core::election::{Command, Event, Refusal};
use quorate_core::{Describe, Effects, Epoch, Fixed, Incarnation, Input, Never, NodeId, Protocol, Time};
use quorate_erased::Erased;
use quorate_journal::moment::{Happening, Moment, Observer, Taken};
use quorate_lab::election::check::Voters;
use serde::Serialize;
use std::sync::Arc;

/// Writes down what it is told, and lets its user know of a leader as soon as it has been told what it is made to look for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Listener {
    wanted: Fixed<(NodeId, Vec<Word>)>,
    heard: Vec<Word>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Word {
    Gone(NodeId),
    Back(NodeId),
    Born,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Nothing {}

impl Describe for Nothing {
    fn kind(&self) -> &'static str {
        match *self {}
    }
}

impl Listener {
    fn hear(&mut self, word: Word, out: &mut Effects<'_, Self>) {
        self.heard.push(word);
        if self.heard == self.wanted.1 {
            // Epochs that go back are what the check looks for.
            out.emit(Event::Began { epoch: Epoch(2) });
            out.emit(Event::Began { epoch: Epoch(1) });
        }
    }
}

impl Protocol for Listener {
    type Command = Command;
    type Message = Nothing;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { incarnation, .. } if incarnation != Incarnation::FIRST => self.hear(Word::Born, out),
            Input::Suspect(node) => self.hear(Word::Gone(node), out),
            Input::Trust(node) => self.hear(Word::Back(node), out),
            Input::Command(_) => out.emit(Event::Refused(Refusal::NotEligible)),
            Input::Timer(never) => match never {},
            Input::Message { message, .. } => match message {},
            Input::Start { .. }
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// What happened, in few words.
#[derive(Default)]
struct Tale(Vec<String>);

impl Observer<Command, Event> for Tale {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: Taken::Suspect(of), .. } => self.0.push(format!("{node} hears {of} is gone")),
            Moment::Input { node, input: Taken::Trust(of), .. } => self.0.push(format!("{node} hears {of} is back")),
            Moment::Input { node, input: Taken::Start { incarnation, .. }, .. }
                if *incarnation != Incarnation::FIRST =>
            {
                self.0.push(format!("{node} restarts"));
            }
            Moment::World { what: Happening::Crashed { node, .. }, .. } => self.0.push(format!("{node} crashes")),
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }
}

/// The shortest way in which some node hears exactly this, if it ever does.
fn way(setup: &Setup, heard: &[Word]) -> Option<Vec<String>> {
    let heard = heard.to_vec();
    let listener = move |me| Listener { wanted: Fixed::new((me, heard.clone())), heard: Vec::new() };
    let make = Arc::new(move |me| Erased::new(listener(me)));
    let nobody = Voters { rounds: Some(0), ..Voters::new(setup.nodes) };
    let mut checker = Checker::new(make, nobody, setup.clone()).unwrap();
    let properties = Some(vec!["epochs-grow".to_owned()]);
    let effort =
        Effort { search: Search::Breadth, threads: 1, memory: 1 << 30, reduce: false, first: false, properties };
    let findings = checker.run(&effort, &mut |_, _| true);
    assert!(findings.is_complete());
    let example = findings.verdicts[0].counterexample.as_ref()?;
    Some(checker.play(example, Tale::default()).unwrap().0)
}

#[test]
fn the_others_hear_of_a_death_and_of_the_next_life() {
    let told = way(&setup(2, 1, 1), &[Word::Gone(node(2)), Word::Back(node(2))]).unwrap();
    assert_eq!(told, ["2 crashes", "1 hears 2 is gone", "2 restarts", "1 hears 2 is back"]);
    // Word of a death is void once the next life has begun; that of the next life is not.
    let told = way(&setup(2, 1, 1), &[Word::Back(node(2))]).unwrap();
    assert_eq!(told, ["2 crashes", "2 restarts", "1 hears 2 is back"]);
    assert_eq!(way(&setup(2, 1, 1), &[Word::Back(node(2)), Word::Gone(node(2))]), None);
}

#[test]
fn word_of_a_life_that_is_over_is_void() {
    let (gone, back) = (Word::Gone(node(2)), Word::Back(node(2)));
    let told = way(&setup(2, 2, 1), &[gone, gone]).unwrap();
    assert_eq!(told, ["2 crashes", "1 hears 2 is gone", "2 restarts", "2 crashes", "1 hears 2 is gone"]);
    assert!(way(&setup(2, 2, 1), &[gone, back, gone]).is_some());
    assert_eq!(way(&setup(2, 2, 1), &[gone, gone, back]), None, "nobody is back when the second crash is told");
    assert_eq!(way(&setup(2, 2, 1), &[back, back]), None);
}

#[test]
fn who_restarts_hears_of_those_that_are_down() {
    let told = way(&setup(2, 2, 1), &[Word::Born, Word::Gone(node(2))]).unwrap();
    // Whether it died before or after the other one, it is not told before it is back.
    assert!(told[..2] == ["2 crashes", "1 crashes"] || told[..2] == ["1 crashes", "2 crashes"], "{told:?}");
    assert_eq!(told[2..], ["1 restarts", "1 hears 2 is gone"]);
    assert_eq!(way(&setup(2, 2, 1), &[Word::Born, Word::Gone(node(2)), Word::Gone(node(2))]), None);
    let three = setup(3, 2, 0);
    let told = way(&three, &[Word::Gone(node(3)), Word::Gone(node(2))]).unwrap();
    assert_eq!(told.len(), 4);
    assert_eq!(way(&three, &[Word::Gone(node(3)), Word::Gone(node(3))]), None, "nobody is told twice of one death");
}

#[test]
fn nobody_is_told_unless_that_is_wanted() {
    for deaths in [Deaths::Untold, Deaths::ToUsers] {
        let setup = Setup { deaths, ..setup(2, 1, 1) };
        assert_eq!(way(&setup, &[Word::Gone(node(2))]), None);
        assert_eq!(way(&setup, &[Word::Back(node(2))]), None);
    }
}
