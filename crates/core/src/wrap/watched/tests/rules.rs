//! One script or more per rule.

use super::stage::{Command, Stage, Word, accrual, bounded, number};
use crate::wrap::prelude::*;
use crate::wrap::{Detector, Signal, WatchedTimer, about_watched};
use std::string::String;

#[test]
fn wa_1_a_life_begins_with_a_beat_and_goes_on_to_beat() {
    let mut stage = Stage::new(3, bounded());
    assert_eq!(
        stage.start(4),
        "STARTS life 4, 2 pages; [beat 0 of life 4] ahead → 1,2,3; beats in 10ms; doubts 2 in 15ms; doubts 3 in 15ms"
    );
    let beats: Vec<_> = stage.wait(30).into_iter().filter(|line| line.contains("beat ")).collect();
    assert_eq!(
        beats,
        ["10ms", "20ms", "30ms"].map(|at| std::format!("{at}: [beat 0 of life 4] ahead → 1,2,3; beats in 10ms"))
    );
}

#[test]
fn wa_1_beats_are_numbered_where_pace_asks_and_begin_anew_with_a_life() {
    let mut stage = Stage::started(2, accrual(4));
    let numbers = |lines: Vec<String>| {
        lines
            .into_iter()
            .filter(|line| line.contains("[beat"))
            .map(|line| line[line.find('[').unwrap_or(0)..][..7].into())
    };
    assert_eq!(numbers(stage.wait(30)).collect::<Vec<String>>(), ["[beat 1", "[beat 2", "[beat 3"]);
    assert!(stage.start(1).contains("[beat 0 of life 1]"));
}

#[test]
fn wa_1_who_is_alone_has_nobody_to_tell_and_nothing_to_wait_for() {
    let mut stage = Stage::new(1, bounded());
    assert_eq!(stage.start(0), "STARTS life 0, 2 pages");
    assert!(stage.timers.is_empty());
}

#[test]
fn wa_2_every_sign_makes_the_wait_begin_anew() {
    let mut stage = Stage::started(2, bounded());
    for millis in [7, 7, 7] {
        stage.wait(millis);
        assert_eq!(stage.word(2, 0), "doubts 2 in 15ms; HEARS 2");
        stage.wait(millis);
        assert_eq!(stage.beat(2, 0, 0), "doubts 2 in 15ms");
    }
    assert!(!stage.node.suspects(number(2)));
}

#[test]
fn wa_3_silence_beyond_the_bound_makes_a_suspect_and_says_so_once() {
    let mut stage = Stage::started(3, bounded());
    stage.wait(14);
    stage.beat(2, 0, 0);
    let lines = stage.wait(40);
    let suspicions: Vec<_> = lines.iter().filter(|line| line.contains("SUSPECTS")).collect();
    assert_eq!(suspicions, ["15ms: WA-3; SUSPECTS 3", "29ms: WA-3; SUSPECTS 2"]);
    assert!(stage.node.suspects(number(2)) && stage.node.suspects(number(3)) && !stage.node.suspects(number(1)));
}

/// The simulator lets messages go before timers of the same instant, so a beat that takes as long as it may is in time.
#[test]
fn wa_3_the_wait_is_exactly_a_period_and_the_bound() {
    let mut stage = Stage::started(2, bounded());
    stage.wait(14);
    assert_eq!(stage.timers[&WatchedTimer::Silence(number(2))], Time::ZERO + Duration::from_millis(15));
}

#[test]
fn wa_4_a_suspect_that_gives_a_sign_is_trusted_before_it_is_heard() {
    let mut stage = Stage::started(2, bounded());
    stage.wait(20);
    assert_eq!(stage.word(2, 0), "doubts 2 in 15ms; WA-4; TRUSTS 2; HEARS 2");
    assert!(!stage.node.suspects(number(2)));
    assert!(stage.wait(20).iter().any(|line| line.contains("SUSPECTS 2")), "it is watched again");
    assert_eq!(stage.beat(2, 0, 0), "doubts 2 in 15ms; WA-4; TRUSTS 2");
}

