//! One test or more per rule of reliable links, RL-1 to RL-10. In scripts, `1 says 2` sends a
//! word from node 1 to node 2, `1 > 2` delivers the oldest frame from 1 to 2, and `2 syncs` makes
//! the saves of 2 durable; `Network::run` lists all steps. In traces, `0→1` are the incarnations of
//! a frame's sender and receiver, `base` is the first number sent between these two, and `0.1` is
//! the second word of incarnation 0. `ack below 2` acknowledges the numbers 0 and 1. `again` marks
//! a retransmission, and `ahead` a frame that does not wait for earlier saves. `waits … for 2` sets
//! the retransmission timer for node 2, and `payload 0.1 of 1` notes the delivery of message number
//! 1 of node 1 in incarnation 0. Capitals mark events of the inner protocol.
//!
//! Timeouts begin with 50 to 75 ms and double up to 2.4 s. A receiver holds back messages that are
//! less than 1,024 numbers ahead, and a sender retransmits 64 messages at a time.

use super::network::{AddressedFrame, Command, Log, Network, ReliableWords, Word, WordProtocol, node_id};
use crate::wrap::prelude::*;
use crate::wrap::reliable::link::{BATCH, WINDOW};
use crate::wrap::{Frame, IncarnationPair, Reliable, ReliableTimer, RetransmissionTimeouts, Transmission};
use expect_test::expect;
use std::string::String;

macro_rules! rule_tests {
    ($($name:ident($script:literal, $trace:expr);)*) => {$(
        #[test]
        fn $name() {
            $trace.assert_eq(&Network::new(3).run($script));
        }
    )*};
}

