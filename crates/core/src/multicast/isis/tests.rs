//! Tests of the rules of the ISIS order.
//!
//! In scripts, `1 send` lets node 1 multicast, `1 > 2` lets node 2 receive the oldest message from
//! 1, `1 > 2 overtakes 1` the second oldest, which overtakes one message, and `rest` lets all
//! messages arrive; `testing.rs` lists all steps. `2#1` is the first message of node 2. In traces,
//! the priority `4.3` is number 4 as proposed by node 3.
//!
//! A survey is what the survivors of a view know when it ends: the messages that any of them holds,
//! for each of the three senders the number of its messages that all members hold, and the report
//! of each survivor about the order.

use super::{Isis, Priorities, Priority, PriorityMessage, PriorityState};
use crate::multicast::causal::Causes;
use crate::multicast::support::{
    RecordingSink, assert_all_deliver, assert_forgets, default_plan, id, node, queue, run_script, settle, survey,
    without_causes,
};
use crate::multicast::{Causal, Fifo, OrderMessage, OrderReport, Ordering, Payload, Unordered};

fn priority(number: u64, proposer: usize) -> Priority {
    Priority { number, proposer: node(proposer) }
}

/// Returns a report of these known priorities. A message is given as its sender and number.
fn priorities(known: &[((usize, u64), PriorityState)]) -> OrderReport {
    let states = known.iter().map(|((sender, number), state)| (id(*sender, *number), *state));
    OrderReport::Priorities(Priorities { priority_states: states.collect(), inner: () })
}

#[test]
fn is_1_members_propose_greater_priorities_than_they_have_seen() {
    let trace = run_script::<Isis<Unordered>>(&default_plan(2), "1 send\n1 > 2\n2 send");
    assert!(trace.contains("IS-1 proposes 1.2 for 1#1; proposal → 1"), "{trace}");
    assert!(trace.contains("IS-1 proposes 2.2 for 2#1"), "{trace}");
}

#[test]
fn is_1_proposals_wait_for_the_inner_order() {
    let trace = run_script::<Isis<Fifo>>(&default_plan(2), "1 send\n1 send\n1 > 2 overtakes 1");
    assert!(!trace.contains("for 1#2; proposal"), "{trace}");
    let trace = run_script::<Isis<Fifo>>(&default_plan(2), "1 send\n1 send\n1 > 2 overtakes 1\n1 > 2");
    assert!(trace.contains("proposes 1.2 for 1#1; proposal → 1; IS-1 proposes 2.2 for 1#2; proposal → 1"), "{trace}");
}

#[test]
fn is_2_the_sender_takes_the_greatest_when_all_have_proposed() {
    let trace =
        run_script::<Isis<Unordered>>(&default_plan(3), "3 send\n1 send\n1 > 2\n1 > 3\n2 > 1\n3 > 1 overtakes 1");
    assert!(trace.contains("IS-2 1#1 has priority 2.3; agreed → all"), "{trace}");
    let trace = run_script::<Isis<Unordered>>(&default_plan(3), "1 send\n1 > 2\n2 > 1");
    assert!(!trace.contains("IS-2"), "3 has proposed nothing: {trace}");
}

#[test]
fn is_2_a_second_proposal_and_those_of_nonmembers_are_ignored() {
    let mut order = Isis::<Unordered>::create(&default_plan(3), node(1), &default_plan(3).members);
    let mut queue = queue(3);
    let mut sink = RecordingSink::new();
    queue.receive(id(1, 1), Causes::none(), Payload::from("x"));
    order.on_received(id(1, 1), &queue, &mut sink);
    for (from, number) in [(2, 3), (2, 9), (7, 9), (1, 9)] {
        order.handle_message(
            node(from),
            OrderMessage::Priority(PriorityMessage::Proposal { id: id(1, 1), number }),
            &queue,
            &mut sink,
        );
    }
    assert_eq!(sink.messages, []);
    order.handle_message(
        node(3),
        OrderMessage::Priority(PriorityMessage::Proposal { id: id(1, 1), number: 2 }),
        &queue,
        &mut sink,
    );
    assert_eq!(
        sink.messages,
        [OrderMessage::Priority(PriorityMessage::Agreed { id: id(1, 1), priority: priority(3, 2) })]
    );
}

