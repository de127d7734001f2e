//! Tests of the rules of total order by a sequencer, which is node 1. The number that it assigns to
//! a message is the position of the message in the total order.
//!
//! In scripts, `1 send` lets node 1 multicast, `1 > 2` lets node 2 receive the oldest message from
//! 1, `1 > 2 overtakes 1` the second oldest, `1 > 2 last` the newest, and `rest` lets all messages
//! arrive; `testing.rs` lists all steps. `2#1` is the first message of node 2.
//!
//! A survey is what the survivors of a view know when it ends: the messages that any of them holds,
//! for each of the three senders the number of its messages that all members hold, and the report
//! of each survivor about the order.

use super::{Position, Positions, Sequencer};
use crate::multicast::causal::Causes;
use crate::multicast::support::{
    RecordingSink, assert_all_deliver, assert_forgets, default_plan, delivered_by, id, node, prune, queue, run_script,
    settle, survey, without_causes,
};
use crate::multicast::{Causal, Fifo, OrderMessage, OrderReport, Ordering, Payload, Plan, Sequencing, Unordered};

fn through_sequencer(nodes: usize) -> Plan {
    Plan { sequencing: Sequencing::ThroughSequencer, ..default_plan(nodes) }
}

/// Returns a report with the last delivered number, and for each known number its message, given as
/// the sender and the message's number among those of the sender.
fn positions(last_delivered: u64, positions: &[(u64, (usize, u64))]) -> OrderReport {
    let positions = positions.iter().map(|(number, (sender, sent))| (*number, id(*sender, *sent)));
    OrderReport::Positions(Positions { positions: positions.collect(), last_delivered, inner: () })
}

#[test]
fn sq_1_the_sequencer_numbers_messages_as_the_inner_order_releases_them() {
    let trace = run_script::<Sequencer<Unordered>>(&default_plan(2), "2 send\n2 send\n2 > 1 overtakes 1\n2 > 1");
    assert!(trace.contains("SQ-1 2#2 has number 1") && trace.contains("SQ-1 2#1 has number 2"), "{trace}");
    let trace = run_script::<Sequencer<Fifo>>(&default_plan(2), "2 send\n2 send\n2 > 1 overtakes 1\n2 > 1\nrest");
    assert!(trace.contains("SQ-1 2#1 has number 1") && trace.contains("SQ-1 2#2 has number 2"), "{trace}");
    assert_eq!(delivered_by(&trace, 2), ["2#1", "2#2"], "{trace}");
}

#[test]
fn sq_1_causes_are_numbered_first() {
    let trace = run_script::<Sequencer<Causal>>(
        &default_plan(3),
        "3 send\n3 > 1\n1 > 2\n3 > 2\n2 send\n2 send\n2 > 1 last\nrest",
    );
    assert_all_deliver(&trace, 3, &["3#1", "2#1", "2#2"]);
}

#[test]
fn sq_2_the_sequencer_sends_the_number_alone_or_with_its_message() {
    let trace = run_script::<Sequencer<Unordered>>(&default_plan(3), "2 send\n2 > 1");
    assert!(trace.contains("data → all") && trace.contains("position → all"), "{trace}");
    let trace = run_script::<Sequencer<Unordered>>(&through_sequencer(3), "2 send\n2 > 1\n1 > 3\n1 > 2\n1 send\nrest");
    assert!(trace.contains("data → 1") && !trace.contains("position →"), "{trace}");
    assert_all_deliver(&trace, 3, &["2#1", "1#1"]);
}

