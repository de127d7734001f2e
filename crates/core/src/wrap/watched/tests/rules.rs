//! At least one test per rule of failure detection, WA-1 to WA-8.
//!
//! Heartbeats come every 10 ms. With the fixed bound, a silence of 15 ms is too long;
//! `accrual_detector(8)` remembers 8 gaps between heartbeats. `receive_heartbeat(2, 0, 5)` delivers
//! heartbeat 5 of node 2 in incarnation 0, and `receive_text(2, 0)` a message of its inner
//! protocol. Both return the effects and the applied rules: `beats in 10ms` sets the timer of the
//! next heartbeat, `timeout of 2 in 15ms` that of node 2's silence, and `no timeout of 2` cancels
//! it; `ahead` marks a heartbeat that does not wait for earlier saves. Words in capitals are inputs
//! of the inner protocol. A node starts with two saved writes.

use super::harness::{Command, Harness, Text, accrual_detector, fixed_bound_detector, node};
use crate::wrap::prelude::*;
use crate::wrap::{Detector, Signal, WatchedTimer, about_watched};
use std::string::String;

#[test]
fn wa_1_an_incarnation_starts_with_a_heartbeat_and_repeats_it() {
    let mut harness = Harness::new(3, fixed_bound_detector());
    assert_eq!(
        harness.start(4),
        "STARTS incarnation 4, 2 writes; [beat 0 of incarnation 4] ahead → 1,2,3; beats in 10ms; timeout of 2 in 15ms; timeout of 3 in 15ms"
    );
    let beats: Vec<_> = harness.wait(30).into_iter().filter(|line| line.contains("beat ")).collect();
    assert_eq!(
        beats,
        ["10ms", "20ms", "30ms"].map(|at| std::format!("{at}: [beat 0 of incarnation 4] ahead → 1,2,3; beats in 10ms"))
    );
}

#[test]
fn wa_1_an_accrual_detector_numbers_heartbeats_from_0_in_each_incarnation() {
    let mut harness = Harness::started(2, accrual_detector(4));
    let numbers = |lines: Vec<String>| {
        lines
            .into_iter()
            .filter(|line| line.contains("[beat"))
            .map(|line| line[line.find('[').unwrap_or(0)..][.."[beat 1".len()].into())
    };
    assert_eq!(numbers(harness.wait(30)).collect::<Vec<String>>(), ["[beat 1", "[beat 2", "[beat 3"]);
    assert!(harness.start(1).contains("[beat 0 of incarnation 1]"));
}

#[test]
fn wa_1_a_node_that_is_alone_sends_nothing_and_sets_no_timer() {
    let mut harness = Harness::new(1, fixed_bound_detector());
    assert_eq!(harness.start(0), "STARTS incarnation 0, 2 writes");
    assert!(harness.timers.is_empty());
}

#[test]
fn wa_2_every_sign_of_life_restarts_the_timeout() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    for millis in [7, 7, 7] {
        harness.wait(millis);
        assert_eq!(harness.receive_text(2, 0), "timeout of 2 in 15ms; RECEIVES from 2");
        harness.wait(millis);
        assert_eq!(harness.receive_heartbeat(2, 0, 0), "timeout of 2 in 15ms");
    }
    assert!(!harness.node.suspects(node(2)));
}

#[test]
fn wa_3_silence_beyond_the_bound_is_reported_as_one_suspicion() {
    let mut harness = Harness::started(3, fixed_bound_detector());
    harness.wait(14);
    harness.receive_heartbeat(2, 0, 0);
    let lines = harness.wait(40);
    let suspicions: Vec<_> = lines.iter().filter(|line| line.contains("SUSPECTS")).collect();
    assert_eq!(suspicions, ["15ms: WA-3; SUSPECTS 3", "29ms: WA-3; SUSPECTS 2"]);
    assert!(harness.node.suspects(node(2)) && harness.node.suspects(node(3)) && !harness.node.suspects(node(1)));
}

/// The simulator delivers messages before timers of the same instant, so a heartbeat with the
/// maximum delay is in time.
#[test]
fn wa_3_the_timeout_is_exactly_a_period_and_the_bound() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    harness.wait(14);
    assert_eq!(harness.timers[&WatchedTimer::Silence(node(2))], Time::ZERO + Duration::from_millis(15));
}

#[test]
fn wa_4_a_suspect_that_sends_is_trusted_before_its_message_is_delivered() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    harness.wait(20);
    assert_eq!(harness.receive_text(2, 0), "timeout of 2 in 15ms; WA-4; TRUSTS 2; RECEIVES from 2");
    assert!(!harness.node.suspects(node(2)));
    assert!(harness.wait(20).iter().any(|line| line.contains("SUSPECTS 2")), "it is watched again");
    assert_eq!(harness.receive_heartbeat(2, 0, 0), "timeout of 2 in 15ms; WA-4; TRUSTS 2");
}

