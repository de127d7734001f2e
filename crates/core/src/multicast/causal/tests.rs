//! One test for each rule.

use super::{Causal, Causes};
use crate::multicast::drill::{Notebook, group, heard, id, node, play, prune, queue, settle, survey};
use crate::multicast::{Notes, Ordering, Payload};
use alloc::vec::Vec;

/// A reply that comes before what it replies to.
const REPLY: &str = "1 send\n1 > 2\n2 send\n2 > 3";

fn causes(counts: &[u64]) -> Causes {
    Causes(counts.into())
}

#[test]
fn ca_1_a_message_tells_what_its_sender_had_heard() {
    let mut order = Causal::begin(&group(3), node(2), &group(3).members);
    let queue = queue(3);
    assert_eq!(order.tag(), causes(&[0, 1, 0]));
    order.delivered(id(1, 1), &queue);
    order.delivered(id(3, 1), &queue);
    assert_eq!(order.tag(), causes(&[1, 2, 1]), "its own first counts although it was not delivered");
}

#[test]
fn ca_2_a_reply_waits_for_what_it_replies_to() {
    let trace = play::<Causal>(&group(3), REPLY);
    assert!(trace.contains("CA-2 2#1 with (1,1,0) waits: (0,0,0) lacks something before it"), "{trace}");
    assert_eq!(heard(&trace, 3), [""; 0], "{trace}");
}

#[test]
fn ca_3_the_original_lets_its_reply_out() {
    let trace = play::<Causal>(&group(3), &[REPLY, "\n1 > 3"].concat());
    assert_eq!(heard(&trace, 3), ["1#1", "2#1"], "{trace}");
}

#[test]
fn ca_3_what_knows_nothing_of_each_other_does_not_wait() {
    let trace = play::<Causal>(&group(3), "1 send\n2 send\n2 > 3\n1 > 3\n1 > 2\n2 > 1");
    assert_eq!(heard(&trace, 3), ["2#1", "1#1"], "{trace}");
    assert_eq!(heard(&trace, 1), ["1#1", "2#1"], "{trace}");
}

#[test]
fn ca_4_causes_come_first_and_what_lacks_one_is_dropped_with_it() {
    let held = [
        (id(1, 1), causes(&[1, 1, 0])),
        (id(2, 1), causes(&[0, 1, 0])),
        (id(2, 2), causes(&[0, 2, 1])),
        (id(3, 2), causes(&[0, 2, 2])),
    ];
    let survey = survey(held, [0, 0, 0], [(1, Notes::Nothing)]);
    assert_eq!(settle::<Causal>(&survey), [id(2, 1), id(1, 1)], "nobody holds 3#1, on which 2#2 depends");
    assert_eq!(prune::<Causal>([id(1, 1), id(2, 1)], &survey), [id(2, 1)], "no effect comes before its cause");
}

#[test]
fn ca_4_what_everyone_holds_needs_no_causes() {
    let survey = survey([(id(1, 4), causes(&[4, 7, 0]))], [4, 7, 0], [(1, Notes::Nothing)]);
    assert_eq!(settle::<Causal>(&survey), [id(1, 4)]);
}

#[test]
fn a_vector_that_is_not_of_this_group_stops_only_its_sender() {
    for wrong in [&[][..], &[1], &[1, 0, 0, 0], &[2, 0, 0], &[0, 0, 0], &[u64::MAX, 0, 0]] {
        let mut order = Causal::begin(&group(3), node(3), &group(3).members);
        let mut queue = queue(3);
        let mut desk = Notebook::new();
        for (id, tag) in [(id(1, 1), causes(wrong)), (id(1, 2), causes(&[2, 0, 0])), (id(2, 1), causes(&[0, 1, 0]))] {
            queue.receive(id, tag, Payload::from("x"));
            order.received(id, &queue, &mut desk);
        }
        let mut out = Vec::new();
        while let Some(next) = order.next(&queue) {
            queue.deliver(next);
            order.delivered(next, &queue);
            out.push(next);
        }
        assert_eq!(out, [id(2, 1)], "with {wrong:?}");
        let held = queue.kept().map(|(id, tag, _)| (id, tag.clone()));
        assert_eq!(settle::<Causal>(&survey(held, [0, 0, 0], [(3, Notes::Nothing)])), [id(2, 1)]);
    }
}