#[test]
fn wa_5_a_new_life_is_a_death_and_a_return_before_anything_it_says() {
    let mut stage = Stage::started(2, bounded());
    assert_eq!(stage.beat(2, 3, 0), "doubts 2 in 15ms", "the first life that is heard of is no new one");
    assert_eq!(stage.word(2, 4), "WA-5; SUSPECTS 2; doubts 2 in 15ms; WA-4; TRUSTS 2; HEARS 2");
    assert_eq!(stage.beat(2, 5, 0), "WA-5; SUSPECTS 2; doubts 2 in 15ms; WA-4; TRUSTS 2");
    assert_eq!(stage.beat(2, 5, 0), "doubts 2 in 15ms", "the same life again");
}

#[test]
fn wa_5_the_new_life_of_a_suspect_is_only_a_return() {
    let mut stage = Stage::started(2, bounded());
    stage.beat(2, 0, 0);
    stage.wait(20);
    assert_eq!(stage.beat(2, 1, 0), "WA-5; doubts 2 in 15ms; WA-4; TRUSTS 2");
}

#[test]
fn wa_6_what_a_past_life_said_is_heard_but_is_no_sign() {
    let mut stage = Stage::started(2, bounded());
    stage.beat(2, 2, 0);
    stage.wait(14);
    assert_eq!(stage.word(2, 1), "WA-6; HEARS 2");
    assert_eq!(stage.beat(2, 1, 9), "WA-6");
    assert!(stage.wait(2).iter().any(|line| line.contains("SUSPECTS 2")), "nothing was postponed");
    assert_eq!(stage.word(2, 1), "WA-6; HEARS 2");
    assert!(stage.node.suspects(number(2)));
}

#[test]
fn wa_6_who_is_no_peer_is_heard_and_not_watched() {
    let mut stage = Stage::started(2, bounded());
    assert_eq!(stage.word(9, 0), "HEARS 9");
    assert_eq!(stage.word(1, 0), "HEARS 1");
    assert_eq!(stage.beat(9, 0, 0), "");
    assert!(!stage.timers.contains_key(&WatchedTimer::Silence(number(9))));
}

#[test]
fn wa_7_what_comes_regularly_is_soon_missed_and_what_does_not_is_waited_for() {
    let missed_after = |gaps: [u64; 4]| {
        let mut stage = Stage::started(2, accrual(8));
        stage.beat(2, 0, 0);
        for (beat, gap) in (1..).zip(gaps.into_iter().cycle().take(40)) {
            stage.wait(gap);
            stage.beat(2, 0, beat);
        }
        stage.timers[&WatchedTimer::Silence(number(2))].since(stage.now).nanos() / 1_000
    };
    // The mean, and 5.612 deviations: of a tenth of the period at least.
    assert_eq!(missed_after([10, 10, 10, 10]), 15_612);
    assert_eq!(missed_after([2, 18, 2, 18]), 10_000 + 8 * 5_612);
}

#[test]
fn wa_7_only_beats_that_are_new_tell_of_pace() {
    let mut stage = Stage::started(2, accrual(8));
    stage.beat(2, 0, 5);
    stage.wait(10);
    stage.beat(2, 0, 6);
    let before = stage.node.clone();
    for _ in 0..20 {
        stage.wait(1);
        stage.word(2, 0);
        stage.beat(2, 0, 6);
        stage.beat(2, 0, 3);
    }
    stage.wait(5);
    let level = |node: &super::stage::Subject, heard: u64| {
        node.level(number(2), Time::ZERO + Duration::from_millis(heard + 15)).expect("a level")
    };
    assert_eq!(level(&before, 10), level(&stage.node, 30), "after the same silence it is as suspicious as before");
}

#[test]
fn wa_7_a_new_life_has_a_pace_of_its_own() {
    let mut stage = Stage::started(2, accrual(8));
    for beat in 0..20 {
        stage.wait(40);
        stage.beat(2, 0, beat);
    }
    let patient = stage.timers[&WatchedTimer::Silence(number(2))].since(stage.now);
    stage.beat(2, 1, 0);
    let fresh = stage.timers[&WatchedTimer::Silence(number(2))].since(stage.now);
    assert!(fresh < patient, "{fresh} is not less than {patient}");
}

