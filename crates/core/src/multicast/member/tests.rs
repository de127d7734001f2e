//! One test for each rule.

use super::super::drill::{assert_all_hear, group, heard, node, play, stage};
use super::super::tests::world::{Life, World};
use super::super::{Command, Delivery, Event, Fifo, MessageId, Ordering, Payload, Plan, Sequencer, Unordered, Window};
use crate::group::Epoch;
use crate::node::Incarnation;
use crate::protocol::Input;
use crate::time::Time;
use crate::wrap::InViews;
use std::vec::Vec;

fn narrow(nodes: usize, messages: u64) -> Plan {
    Plan { window: Window { messages, bytes: 1 << 20 }, ..group(nodes) }
}

fn life(number: usize) -> Life {
    (node(number), Incarnation::FIRST)
}

/// A group in its first view, in which all is quiet.
fn founded<O: Ordering>(plan: &Plan) -> World {
    let mut world = World::new(plan.clone(), 1, O::boxed);
    world.rest();
    world
}

fn delivered(world: &World, number: usize) -> Vec<MessageId> {
    let log = world.logs[&life(number)].iter();
    log.filter_map(|event| if let Event::Delivered { id, .. } = event { Some(*id) } else { None }).collect()
}

/// The views that a node's user was told of, with the states they began with.
fn views(world: &World, number: usize) -> Vec<(Epoch, u64)> {
    let log = world.logs[&life(number)].iter();
    let view =
        |event: &Event| if let Event::View { view, state, .. } = event { Some((view.epoch(), *state)) } else { None };
    log.filter_map(view).collect()
}

#[test]
fn mc_1_what_is_sent_is_named_and_goes_to_all() {
    let trace = play::<Fifo>(&group(3), "1 send\n1 send");
    assert!(trace.contains("sends 1#1; MC-1 sends 1#1; letter → all"), "{trace}");
    assert!(trace.contains("sends 1#2; MC-1 sends 1#2; letter → all"), "{trace}");
}

#[test]
fn mc_1_who_has_too_much_under_way_waits_for_the_slow_one_by_name() {
    let trace = play::<Fifo>(&narrow(3, 2), "1 send\n1 send\n1 > 2\n2 > 1\n1 send");
    assert!(trace.contains("must wait: 3 holds too little of what it sent"), "{trace}");
    let trace = play::<Fifo>(&narrow(3, 2), "1 send\n1 send\n1 > 2\n2 > 1\n1 send\n1 > 3\n3 > 1\n1 send");
    assert!(trace.contains("may send again"), "{trace}");
    assert!(trace.contains("sends 1#3"), "nothing was lost: {trace}");
}

#[test]
fn mc_1_bytes_are_limited_too_but_one_message_always_goes() {
    let plan = Plan { window: Window { messages: 9, bytes: 1 }, ..group(2) };
    let trace = play::<Fifo>(&plan, "1 send\n1 send");
    assert!(trace.contains("sends 1#1") && trace.contains("must wait: 2"), "{trace}");
    let mut stage = stage::<Fifo>(&plan);
    let wide = stage.command(node(1), Command::send(Payload::from(std::vec![0; 2 << 20])));
    assert!(matches!(wide[..], [Event::Refused(_)]));
}

#[test]
fn mc_2_the_first_copy_is_held_and_passed_on_and_others_are_dropped() {
    let plan = Plan { relay: true, ..group(3) };
    let trace = play::<Unordered>(&plan, "1 send\n1 > 2\n2 > 3\n1 > 3\nrest");
    assert!(trace.contains("MC-2 passes 1#1 on to all others; letter → all"), "{trace}");
    assert!(trace.contains("MC-2 drops a copy of 1#1 that 1 sent"), "{trace}");
    assert_all_hear(&trace, 3, &["1#1"]);
}

#[test]
fn mc_3_uniform_delivery_waits_until_everyone_holds_it() {
    let plan = Plan { delivery: Delivery::Uniform, ..group(3) };
    let trace = play::<Fifo>(&plan, "1 send\n1 > 2\n1 > 2\n2 > 1");
    assert!(!trace.contains("DELIVERS"), "3 does not hold it: {trace}");
    let trace = play::<Fifo>(&plan, "1 send\n1 > 2\n1 > 2\n2 > 1\n1 > 3\n3 > 1");
    assert_eq!(heard(&trace, 1), ["1#1"], "{trace}");
    assert_eq!(heard(&trace, 2), [""; 0], "it has not heard of 3: {trace}");
}

