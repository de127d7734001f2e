//! Tests of the rules of a member.
//!
//! In scripts, `1 send` lets node 1 multicast, `1 > 2` lets node 2 receive the oldest message from
//! 1, and `rest` lets all messages arrive; `testing.rs` lists all steps. `2#1` is the first
//! message of node 2. `decide_view(&[], &[])` decides a view without the crashed members: no node
//! joins, and no other member is removed.

use super::super::support::{assert_all_deliver, default_plan, delivered_by, node, run_script, script_group};
use super::super::tests::simulation::{Process, ViewChoice, World};
use super::super::{Command, Delivery, Event, Fifo, MessageId, Ordering, Payload, Plan, Sequencer, Unordered, Window};
use crate::group::Epoch;
use crate::node::Incarnation;
use crate::protocol::Input;
use crate::time::Time;
use crate::wrap::InViews;
use std::vec::Vec;

/// Seed of the random choices of a [`World`].
const SEED: u64 = 1;

/// Returns a plan whose window has this number of messages.
fn with_window(nodes: usize, messages: u64) -> Plan {
    Plan { window: Window { messages, bytes: 1 << 20 }, ..default_plan(nodes) }
}

fn process(number: usize) -> Process {
    (node(number), Incarnation::FIRST)
}

/// Returns a group in its first view, with no message in flight.
fn founded_world<O: Ordering>(plan: &Plan) -> World {
    let mut world = World::new(plan.clone(), SEED, O::boxed);
    world.deliver_all();
    world
}

/// Returns the messages that a node has delivered.
fn delivered(world: &World, number: usize) -> Vec<MessageId> {
    let log = world.logs[&process(number)].iter();
    log.filter_map(|event| if let Event::Delivered { id, .. } = event { Some(*id) } else { None }).collect()
}

/// Returns the views that a node has reported to its client, with the digests of their states.
fn views(world: &World, number: usize) -> Vec<(Epoch, u64)> {
    let log = world.logs[&process(number)].iter();
    let view =
        |event: &Event| if let Event::View { view, state, .. } = event { Some((view.epoch(), *state)) } else { None };
    log.filter_map(view).collect()
}

#[test]
fn mc_1_a_message_gets_an_id_and_goes_to_all() {
    let trace = run_script::<Fifo>(&default_plan(3), "1 send\n1 send");
    assert!(trace.contains("sends 1#1; MC-1 sends 1#1; data → all"), "{trace}");
    assert!(trace.contains("sends 1#2; MC-1 sends 1#2; data → all"), "{trace}");
}

#[test]
fn mc_1_a_sender_with_a_full_window_waits_for_the_slowest_member() {
    let trace = run_script::<Fifo>(&with_window(3, 2), "1 send\n1 send\n1 > 2\n2 > 1\n1 send");
    assert!(trace.contains("must wait for acknowledgements from 3"), "{trace}");
    let trace = run_script::<Fifo>(&with_window(3, 2), "1 send\n1 send\n1 > 2\n2 > 1\n1 send\n1 > 3\n3 > 1\n1 send");
    assert!(trace.contains("may send again"), "{trace}");
    assert!(trace.contains("sends 1#3"), "the message that had to wait used no number: {trace}");
}

#[test]
fn mc_1_one_message_may_exceed_the_byte_window_but_not_the_maximum_length() {
    let plan = Plan { window: Window { messages: 9, bytes: 1 }, ..default_plan(2) };
    let trace = run_script::<Fifo>(&plan, "1 send\n1 send");
    assert!(trace.contains("sends 1#1") && trace.contains("must wait for acknowledgements from 2"), "{trace}");
    let mut script_group = script_group::<Fifo>(&plan);
    let too_long = script_group.command(node(1), Command::send(Payload::from(std::vec![0; 2 << 20])));
    assert!(matches!(too_long[..], [Event::Refused(_)]));
}

#[test]
fn mc_2_the_first_copy_is_held_and_relayed_and_others_are_dropped() {
    let plan = Plan { relays: true, ..default_plan(3) };
    let trace = run_script::<Unordered>(&plan, "1 send\n1 > 2\n2 > 3\n1 > 3\nrest");
    assert!(trace.contains("MC-2 relays 1#1 to all others; data → all"), "{trace}");
    assert!(trace.contains("MC-2 drops a copy of 1#1 that 1 sent"), "{trace}");
    assert_all_deliver(&trace, 3, &["1#1"]);
}

#[test]
fn mc_3_uniform_delivery_waits_until_all_members_hold_the_message() {
    let plan = Plan { delivery: Delivery::Uniform, ..default_plan(3) };
    // The second message from 1 to 2 acknowledges 1#1: node 1 holds its own message too.
    let trace = run_script::<Fifo>(&plan, "1 send\n1 > 2\n1 > 2\n2 > 1");
    assert!(!trace.contains("DELIVERS"), "3 does not hold the message: {trace}");
    let trace = run_script::<Fifo>(&plan, "1 send\n1 > 2\n1 > 2\n2 > 1\n1 > 3\n3 > 1");
    assert_eq!(delivered_by(&trace, 1), ["1#1"], "{trace}");
    assert_eq!(delivered_by(&trace, 2), [""; 0], "2 has no acknowledgement of 3: {trace}");
}

