//! Tests of the rules of causal order.
//!
//! In scripts, `1 send` lets node 1 multicast, and `1 > 2` lets node 2 receive the oldest message
//! from 1; `testing.rs` lists all steps. `2#1` is the first message of node 2.
//!
//! A survey is what the survivors of a view know when it ends: the messages that any of them holds,
//! for each of the three senders the number of its messages that all members hold, and the report
//! of each survivor about the order.

use super::{Causal, Causes};
use crate::multicast::support::{
    RecordingSink, default_plan, delivered_by, id, node, prune, queue, run_script, settle, survey,
};
use crate::multicast::{OrderReport, Ordering, Payload};
use alloc::vec::Vec;

/// Node 2 replies to message 1#1, and its reply 2#1 arrives at node 3 before 1#1.
const REPLY: &str = "1 send\n1 > 2\n2 send\n2 > 3";

fn causes(counts: &[u64]) -> Causes {
    Causes(counts.into())
}

#[test]
fn ca_1_a_message_carries_the_number_of_deliveries_at_its_sender() {
    let mut order = Causal::create(&default_plan(3), node(2), &default_plan(3).members);
    let queue = queue(3);
    assert_eq!(order.next_tag(), causes(&[0, 1, 0]));
    order.on_delivered(id(1, 1), &queue);
    order.on_delivered(id(3, 1), &queue);
    assert_eq!(order.next_tag(), causes(&[1, 2, 1]), "its own first message counts although it was not delivered");
}

#[test]
fn ca_2_a_reply_waits_for_its_original() {
    let trace = run_script::<Causal>(&default_plan(3), REPLY);
    assert!(trace.contains("CA-2 2#1 with (1,1,0) waits: this node has delivered (0,0,0)"), "{trace}");
    assert_eq!(delivered_by(&trace, 3), [""; 0], "{trace}");
}

#[test]
fn ca_3_the_original_releases_its_reply() {
    let trace = run_script::<Causal>(&default_plan(3), &[REPLY, "\n1 > 3"].concat());
    assert_eq!(delivered_by(&trace, 3), ["1#1", "2#1"], "{trace}");
}

#[test]
fn ca_3_concurrent_messages_do_not_wait_for_each_other() {
    let trace = run_script::<Causal>(&default_plan(3), "1 send\n2 send\n2 > 3\n1 > 3\n1 > 2\n2 > 1");
    assert_eq!(delivered_by(&trace, 3), ["2#1", "1#1"], "{trace}");
    assert_eq!(delivered_by(&trace, 1), ["1#1", "2#1"], "{trace}");
}

#[test]
fn ca_4_causes_come_first_and_messages_without_their_causes_are_dropped() {
    let held = [
        (id(1, 1), causes(&[1, 1, 0])),
        (id(2, 1), causes(&[0, 1, 0])),
        (id(2, 2), causes(&[0, 2, 1])),
        (id(3, 2), causes(&[0, 2, 2])),
    ];
    let survey = survey(held, [0, 0, 0], [(1, OrderReport::Nothing)]);
    assert_eq!(settle::<Causal>(&survey), [id(2, 1), id(1, 1)], "no survivor holds 3#1, on which 2#2 depends");
    assert_eq!(
        prune::<Causal>([id(1, 1), id(2, 1)], &survey),
        [id(2, 1)],
        "an earlier order with an effect before its cause loses the effect"
    );
}

#[test]
fn ca_4_messages_that_all_members_hold_need_no_causes() {
    let survey = survey([(id(1, 4), causes(&[4, 7, 0]))], [4, 7, 0], [(1, OrderReport::Nothing)]);
    assert_eq!(settle::<Causal>(&survey), [id(1, 4)]);
}

#[test]
fn an_invalid_vector_blocks_only_its_sender() {
    for wrong in [&[][..], &[1], &[1, 0, 0, 0], &[2, 0, 0], &[0, 0, 0], &[u64::MAX, 0, 0]] {
        let mut order = Causal::create(&default_plan(3), node(3), &default_plan(3).members);
        let mut queue = queue(3);
        let mut sink = RecordingSink::new();
        for (id, tag) in [(id(1, 1), causes(wrong)), (id(1, 2), causes(&[2, 0, 0])), (id(2, 1), causes(&[0, 1, 0]))] {
            queue.receive(id, tag, Payload::from("x"));
            order.on_received(id, &queue, &mut sink);
        }
        let mut delivered = Vec::new();
        while let Some(next) = order.next_deliverable(&queue) {
            queue.deliver(next);
            order.on_delivered(next, &queue);
            delivered.push(next);
        }
        assert_eq!(delivered, [id(2, 1)], "with {wrong:?}");
        let held = queue.kept_messages().map(|(id, tag, _)| (id, tag.clone()));
        assert_eq!(settle::<Causal>(&survey(held, [0, 0, 0], [(3, OrderReport::Nothing)])), [id(2, 1)]);
    }
}