#[test]
fn mc_4_members_tell_what_they_hold_after_half_a_window() {
    let trace = play::<Fifo>(&narrow(2, 4), "1 send\n1 send\n1 > 2");
    assert!(!trace.contains("2 hears letter from 1: MC-3 delivers 1#1; DELIVERS 1#1 \"x\"; MC-4"), "{trace}");
    let trace = play::<Fifo>(&narrow(2, 4), "1 send\n1 send\n1 > 2\n1 > 2");
    assert!(trace.contains("MC-4 tells all how much it holds; held → all"), "{trace}");
}

#[test]
fn mc_5_what_everyone_holds_is_forgotten() {
    let mut stage = stage::<Fifo>(&narrow(3, 2));
    for round in 1..=50 {
        stage.run("1 send\n2 send\nrest");
        let kept: Vec<_> = stage.nodes.iter().map(super::Member::kept).collect();
        assert_eq!(kept, [0, 0, 0], "after {round} rounds");
    }
}

#[test]
fn mc_6_who_leaves_sends_nothing_more_and_goes_when_everyone_holds_all() {
    let trace = play::<Fifo>(&group(3), "1 send\n1 leave\n1 send\n1 > 2\n1 > 2\n2 > 1");
    assert!(trace.contains("refused: it leaves, and sends nothing more"), "{trace}");
    assert!(!trace.contains("leaves: everyone"), "3 holds nothing yet: {trace}");
    let trace = play::<Fifo>(&group(3), "1 send\n1 leave\nrest");
    assert!(trace.contains("leaves: everyone holds what it sent"), "{trace}");
    let trace = play::<Fifo>(&group(3), "1 leave");
    assert!(trace.contains("leaves: everyone holds what it sent"), "it has sent nothing: {trace}");
}

#[test]
fn mc_7_a_report_says_what_is_held_and_known() {
    let mut stage = stage::<Sequencer<Unordered>>(&group(3));
    stage.run("2 send\n2 > 1\n1 > 3\n2 send");
    for (place, held, numbers, why) in [(2, 0, 1, "3 knows the number of what it lacks"), (1, 2, 0, "2 knows none")] {
        let begun = stage.nodes[place].report().begun.expect("it is in a view");
        let known = begun.notes.places().map(|known| known.places.len());
        assert_eq!((begun.held.len(), known), (held, Some(numbers)), "{why}");
    }
}

#[test]
fn mc_8_what_a_dead_sender_told_some_is_sent_on_to_the_others() {
    let mut world = founded::<Fifo>(&group(3));
    world.say(life(1));
    world.arrive((life(1), life(2)));
    world.cut(life(1));
    assert_eq!((delivered(&world, 2).len(), delivered(&world, 3).len()), (1, 0));
    world.decide(&[], &[]);
    world.rest();
    assert_eq!(delivered(&world, 3), delivered(&world, 2), "{}", world.story());
    assert_eq!(delivered(&world, 3).len(), 1);
}

#[test]
fn mc_8_the_number_that_one_knows_holds_for_all() {
    let mut world = founded::<Sequencer<Unordered>>(&group(4));
    for number in [4, 3] {
        world.say(life(number));
    }
    // The sequencer takes 3's first, and only 2 learns of it.
    world.arrive((life(3), life(1)));
    world.arrive((life(4), life(1)));
    for from in [1, 1, 3, 4] {
        world.arrive((life(from), life(2)));
    }
    world.cut(life(1));
    assert_eq!(delivered(&world, 2).len(), 2);
    world.decide(&[], &[]);
    world.rest();
    for number in [3, 4] {
        assert_eq!(delivered(&world, number), delivered(&world, 2), "{}", world.story());
    }
}

#[test]
fn mc_9_the_new_view_begins_when_all_hold_the_rest_of_the_old() {
    let mut world = founded::<Fifo>(&group(3));
    world.say(life(1));
    world.arrive((life(1), life(2)));
    world.cut(life(1));
    world.decide(&[], &[]);
    world.tell(life(2), false);
    world.tell(life(3), false);
    world.arrive((life(3), life(2)));
    assert_eq!(views(&world, 2).len(), 1, "3 lacks a message");
    world.rest();
    assert_eq!(views(&world, 2), views(&world, 3));
    assert_eq!(views(&world, 2).len(), 2, "{}", world.story());
}

