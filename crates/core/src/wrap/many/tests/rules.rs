//! One test per rule.

use super::clerk::{Book, Desk, Task};
use super::table::Table;
use crate::fence::Fence;
use crate::mutex::ricart_agrawala::Message;
use crate::mutex::{Central, Command, Event, RicartAgrawala};
use crate::wrap::prelude::*;
use crate::wrap::{Limits, Many, ManyDurable, Named, OneOfMany, Reliable};
use expect_test::expect;
use std::string::String;

fn desk() -> Desk {
    let mut desk = Desk::new(Limits { names: 2, name_bytes: 4 });
    desk.start(0, &[]);
    desk.said.clear();
    desk
}

#[test]
fn ma_1_a_newborn_instance_is_told_what_it_missed() {
    let mut desk = Desk::new(Limits::default());
    desk.start(5, &[]);
    desk.view(1, 2);
    desk.view(2, 3);
    desk.step(Input::Suspect(NodeId::from_index(1)));
    desk.step(Input::Suspect(NodeId::from_index(2)));
    desk.step(Input::Trust(NodeId::from_index(1)));
    desk.command("a", Task::Work);
    desk.message(2, "b", Task::Work);
    desk.command("a", Task::Work);
    desk.says(expect![[r#"
        a starts life 5 with []
        a views 2 of 1,2,3
        a suspects 3
        clerk a: is 1 old
        b starts life 5 with []
        b views 2 of 1,2,3
        b suspects 3
        clerk b: is 1 old
        clerk a: is 2 old
    "#]]);
}

#[test]
fn ma_1_a_newborn_instance_is_told_of_a_full_disk_while_it_is_full() {
    let mut desk = desk();
    desk.step(Input::DiskFull);
    desk.command("a", Task::Work);
    desk.step(Input::DiskFree);
    desk.message(2, "b", Task::Work);
    desk.says(expect![[r#"
        a starts life 0 with []
        a has no room
        clerk a: is 1 old
        a has room again
        b starts life 0 with []
        clerk b: is 1 old
    "#]]);
    // A new life knows nothing of the disk until it is told.
    desk.step(Input::DiskFull);
    desk.start(1, &[("c", &[7])]);
    desk.said.clear();
    desk.command("a", Task::Work);
    desk.says(expect![[r#"
        a starts life 1 with []
        clerk a: is 1 old
    "#]]);
}

#[test]
fn ma_2_what_an_instance_does_bears_its_name() {
    let mut desk = desk();
    desk.command("a", Task::Send);
    desk.command("a", Task::SetTimer);
    desk.command("b", Task::SetTimer);
    desk.timer("a", 7);
    desk.command("b", Task::CancelTimer);
    desk.says(expect![[r#"
        a starts life 0 with []
        clerk a: is 1 old
        sends Named { name: "a", inner: Rest } to 2 Ahead
        sends Named { name: "a", inner: Rest } to all of 1,2,3 AfterSaves
        a starts life 0 with []
        clerk a: is 2 old
        a sets 7 to 1ms
        b starts life 0 with []
        clerk b: is 2 old
        b sets 7 to 1ms
        a wakes by 7
        clerk b: is 3 old
        b cancels 7
    "#]]);
}

#[test]
fn ma_2_a_timer_that_is_not_set_is_nobodys() {
    let mut desk = desk();
    desk.timer("a", 7);
    desk.command("a", Task::Work);
    desk.said.clear();
    desk.timer("a", 7);
    desk.timer("a", 8);
    assert_eq!(desk.said(), "\n");
    assert_eq!(desk.node.live(), 1);
}

fn names_do_not_disturb_each_other<P>(make: impl Fn(NodeId, Group) -> P)
where
    P: OneOfMany<Command = Command, Event = Event>,
{
    let mut table = Table::new(2, make);
    let entered = |table: &Table<P>| table.inside.keys().copied().collect::<Vec<_>>();
    table.ask(2, Command::Acquire, "a");
    table.deliver_all(|_| true);
    table.ask(1, Command::Acquire, "a");
    table.ask(1, Command::Acquire, "b");
    table.deliver_all(|_| true);
    assert_eq!(entered(&table), ["a", "b"], "whoever waits for one may enter the other");
    assert_eq!(table.inside["b"], NodeId::from_index(0));
    assert_eq!(table.waiting.len(), 1);
    table.ask(1, Command::Release, "b");
    assert_eq!(table.waiting.len(), 1, "leaving the one does not admit to the other");
    table.ask(2, Command::Release, "a");
    table.deliver_all(|_| true);
    assert_eq!(table.inside["a"], NodeId::from_index(0));
}

#[test]
fn ma_2_names_do_not_disturb_each_other() {
    names_do_not_disturb_each_other(RicartAgrawala::new);
    names_do_not_disturb_each_other(Central::new);
}

#[test]
fn ma_3_an_idle_instance_is_forgotten_and_its_floor_is_not() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    desk.command("a", Task::Work);
    assert_eq!(desk.node.live(), 1);
    desk.command("a", Task::Rest);
    assert_eq!(desk.node.live(), 0);
    desk.said.clear();
    desk.command("b", Task::Work);
    desk.command("a", Task::Rest);
    desk.says(expect![[r#"
        b starts life 0 with []
        clerk b: is 4 old
        a starts life 0 with []
        clerk a: is 4 old
    "#]]);
}

#[test]
fn ma_3_a_lower_floor_does_not_lower_the_others() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    (0..5).for_each(|_| desk.command("b", Task::Work));
    desk.command("b", Task::Rest);
    desk.command("a", Task::Rest);
    desk.said.clear();
    desk.command("a", Task::Work);
    desk.says(expect![[r#"
        a starts life 0 with []
        clerk a: is 7 old
    "#]]);
}

#[test]
fn ma_3_a_timer_or_a_save_keeps_an_idle_instance() {
    let mut desk = desk();
    desk.command("a", Task::SetTimer);
    desk.command("a", Task::SetTimer);
    assert_eq!(desk.node.live(), 1);
    desk.timer("a", 7);
    assert_eq!(desk.node.live(), 0);
    desk.command("a", Task::SetTimer);
    desk.command("a", Task::CancelTimer);
    assert_eq!(desk.node.live(), 0);
    desk.command("a", Task::Save(1));
    desk.step(Input::Saved(1));
    desk.command("a", Task::Rest);
    assert_eq!(desk.node.live(), 1);
}

#[test]
fn ma_3_instances_that_all_come_to_rest_at_once_are_all_forgotten() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    desk.command("b", Task::Work);
    desk.message(2, "c", Task::Work);
    // To trust again lets a clerk rest.
    desk.step(Input::Trust(NodeId::from_index(1)));
    assert_eq!(desk.node.live(), 0);
    desk.said.clear();
    desk.command("a", Task::Work);
    desk.command("b", Task::Work);
    desk.says(expect![[r#"
        a starts life 0 with []
        clerk a: is 2 old
        b starts life 0 with []
        clerk b: is 2 old
    "#]]);
}

/// The stamp of the request under way from node 1, and the fence of its entry.
fn stamp_and_fence(table: &mut Table<RicartAgrawala>, name: &'static str) -> (u64, Fence) {
    table.ask(1, Command::Acquire, name);
    let Message::Request { stamp, .. } = table.under_way[0].message.inner else {
        panic!("a request is under way first");
    };
    table.deliver_all(|_| true);
    table.ask(1, Command::Release, name);
    assert!(table.nodes.iter().all(|node| node.live() == 0), "all is idle and forgotten");
    (stamp.clock.0, *table.fences[name].last().expect("a fence"))
}

#[test]
fn ma_3_stamps_and_fences_of_a_name_grow_though_its_instances_were_forgotten() {
    let mut table = Table::new(2, RicartAgrawala::new);
    let fence = |counter| Fence { epoch: Epoch(0), counter };
    assert_eq!(stamp_and_fence(&mut table, "a"), (1, fence(1)));
    assert_eq!(stamp_and_fence(&mut table, "a"), (2, fence(2)));
    assert_eq!(stamp_and_fence(&mut table, "b"), (3, fence(3)), "one floor for all names");
    assert_eq!(stamp_and_fence(&mut table, "a"), (4, fence(4)));
}

#[test]
fn ma_4_every_instance_is_told_of_suspicions_and_views() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    desk.message(2, "b", Task::Work);
    desk.said.clear();
    desk.step(Input::Suspect(NodeId::from_index(1)));
    desk.view(4, 2);
    desk.step(Input::Trust(NodeId::from_index(1)));
    desk.says(expect![[r#"
        a suspects 2
        b suspects 2
        a views 4 of 1,2
        b views 4 of 1,2
        a trusts 2
        b trusts 2
    "#]]);
}

#[test]
fn ma_4_every_instance_is_told_of_the_disk() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    desk.message(2, "b", Task::Work);
    desk.said.clear();
    desk.step(Input::DiskFull);
    desk.step(Input::DiskFree);
    desk.says(expect![[r#"
        a has no room
        b has no room
        a has room again
        b has room again
    "#]]);
}

/// Where the disk was lost, nobody knows which names had saved something, so every one of them is told so, those
/// that save again and those that do not. A disk that never was lost tells nothing of the kind.
#[test]
fn ma_7_every_name_is_told_that_the_disk_was_lost() {
    let mut durable = ManyDurable::<&'static str, Book>::wiped();
    durable.apply(Named { name: "a", inner: 1 });
    durable.apply(Named { name: "a", inner: 2 });
    assert_eq!(durable.parts["a"], Book([u8::MAX, 1, 2].into()));
    assert_ne!(ManyDurable::<&str, Book>::wiped(), ManyDurable::default());
    let mut desk = desk();
    desk.step(Input::Start { durable, incarnation: Incarnation(3) });
    desk.command("b", Task::Work);
    desk.message(2, "c", Task::Work);
    desk.start(4, &[]);
    desk.command("b", Task::Work);
    desk.says(expect![[r#"
        a starts life 3 with [255, 1, 2]
        b starts life 3 with [255]
        clerk b: is 1 old
        c starts life 3 with [255]
        clerk c: is 1 old
        b starts life 4 with []
        clerk b: is 1 old
    "#]]);
}

#[test]
fn ma_5_each_instance_hears_how_many_of_its_own_saves_are_durable() {
    let mut desk = desk();
    for (name, write) in [("a", 1), ("b", 2), ("b", 3), ("a", 4), ("b", 5)] {
        desk.command(name, Task::Save(write));
    }
    desk.said.clear();
    for count in [1, 1, 4, 0, 5, 99] {
        desk.step(Input::Saved(count));
        desk.said.push("--".into());
    }
    desk.command("a", Task::Save(6));
    desk.step(Input::Saved(6));
    desk.says(expect![[r#"
        a has saved 1
        --
        --
        a has saved 2
        b has saved 2
        --
        --
        b has saved 3
        --
        --
        clerk a: is 3 old
        a saves 6
        a has saved 3
    "#]]);
}

#[test]
fn ma_6_too_many_names_of_ones_own_are_refused() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    desk.command("b", Task::Work);
    desk.said.clear();
    let before = desk.node.clone();
    desk.command("c", Task::Work);
    assert_eq!(desk.node, before, "nothing changed");
    assert_eq!(desk.said(), "c: refused: too many names are in use\n");
    desk.command("b", Task::Rest);
    desk.command("c", Task::Work);
    assert!(desk.node.get(&"c").is_some(), "there is room again");
}

#[test]
fn ma_6_each_peer_has_room_of_its_own() {
    let mut desk = desk();
    for name in ["a", "b", "c", "d"] {
        desk.message(2, name, Task::Work);
    }
    desk.said.clear();
    let before = desk.node.clone();
    desk.message(2, "e", Task::Work);
    assert_eq!(desk.node, before);
    assert_eq!(desk.said(), "MA-6 drops a message from 2 for one name too many\n");
    desk.message(2, "a", Task::Work);
    desk.message(3, "e", Task::Work);
    desk.command("f", Task::Work);
    assert_eq!(desk.node.live(), 6);
    desk.message(3, "a", Task::Rest);
    desk.message(2, "g", Task::Work);
    assert!(desk.node.get(&"g").is_some(), "whoever ends an instance, its maker has room again");
}

#[test]
fn ma_6_a_name_that_a_peer_made_counts_for_us_once_we_use_it() {
    let mut desk = desk();
    desk.message(2, "a", Task::Work);
    desk.command("a", Task::Work);
    desk.command("b", Task::Work);
    desk.message(2, "c", Task::Work);
    desk.said.clear();
    desk.command("c", Task::Work);
    assert_eq!(desk.said(), "c: refused: too many names are in use\n");
    for name in ["d", "e", "f"] {
        desk.message(2, name, Task::Work);
    }
    assert!(desk.node.get(&"f").is_some(), "what we use does not count for the peer");
}

#[test]
fn ma_6_names_too_long_are_refused() {
    let mut desk = desk();
    let before = desk.node.clone();
    desk.command("fünf", Task::Work);
    desk.message(2, "fünf", Task::Work);
    assert_eq!(desk.node, before, "nothing changed");
    desk.says(expect![[r#"
        fünf: refused: the name is too long
        MA-6 drops a message from 2: its name is too long
    "#]]);
    desk.command("four", Task::Work);
    assert_eq!(desk.node.live(), 1);
}

#[test]
fn ma_7_each_name_that_saved_something_starts_with_it() {
    let mut desk = desk();
    desk.command("a", Task::Work);
    desk.command("d", Task::Work);
    desk.view(9, 9);
    desk.step(Input::Suspect(NodeId::from_index(1)));
    desk.said.clear();
    desk.start(1, &[("c", &[3]), ("a", &[1, 2]), ("b", &[2])]);
    desk.command("b", Task::Save(4));
    desk.step(Input::Saved(1));
    desk.command("a", Task::Rest);
    assert_eq!(desk.node.live(), 3, "more than the limit, but all that was promised is kept");
    desk.command("d", Task::Work);
    desk.says(expect![[r#"
        a starts life 1 with [1, 2]
        b starts life 1 with [2]
        c starts life 1 with [3]
        clerk b: is 1 old
        b saves 4
        b has saved 1
        clerk a: is 1 old
        d: refused: too many names are in use
    "#]]);
}

#[test]
fn what_is_durable_is_a_fold_by_name() {
    let mut durable = ManyDurable::<&str, Book>::default();
    for (name, inner) in [("a", 1), ("b", 2), ("a", 3)] {
        durable.apply(Named { name, inner });
    }
    assert_eq!(durable.parts["a"], Book([1, 3].into()));
    assert_eq!(durable.parts["b"], Book([2].into()));
}

#[test]
fn a_named_message_is_described_as_what_it_is() {
    struct Odd;
    impl Describe for Odd {
        fn kind(&self) -> &'static str {
            "odd"
        }
        fn class(&self) -> Class {
            Class::Control
        }
        fn on_behalf_of(&self) -> Option<NodeId> {
            Some(NodeId::from_index(4))
        }
        fn parcel(&self) -> Option<Parcel> {
            Some(Parcel { incarnation: Incarnation::FIRST, number: 3 })
        }
        fn wrapped(&self) -> bool {
            true
        }
    }
    let named = Named { name: "a", inner: Odd };
    assert_eq!((named.kind(), named.class(), named.wrapped()), ("odd", Class::Control, true));
    assert_eq!((named.on_behalf_of(), named.parcel()), (Odd.on_behalf_of(), Odd.parcel()));
}

#[cfg(feature = "serde")]
#[test]
fn all_that_leaves_a_node_can_be_written_and_read() {
    use crate::wrap::{Frame, ManyEvent, ReliableTimer};
    fn writable<T: serde::Serialize + serde::de::DeserializeOwned>() {}
    writable::<Frame<Named<String, Message>>>();
    writable::<ReliableTimer<Named<String, u8>>>();
    writable::<ManyEvent<String, Event>>();
    writable::<ManyDurable<String, ()>>();
}

#[test]
fn many_can_be_cloned_compared_and_hashed() {
    fn checkable<T: Clone + Eq + core::hash::Hash + core::fmt::Debug>() {}
    checkable::<Many<String, RicartAgrawala>>();
    checkable::<Reliable<Many<String, Central>>>();
}