#[test]
fn mc_4_members_acknowledge_after_half_a_window() {
    let trace = run_script::<Fifo>(&with_window(2, 4), "1 send\n1 send\n1 > 2");
    assert!(!trace.lines().any(|line| line.starts_with("2 ") && line.contains("MC-4")), "{trace}");
    let trace = run_script::<Fifo>(&with_window(2, 4), "1 send\n1 send\n1 > 2\n1 > 2");
    assert!(trace.contains("MC-4 acknowledges the messages it holds; acknowledgement → all"), "{trace}");
}

#[test]
fn mc_5_messages_that_all_members_hold_are_forgotten() {
    // Half a window is one message, so members acknowledge each message at once.
    let mut script_group = script_group::<Fifo>(&with_window(3, 2));
    for round in 1..=50 {
        script_group.run("1 send\n2 send\nrest");
        let kept: Vec<_> = script_group.nodes.iter().map(super::Member::kept_count).collect();
        assert_eq!(kept, [0, 0, 0], "after {round} rounds");
    }
}

#[test]
fn mc_6_a_leaving_member_sends_nothing_more_and_leaves_when_all_hold_its_messages() {
    let trace = run_script::<Fifo>(&default_plan(3), "1 send\n1 leave\n1 send\n1 > 2\n1 > 2\n2 > 1");
    assert!(trace.contains("refused: the node is leaving, and sends nothing more"), "{trace}");
    assert!(!trace.contains("leaves: all members"), "3 holds nothing yet: {trace}");
    let trace = run_script::<Fifo>(&default_plan(3), "1 send\n1 leave\nrest");
    assert!(trace.contains("leaves: all members hold what it sent"), "{trace}");
    let trace = run_script::<Fifo>(&default_plan(3), "1 leave");
    assert!(trace.contains("leaves: all members hold what it sent"), "the node has sent nothing: {trace}");
}

#[test]
fn mc_7_a_report_has_the_messages_held_and_positions_known() {
    let mut script_group = script_group::<Sequencer<Unordered>>(&default_plan(3));
    script_group.run("2 send\n2 > 1\n1 > 3\n2 send");
    for (index, held, numbers, reason) in [
        (2, 0, 1, "3 knows the number of 2#1, but holds no message"),
        (1, 2, 0, "2 holds its two messages, but knows no number"),
    ] {
        let holdings = script_group.nodes[index].report().begun_holdings.expect("the member is in a view");
        let known = holdings.order_report.positions().map(|known| known.positions.len());
        assert_eq!((holdings.held.len(), known), (held, Some(numbers)), "{reason}");
    }
}

#[test]
fn mc_8_a_message_of_a_crashed_sender_is_forwarded_to_members_that_lack_it() {
    let mut world = founded_world::<Fifo>(&default_plan(3));
    world.send(process(1));
    world.deliver((process(1), process(2)));
    world.crash_losing_all(process(1));
    assert_eq!((delivered(&world, 2).len(), delivered(&world, 3).len()), (1, 0));
    world.decide_view(&[], &[]);
    world.deliver_all();
    assert_eq!(delivered(&world, 3), delivered(&world, 2), "{}", world.history());
    assert_eq!(delivered(&world, 3).len(), 1);
}

#[test]
fn mc_8_a_number_that_only_one_member_knows_determines_the_order_at_all_members() {
    let mut world = founded_world::<Sequencer<Unordered>>(&default_plan(4));
    for number in [4, 3] {
        world.send(process(number));
    }
    // Node 1, the sequencer, numbers the message of 3 first, and only 2 learns this.
    world.deliver((process(3), process(1)));
    world.deliver((process(4), process(1)));
    for from in [1, 1, 3, 4] {
        world.deliver((process(from), process(2)));
    }
    world.crash_losing_all(process(1));
    assert_eq!(delivered(&world, 2).len(), 2);
    world.decide_view(&[], &[]);
    world.deliver_all();
    for number in [3, 4] {
        assert_eq!(delivered(&world, number), delivered(&world, 2), "{}", world.history());
    }
}

#[test]
fn mc_9_the_new_view_begins_when_all_hold_the_rest_of_the_old() {
    let mut world = founded_world::<Fifo>(&default_plan(3));
    world.send(process(1));
    world.deliver((process(1), process(2)));
    world.crash_losing_all(process(1));
    world.decide_view(&[], &[]);
    world.deliver_view(process(2), ViewChoice::Next);
    world.deliver_view(process(3), ViewChoice::Next);
    world.deliver((process(3), process(2)));
    assert_eq!(views(&world, 2).len(), 1, "3 lacks a message");
    world.deliver_all();
    assert_eq!(views(&world, 2), views(&world, 3));
    assert_eq!(views(&world, 2).len(), 2, "{}", world.history());
}