#[test]
fn mc_10_a_view_that_began_for_somebody_begins_for_all_before_the_next() {
    let mut world = founded::<Fifo>(&group(4));
    world.crash(life(4));
    world.decide(&[], &[]);
    for number in 1..=3 {
        world.tell(life(number), false);
    }
    // Reports, then completion, all to node 1 and only reports to the others.
    for (from, to) in [(1, 2), (1, 3), (2, 3), (3, 2), (2, 1), (3, 1), (2, 1), (3, 1)] {
        world.arrive((life(from), life(to)));
    }
    assert_eq!((views(&world, 1).len(), views(&world, 2).len()), (2, 1), "{}", world.story());
    world.say(life(1));
    world.crash(life(3));
    world.decide(&[], &[]);
    world.rest();
    assert_eq!(views(&world, 2), views(&world, 1), "{}", world.story());
    assert_eq!((views(&world, 2).len(), delivered(&world, 2).len()), (3, 1), "{}", world.story());
}

#[test]
fn mc_11_a_newcomer_holds_back_until_it_has_the_state() {
    let plan = Plan { piece: 3, ..group(2) };
    let mut world = founded::<Fifo>(&plan);
    for _ in 0..3 {
        world.say(life(1));
    }
    world.rest();
    world.join(life(3));
    while views(&world, 1).len() < 2 {
        world.step();
    }
    world.say(life(1));
    assert_eq!(delivered(&world, 3), []);
    world.rest();
    assert_eq!(views(&world, 3), views(&world, 1)[1..], "{}", world.story());
    assert_eq!(delivered(&world, 3), delivered(&world, 1)[3..], "{}", world.story());
}

#[test]
fn mc_12_a_load_goes_on_with_another_donor_when_one_dies_midway() {
    for steps in 0..120 {
        let mut world = founded::<Fifo>(&Plan { piece: 2, ..group(3) });
        for _ in 0..3 {
            world.say(life(1));
        }
        world.rest();
        world.join(life(4));
        for _ in 0..steps {
            world.step();
        }
        world.crash(life(1));
        world.peace();
        let state = views(&world, 4).last().copied();
        assert!(state.is_some() && state == views(&world, 2).last().copied(), "{steps}: {}", world.story());
    }
}

#[test]
fn late_words_of_an_older_view_change_nothing() {
    let mut world = founded::<Fifo>(&group(3));
    world.say(life(3));
    world.arrive((life(3), life(1)));
    world.dead.insert(life(3));
    // What 3 sent to 2 is still under way when the next view begins.
    world.decide(&[], &[]);
    world.tell(life(1), false);
    world.tell(life(2), false);
    for (from, to) in [(1, 2), (2, 1), (1, 2), (1, 2), (2, 1)] {
        world.arrive((life(from), life(to)));
    }
    world.rest();
    assert_eq!(delivered(&world, 2), delivered(&world, 1), "{}", world.story());
    assert_eq!(delivered(&world, 2).len(), 1);
}

#[test]
fn a_member_without_a_view_asks_its_user_to_wait() {
    let mut world = World::new(group(2), 1, Fifo::boxed);
    world.input(life(1), Input::Command(Command::send("x")));
    assert!(matches!(world.logs[&life(1)][..], [Event::Wait { .. }]));
    world.rest();
    assert!(matches!(world.logs[&life(1)][..], [Event::Wait { .. }, Event::View { .. }]));
}

#[test]
fn who_was_told_to_wait_while_its_lease_was_over_hears_when_it_may_send() {
    let mut world = founded::<Fifo>(&group(2));
    world.input(life(1), Input::Lease(Time::from_nanos(-1)));
    world.say(life(1));
    assert!(matches!(world.logs[&life(1)][..], [Event::View { .. }, Event::Wait { .. }]));
    world.input(life(1), Input::Lease(Time::from_nanos(1 << 41)));
    assert!(matches!(world.logs[&life(1)][..], [Event::View { .. }, Event::Wait { .. }, Event::Ready { .. }]));
}
