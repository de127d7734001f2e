//! One script per rule.

use super::world::{Command, Envelope, Log, Recorder, Subject, Word, World, number};
use crate::wrap::prelude::*;
use crate::wrap::reliable::link::{BATCH, WINDOW};
use crate::wrap::{Copy, Frame, Pair, Reliable, ReliableTimer, Retransmission};
use expect_test::expect;
use std::string::String;

macro_rules! rules {
    ($($name:ident($script:literal, $trace:expr);)*) => {$(
        #[test]
        fn $name() {
            $trace.assert_eq(&World::new(3).play($script));
        }
    )*};
}

rules! {
    rl_1_each_peer_has_its_own_numbers_and_one_wait(
        "1 says all, 1 says 2, 1 says 2 ahead, 1 says 1", expect![[r#"
            1 is asked: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2; [0→0 base 0 number 0: 0.0] → 3; waits 50ms..75ms for 3
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            1 says 0.2 to 2: [0→0 base 0 number 2: 0.2] ahead → 2
            1 says 0.0 to 1: [0→0 base 0 number 0: 0.0] → 1; waits 50ms..75ms for 1
        "#]]);

    rl_2_repeats_what_is_unacknowledged_and_waits_twice_as_long(
        "1 says 2, 1 says 2 ahead, lose 1 > 2, lose 1 > 2, 1 waits 2, 1 waits 2, 1 > 2, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] ahead → 2
            1's timer fires: RL-2 sends 0 to 2 again; [0→0 base 0 number 0: 0.0] again → 2; RL-2 sends 1 to 2 again; [0→0 base 0 number 1: 0.1] again ahead → 2; waits 100ms..150ms for 2
            1's timer fires: RL-2 sends 0 to 2 again; [0→0 base 0 number 0: 0.0] again → 2; RL-2 sends 1 to 2 again; [0→0 base 0 number 1: 0.1] again ahead → 2; waits 200ms..300ms for 2
            2 gets [0→0 base 0 number 0: 0.0] again from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            2 gets [0→0 base 0 number 1: 0.1] again from 1: parcel 0.1 of 1; saves 0.1; HEARS 0.1 from 1; [0→0 ack below 2] → 1
        "#]]);

    rl_3_hands_up_in_order_whatever_the_order_of_arrival(
        "1 says 2, 1 says 2, 1 says 2, 1 > 2 last, 1 > 2 last, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            1 says 0.2 to 2: [0→0 base 0 number 2: 0.2] → 2
            2 gets [0→0 base 0 number 2: 0.2] from 1: RL-3 holds 2 from 1 back
            2 gets [0→0 base 0 number 1: 0.1] from 1: RL-3 holds 1 from 1 back
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; parcel 0.1 of 1; saves 0.1; HEARS 0.1 from 1; parcel 0.2 of 1; saves 0.2; HEARS 0.2 from 1; [0→0 ack below 3] → 1
        "#]]);

    rl_4_a_repetition_is_acknowledged_and_not_handed_up(
        "1 says 2, copy 1 > 2, 1 > 2, 2 syncs, lose 2 > 1, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            2 gets [0→0 base 0 number 0: 0.0] from 1: RL-4 has had 0 from 1; [0→0 ack below 1] → 1
        "#]]);

    rl_6_progress_makes_the_wait_short_again_and_the_last_one_ends_it(
        "1 says 2, 1 says 2, 1 waits 2, 1 > 2, 2 syncs, 2 > 1, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            1's timer fires: RL-2 sends 0 to 2 again; [0→0 base 0 number 0: 0.0] again → 2; RL-2 sends 1 to 2 again; [0→0 base 0 number 1: 0.1] again → 2; waits 100ms..150ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 1: 0.1] from 1: parcel 0.1 of 1; saves 0.1; HEARS 0.1 from 1; [0→0 ack below 2] → 1
            2 has synced: HAS SAVED 2
            1 gets [0→0 ack below 2] from 2: stops waiting for 2
        "#]]);

    rl_6_a_stale_acknowledgement_changes_nothing(
        "1 says 2, 1 > 2, 2 syncs, copy 2 > 1, 2 > 1, 1 says 2, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: stops waiting for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2; waits 50ms..75ms for 2
            1 gets [0→0 ack below 1] from 2: 
        "#]]);

    rl_7_a_restarted_receiver_gets_what_its_former_life_did_not_acknowledge(
        "1 says 2, 1 > 2, 2 syncs, 2 > 1, 1 says 2, 1 says 2, 1 > 2, 1 waits 2
         2 crashes, 2 says 1, 2 > 1, lose 1 > 2, lose 1 > 2, lose 1 > 2, 1 > 2 last, 1 > 2 last", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: stops waiting for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2; waits 50ms..75ms for 2
            1 says 0.2 to 2: [0→0 base 0 number 2: 0.2] → 2
            2 gets [0→0 base 0 number 1: 0.1] from 1: parcel 0.1 of 1; saves 0.1; HEARS 0.1 from 1; [0→0 ack below 2] → 1
            1's timer fires: RL-2 sends 1 to 2 again; [0→0 base 0 number 1: 0.1] again → 2; RL-2 sends 2 to 2 again; [0→0 base 0 number 2: 0.2] again → 2; waits 100ms..150ms for 2
            2 boots: 
            2 says 1.0 to 1: [1→0 base 0 number 0: 1.0] → 1; waits 50ms..75ms for 1
            1 gets [1→0 base 0 number 0: 1.0] from 2: RL-7 meets life 1 of 2, after 0; RL-7 sends 1 to 2 again; [0→1 base 1 number 1: 0.1] again → 2; RL-7 sends 2 to 2 again; [0→1 base 1 number 2: 0.2] again → 2; waits 50ms..75ms for 2; parcel 1.0 of 2; saves 1.0; HEARS 1.0 from 2; [0→1 ack below 1] → 2
            2 gets [0→1 base 1 number 2: 0.2] again from 1: RL-3 holds 2 from 1 back
            2 gets [0→1 base 1 number 1: 0.1] again from 1: parcel 0.1 of 1; saves 0.1; HEARS 0.1 from 1; parcel 0.2 of 1; saves 0.2; HEARS 0.2 from 1; [1→0 ack below 3] → 1
        "#]]);

    rl_7_a_restarted_sender_is_not_taken_for_one_that_repeats_itself(
        "1 says 2, 1 > 2, 1 crashes, 1 says 2, 1 > 2", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            1 boots: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            2 gets [1→0 base 0 number 0: 1.0] from 1: RL-7 meets life 1 of 1, after 0; parcel 1.0 of 1; saves 1.0; HEARS 1.0 from 1; [0→1 ack below 1] → 1
        "#]]);

    rl_7_what_was_held_of_the_former_life_is_forgotten(
        "1 says 2, 1 says 2, 1 > 2 last, 1 crashes, 1 says 2, 1 says 2, 1 > 2 last, 1 > 2 last", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            1 says 0.1 to 2: [0→0 base 0 number 1: 0.1] → 2
            2 gets [0→0 base 0 number 1: 0.1] from 1: RL-3 holds 1 from 1 back
            1 boots: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            1 says 1.1 to 2: [1→0 base 0 number 1: 1.1] → 2
            2 gets [1→0 base 0 number 1: 1.1] from 1: RL-7 meets life 1 of 1, after 0; RL-3 holds 1 from 1 back
            2 gets [1→0 base 0 number 0: 1.0] from 1: parcel 1.0 of 1; saves 1.0; HEARS 1.0 from 1; parcel 1.1 of 1; saves 1.1; HEARS 1.1 from 1; [0→1 ack below 2] → 1
        "#]]);

    rl_8_frames_of_a_past_life_are_dropped(
        "1 says 2, copy 1 > 2, 1 > 2, 1 crashes, 1 says 2, 1 > 2 last, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            1 boots: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            2 gets [1→0 base 0 number 0: 1.0] from 1: RL-7 meets life 1 of 1, after 0; parcel 1.0 of 1; saves 1.0; HEARS 1.0 from 1; [0→1 ack below 1] → 1
            2 gets [0→0 base 0 number 0: 0.0] from 1: RL-8 drops a frame of 1's past life 0
            2 has synced: HAS SAVED 2
            1 gets [0→0 ack below 1] from 2: RL-8 drops what 2 acknowledges to a past life of ours
        "#]]);

    rl_9_a_message_to_a_past_life_is_answered_with_the_present_one(
        "2 crashes, 1 says 2, 1 > 2, 2 > 1, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            2 boots: 
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: RL-9 does not take 0 from 1: it is for our past life 0; [1→0 ack below 0] → 1
            1 gets [1→0 ack below 0] from 2: RL-7 meets life 1 of 2, after 0; RL-7 sends 0 to 2 again; [0→1 base 0 number 0: 0.0] again → 2; waits 50ms..75ms for 2
            2 gets [0→1 base 0 number 0: 0.0] again from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [1→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [1→0 ack below 1] from 2: stops waiting for 2
        "#]]);

    rl_9_when_both_restarted_each_learns_of_the_other(
        "1 says 2, 1 > 2, 2 syncs, 2 > 1, 1 crashes, 2 crashes, 1 says 2, 1 > 2, 2 > 1, 1 > 2, 2 syncs, 2 > 1", expect![[r#"
            1 says 0.0 to 2: [0→0 base 0 number 0: 0.0] → 2; waits 50ms..75ms for 2
            2 gets [0→0 base 0 number 0: 0.0] from 1: parcel 0.0 of 1; saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [0→0 ack below 1] from 2: stops waiting for 2
            1 boots: 
            2 boots: 
            1 says 1.0 to 2: [1→0 base 0 number 0: 1.0] → 2; waits 50ms..75ms for 2
            2 gets [1→0 base 0 number 0: 1.0] from 1: RL-7 meets life 1 of 1, after 0; RL-9 does not take 0 from 1: it is for our past life 0; [1→1 ack below 0] → 1
            1 gets [1→1 ack below 0] from 2: RL-7 meets life 1 of 2, after 0; RL-7 sends 0 to 2 again; [1→1 base 0 number 0: 1.0] again → 2; waits 50ms..75ms for 2
            2 gets [1→1 base 0 number 0: 1.0] again from 1: parcel 1.0 of 1; saves 1.0; HEARS 1.0 from 1; [1→1 ack below 1] → 1
            2 has synced: HAS SAVED 1
            1 gets [1→1 ack below 1] from 2: stops waiting for 2
        "#]]);

    the_protocol_inside_keeps_its_timers_and_hears_of_its_saves(
        "1 sets, 1 wakes, 1 sets, 1 cancels, 2 says 1, 2 > 1, 1 syncs", expect![[r#"
            1 is asked: sets its timer to 1ms
            1's timer fires: WAKES
            1 is asked: sets its timer to 1ms
            1 is asked: cancels its timer
            2 says 0.0 to 1: [0→0 base 0 number 0: 0.0] → 1; waits 50ms..75ms for 1
            1 gets [0→0 base 0 number 0: 0.0] from 2: parcel 0.0 of 2; saves 0.0; HEARS 0.0 from 2; [0→0 ack below 1] → 2
            1 has synced: HAS SAVED 1
        "#]]);

    a_message_to_oneself_travels_like_any_other(
        "1 crashes, 1 says 1, 1 > 1, 1 syncs, 1 > 1", expect![[r#"
            1 boots: 
            1 says 1.0 to 1: [1→1 base 0 number 0: 1.0] → 1; waits 50ms..75ms for 1
            1 gets [1→1 base 0 number 0: 1.0] from 1: parcel 1.0 of 1; saves 1.0; HEARS 1.0 from 1; [1→1 ack below 1] → 1
            1 has synced: HAS SAVED 1
            1 gets [1→1 ack below 1] from 1: stops waiting for 1
        "#]]);
}

#[test]
fn rl_2_the_wait_stays_within_the_longest() {
    let mut world = World::new(2);
    world.play("1 says 2");
    let spans: Vec<_> = (0..8).map(|_| last_wait(&world.play("1 waits 2"))).collect();
    let expected = ["100ms..150ms", "200ms..300ms", "400ms..600ms", "800ms..1.2s", "1.6s..2.4s"];
    assert_eq!(spans[..5], expected);
    assert_eq!(spans[5..], ["1.6s..2.4s"; 3]);
}

fn last_wait(trace: &str) -> String {
    let (_, rest) = trace.rsplit_once("waits ").expect("a wait");
    rest.split(' ').next().expect("a span").into()
}

#[test]
fn rl_5_an_acknowledgement_waits_until_what_was_handed_up_is_durable() {
    let mut world = World::new(2);
    let trace = world.play("1 says 2, 1 > 2");
    assert!(trace.ends_with("saves 0.0; HEARS 0.0 from 1; [0→0 ack below 1] → 1\n"), "{trace}");
    assert!(world.under_way.is_empty(), "the acknowledgement is held back");
    world.play("2 syncs");
    assert_eq!(world.under_way.len(), 1);
}

#[test]
fn rl_6_an_acknowledged_batch_brings_the_next_without_a_wait() {
    let mut world = World::new(2);
    for _ in 0..2 * BATCH + 10 {
        world.play("1 says 2, lose 1 > 2");
    }
    world.play("1 waits 2");
    // One word more is said since, and lost unknown to anyone: it is none of those to be sent again.
    world.play("1 says 2");
    world.under_way.pop();
    let mut batches = Vec::new();
    while !world.under_way.is_empty() {
        let batch = core::mem::take(&mut world.under_way);
        batches.push(batch.iter().filter(|one| is_again(&one.frame)).count());
        batch.into_iter().for_each(|envelope| world.arrive(envelope));
        world.play("2 syncs");
        let acknowledgements = core::mem::take(&mut world.under_way);
        acknowledgements.into_iter().for_each(|envelope| world.arrive(envelope));
    }
    assert_eq!(batches, [BATCH, BATCH, 10]);
    assert_eq!(world.nodes[0].subject.unacknowledged(number("2")), 1);
}

#[test]
fn rl_6_one_acknowledgement_may_cover_all_that_is_to_be_sent_again() {
    let mut world = World::new(2);
    (0..2 * BATCH).for_each(|_| drop(world.play("1 says 2, 1 > 2, 2 syncs, lose 2 > 1")));
    world.play("1 waits 2, 1 > 2");
    world.under_way.retain(|one| !is_again(&one.frame));
    expect![[r#"
        1 gets [0→0 ack below 128] from 2: stops waiting for 2
    "#]]
    .assert_eq(&world.play("2 > 1"));
    assert!(world.under_way.is_empty());
}

fn is_again(frame: &Frame<Word>) -> bool {
    matches!(frame, Frame::Data { copy: Copy::Again, .. })
}

#[test]
fn rl_10_what_cannot_be_is_dropped() {
    let pair = |mine, yours| Pair { mine: Incarnation(mine), yours: Incarnation(yours) };
    let word = Word { life: 0, serial: 0 };
    let data = |pair, base, number| Frame::Data { pair, base, number, copy: Copy::First, message: word };
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
    let mut world = World::new(2);
    world.play("1 says 2");
    for frame in frames {
        let (from, to) = (number("2"), number("1"));
        world.arrive(Envelope { from, to, frame });
        assert_eq!(world.nodes[0].subject.unacknowledged(from), 1);
    }
    assert_eq!(world.under_way.len(), 1, "nothing is answered");
    assert!(world.nodes[0].heard[&0].is_empty(), "nothing is handed up");
    expect![[r#"
        1 gets [0→1 base 0 number 0: 0.0] from 2: RL-10 drops a frame from 2: 0→1 is a life to come
        1 gets [7→1 base 0 number 0: 0.0] from 2: RL-10 drops a frame from 2: 7→1 is a life to come
        1 gets [0→0 base 6 number 5: 0.0] from 2: RL-10 drops 5 from 2: its base is 6
        1 gets [0→0 base 18446744073709551615 number 18446744073709551615: 0.0] from 2: RL-10 drops 18446744073709551615 from 2: its base is 18446744073709551615
        1 gets [0→0 base 0 number 18446744073709551615: 0.0] from 2: RL-10 drops 18446744073709551615 from 2: its base is 0
        1 gets [0→0 base 0 number 1024: 0.0] from 2: RL-10 drops 1024 from 2: it is too far ahead
        1 gets [0→0 ack below 2] from 2: RL-10 2 acknowledges all below 2, which was never sent
        1 gets [0→0 ack below 18446744073709551615] from 2: RL-10 2 acknowledges all below 18446744073709551615, which was never sent
        1 gets [0→18446744073709551615 ack below 0] from 2: RL-10 drops a frame from 2: 0→18446744073709551615 is a life to come
    "#]].assert_eq(&world.play(""));
}

#[test]
fn rl_10_the_last_number_in_the_window_is_held_and_no_later_one() {
    let mut node = node_of(1);
    let pair = Pair { mine: Incarnation::FIRST, yours: Incarnation::FIRST };
    let word = Word { life: 0, serial: 0 };
    let base = u64::MAX - WINDOW;
    for number in (base..=u64::MAX).rev() {
        let frame = Frame::Data { pair, base, number, copy: Copy::First, message: word };
        let effects = step(&mut node, Input::Message { from: NodeId::from_index(1), message: frame });
        match number {
            _ if number == base => assert_eq!(effects.len() as u64, 2 * WINDOW + 1, "each saved and told, one ack"),
            _ => assert!(effects.is_empty(), "{number}"),
        }
    }
}

fn node_of(number: usize) -> Subject {
    Reliable::new(NodeId::from_index(number - 1), Recorder { group: Group::of_size(2) }, Retransmission::default())
}

fn step(node: &mut Subject, input: Input<Subject>) -> Vec<Effect<Subject>> {
    let mut effects = Vec::new();
    node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
    effects
}

#[test]
fn a_life_begins_without_links() {
    let mut node = node_of(1);
    let (peer, word, order) = (NodeId::from_index(1), Word { life: 0, serial: 0 }, Order::AfterSaves);
    step(&mut node, Input::Command(Command::Say { to: peer, word, order }));
    step(&mut node, Input::Start { durable: Log::default(), incarnation: Incarnation(1) });
    assert_eq!(node.unacknowledged(peer), 0);
    let effects = step(&mut node, Input::Command(Command::Say { to: peer, word, order }));
    let pair = Pair { mine: Incarnation(1), yours: Incarnation::FIRST };
    let first = Frame::Data { pair, base: 0, number: 0, copy: Copy::First, message: word };
    assert!(matches!(&effects[0], Effect::Send { message, .. } if *message == first));
}

#[test]
fn a_timer_that_fires_late_finds_nothing_to_do() {
    let mut node = node_of(1);
    let effects = step(&mut node, Input::Timer(ReliableTimer::Retransmit(NodeId::from_index(1))));
    assert!(effects.is_empty());
}

#[test]
fn a_first_wait_that_is_longer_than_the_longest_is_kept() {
    let first = Span::exactly(Duration::from_secs(5));
    let retransmission = Retransmission { first, longest: Duration::from_secs(1) };
    let mut node = Reliable::new(NodeId::from_index(0), Recorder { group: Group::of_size(2) }, retransmission);
    let (peer, word, order) = (NodeId::from_index(1), Word { life: 0, serial: 0 }, Order::AfterSaves);
    step(&mut node, Input::Command(Command::Say { to: peer, word, order }));
    let effects = step(&mut node, Input::Timer(ReliableTimer::Retransmit(peer)));
    assert!(matches!(effects[..], [Effect::Send { .. }, Effect::SetTimer { span, .. }] if span == first));
}

#[test]
fn frames_describe_what_they_carry() {
    let pair = Pair { mine: Incarnation(3), yours: Incarnation(4) };
    let message = Word { life: 0, serial: 0 };
    let data = |copy| Frame::Data { pair, base: 0, number: 9, copy, message };
    let ack = Frame::<Word>::Ack { pair, below: 1 };
    let described = |frame: &Frame<Word>| {
        assert!(frame.wrapped());
        (frame.kind(), frame.class(), frame.on_behalf_of(), frame.parcel())
    };
    let whose = Some(NodeId::from_index(0));
    let parcel = Some(Parcel { incarnation: Incarnation(3), number: 9 });
    assert_eq!(described(&data(Copy::First)), ("word", Class::Announcement, whose, parcel));
    assert_eq!(described(&data(Copy::Again)), ("word", Class::Control, whose, parcel));
    assert_eq!(described(&ack), ("ack", Class::Control, None, None));
}

#[test]
fn a_reliable_node_can_be_cloned_compared_and_hashed() {
    fn checkable<T: Clone + Eq + core::hash::Hash + core::fmt::Debug>() {}
    checkable::<Reliable<crate::mutex::RicartAgrawala>>();
}
