//! Disks: a crash may lose whatever is not durable, and every such loss is tried.

use crate::checker::engine::common::{breach, check, checker, group_of, plain};
use crate::checker::engine::reference::{Bounds, Maker, explore};
use quorate_core::mutex::{Command, Event};
use quorate_core::{
    Describe, Durable, Effects, Epoch, Fence, Fixed, Group, Incarnation, Input, Never, NodeId, Order, Protocol, Time,
};
use serde::{Deserialize, Serialize};

/// Compares a check with the plain explorer, and tells after how many steps two are inside and a fence goes back.
fn breaches(make: &Maker, bounds: &Bounds) -> (Option<u64>, Option<u64>) {
    let mut checker = checker(make, bounds);
    let findings = checker.run(&plain(), &mut |_, _| true);
    for verdict in &findings.verdicts {
        if let Some(example) = &verdict.counterexample {
            checker.play(example, ()).unwrap_or_else(|error| panic!("{}: {error}", verdict.name));
        }
    }
    let seen = explore(make, bounds);
    let past = findings.past.unwrap();
    assert_eq!((past.states, past.generated, past.depth), (seen.states, seen.generated, seen.depth));
    let told = (breach(&findings, "exclusion"), breach(&findings, "fences-grow"));
    assert_eq!(told, (seen.two_inside, seen.fence_back));
    told
}

// ------------------------------------------------------------------------------------------------- a number

/// Counts its entries, and shows the count as the fence. The count outlives a crash, if it is saved before it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counter {
    shows: Fixed<Order>,
    count: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Count(u64);

impl Durable for Count {
    type Write = u64;
    fn apply(&mut self, count: u64) {
        self.0 = count;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Nothing {}

impl Describe for Nothing {
    fn kind(&self) -> &'static str {
        match *self {}
    }
}

impl Protocol for Counter {
    type Command = Command;
    type Message = Nothing;
    type Timer = Never;
    type Event = Event;
    type Durable = Count;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, .. } => self.count = durable.0,
            Input::Command(Command::Acquire | Command::Try | Command::Share) => {
                self.count += 1;
                out.save(self.count);
                let event = Event::entered(Fence { epoch: Epoch::default(), counter: self.count });
                match *self.shows {
                    Order::AfterSaves => out.emit(event),
                    Order::Ahead => out.emit_ahead(event),
                }
            }
            // At once: a user who is not told that it left would ask to leave again and again.
            Input::Command(Command::Release) => out.emit_ahead(Event::Left),
            Input::Timer(never) => match never {},
            Input::Message { message, .. } => match message {},
            Input::Command(Command::Cancel)
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

fn counter(shows: Order) -> Maker {
    group_of(1, move |_, _: Group| Counter { shows: Fixed::new(shows), count: 0 })
}

#[test]
fn a_number_that_is_shown_ahead_of_its_save_is_shown_twice() {
    let bounds = Bounds::new(1, 2).fences().crashes(1).restarts(1);
    // Ask and be inside at once, crash, come back, ask again.
    assert_eq!(breaches(&counter(Order::Ahead), &bounds), (None, Some(4)));
    assert_eq!(breaches(&counter(Order::AfterSaves), &bounds), (None, None));
    // Without a crash, or without a life after it, nobody can tell.
    assert_eq!(breaches(&counter(Order::Ahead), &Bounds::new(1, 2).fences()), (None, None));
    assert_eq!(breaches(&counter(Order::Ahead), &Bounds::new(1, 2).fences().crashes(1)), (None, None));
}

// ------------------------------------------------------------------------------------------------- a promise

/// A lock server that notes on disk whom it has granted; the other nodes ask it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Server {
    place: Fixed<(NodeId, Order)>,
    granted: Option<NodeId>,
    /// Who waits is forgotten in a crash. That is no danger.
    waiting: Vec<NodeId>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Granted(Option<NodeId>);

impl Durable for Granted {
    type Write = Option<NodeId>;
    fn apply(&mut self, granted: Option<NodeId>) {
        self.0 = granted;
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
enum Letter {
    Request,
    Grant,
    Release,
}

impl Describe for Letter {
    fn kind(&self) -> &'static str {
        "letter"
    }
}

const SERVER: NodeId = NodeId::from_index(0);

impl Protocol for Server {
    type Command = Command;
    type Message = Letter;
    type Timer = Never;
    type Event = Event;
    type Durable = Granted;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => {
                assert!(incarnation == Incarnation::FIRST || self.granted.is_none());
                self.granted = durable.0;
            }
            // The server's own user is always told to go away.
            Input::Command(Command::Acquire | Command::Try | Command::Share) if self.place.0 == SERVER => {
                out.emit(Event::Denied);
            }
            Input::Command(Command::Acquire | Command::Try | Command::Share) => out.send(SERVER, Letter::Request),
            Input::Command(Command::Release) => {
                out.emit(Event::Left);
                out.send(SERVER, Letter::Release);
            }
            Input::Message { from, message: Letter::Request } => {
                self.waiting.push(from);
                self.grant(out);
            }
            Input::Message { from, message: Letter::Release } => {
                if self.granted == Some(from) {
                    self.granted = None;
                    out.save(None);
                    self.grant(out);
                }
            }
            Input::Message { message: Letter::Grant, .. } => out.emit(Event::entered(Fence::default())),
            Input::Timer(never) => match never {},
            Input::Command(Command::Cancel)
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl Server {
    fn grant(&mut self, out: &mut Effects<'_, Self>) {
        if self.granted.is_some() || self.waiting.is_empty() {
            return;
        }
        let next = self.waiting.remove(0);
        self.granted = Some(next);
        out.save(Some(next));
        match self.place.1 {
            Order::AfterSaves => out.send(next, Letter::Grant),
            Order::Ahead => out.send_ahead(next, Letter::Grant),
        }
    }
}

fn server(answers: Order) -> Maker {
    group_of(3, move |me, _: Group| Server { place: Fixed::new((me, answers)), granted: None, waiting: Vec::new() })
}

#[test]
fn a_promise_that_is_sent_ahead_of_its_save_is_made_twice() {
    let bounds = Bounds::new(3, 1).fences().crashes(1).restarts(1);
    let (two_inside, _) = breaches(&server(Order::Ahead), &bounds);
    // Both ask; the server hears one, grants, crashes, comes back, hears the other, grants; both hear.
    assert_eq!(two_inside, Some(8));
    assert_eq!(breaches(&server(Order::AfterSaves), &bounds).0, None);
}

#[test]
fn as_many_writes_survive_a_crash_as_there_are_to_lose() {
    // The server has up to two writes on the way: that the lock is free, and who has it next.
    let make = server(Order::Ahead);
    let states = |bounds: &Bounds| check(&make, bounds, &plain()).states.states;
    let crash = Bounds::new(3, 1).crashes(1).restarts(1);
    assert_eq!(states(&crash), explore(&make, &crash).states);
    assert!(states(&crash) > states(&Bounds::new(3, 1)));
}