#[test]
fn mc_10_a_view_that_began_at_one_member_begins_at_all_before_the_next() {
    let mut world = founded_world::<Fifo>(&default_plan(4));
    world.crash(process(4));
    world.decide_view(&[], &[]);
    for number in 1..=3 {
        world.deliver_view(process(number), ViewChoice::Next);
    }
    // Reports and completion messages arrive at node 1, only reports at the others.
    for (from, to) in [(1, 2), (1, 3), (2, 3), (3, 2), (2, 1), (3, 1), (2, 1), (3, 1)] {
        world.deliver((process(from), process(to)));
    }
    assert_eq!((views(&world, 1).len(), views(&world, 2).len()), (2, 1), "{}", world.history());
    world.send(process(1));
    world.crash(process(3));
    world.decide_view(&[], &[]);
    world.deliver_all();
    assert_eq!(views(&world, 2), views(&world, 1), "{}", world.history());
    assert_eq!((views(&world, 2).len(), delivered(&world, 2).len()), (3, 1), "{}", world.history());
}

#[test]
fn mc_11_a_joiner_buffers_deliveries_until_it_has_the_state() {
    let plan = Plan { max_piece_bytes: 3, ..default_plan(2) };
    let mut world = founded_world::<Fifo>(&plan);
    for _ in 0..3 {
        world.send(process(1));
    }
    world.deliver_all();
    world.join(process(3));
    while views(&world, 1).len() < 2 {
        world.deliver_random();
    }
    world.send(process(1));
    assert_eq!(delivered(&world, 3), []);
    world.deliver_all();
    assert_eq!(views(&world, 3), views(&world, 1)[1..], "{}", world.history());
    assert_eq!(delivered(&world, 3), delivered(&world, 1)[3..], "{}", world.history());
}

#[test]
fn mc_12_a_joiner_loads_from_another_donor_after_a_crash() {
    for deliveries_before_crash in 0..120 {
        let mut world = founded_world::<Fifo>(&Plan { max_piece_bytes: 2, ..default_plan(3) });
        for _ in 0..3 {
            world.send(process(1));
        }
        world.deliver_all();
        world.join(process(4));
        for _ in 0..deliveries_before_crash {
            world.deliver_random();
        }
        world.crash(process(1));
        world.finish();
        let [last_view, last_view_of_2] = [4, 2].map(|number| views(&world, number).last().copied());
        assert!(last_view.is_some() && last_view == last_view_of_2, "{deliveries_before_crash}: {}", world.history());
    }
}

#[test]
fn messages_of_an_ended_view_change_nothing() {
    let mut world = founded_world::<Fifo>(&default_plan(3));
    world.send(process(3));
    world.deliver((process(3), process(1)));
    world.crashed.insert(process(3));
    // The message of 3 to 2 is still in flight when the next view begins.
    world.decide_view(&[], &[]);
    world.deliver_view(process(1), ViewChoice::Next);
    world.deliver_view(process(2), ViewChoice::Next);
    // The reports of 1 and 2; then from 1 the message that 2 lacks; then both completion messages.
    for (from, to) in [(1, 2), (2, 1), (1, 2), (1, 2), (2, 1)] {
        world.deliver((process(from), process(to)));
    }
    world.deliver_all();
    assert_eq!(delivered(&world, 2), delivered(&world, 1), "{}", world.history());
    assert_eq!(delivered(&world, 2).len(), 1);
}

#[test]
fn a_member_without_a_view_asks_its_client_to_wait() {
    let mut world = World::new(default_plan(2), SEED, Fifo::boxed);
    world.feed_input(process(1), Input::Command(Command::send("x")));
    assert!(matches!(world.logs[&process(1)][..], [Event::Wait { .. }]));
    world.deliver_all();
    assert!(matches!(world.logs[&process(1)][..], [Event::Wait { .. }, Event::View { .. }]));
}

#[test]
fn a_client_that_waits_for_a_lease_learns_when_it_may_send() {
    let mut world = founded_world::<Fifo>(&default_plan(2));
    // The time is always 0, so this lease has expired.
    world.feed_input(process(1), Input::Lease(Time::from_nanos(-1)));
    world.send(process(1));
    assert!(matches!(world.logs[&process(1)][..], [Event::View { .. }, Event::Wait { .. }]));
    world.feed_input(process(1), Input::Lease(Time::NEVER));
    assert!(matches!(world.logs[&process(1)][..], [Event::View { .. }, Event::Wait { .. }, Event::Ready { .. }]));
}
