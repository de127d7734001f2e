//! What a node finds on its disk and hears of it, behind the type that all algorithms of a family share.

use quorate_core::{Durable, Effect, Effects, Incarnation, Input, Never, Note, Protocol, Sink, Time};
use quorate_erased::{AnyDurable, Erased};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Saves what it is told to, and tells all that it finds and hears.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Keeper;

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Shelf {
    was_wiped: bool,
    books: Vec<u8>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self { was_wiped: false, books: vec![1] }
    }
}

impl Durable for Shelf {
    type Write = u8;
    fn apply(&mut self, write: u8) {
        self.books.push(write);
    }
    fn wiped() -> Self {
        Self { was_wiped: true, books: vec![] }
    }
}

impl Protocol for Keeper {
    type Command = u8;
    type Message = quorate_core::mutex::central::Message;
    type Timer = Never;
    type Event = String;
    type Durable = Shelf;

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, .. } => {
                out.emit_ahead(format!("finds {:?}, wiped {}", durable.books, durable.was_wiped));
            }
            Input::Command(write) => out.save(write),
            Input::DiskFull => out.emit_ahead("has no room".into()),
            Input::DiskFree => out.emit_ahead("has room again".into()),
            Input::Timer(never) => match never {},
            Input::Message { .. }
            | Input::Saved(_)
            | Input::Suspect(_)
            | Input::Trust(_)
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

/// Keeps what the node saves, and hears what it says.
#[derive(Default)]
struct Desk {
    disk: AnyDurable,
    said: Vec<String>,
}

impl Sink<Erased<u8, String>> for Desk {
    fn effect(&mut self, effect: Effect<Erased<u8, String>>) {
        match effect {
            Effect::Save(write) => self.disk.apply(write),
            Effect::Emit { event, .. } => self.said.push(event),
            Effect::Send { .. } | Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

impl Desk {
    fn on(disk: AnyDurable) -> Self {
        Self { disk, said: Vec::new() }
    }

    fn give(&mut self, input: Input<Erased<u8, String>>) {
        Erased::new(Keeper).step(Time::ZERO, input, &mut Effects::new(self));
    }

    fn finds(&mut self) -> String {
        let durable = self.disk.clone();
        self.give(Input::Start { durable, incarnation: Incarnation::FIRST });
        self.said.pop().unwrap()
    }
}

#[test]
fn a_new_disk_and_a_lost_one_are_told_apart_without_a_type() {
    assert_eq!(Desk::default().finds(), "finds [1], wiped false");
    assert_eq!(Desk::on(AnyDurable::wiped()).finds(), "finds [], wiped true");
}

/// The first write tells of which algorithm the disk is; what it was before, wiped or new, it still is.
#[test]
fn a_disk_that_is_written_to_remembers_that_it_was_lost() {
    for (disk, found) in
        [(AnyDurable::default(), "finds [1, 7, 8], wiped false"), (AnyDurable::wiped(), "finds [7, 8], wiped true")]
    {
        let mut desk = Desk::on(disk);
        desk.give(Input::Command(7));
        desk.give(Input::Command(8));
        assert_eq!(desk.finds(), found);
        // A copy is another disk.
        let mut copy = Desk::on(desk.disk.clone());
        copy.give(Input::Command(9));
        assert_eq!(desk.finds(), found);
        assert!(copy.finds().contains("8, 9]"));
    }
}

#[test]
fn disks_are_equal_if_what_nodes_find_there_is() {
    let written = |disk, write| {
        let mut desk = Desk::on(disk);
        desk.give(Input::Command(write));
        desk.disk
    };
    let disks = [
        AnyDurable::default(),
        AnyDurable::wiped(),
        written(AnyDurable::default(), 1),
        written(AnyDurable::default(), 2),
        written(AnyDurable::wiped(), 1),
        written(AnyDurable::wiped(), 2),
    ];
    let hash = |disk: &AnyDurable| {
        let mut hasher = DefaultHasher::new();
        disk.hash(&mut hasher);
        hasher.finish()
    };
    for (place, one) in disks.iter().enumerate() {
        for (other_place, other) in disks.iter().enumerate() {
            assert_eq!(*one == other.clone(), place == other_place, "disks {place} and {other_place}");
            assert_eq!(hash(one) == hash(other), place == other_place, "hashes of {place} and {other_place}");
        }
    }
}

#[test]
fn news_of_the_disk_reaches_the_node() {
    let mut desk = Desk::default();
    desk.give(Input::DiskFull);
    desk.give(Input::DiskFree);
    assert_eq!(desk.said, ["has no room", "has room again"]);
}