#[test]
fn wa_5_a_new_incarnation_is_reported_as_suspected_and_trusted_before_its_message() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    assert_eq!(
        harness.receive_heartbeat(2, 3, 0),
        "timeout of 2 in 15ms",
        "the first known incarnation is not a new one"
    );
    assert_eq!(harness.receive_text(2, 4), "WA-5; SUSPECTS 2; timeout of 2 in 15ms; WA-4; TRUSTS 2; RECEIVES from 2");
    assert_eq!(harness.receive_heartbeat(2, 5, 0), "WA-5; SUSPECTS 2; timeout of 2 in 15ms; WA-4; TRUSTS 2");
    assert_eq!(harness.receive_heartbeat(2, 5, 0), "timeout of 2 in 15ms", "the same incarnation again");
}

#[test]
fn wa_5_the_new_incarnation_of_a_suspect_is_only_reported_as_trusted() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    harness.receive_heartbeat(2, 0, 0);
    harness.wait(20);
    assert_eq!(harness.receive_heartbeat(2, 1, 0), "WA-5; timeout of 2 in 15ms; WA-4; TRUSTS 2");
}

#[test]
fn wa_6_a_message_of_a_past_incarnation_is_delivered_but_is_no_sign_of_life() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    harness.receive_heartbeat(2, 2, 0);
    harness.wait(14);
    assert_eq!(harness.receive_text(2, 1), "WA-6; RECEIVES from 2");
    assert_eq!(harness.receive_heartbeat(2, 1, 9), "WA-6");
    assert!(harness.wait(2).iter().any(|line| line.contains("SUSPECTS 2")), "the suspicion was not postponed");
    assert_eq!(harness.receive_text(2, 1), "WA-6; RECEIVES from 2");
    assert!(harness.node.suspects(node(2)));
}

#[test]
fn wa_6_messages_of_nonmembers_are_delivered_and_nonmembers_are_not_watched() {
    let mut harness = Harness::started(2, fixed_bound_detector());
    assert_eq!(harness.receive_text(9, 0), "RECEIVES from 9");
    assert_eq!(harness.receive_text(1, 0), "RECEIVES from 1", "a node does not watch itself");
    assert_eq!(harness.receive_heartbeat(9, 0, 0), "");
    assert!(!harness.timers.contains_key(&WatchedTimer::Silence(node(9))));
}

#[test]
fn wa_7_regular_heartbeats_give_a_short_timeout_and_irregular_ones_a_long_one() {
    let timeout_micros_after = |gaps_millis: [u64; 4]| {
        let mut harness = Harness::started(2, accrual_detector(8));
        harness.receive_heartbeat(2, 0, 0);
        for (beat, gap) in (1..).zip(gaps_millis.into_iter().cycle().take(40)) {
            harness.wait(gap);
            harness.receive_heartbeat(2, 0, beat);
        }
        harness.timers[&WatchedTimer::Silence(node(2))].since(harness.now).nanos() / 1_000
    };
    // The mean plus 5.612 deviations, which is the default threshold of φ = 8. A deviation is at
    // least a tenth of the period of 10 ms.
    assert_eq!(timeout_micros_after([10, 10, 10, 10]), 15_612);
    assert_eq!(timeout_micros_after([2, 18, 2, 18]), 10_000 + 8 * 5_612);
}

#[test]
fn wa_7_only_new_heartbeats_count_for_the_pace() {
    let mut harness = Harness::started(2, accrual_detector(8));
    harness.receive_heartbeat(2, 0, 5);
    harness.wait(10);
    harness.receive_heartbeat(2, 0, 6);
    let node_before = harness.node.clone();
    for _ in 0..20 {
        harness.wait(1);
        harness.receive_text(2, 0);
        harness.receive_heartbeat(2, 0, 6);
        harness.receive_heartbeat(2, 0, 3);
    }
    harness.wait(5);
    let phi_after_15ms = |watched: &super::harness::WatchedReporter, last_sign_millis: u64| {
        watched.suspicion_level(node(2), Time::ZERO + Duration::from_millis(last_sign_millis + 15)).expect("a level")
    };
    assert_eq!(
        phi_after_15ms(&node_before, 10),
        phi_after_15ms(&harness.node, 30),
        "after the same silence the level is the same as before"
    );
}

#[test]
fn wa_7_a_new_incarnation_has_a_pace_of_its_own() {
    let mut harness = Harness::started(2, accrual_detector(8));
    for beat in 0..20 {
        harness.wait(40);
        harness.receive_heartbeat(2, 0, beat);
    }
    let learnt_timeout = harness.timers[&WatchedTimer::Silence(node(2))].since(harness.now);
    harness.receive_heartbeat(2, 1, 0);
    let initial_timeout = harness.timers[&WatchedTimer::Silence(node(2))].since(harness.now);
    assert!(initial_timeout < learnt_timeout, "{initial_timeout} is not less than {learnt_timeout}");
}

