//! One test or more per rule of named instances, MA-1 to MA-7. In the expected lines, `step a: 2 so
//! far` means that instance `a` handled a command or message and has now counted 2. The count is
//! also its floor, so a new instance continues the largest count of the forgotten ones.
//! `deliver(2, "b", ..)` delivers a message of node 2 to instance `b`.

use super::harness::{Harness, SavedWrites, TIMER, Task};
use super::lock_group::LockGroup;
use crate::fence::Fence;
use crate::mutex::ricart_agrawala::Message;
use crate::mutex::{Central, Command, Event, RicartAgrawala};
use crate::wrap::prelude::*;
use crate::wrap::{Limits, Many, ManyDurable, Named, OneOfMany, Reliable};
use expect_test::expect;
use std::string::String;

/// A started node that may have 2 names in use, of at most 4 bytes. So each peer may create 4
/// instances.
fn harness() -> Harness {
    let mut harness = Harness::new(Limits { max_names: 2, max_name_bytes: 4 });
    harness.start(0, &[]);
    harness.lines.clear();
    harness
}

#[test]
fn ma_1_a_new_instance_receives_the_inputs_that_it_missed() {
    let mut harness = Harness::new(Limits::default());
    harness.start(5, &[]);
    harness.enter_view(1, 2);
    harness.enter_view(2, 3);
    harness.step(Input::Suspect(NodeId::from_index(1)));
    harness.step(Input::Suspect(NodeId::from_index(2)));
    harness.step(Input::Trust(NodeId::from_index(1)));
    harness.command("a", Task::Work);
    harness.deliver(2, "b", Task::Work);
    harness.command("a", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 5 with []
        a has view 2 of 1,2,3
        a suspects 3
        step a: 1 so far
        b starts incarnation 5 with []
        b has view 2 of 1,2,3
        b suspects 3
        step b: 1 so far
        step a: 2 so far
    "#]]);
}

#[test]
fn ma_1_a_new_instance_learns_of_a_full_disk() {
    let mut harness = harness();
    harness.step(Input::DiskFull);
    harness.command("a", Task::Work);
    harness.step(Input::DiskFree);
    harness.deliver(2, "b", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 0 with []
        a disk is full
        step a: 1 so far
        a disk has room
        b starts incarnation 0 with []
        step b: 1 so far
    "#]]);
    // A new incarnation assumes that the disk has room until an input says otherwise.
    harness.step(Input::DiskFull);
    harness.start(1, &[("c", &[7])]);
    harness.lines.clear();
    harness.command("a", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 1 with []
        step a: 1 so far
    "#]]);
}

#[test]
fn ma_2_the_effects_of_an_instance_carry_its_name() {
    let mut harness = harness();
    harness.command("a", Task::Send);
    harness.command("a", Task::SetTimer);
    harness.command("b", Task::SetTimer);
    harness.fire_timer("a", TIMER);
    harness.command("b", Task::CancelTimer);
    harness.expect_lines(expect![[r#"
        a starts incarnation 0 with []
        step a: 1 so far
        sends Named { name: "a", inner: Rest } to 2 Ahead
        sends Named { name: "a", inner: Rest } to all of 1,2,3 AfterSaves
        a starts incarnation 0 with []
        step a: 2 so far
        a sets 7 to 1ms
        b starts incarnation 0 with []
        step b: 2 so far
        b sets 7 to 1ms
        a timer 7 fires
        step b: 3 so far
        b cancels 7
    "#]]);
}

#[test]
fn ma_2_a_timer_that_is_not_set_is_ignored() {
    let mut harness = harness();
    harness.fire_timer("a", TIMER);
    harness.command("a", Task::Work);
    harness.lines.clear();
    harness.fire_timer("a", TIMER);
    harness.fire_timer("a", TIMER + 1);
    assert_eq!(harness.take_lines(), "\n", "no effect");
    assert_eq!(harness.node.instance_count(), 1);
}

fn assert_that_names_do_not_disturb_each_other<P>(new_lock: impl Fn(NodeId, Group) -> P)
where
    P: OneOfMany<Command = Command, Event = Event>,
{
    let mut locks = LockGroup::new(2, new_lock);
    let held_names = |locks: &LockGroup<P>| locks.holders.keys().copied().collect::<Vec<_>>();
    locks.command(2, Command::Acquire, "a");
    locks.deliver_all(|_| true);
    locks.command(1, Command::Acquire, "a");
    locks.command(1, Command::Acquire, "b");
    locks.deliver_all(|_| true);
    assert_eq!(held_names(&locks), ["a", "b"], "a node that waits for one lock may enter the other");
    assert_eq!(locks.holders["b"], NodeId::from_index(0));
    assert_eq!(locks.waiting.len(), 1);
    locks.command(1, Command::Release, "b");
    assert_eq!(locks.waiting.len(), 1, "a release of one lock does not grant the other");
    locks.command(2, Command::Release, "a");
    locks.deliver_all(|_| true);
    assert_eq!(locks.holders["a"], NodeId::from_index(0));
}

#[test]
fn ma_2_names_do_not_disturb_each_other() {
    assert_that_names_do_not_disturb_each_other(RicartAgrawala::new);
    assert_that_names_do_not_disturb_each_other(Central::new);
}

#[test]
fn ma_3_an_idle_instance_is_forgotten_and_its_floor_is_not() {
    let mut harness = harness();
    harness.command("a", Task::Work);
    harness.command("a", Task::Work);
    assert_eq!(harness.node.instance_count(), 1);
    harness.command("a", Task::Rest);
    assert_eq!(harness.node.instance_count(), 0);
    harness.lines.clear();
    harness.command("b", Task::Work);
    harness.command("a", Task::Rest);
    harness.expect_lines(expect![[r#"
        b starts incarnation 0 with []
        step b: 4 so far
        a starts incarnation 0 with []
        step a: 4 so far
    "#]]);
}

#[test]
fn ma_3_forgetting_an_instance_with_a_lower_floor_keeps_the_largest_floor() {
    let mut harness = harness();
    // The floor of `b` is 6 when it is forgotten, and that of `a` only 2.
    harness.command("a", Task::Work);
    (0..5).for_each(|_| harness.command("b", Task::Work));
    harness.command("b", Task::Rest);
    harness.command("a", Task::Rest);
    harness.lines.clear();
    harness.command("a", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 0 with []
        step a: 7 so far
    "#]]);
}

#[test]
fn ma_3_a_timer_or_a_save_keeps_an_idle_instance() {
    let mut harness = harness();
    harness.command("a", Task::SetTimer);
    harness.command("a", Task::SetTimer);
    assert_eq!(harness.node.instance_count(), 1);
    harness.fire_timer("a", TIMER);
    assert_eq!(harness.node.instance_count(), 0);
    harness.command("a", Task::SetTimer);
    harness.command("a", Task::CancelTimer);
    assert_eq!(harness.node.instance_count(), 0);
    harness.command("a", Task::Save(1));
    harness.step(Input::Saved(1));
    harness.command("a", Task::Rest);
    assert_eq!(harness.node.instance_count(), 1);
}

#[test]
fn ma_3_instances_that_become_idle_together_are_all_forgotten() {
    let mut harness = harness();
    harness.command("a", Task::Work);
    harness.command("b", Task::Work);
    harness.deliver(2, "c", Task::Work);
    // The input `Trust` makes an instance idle.
    harness.step(Input::Trust(NodeId::from_index(1)));
    assert_eq!(harness.node.instance_count(), 0);
    harness.lines.clear();
    harness.command("a", Task::Work);
    harness.command("b", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 0 with []
        step a: 2 so far
        b starts incarnation 0 with []
        step b: 2 so far
    "#]]);
}

/// Lets node 1 enter and leave. Returns the clock reading of its request and the fence of its
/// entry.
fn stamp_and_fence(locks: &mut LockGroup<RicartAgrawala>, name: &'static str) -> (u64, Fence) {
    locks.command(1, Command::Acquire, name);
    let Message::Request { stamp, .. } = locks.in_flight[0].message.inner else {
        panic!("the first message in flight is a request");
    };
    locks.deliver_all(|_| true);
    locks.command(1, Command::Release, name);
    assert!(locks.nodes.iter().all(|node| node.instance_count() == 0), "all instances are idle and forgotten");
    (stamp.clock.0, *locks.fences[name].last().expect("a fence"))
}

#[test]
fn ma_3_stamps_and_fences_increase_although_instances_were_forgotten() {
    let mut locks = LockGroup::new(2, RicartAgrawala::new);
    let fence = |counter| Fence { epoch: Epoch(0), counter };
    assert_eq!(stamp_and_fence(&mut locks, "a"), (1, fence(1)));
    assert_eq!(stamp_and_fence(&mut locks, "a"), (2, fence(2)));
    assert_eq!(stamp_and_fence(&mut locks, "b"), (3, fence(3)), "one floor for all names");
    assert_eq!(stamp_and_fence(&mut locks, "a"), (4, fence(4)));
}

#[test]
fn ma_4_every_instance_receives_suspicions_and_views() {
    let mut harness = harness();
    harness.command("a", Task::Work);
    harness.deliver(2, "b", Task::Work);
    harness.lines.clear();
    harness.step(Input::Suspect(NodeId::from_index(1)));
    harness.enter_view(4, 2);
    harness.step(Input::Trust(NodeId::from_index(1)));
    harness.expect_lines(expect![[r#"
        a suspects 2
        b suspects 2
        a has view 4 of 1,2
        b has view 4 of 1,2
        a trusts 2
        b trusts 2
    "#]]);
}

#[test]
fn ma_4_every_instance_learns_of_a_full_disk() {
    let mut harness = harness();
    harness.command("a", Task::Work);
    harness.deliver(2, "b", Task::Work);
    harness.lines.clear();
    harness.step(Input::DiskFull);
    harness.step(Input::DiskFree);
    harness.expect_lines(expect![[r#"
        a disk is full
        b disk is full
        a disk has room
        b disk has room
    "#]]);
}

#[test]
fn ma_4_every_instance_gets_the_end_of_a_turn() {
    let mut harness = harness();
    assert!(harness.node.uses_end_of_turn(), "even without instances");
    harness.command("a", Task::Work);
    harness.deliver(2, "b", Task::Work);
    harness.lines.clear();
    harness.step(Input::EndOfTurn);
    harness.expect_lines(expect![[r#"
        a ends its turn
        b ends its turn
    "#]]);
}

/// If the disk was lost, the node cannot know which names had saved something. So every instance
/// starts as wiped, even one that has saved something since; the test protocol shows this by the
/// write 255. On a disk that was never lost, no instance starts as wiped.
#[test]
fn ma_7_every_instance_learns_that_the_disk_was_lost() {
    let mut durable = ManyDurable::<&'static str, SavedWrites>::wiped();
    durable.apply(Named { name: "a", inner: 1 });
    durable.apply(Named { name: "a", inner: 2 });
    assert_eq!(durable.instances["a"], SavedWrites([u8::MAX, 1, 2].into()));
    assert_ne!(ManyDurable::<&str, SavedWrites>::wiped(), ManyDurable::default());
    let mut harness = harness();
    harness.step(Input::Start { durable, incarnation: Incarnation(3) });
    harness.command("b", Task::Work);
    harness.deliver(2, "c", Task::Work);
    harness.start(4, &[]);
    harness.command("b", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 3 with [255, 1, 2]
        b starts incarnation 3 with [255]
        step b: 1 so far
        c starts incarnation 3 with [255]
        step c: 1 so far
        b starts incarnation 4 with []
        step b: 1 so far
    "#]]);
}

#[test]
fn ma_5_each_instance_learns_how_many_of_its_own_saves_are_durable() {
    let mut harness = harness();
    for (name, write) in [("a", 1), ("b", 2), ("b", 3), ("a", 4), ("b", 5)] {
        harness.command(name, Task::Save(write));
    }
    harness.lines.clear();
    // The driver may repeat a count of durable saves, or report one that is too small or too large.
    for count in [1, 1, 4, 0, 5, 99] {
        harness.step(Input::Saved(count));
        harness.lines.push("--".into());
    }
    harness.command("a", Task::Save(6));
    harness.step(Input::Saved(6));
    harness.expect_lines(expect![[r#"
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
        step a: 3 so far
        a saves 6
        a has saved 3
    "#]]);
}

#[test]
fn ma_6_commands_for_too_many_names_are_refused() {
    let mut harness = harness();
    harness.command("a", Task::Work);
    harness.command("b", Task::Work);
    harness.lines.clear();
    let node_before = harness.node.clone();
    harness.command("c", Task::Work);
    assert_eq!(harness.node, node_before, "nothing changed");
    assert_eq!(harness.take_lines(), "c: refused: too many names are in use\n");
    harness.command("b", Task::Rest);
    harness.command("c", Task::Work);
    assert!(harness.node.instance(&"c").is_some(), "there is room again");
}

#[test]
fn ma_6_each_peer_has_a_limit_of_its_own() {
    let mut harness = harness();
    for name in ["a", "b", "c", "d"] {
        harness.deliver(2, name, Task::Work);
    }
    harness.lines.clear();
    let node_before = harness.node.clone();
    harness.deliver(2, "e", Task::Work);
    assert_eq!(harness.node, node_before, "nothing changed");
    assert_eq!(harness.take_lines(), "MA-6 drops a message from 2: too many names are in use\n");
    harness.deliver(2, "a", Task::Work);
    harness.deliver(3, "e", Task::Work);
    harness.command("f", Task::Work);
    assert_eq!(harness.node.instance_count(), 6);
    harness.deliver(3, "a", Task::Rest);
    harness.deliver(2, "g", Task::Work);
    assert!(harness.node.instance(&"g").is_some(), "the peer has room again, whichever node ends its instance");
}

#[test]
fn ma_6_an_instance_created_by_a_peer_counts_locally_after_a_command() {
    let mut harness = harness();
    harness.deliver(2, "a", Task::Work);
    harness.command("a", Task::Work);
    harness.command("b", Task::Work);
    harness.deliver(2, "c", Task::Work);
    harness.lines.clear();
    harness.command("c", Task::Work);
    assert_eq!(harness.take_lines(), "c: refused: too many names are in use\n");
    for name in ["d", "e", "f"] {
        harness.deliver(2, name, Task::Work);
    }
    assert!(harness.node.instance(&"f").is_some(), "a name that a command used does not count for the peer");
}

#[test]
fn ma_6_names_too_long_are_refused() {
    let mut harness = harness();
    let node_before = harness.node.clone();
    // Five bytes.
    harness.command("fünf", Task::Work);
    harness.deliver(2, "fünf", Task::Work);
    assert_eq!(harness.node, node_before, "nothing changed");
    harness.expect_lines(expect![[r#"
        fünf: refused: the name is too long
        MA-6 drops a message from 2: the name of its instance is too long
    "#]]);
    harness.command("four", Task::Work);
    assert_eq!(harness.node.instance_count(), 1);
}

#[test]
fn ma_7_each_name_that_saved_something_starts_with_it() {
    let mut harness = harness();
    harness.command("a", Task::Work);
    harness.command("d", Task::Work);
    // The next incarnation must forget this view and this suspicion.
    harness.enter_view(9, 9);
    harness.step(Input::Suspect(NodeId::from_index(1)));
    harness.lines.clear();
    harness.start(1, &[("c", &[3]), ("a", &[1, 2]), ("b", &[2])]);
    harness.command("b", Task::Save(4));
    harness.step(Input::Saved(1));
    harness.command("a", Task::Rest);
    assert_eq!(harness.node.instance_count(), 3, "instances with saves are kept even beyond the limit");
    harness.command("d", Task::Work);
    harness.expect_lines(expect![[r#"
        a starts incarnation 1 with [1, 2]
        b starts incarnation 1 with [2]
        c starts incarnation 1 with [3]
        step b: 1 so far
        b saves 4
        b has saved 1
        step a: 1 so far
        d: refused: too many names are in use
    "#]]);
}

#[test]
fn each_write_applies_to_the_state_of_its_name() {
    let mut durable = ManyDurable::<&str, SavedWrites>::default();
    for (name, inner) in [("a", 1), ("b", 2), ("a", 3)] {
        durable.apply(Named { name, inner });
    }
    assert_eq!(durable.instances["a"], SavedWrites([1, 3].into()));
    assert_eq!(durable.instances["b"], SavedWrites([2].into()));
}

#[test]
fn a_named_message_is_described_like_the_inner_one() {
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
        fn payload_id(&self) -> Option<PayloadId> {
            Some(PayloadId { incarnation: Incarnation::FIRST, number: 3 })
        }
        fn is_wrapped(&self) -> bool {
            true
        }
    }
    let named = Named { name: "a", inner: Odd };
    assert_eq!((named.kind(), named.class(), named.is_wrapped()), ("odd", Class::Control, true));
    assert_eq!((named.on_behalf_of(), named.payload_id()), (Odd.on_behalf_of(), Odd.payload_id()));
}

#[cfg(feature = "serde")]
#[test]
fn messages_timers_events_and_durable_state_can_be_serialized() {
    use crate::wrap::{Frame, ManyEvent, ReliableTimer};
    fn assert_serializable<T: serde::Serialize + serde::de::DeserializeOwned>() {}
    assert_serializable::<Frame<Named<String, Message>>>();
    assert_serializable::<ReliableTimer<Named<String, u8>>>();
    assert_serializable::<ManyEvent<String, Event>>();
    assert_serializable::<ManyDurable<String, ()>>();
}

#[test]
fn many_can_be_cloned_compared_and_hashed() {
    fn assert_checkable<T: Clone + Eq + core::hash::Hash + core::fmt::Debug>() {}
    assert_checkable::<Many<String, RicartAgrawala>>();
    assert_checkable::<Reliable<Many<String, Central>>>();
}