#[test]
fn wa_8_a_driver_that_knows_of_a_death_is_believed_until_the_next_sign() {
    let mut stage = Stage::started(3, bounded());
    assert_eq!(stage.step(Input::Suspect(number(2))), "WA-8; no doubts 2; SUSPECTS 2");
    assert_eq!(stage.step(Input::Suspect(number(2))), "WA-8; no doubts 2", "nothing is told twice");
    assert_eq!(stage.step(Input::Trust(number(2))), "WA-8; doubts 2 in 15ms; WA-4; TRUSTS 2");
    assert_eq!(stage.step(Input::Trust(number(2))), "WA-8; doubts 2 in 15ms");
    stage.step(Input::Suspect(number(2)));
    assert_eq!(stage.beat(2, 0, 0), "doubts 2 in 15ms; WA-4; TRUSTS 2");
    assert_eq!(stage.step(Input::Suspect(number(9))), "SUSPECTS 9");
    assert_eq!(stage.step(Input::Trust(number(9))), "TRUSTS 9");
}

#[test]
fn everything_else_passes_through() {
    let mut stage = Stage::started(3, bounded());
    stage.start(6);
    assert_eq!(stage.step(Input::Command(Command::Say(number(3)))), "[word of life 6] → 3");
    assert_eq!(stage.step(Input::Command(Command::SayToAll)), "[word of life 6] → 1,2,3");
    assert_eq!(stage.step(Input::Command(Command::Save)), "saves");
    assert_eq!(stage.step(Input::Command(Command::SetTimer)), "alarm in 1ms");
    assert_eq!(stage.step(Input::Command(Command::CancelTimer)), "no alarm");
    assert_eq!(stage.step(Input::Timer(WatchedTimer::Inner(()))), "WAKES at 0ms");
    assert_eq!(stage.step(Input::Saved(3)), "HAS SAVED 3");
    assert_eq!(stage.step(Input::DiskFull), "DISK FULL");
    assert_eq!(stage.step(Input::DiskFree), "DISK FREE");
    assert_eq!(stage.step(Input::Lease(Time::from_nanos(5))), "MAY ACT until 5ns");
}

#[test]
fn a_message_describes_itself_as_it_does_without_a_detector() {
    let inner = Signal::Inner { life: Incarnation(1), message: Word };
    assert_eq!((inner.kind(), inner.class(), inner.on_behalf_of()), ("word", Class::Announcement, Some(number(7))));
    assert_eq!(inner.parcel(), Some(Parcel { incarnation: Incarnation(3), number: 4 }));
    assert!(inner.again() && inner.wrapped());
    let beat: Signal<Word> = Signal::Beat { life: Incarnation(1), number: 2 };
    assert_eq!((beat.kind(), beat.class(), beat.on_behalf_of()), ("beat", Class::Control, None));
    assert_eq!((beat.parcel(), beat.again(), beat.wrapped()), (None, false, true));
}

/// Whoever checks a group explores its states: a beat that changes nothing must not look like a new one.
#[test]
fn by_a_fixed_bound_a_beat_leaves_no_trace() {
    let mut stage = Stage::started(3, bounded());
    stage.beat(2, 0, 0);
    let before = stage.node.clone();
    stage.wait(10);
    stage.beat(2, 0, 0);
    stage.word(2, 0);
    assert_eq!(stage.node, before);
}

#[test]
fn the_perfect_detector_allows_for_the_way_and_for_what_others_want_meanwhile() {
    let bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };
    let detector = Detector::perfect(Duration::from_millis(20), &bounds, 4);
    let bound = Duration::from_millis(10);
    assert_eq!(detector, Detector::FixedBound { period: Duration::from_millis(20), bound });
}

#[test]
fn its_header_explains_its_rules() {
    let rules: Vec<_> = about_watched().rules.into_iter().map(|rule| rule.id).collect();
    assert_eq!(rules, (1..=8).map(|number| std::format!("WA-{number}")).collect::<Vec<_>>());
}