rule_tests! {
    rl_1_each_peer_has_its_own_numbers_and_one_timer(
        "1 says all, 1 says 2, 1 says 2 ahead, 1 says 1", expect![[r#"
            1 command: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2; [0→0 base 0 number 0: 0.0] → 3; waits 50ms..75ms for 3
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            1 says 0.2 to 2: [0→0 base 0 number 2: 0.2] ahead → 2
            1 says 0.0 to 1: [0→0 base 0 number 0: 0.0] → 1; waits 50ms..75ms for 1
        "#]]);

    rl_2_unacknowledged_messages_are_retransmitted_and_the_timeout_doubles(
        "1 says 2, 1 says 2 ahead, lose 1 > 2, lose 1 > 2, 1 resends to 2, 1 resends to 2, 1 > 2, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] ahead → 2
            1's timer fires: RL-2 retransmits message 0 to node 2; [0→0 base 0 number 0: 0.0] again → 2; RL-2 retransmits message 1 to node 2; [0→0 base 0 number 1: 0.1] again ahead → 2; waits 100ms..150ms for 2
            1's timer fires: RL-2 retransmits message 0 to node 2; [0→0 base 0 number 0: 0.0] again → 2; RL-2 retransmits message 1 to node 2; [0→0 base 0 number 1: 0.1] again ahead → 2; waits 200ms..300ms for 2
            2 gets [0→0 base 0 number 0: 0.0] again from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            2 gets [0→0 base 0 number 1: 0.1] again from 1: payload 0.1 of 1; saves 0.1; RECEIVES 0.1 from 1; [0→0 ack below 2] → 1
        "#]]);

    rl_3_delivery_is_in_order_for_any_order_of_arrival(
        "1 says 2, 1 says 2, 1 says 2, 1 > 2 last, 1 > 2 last, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            1 says 0.2 to 2: [0→0 base 0 number 2: 0.2] → 2
            2 gets [0→0 base 0 number 2: 0.2] from 1: RL-3 holds back message 2 from node 1
            2 gets [0→0 base 0 number 1: 0.1] from 1: RL-3 holds back message 1 from node 1
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; payload 0.1 of 1; saves 0.1; RECEIVES 0.1 from 1; payload 0.2 of 1; saves 0.2; RECEIVES 0.2 from 1; [0→0 ack below 3] → 1
        "#]]);

    rl_4_a_duplicate_is_acknowledged_and_not_delivered(
        "1 says 2, copy 1 > 2, 1 > 2, 2 syncs, lose 2 > 1, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            2 gets [0→0 base 0 number 0: 0.0] from 1: RL-4 drops a duplicate of message 0 from node 1; [0→0 ack below 1] → 1
        "#]]);

    rl_6_progress_resets_the_timeout_and_the_last_acknowledgement_cancels_it(
        "1 says 2, 1 says 2, 1 resends to 2, 1 > 2, 2 syncs, 2 > 1, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            1's timer fires: RL-2 retransmits message 0 to node 2; [0→0 base 0 number 0: 0.0] again → 2; RL-2 retransmits message 1 to node 2; [0→0 base 0 number 1: 0.1] again → 2; waits 100ms..150ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 1: 0.1] from 1: payload 0.1 of 1; saves 0.1; RECEIVES 0.1 from 1; [0→0 ack below 2] → 1
            2 has synced: HAS SAVED 2
            1 gets [0→0 ack below 2] from 2: stops waiting for 2
        "#]]);

    rl_6_a_stale_acknowledgement_changes_nothing(
        "1 says 2, 1 > 2, 2 syncs, copy 2 > 1, 2 > 1, 1 says 2, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: stops waiting for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2; waits 50ms..75ms for 2
            1 gets [0→0 ack below 1] from 2: 
        "#]]);

    rl_7_a_restarted_receiver_gets_what_its_former_incarnation_did_not_acknowledge(
        "1 says 2, 1 > 2, 2 syncs, 2 > 1, 1 says 2, 1 says 2, 1 > 2, 1 resends to 2
         2 crashes, 2 says 1, 2 > 1, lose 1 > 2, lose 1 > 2, lose 1 > 2, 1 > 2 last, 1 > 2 last", expect![[r#"
             1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
             2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
             2 has synced: HAS SAVED 1
             1 gets [0→0 ack below 1] from 2: stops waiting for 2
             1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2; waits 50ms..75ms for 2
             1 says 0.2 to 2: [0→0 base 0 number 2: 0.2] → 2
             2 gets [0→0 base 0 number 1: 0.1] from 1: payload 0.1 of 1; saves 0.1; RECEIVES 0.1 from 1; [0→0 ack below 2] → 1
             1's timer fires: RL-2 retransmits message 1 to node 2; [0→0 base 0 number 1: 0.1] again → 2; RL-2 retransmits message 2 to node 2; [0→0 base 0 number 2: 0.2] again → 2; waits 100ms..150ms for 2
             2 starts: 
             2 says 1.0 to 1: [1→0 base 0 number 0: 1.0] → 1; waits 50ms..75ms for 1
             1 gets [1→0 base 0 number 0: 1.0] from 2: RL-7 learns of incarnation 1 of node 2, after 0; RL-7 retransmits message 1 to node 2; [0→1 base 1 number 1: 0.1] again → 2; RL-7 retransmits message 2 to node 2; [0→1 base 1 number 2: 0.2] again → 2; waits 50ms..75ms for 2; payload 1.0 of 2; saves 1.0; RECEIVES 1.0 from 2; [0→1 ack below 1] → 2
             2 gets [0→1 base 1 number 2: 0.2] again from 1: RL-3 holds back message 2 from node 1
             2 gets [0→1 base 1 number 1: 0.1] again from 1: payload 0.1 of 1; saves 0.1; RECEIVES 0.1 from 1; payload 0.2 of 1; saves 0.2; RECEIVES 0.2 from 1; [1→0 ack below 3] → 1
         "#]]);

    rl_7_messages_of_a_restarted_sender_are_no_duplicates(
        "1 says 2, 1 > 2, 1 crashes, 1 says 2, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            1 starts: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            2 gets [1→0 base 0 number 0: 1.0] from 1: RL-7 learns of incarnation 1 of node 1, after 0; payload 1.0 of 1; saves 1.0; RECEIVES 1.0 from 1; [0→1 ack below 1] → 1
        "#]]);

    rl_7_messages_held_back_from_the_former_incarnation_are_forgotten(
        "1 says 2, 1 says 2, 1 > 2 last, 1 crashes, 1 says 2, 1 says 2, 1 > 2 last, 1 > 2 last", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            2 gets [0→0 base 0 number 1: 0.1] from 1: RL-3 holds back message 1 from node 1
            1 starts: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            1 says 1.1 to 2: [1→0 base 0 number 1: 1.1] → 2
            2 gets [1→0 base 0 number 1: 1.1] from 1: RL-7 learns of incarnation 1 of node 1, after 0; RL-3 holds back message 1 from node 1
            2 gets [1→0 base 0 number 0: 1.0] from 1: payload 1.0 of 1; saves 1.0; RECEIVES 1.0 from 1; payload 1.1 of 1; saves 1.1; RECEIVES 1.1 from 1; [0→1 ack below 2] → 1
        "#]]);

    rl_8_frames_of_a_past_incarnation_are_dropped(
        "1 says 2, copy 1 > 2, 1 > 2, 1 crashes, 1 says 2, 1 > 2 last, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            1 starts: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            2 gets [1→0 base 0 number 0: 1.0] from 1: RL-7 learns of incarnation 1 of node 1, after 0; payload 1.0 of 1; saves 1.0; RECEIVES 1.0 from 1; [0→1 ack below 1] → 1
            2 gets [0→0 base 0 number 0: 0.0] from 1: RL-8 drops a frame of node 1's past incarnation 0
            2 has synced: HAS SAVED 2
            1 gets [0→0 ack below 1] from 2: RL-8 drops an acknowledgement of node 2 to our past incarnation 0
        "#]]);

    rl_9_a_message_to_a_past_incarnation_is_answered_with_the_current_one(
        "2 crashes, 1 says 2, 1 > 2, 2 > 1, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            2 starts: 
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: RL-9 does not deliver message 0 from node 1: it is for our past incarnation 0; [1→0 ack below 0] → 1
            1 gets [1→0 ack below 0] from 2: RL-7 learns of incarnation 1 of node 2, after 0; RL-7 retransmits message 0 to node 2; [0→1 base 0 number 0: 0.0] again → 2; waits 50ms..75ms for 2
            2 gets [0→1 base 0 number 0: 0.0] again from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [1→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [1→0 ack below 1] from 2: stops waiting for 2
        "#]]);

    rl_9_when_both_restarted_each_learns_of_the_other(
        "1 says 2, 1 > 2, 2 syncs, 2 > 1, 1 crashes, 2 crashes, 1 says 2, 1 > 2, 2 > 1, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: payload 0.0 of 1; saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: stops waiting for 2
            1 starts: 
            2 starts: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            2 gets [1→0 base 0 number 0: 1.0] from 1: RL-7 learns of incarnation 1 of node 1, after 0; RL-9 does not deliver message 0 from node 1: it is for our past incarnation 0; [1→1 ack below 0] → 1
            1 gets [1→1 ack below 0] from 2: RL-7 learns of incarnation 1 of node 2, after 0; RL-7 retransmits message 0 to node 2; [1→1 base 0 number 0: 1.0] again → 2; waits 50ms..75ms for 2
            2 gets [1→1 base 0 number 0: 1.0] again from 1: payload 1.0 of 1; saves 1.0; RECEIVES 1.0 from 1; [1→1 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [1→1 ack below 1] from 2: stops waiting for 2
        "#]]);

    the_inner_protocol_keeps_its_timers_and_learns_of_its_saves(
        "1 sets, 1 wakes, 1 sets, 1 cancels, 2 says 1, 2 > 1, 1 syncs", expect![[r#"
            1 command: sets its timer to 1ms
            1's timer fires: TIMER FIRES
            1 command: sets its timer to 1ms
            1 command: cancels its timer
            2 says 0.0 to 1: [0→0 base 0 number 0: 0.0] → 1; waits 50ms..75ms for 1
            1 gets [0→0 base 0 number 0: 0.0] from 2: payload 0.0 of 2; saves 0.0; RECEIVES 0.0 from 2; [0→0 ack below 1] → 2
            1 has synced: HAS SAVED 1
        "#]]);

    a_message_to_oneself_travels_like_any_other(
        "1 crashes, 1 says 1, 1 > 1, 1 syncs, 1 > 1", expect![[r#"
            1 starts: 
            1 says 1.0 to 1: [1→1 base 0 number 0: 1.0] → 1; waits 50ms..75ms for 1
            1 gets [1→1 base 0 number 0: 1.0] from 1: payload 1.0 of 1; saves 1.0; RECEIVES 1.0 from 1; [1→1 ack below 1] → 1
            1 has synced: HAS SAVED 1
            1 gets [1→1 ack below 1] from 1: stops waiting for 1
        "#]]);
}

#[test]
fn rl_2_the_timeout_does_not_exceed_the_maximum() {
    let mut network = Network::new(2);
    network.run("1 says 2");
    let timeouts: Vec<_> = (0..8).map(|_| last_timeout(&network.run("1 resends to 2"))).collect();
    let expected = ["100ms..150ms", "200ms..300ms", "400ms..600ms", "800ms..1.2s", "1.6s..2.4s"];
    assert_eq!(timeouts[..5], expected);
    assert_eq!(timeouts[5..], ["1.6s..2.4s"; 3]);
}

fn last_timeout(trace: &str) -> String {
    let (_, timeout_and_peer) = trace.rsplit_once("waits ").expect("a wait");
    timeout_and_peer.split(' ').next().expect("a span").into()
}

#[test]
fn rl_5_an_acknowledgement_waits_until_the_delivered_messages_are_durable() {
    let mut network = Network::new(2);
    let trace = network.run("1 says 2, 1 > 2");
    assert!(trace.ends_with("saves 0.0; RECEIVES 0.0 from 1; [0→0 ack below 1] → 1\n"), "{trace}");
    assert!(network.in_flight.is_empty(), "the acknowledgement is held back");
    network.run("2 syncs");
    assert_eq!(network.in_flight.len(), 1);
}

#[test]
fn rl_6_an_acknowledged_batch_starts_the_next_one_at_once() {
    let mut network = Network::new(2);
    for _ in 0..2 * BATCH + 10 {
        network.run("1 says 2, lose 1 > 2");
    }
    network.run("1 resends to 2");
    // One more word is sent afterwards and lost: it does not belong to the retransmission.
    network.run("1 says 2");
    network.in_flight.pop();
    let mut batches = Vec::new();
    while !network.in_flight.is_empty() {
        let batch = core::mem::take(&mut network.in_flight);
        batches.push(batch.iter().filter(|addressed| is_retransmission(&addressed.frame)).count());
        batch.into_iter().for_each(|addressed| network.arrive(addressed));
        network.run("2 syncs");
        let acknowledgements = core::mem::take(&mut network.in_flight);
        acknowledgements.into_iter().for_each(|addressed| network.arrive(addressed));
    }
    assert_eq!(batches, [BATCH, BATCH, 10]);
    assert_eq!(network.nodes[0].reliable.unacknowledged_count(node_id("2")), 1);
}

#[test]
fn rl_6_one_acknowledgement_may_cover_the_whole_retransmission() {
    let mut network = Network::new(2);
    // 128 words arrive, but all acknowledgements are lost.
    (0..2 * BATCH).for_each(|_| drop(network.run("1 says 2, 1 > 2, 2 syncs, lose 2 > 1")));
    network.run("1 resends to 2, 1 > 2");
    network.in_flight.retain(|addressed| !is_retransmission(&addressed.frame));
    expect![[r#"
        1 gets [0→0 ack below 128] from 2: stops waiting for 2
    "#]]
    .assert_eq(&network.run("2 > 1"));
    assert!(network.in_flight.is_empty());
}

fn is_retransmission(frame: &Frame<Word>) -> bool {
    matches!(frame, Frame::Data { transmission: Transmission::Again, .. })
}

#[test]
fn rl_10_impossible_frames_are_dropped() {
    let pair = |sender, receiver| IncarnationPair { sender: Incarnation(sender), receiver: Incarnation(receiver) };
    let word = Word { incarnation: 0, serial: 0 };
    let data =
        |pair, base, number| Frame::Data { pair, base, number, transmission: Transmission::First, message: word };
    let frames = [
        data(pair(0, 1), 0, 0),
        data(pair(7, 1), 0, 0),
        data(pair(0, 0), 6, 5),
        data(pair(0, 0), u64::MAX, u64::MAX),
        data(pair(0, 0), 0, u64::MAX),
        data(pair(0, 0), 0, WINDOW),
        Frame::Ack { pair: pair(0, 0), below: 2 },
        Frame::Ack { pair: pair(0, 0), below: u64::MAX },
        Frame::Ack { pair: pair(0, u64::MAX), below: 0 },
    ];
    let mut network = Network::new(2);
    network.run("1 says 2");
    for frame in frames {
        let (from, to) = (node_id("2"), node_id("1"));
        network.arrive(AddressedFrame { from, to, frame });
        assert_eq!(network.nodes[0].reliable.unacknowledged_count(from), 1);
    }
    assert_eq!(network.in_flight.len(), 1, "no frame is sent in answer");
    assert!(network.nodes[0].received[&0].is_empty(), "no message is delivered");
    // An empty script returns the trace of the frames above.
    expect![[r#"
        1 gets [0→1 base 0 number 0: 0.0] from 2: RL-10 drops a frame from node 2: 0→1 names a future incarnation
        1 gets [7→1 base 0 number 0: 0.0] from 2: RL-10 drops a frame from node 2: 7→1 names a future incarnation
        1 gets [0→0 base 6 number 5: 0.0] from 2: RL-10 drops message 5 from node 2: invalid with base 6
        1 gets [0→0 base 18446744073709551615 number 18446744073709551615: 0.0] from 2: RL-10 drops message 18446744073709551615 from node 2: invalid with base 18446744073709551615
        1 gets [0→0 base 0 number 18446744073709551615: 0.0] from 2: RL-10 drops message 18446744073709551615 from node 2: invalid with base 0
        1 gets [0→0 base 0 number 1024: 0.0] from 2: RL-10 drops message 1024 from node 2: it is too far ahead
        1 gets [0→0 ack below 2] from 2: RL-10 ignores an acknowledgement of node 2: it covers all below 2, which was never sent
        1 gets [0→0 ack below 18446744073709551615] from 2: RL-10 ignores an acknowledgement of node 2: it covers all below 18446744073709551615, which was never sent
        1 gets [0→18446744073709551615 ack below 0] from 2: RL-10 drops a frame from node 2: 0→18446744073709551615 names a future incarnation
    "#]].assert_eq(&network.run(""));
}

#[test]
fn rl_10_the_last_number_in_the_window_is_held_back_and_no_later_one() {
    let mut node = node_with_number(1);
    let pair = IncarnationPair { sender: Incarnation::FIRST, receiver: Incarnation::FIRST };
    let word = Word { incarnation: 0, serial: 0 };
    // The highest number is just beyond the window, so `WINDOW` messages are delivered.
    let base = u64::MAX - 1 - WINDOW;
    for number in (base..=base + WINDOW).rev() {
        let frame = Frame::Data { pair, base, number, transmission: Transmission::First, message: word };
        let effects = step(&mut node, Input::Message { from: NodeId::from_index(1), message: frame });
        match number {
            _ if number == base => {
                assert_eq!(effects.len() as u64, 2 * WINDOW + 1, "one save and one event each, and one ack");
            }
            _ => assert!(effects.is_empty(), "{number}"),
        }
    }
}

fn node_with_number(number: usize) -> ReliableWords {
    Reliable::new(
        NodeId::from_index(number - 1),
        WordProtocol { group: Group::of_size(2) },
        RetransmissionTimeouts::default(),
    )
}

fn step(node: &mut ReliableWords, input: Input<ReliableWords>) -> Vec<Effect<ReliableWords>> {
    let mut effects = Vec::new();
    node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
    effects
}

#[test]
fn an_incarnation_starts_without_links() {
    let mut node = node_with_number(1);
    let (peer, word, order) = (NodeId::from_index(1), Word { incarnation: 0, serial: 0 }, Order::AfterSaves);
    step(&mut node, Input::Command(Command::Send { to: peer, word, order }));
    step(&mut node, Input::Start { durable: Log::default(), incarnation: Incarnation(1) });
    assert_eq!(node.unacknowledged_count(peer), 0);
    let effects = step(&mut node, Input::Command(Command::Send { to: peer, word, order }));
    let pair = IncarnationPair { sender: Incarnation(1), receiver: Incarnation::FIRST };
    let first = Frame::Data { pair, base: 0, number: 0, transmission: Transmission::First, message: word };
    assert!(matches!(&effects[0], Effect::Send { message, .. } if *message == first));
}

#[test]
fn a_timer_without_unacknowledged_messages_does_nothing() {
    let mut node = node_with_number(1);
    let effects = step(&mut node, Input::Timer(ReliableTimer::Retransmit(NodeId::from_index(1))));
    assert!(effects.is_empty());
}

#[test]
fn a_first_timeout_above_the_maximum_stays_as_it_is() {
    let first = Span::exactly(Duration::from_secs(5));
    let timeouts = RetransmissionTimeouts { first, max: Duration::from_secs(1) };
    let mut node = Reliable::new(NodeId::from_index(0), WordProtocol { group: Group::of_size(2) }, timeouts);
    let (peer, word, order) = (NodeId::from_index(1), Word { incarnation: 0, serial: 0 }, Order::AfterSaves);
    step(&mut node, Input::Command(Command::Send { to: peer, word, order }));
    let effects = step(&mut node, Input::Timer(ReliableTimer::Retransmit(peer)));
    assert!(matches!(effects[..], [Effect::Send { .. }, Effect::SetTimer { span, .. }] if span == first));
}

#[test]
fn frames_describe_what_they_carry() {
    let pair = IncarnationPair { sender: Incarnation(3), receiver: Incarnation(4) };
    let message = Word { incarnation: 0, serial: 0 };
    let data = |transmission| Frame::Data { pair, base: 0, number: 9, transmission, message };
    let ack = Frame::<Word>::Ack { pair, below: 1 };
    let described = |frame: &Frame<Word>| {
        assert!(frame.is_wrapped());
        (frame.kind(), frame.class(), frame.on_behalf_of(), frame.payload_id())
    };
    // A word is an announcement on behalf of node 1; retransmissions count as control.
    let node_1 = Some(NodeId::from_index(0));
    let payload = Some(PayloadId { incarnation: Incarnation(3), number: 9 });
    assert_eq!(described(&data(Transmission::First)), ("word", Class::Announcement, node_1, payload));
    assert_eq!(described(&data(Transmission::Again)), ("word", Class::Control, node_1, payload));
    assert_eq!(described(&ack), ("ack", Class::Control, None, None));
}

#[test]
fn a_reliable_node_can_be_cloned_compared_and_hashed() {
    fn assert_checkable<T: Clone + Eq + core::hash::Hash + core::fmt::Debug>() {}
    assert_checkable::<Reliable<crate::mutex::RicartAgrawala>>();
}