#[test]
fn sq_3_only_numbers_from_the_sequencer_count_and_each_once() {
    let mut order = Sequencer::<Unordered>::create(&default_plan(3), node(2), &default_plan(3).members);
    let mut queue = queue(3);
    let mut sink = RecordingSink::new();
    for (sender, number) in [(1, 1), (3, 1)] {
        queue.receive(id(sender, number), Causes::none(), Payload::from("x"));
        order.on_received(id(sender, number), &queue, &mut sink);
    }
    let position = |number, sender, sent| OrderMessage::Position(Position { number, id: id(sender, sent) });
    order.handle_message(node(3), position(1, 3, 1), &queue, &mut sink);
    assert_eq!(order.next_deliverable(&queue), None, "node 3 is not the sequencer");
    order.handle_message(node(1), position(1, 9, 1), &queue, &mut sink);
    assert!(sink.rules.is_empty(), "node 9 is not a member");
    order.handle_message(node(1), position(1, 1, 1), &queue, &mut sink);
    order.handle_message(node(1), position(1, 3, 1), &queue, &mut sink);
    order.handle_message(node(1), position(2, 1, 1), &queue, &mut sink);
    assert_eq!(order.next_deliverable(&queue), Some(id(1, 1)));
    assert!(!order.is_position_known(id(3, 1)), "number 1 belongs to 1#1");
    assert_eq!((sink.rules.len(), sink.messages), (1, [].into()));
}

#[test]
fn sq_4_all_members_deliver_in_the_order_of_numbers() {
    let trace = run_script::<Sequencer<Unordered>>(
        &default_plan(3),
        "2 send\n3 send\n2 > 3\n3 > 2\n3 > 1\n2 > 1\n1 > 2\n1 > 2\n1 > 3\nrest",
    );
    assert_all_deliver(&trace, 3, &["3#1", "2#1"]);
}

#[test]
fn sq_4_a_number_waits_for_its_message() {
    let trace = run_script::<Sequencer<Unordered>>(&default_plan(3), "2 send\n2 > 1\n1 > 3");
    assert_eq!(delivered_by(&trace, 3), [""; 0], "{trace}");
    let trace = run_script::<Sequencer<Unordered>>(&default_plan(3), "2 send\n2 > 1\n1 > 3\n2 > 3");
    assert_eq!(delivered_by(&trace, 3), ["2#1"], "{trace}");
}

#[test]
fn sq_5_numbers_are_forgotten_with_their_messages() {
    let trace = assert_forgets::<Sequencer<Unordered>>(|report| report.positions().map(|known| known.positions.len()));
    assert_eq!(delivered_by(&trace, 1), delivered_by(&trace, 3));
}

#[test]
fn sq_6_when_a_view_ends_numbered_messages_come_first() {
    let held = without_causes([(1, 3), (2, 1), (2, 2), (3, 1)]);
    let order_reports =
        [(2, positions(7, &[(7, (3, 1)), (8, (1, 4))])), (3, positions(0, &[(7, (3, 1)), (9, (1, 3))]))];
    let survey = survey(held, [2, 0, 0], order_reports);
    let order = settle::<Sequencer<Unordered>>(&survey);
    assert_eq!(order, [id(3, 1), id(1, 3), id(2, 1), id(2, 2)], "no survivor holds 1#4, which has number 8");
    assert_eq!(prune::<Sequencer<Unordered>>([id(3, 1), id(1, 4), id(2, 1)], &survey), [id(3, 1), id(2, 1)]);
}

#[test]
fn sq_6_messages_after_an_unknown_number_follow_in_the_inner_order() {
    let held = without_causes([(2, 1), (2, 2), (3, 1)]);
    let survey = survey(held, [0, 0, 0], [(3, positions(0, &[(1, (3, 1)), (3, (2, 2))]))]);
    let order = settle::<Sequencer<Fifo>>(&survey);
    assert_eq!(
        order,
        [id(3, 1), id(2, 1), id(2, 2)],
        "no survivor knows number 2, so the inner order places 2#1 and 2#2"
    );
}

#[test]
fn sq_6_a_numbered_message_without_its_cause_is_dropped() {
    let held = [(id(2, 1), Causes([1, 1, 0].into())), (id(3, 1), Causes([0, 0, 1].into()))];
    let survey = survey(held, [0, 0, 0], [(3, positions(0, &[(1, (1, 1)), (2, (2, 1))]))]);
    assert_eq!(settle::<Sequencer<Causal>>(&survey), [id(3, 1)], "no survivor holds 1#1, so none has delivered 2#1");
}