#[test]
fn wa_8_a_crash_reported_by_the_driver_is_believed_until_the_next_sign_of_life() {
    let mut harness = Harness::started(3, fixed_bound_detector());
    assert_eq!(harness.step(Input::Suspect(node(2))), "WA-8; no timeout of 2; SUSPECTS 2");
    assert_eq!(harness.step(Input::Suspect(node(2))), "WA-8; no timeout of 2", "a repeated report changes nothing");
    assert_eq!(harness.step(Input::Trust(node(2))), "WA-8; timeout of 2 in 15ms; WA-4; TRUSTS 2");
    assert_eq!(harness.step(Input::Trust(node(2))), "WA-8; timeout of 2 in 15ms");
    harness.step(Input::Suspect(node(2)));
    assert_eq!(harness.receive_heartbeat(2, 0, 0), "timeout of 2 in 15ms; WA-4; TRUSTS 2");
    assert_eq!(harness.step(Input::Suspect(node(9))), "SUSPECTS 9");
    assert_eq!(harness.step(Input::Trust(node(9))), "TRUSTS 9");
}

#[test]
fn inputs_that_are_not_about_peers_pass_through() {
    let mut harness = Harness::started(3, fixed_bound_detector());
    harness.start(6);
    assert_eq!(harness.step(Input::Command(Command::Send(node(3)))), "[text of incarnation 6] → 3");
    assert_eq!(harness.step(Input::Command(Command::SendToAll)), "[text of incarnation 6] → 1,2,3");
    assert_eq!(harness.step(Input::Command(Command::Save)), "saves");
    assert_eq!(harness.step(Input::Command(Command::SetTimer)), "timer in 1ms");
    assert_eq!(harness.step(Input::Command(Command::CancelTimer)), "no timer");
    assert_eq!(harness.step(Input::Timer(WatchedTimer::Inner(()))), "TIMER FIRES at 0ms");
    assert_eq!(harness.step(Input::Saved(3)), "HAS SAVED 3");
    assert_eq!(harness.step(Input::DiskFull), "DISK FULL");
    assert_eq!(harness.step(Input::DiskFree), "DISK FREE");
    assert_eq!(harness.step(Input::View(View::founding(Group::of_size(2)))), "VIEW view 1 of 1,2");
    assert_eq!(harness.step(Input::Lease(Time::from_nanos(5))), "MAY ACT until 5ns");
    assert!(harness.node.uses_end_of_turn());
    assert_eq!(harness.step(Input::EndOfTurn), "END OF TURN");
}

#[test]
fn a_message_is_described_as_without_a_detector() {
    let inner = Signal::Inner { incarnation: Incarnation(1), message: Text };
    assert_eq!((inner.kind(), inner.class(), inner.on_behalf_of()), ("text", Class::Announcement, Some(node(7))));
    assert_eq!(inner.label().map(|label| std::format!("{label}")).as_deref(), Some("the label"));
    assert_eq!(inner.payload_id(), Some(PayloadId { incarnation: Incarnation(3), number: 4 }));
    assert!(inner.is_retransmission() && inner.is_wrapped());
    let beat: Signal<Text> = Signal::Heartbeat { incarnation: Incarnation(1), number: 2 };
    assert_eq!((beat.kind(), beat.class(), beat.on_behalf_of()), ("beat", Class::Control, None));
    assert!(beat.label().is_none());
    assert_eq!((beat.payload_id(), beat.is_retransmission(), beat.is_wrapped()), (None, false, true));
}

/// The checker explores states, so a heartbeat that changes nothing must not create a new state.
#[test]
fn with_a_fixed_bound_a_heartbeat_does_not_change_the_state() {
    let mut harness = Harness::started(3, fixed_bound_detector());
    harness.receive_heartbeat(2, 0, 0);
    let node_before = harness.node.clone();
    harness.wait(10);
    harness.receive_heartbeat(2, 0, 0);
    harness.receive_text(2, 0);
    assert_eq!(harness.node, node_before);
}

#[test]
fn the_perfect_detector_allows_for_delay_and_for_the_inputs_of_other_nodes() {
    let bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };
    let detector = Detector::perfect(Duration::from_millis(20), &bounds, 4);
    // The delay of 5 ms, and 1 ms for each of five inputs: the sender handles one of each of the
    // three other nodes and its own timer, and the receiver handles the heartbeat.
    let bound = Duration::from_millis(10);
    assert_eq!(detector, Detector::FixedBound { period: Duration::from_millis(20), bound });
}

#[test]
fn the_header_explains_every_rule() {
    let rules: Vec<_> = about_watched().rules.into_iter().map(|rule| rule.id).collect();
    assert_eq!(rules, (1..=8).map(|number| std::format!("WA-{number}")).collect::<Vec<_>>());
}