#[test]
fn is_3_an_agreed_priority_moves_a_message_back() {
    let mut order = Isis::<Unordered>::create(&default_plan(3), node(3), &default_plan(3).members);
    let mut queue = queue(3);
    let mut sink = RecordingSink::new();
    for sender in [1, 2] {
        queue.receive(id(sender, 1), Causes::none(), Payload::from("x"));
        order.on_received(id(sender, 1), &queue, &mut sink);
    }
    let agree = |number, proposer| {
        OrderMessage::Priority(PriorityMessage::Agreed { id: id(1, 1), priority: priority(number, proposer) })
    };
    order.handle_message(node(2), agree(5, 1), &queue, &mut sink);
    assert!(!order.is_position_known(id(1, 1)), "only its sender announces the agreed priority");
    order.handle_message(node(1), agree(1, 1), &queue, &mut sink);
    assert!(!order.is_position_known(id(1, 1)), "the priority is smaller than the proposal of node 3 itself");
    order.handle_message(node(1), agree(5, 1), &queue, &mut sink);
    assert!(order.pending().eq([id(2, 1), id(1, 1)]));
    assert_eq!(order.next_deliverable(&queue), None, "2#1 has no agreed priority, and may still come before 1#1");
    order.handle_message(
        node(2),
        OrderMessage::Priority(PriorityMessage::Agreed { id: id(2, 1), priority: priority(6, 2) }),
        &queue,
        &mut sink,
    );
    assert_eq!(order.next_deliverable(&queue), Some(id(1, 1)));
}

#[test]
fn is_4_all_members_deliver_in_the_order_of_agreed_priorities() {
    let trace = run_script::<Isis<Unordered>>(&default_plan(3), "1 send\n2 send\n1 > 3\n2 > 3\n2 > 1\n1 > 2\nrest");
    // Node 2 received its own message first.
    assert!(trace.contains("1#1 has priority 2.2") && trace.contains("2#1 has priority 2.3"), "{trace}");
    assert_all_deliver(&trace, 3, &["1#1", "2#1"]);
}

#[test]
fn is_5_priorities_are_forgotten_with_their_messages() {
    assert_forgets::<Isis<Unordered>>(|report| report.priorities().map(|known| known.priority_states.len()));
}

#[test]
fn is_6_messages_without_an_agreed_priority_come_after_all_delivered_ones() {
    let held = without_causes([(1, 1), (1, 2), (2, 1)]);
    // Node 2 never saw 1#2, and may have delivered 2#1 and 1#1.
    let known_to_2 = [((1, 1), PriorityState::Agreed(priority(9, 1))), ((2, 1), PriorityState::Agreed(priority(4, 2)))];
    let known_to_3 = [
        ((1, 1), PriorityState::Proposed(priority(2, 3))),
        ((1, 2), PriorityState::Proposed(priority(3, 3))),
        ((2, 1), PriorityState::Agreed(priority(4, 2))),
    ];
    let survey = survey(held, [0, 0, 0], [(2, priorities(&known_to_2)), (3, priorities(&known_to_3))]);
    assert_eq!(settle::<Isis<Unordered>>(&survey), [id(2, 1), id(1, 1), id(1, 2)]);
}

#[test]
fn is_6_messages_without_an_agreed_priority_come_after_deliveries_of_a_crashed_member() {
    // Node 1, which has crashed, proposed a large priority for 2#1 and delivered 3#1, whose
    // agreed priority all members knew.
    let held = without_causes([(2, 1), (3, 1)]);
    let priorities_with =
        |proposed| [((2, 1), PriorityState::Proposed(proposed)), ((3, 1), PriorityState::Agreed(priority(2, 3)))];
    let (known_to_2, known_to_3) = (priorities_with(priority(1, 2)), priorities_with(priority(1, 3)));
    let survey = survey(held, [0, 0, 0], [(2, priorities(&known_to_2)), (3, priorities(&known_to_3))]);
    assert_eq!(settle::<Isis<Unordered>>(&survey), [id(3, 1), id(2, 1)]);
}

#[test]
fn is_6_a_message_without_an_agreed_priority_stays_before_messages_that_depend_on_it() {
    // Node 1 sent the agreed priority of 1#1 only to 2. Node 2 delivered 1#1, sent 2#1 and later
    // the agreed priority of 2#1 to all. Then nodes 1 and 2 crashed.
    let held = [(id(1, 1), Causes([1, 0, 0].into())), (id(2, 1), Causes([1, 1, 0].into()))];
    let known_to_3 =
        [((1, 1), PriorityState::Proposed(priority(1, 3))), ((2, 1), PriorityState::Agreed(priority(2, 3)))];
    let survey = survey(held, [0, 0, 0], [(3, priorities(&known_to_3))]);
    assert_eq!(settle::<Isis<Causal>>(&survey), [id(1, 1), id(2, 1)]);
}

#[test]
fn is_6_a_message_without_an_agreed_priority_stays_after_earlier_ones_of_its_sender() {
    // Node 2, which has crashed, proposed a large priority for 1#1. Node 3 made its proposal for
    // 1#2 before it knew that priority.
    let held = without_causes([(1, 1), (1, 2)]);
    let known_to_3 =
        [((1, 1), PriorityState::Agreed(priority(50, 2))), ((1, 2), PriorityState::Proposed(priority(2, 3)))];
    let survey = survey(held, [0, 0, 0], [(3, priorities(&known_to_3))]);
    assert_eq!(settle::<Isis<Fifo>>(&survey), [id(1, 1), id(1, 2)]);
}
