//! One test a rule, as a script with the expected trace.

pub(crate) mod stage;

use crate::election::{Event, MajorityLease, Refusal};
use expect_test::{Expect, expect};
use stage::{Stage, plan, rehearse, reigns, tells};
use std::string::String;

#[track_caller]
fn plays(nodes: usize, script: &str, expected: &Expect) {
    expected.assert_eq(&rehearse(nodes, script));
}

/// What a script leads to after node 1 was elected by both others.
fn under_node_1(script: &str) -> String {
    let mut stage = Stage::new(plan(3), MajorityLease::new);
    stage.script("1 campaign\nrest");
    stage.trace.clear();
    stage.script(script);
    stage.trace
}

#[test]
fn ml_1_a_campaign_begins_a_term_with_ones_own_vote_on_the_disk() {
    plays(
        3,
        "2 campaign; 2 campaign",
        &expect![[r#"
            0ms 2 campaign: ML-1 stands in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); request → all
            0ms 2 campaign: refused: it takes part in a run that is already under way
        "#]],
    );
}

#[test]
fn ml_2_the_first_who_asks_has_the_vote_and_the_promise() {
    plays(
        4,
        "1 campaign; 2 campaign; 1 > 3; 2 > 3; again 1 > 4; 1 > 4",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            0ms 2 campaign: ML-1 stands in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); request → all
            0ms 3 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 3 hears request from 2: ML-2 no vote for 2 in term 1: the vote is given; denied → 2
            0ms 4 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 4 hears request from 1: ML-2 votes for 1 in term 1; vote → 1
        "#]],
    );
}

#[test]
fn ml_3_a_majority_makes_a_master_from_before_it_asked() {
    plays(
        3,
        "1 campaign; wait 3ms; 1 > 2; 2 > 1; 1 > 2",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            3ms 2 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            3ms 1 hears vote from 2: ML-3 2 voted in term 1; leads until 24ms of its clock; LEADER IS 1 (epoch 1, until 24ms of its clock); leads → all
            3ms 2 hears leads from 1: ML-4 follows 1; LEADER IS 1 (epoch 1)
        "#]],
    );
}

/// Votes that come when the lease could not be trusted any more make nobody a master.
#[test]
fn ml_3_votes_that_come_too_late_are_worth_nothing() {
    let mut stage = Stage::new(plan(3), MajorityLease::new);
    stage.script("1 campaign\n1 > 2\nwait 24ms");
    let before = stage.trace.len();
    stage.script("2 > 1");
    assert_eq!(reigns(&stage.trace), 0, "{}", &stage.trace[before..]);
}

#[test]
fn ml_4_a_master_is_followed_unless_its_term_is_over() {
    plays(
        3,
        "
        1 campaign; 1 > 2; 2 > 1; 1 > 2; lose 1 > 3; 3 campaign; 3 > 2; 2 > 3; 3 > 1; 1 > 3 last
        wait 5ms; 1 > 3
        ",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            0ms 2 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 1 hears vote from 2: ML-3 2 voted in term 1; leads until 24ms of its clock; LEADER IS 1 (epoch 1, until 24ms of its clock); leads → all
            0ms 2 hears leads from 1: ML-4 follows 1; LEADER IS 1 (epoch 1)
            request → 3 is lost
            0ms 3 campaign: ML-1 stands in term 1; saves a vote for 3 in term 1; knows no leader (epoch 1); request → all
            0ms 2 hears request from 3: ML-2 no vote for 3 in term 1: the vote is given; denied → 3
            0ms 3 hears denied from 2: nothing
            0ms 1 hears request from 3: ML-2 no vote for 3 in term 1: the vote is given; denied → 3
            0ms 3 hears denied from 1: ML-9 has too few votes in term 1; release → all
            4.238ms 3 Stand: ML-8 stands in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); request → all
            5ms 3 hears leads from 1: ML-4 does not follow 1: term 1 is over
        "#]],
    );
}

/// Whoever stands gives up for the winner of its own term, and sets those free who voted for it.
#[test]
fn ml_4_a_candidate_gives_way_to_the_winner() {
    plays(
        5,
        "1 campaign; 2 campaign; 2 > 5; 1 > 3; 1 > 4; 3 > 1; 4 > 1; lose 1 > 2; 1 > 2; 2 > 5",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            0ms 2 campaign: ML-1 stands in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); request → all
            0ms 5 hears request from 2: ML-2 votes for 2 in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); vote → 2
            0ms 3 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 4 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 1 hears vote from 3: nothing
            0ms 1 hears vote from 4: ML-3 3 voted in term 1; leads until 24ms of its clock; LEADER IS 1 (epoch 1, until 24ms of its clock); leads → all
            request → 2 is lost
            0ms 2 hears leads from 1: release → all; ML-4 follows 1; LEADER IS 1 (epoch 1)
            0ms 5 hears release from 2: ML-11 its promise to 2 is over
        "#]],
    );
}

#[test]
fn ml_5_promises_are_renewed_long_before_they_are_over() {
    let trace = under_node_1("wait 6ms; 1 > 2; 1 > 3");
    expect![[r#"
        6ms 1 Renew: ML-5 asks for another lease; renew → all
        6ms 2 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        6ms 3 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
    "#]]
    .assert_eq(&trace);
}

/// One that has voted for another candidate keeps that promise, even before the eyes of a master.
#[test]
fn ml_5_who_has_promised_another_follows_but_promises_nothing() {
    plays(
        5,
        "
        1 campaign; 2 campaign; 2 > 5; 1 > 3; 1 > 4; 3 > 1; 4 > 1; wait 6ms; lose 1 > 5; 1 > 5
        1 > 5
        ",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            0ms 2 campaign: ML-1 stands in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); request → all
            0ms 5 hears request from 2: ML-2 votes for 2 in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); vote → 2
            0ms 3 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 4 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 1 hears vote from 3: nothing
            0ms 1 hears vote from 4: ML-3 3 voted in term 1; leads until 24ms of its clock; LEADER IS 1 (epoch 1, until 24ms of its clock); leads → all
            6ms 1 Renew: ML-5 asks for another lease; renew → all
            request → 5 is lost
            6ms 5 hears leads from 1: ML-4 follows 1; LEADER IS 1 (epoch 1)
            6ms 5 hears renew from 1: ML-5 promises 1 nothing: 2 has its promise
        "#]],
    );
}

#[test]
fn ml_6_a_lease_is_counted_from_before_its_own_round() {
    let trace = under_node_1("wait 6ms; 1 > 2; wait 7ms; 2 > 1; 1 > 3; 1 > 3; 3 > 1; 3 > 1");
    expect![[r#"
        6ms 1 Renew: ML-5 asks for another lease; renew → all
        6ms 2 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        12ms 1 Renew: ML-5 asks for another lease; renew → all
        13ms 1 hears renewed from 2: ML-6 does not count what 2 says of an earlier round
        13ms 3 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        13ms 3 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        13ms 1 hears renewed from 3: ML-6 does not count what 3 says of an earlier round
        13ms 1 hears renewed from 3: ML-6 2 promised anew; may lead until 36ms of its clock
    "#]]
    .assert_eq(&trace);
}

#[test]
fn ml_7_a_master_that_hears_nobody_stops_by_its_own_clock() {
    let trace = under_node_1("wait 24ms");
    expect![[r#"
        6ms 1 Renew: ML-5 asks for another lease; renew → all
        12ms 1 Renew: ML-5 asks for another lease; renew → all
        18ms 1 Renew: ML-5 asks for another lease; renew → all
        24ms 1 Lapse: ML-7 its lease has run out; knows no leader any more (epoch 1 is over); release → all
    "#]]
    .assert_eq(&trace);
}

#[test]
fn ml_8_whoever_hears_nothing_for_a_lease_campaigns_by_itself() {
    let trace = under_node_1("wait 46ms; 2 > 3; 3 > 2");
    expect![[r#"
        6ms 1 Renew: ML-5 asks for another lease; renew → all
        12ms 1 Renew: ML-5 asks for another lease; renew → all
        18ms 1 Renew: ML-5 asks for another lease; renew → all
        24ms 1 Lapse: ML-7 its lease has run out; knows no leader any more (epoch 1 is over); release → all
        32.849ms 1 Stand: ML-8 stands in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); request → all
        40ms 2 Lapse: ML-8 has not heard of 1 for a lease; knows no leader any more (epoch 1 is over)
        40ms 3 Lapse: ML-8 has not heard of 1 for a lease; knows no leader any more (epoch 1 is over)
        40.849ms 1 Votes: ML-9 has too few votes in term 2; release → all
        45.354ms 2 Stand: ML-8 stands in term 2; saves a vote for 2 in term 2; knows no leader (epoch 2); request → all
        46ms 3 hears request from 2: ML-2 votes for 2 in term 2; saves a vote for 2 in term 2; knows no leader (epoch 2); vote → 2
        46ms 2 hears vote from 3: ML-3 2 voted in term 2; leads until 69.354ms of its clock; LEADER IS 2 (epoch 2, until 69.354ms of its clock); leads → all
    "#]].assert_eq(&trace);
}

#[test]
fn ml_9_candidates_without_a_majority_release_their_voters() {
    plays(
        4,
        "
        1 campaign; 2 campaign; 1 > 3; 2 > 4; 3 > 1; 4 > 2; 1 > 4; 4 > 1; 1 > 2; 2 > 1 last; 1 > 3
        ",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            0ms 2 campaign: ML-1 stands in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); request → all
            0ms 3 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 4 hears request from 2: ML-2 votes for 2 in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); vote → 2
            0ms 1 hears vote from 3: nothing
            0ms 2 hears vote from 4: nothing
            0ms 4 hears request from 1: ML-2 no vote for 1 in term 1: the vote is given; denied → 1
            0ms 1 hears denied from 4: nothing
            0ms 2 hears request from 1: ML-2 no vote for 1 in term 1: the vote is given; denied → 1
            0ms 1 hears denied from 2: ML-9 has too few votes in term 1; release → all
            0ms 3 hears release from 1: ML-11 its promise to 1 is over
        "#]],
    );
}

#[test]
fn ml_9_silence_ends_a_candidature_too() {
    plays(
        3,
        "1 campaign; wait 8ms",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            8ms 1 Votes: ML-9 has too few votes in term 1; release → all
        "#]],
    );
}

#[test]
fn ml_10_a_master_that_resigns_names_its_successor() {
    let trace = under_node_1("2 resign; 1 resign; 1 resign; 1 > 3; 1 > 2; 3 > 2; 2 > 3");
    expect![[r#"
        0ms 2 resign: refused: it does not lead
        0ms 1 resign: ML-10 resigns in favour of 3; knows no leader any more (epoch 1 is over); release → all
        0ms 1 resign: refused: it does not lead
        0ms 3 hears release from 1: ML-11 its promise to 1 is over; ML-11 1 leads no longer; knows no leader any more (epoch 1 is over); ML-10 stands in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); request → all
        0ms 2 hears release from 1: ML-11 its promise to 1 is over; ML-11 1 leads no longer; knows no leader any more (epoch 1 is over)
        0ms 2 hears request from 3: ML-2 votes for 3 in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); vote → 3
        0ms 3 hears vote from 2: ML-3 2 voted in term 2; leads until 24ms of its clock; LEADER IS 3 (epoch 2, until 24ms of its clock); leads → all
    "#]].assert_eq(&trace);
}

/// What a master sent before it resigned may arrive after that.
#[test]
fn ml_10_one_that_is_gone_is_not_promised_anything_again() {
    let trace = under_node_1("wait 6ms; 1 resign; again 1 > 2; 1 > 2; 1 > 2; 1 > 3; 1 > 3; 3 > 2");
    expect![[r#"
        6ms 1 Renew: ML-5 asks for another lease; renew → all
        6ms 1 resign: ML-10 resigns in favour of 3; knows no leader any more (epoch 1 is over); release → all
        6ms 2 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        6ms 2 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        6ms 2 hears release from 1: ML-11 its promise to 1 is over; ML-11 1 leads no longer; knows no leader any more (epoch 1 is over)
        6ms 3 hears renew from 1: ML-5 promises 1 another lease; renewed → 1
        6ms 3 hears release from 1: ML-11 its promise to 1 is over; ML-11 1 leads no longer; knows no leader any more (epoch 1 is over); ML-10 stands in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); request → all
        6ms 2 hears request from 3: ML-2 votes for 3 in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); vote → 3
    "#]].assert_eq(&trace);
}

#[test]
fn ml_11_a_release_ends_a_promise_but_never_a_later_one() {
    let trace = under_node_1("1 resign; again 1 > 2; lose 1 > 3; 1 campaign; 1 > 2 last; 1 > 2; 2 > 1");
    expect![[r#"
        0ms 1 resign: ML-10 resigns in favour of 3; knows no leader any more (epoch 1 is over); release → all
        0ms 2 hears release from 1: ML-11 its promise to 1 is over; ML-11 1 leads no longer; knows no leader any more (epoch 1 is over)
        release → 3 is lost
        0ms 1 campaign: ML-1 stands in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); request → all
        0ms 2 hears request from 1: ML-2 votes for 1 in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); vote → 1
        0ms 2 hears release from 1: nothing
        0ms 1 hears vote from 2: ML-3 2 voted in term 2; leads until 24ms of its clock; LEADER IS 1 (epoch 2, until 24ms of its clock); leads → all
    "#]].assert_eq(&trace);
}

#[test]
fn ml_12_a_voter_that_starts_again_is_silent_for_a_lease() {
    let trace = under_node_1(
        "
        2 restarts; 2 campaign; wait 6ms; 1 > 2; wait 33ms; lose 1 > 2; lose 1 > 2; lose 1 > 2
        again 1 > 2; wait 1ms; 1 > 2
        ",
    );
    expect![[r#"
        0ms 2 starts: ML-12 may have promised something: it is silent for 40ms
        0ms 2 campaign: refused: it may not start a run
        6ms 1 Renew: ML-5 asks for another lease; renew → all
        6ms 2 hears renew from 1: ML-4 follows 1; LEADER IS 1 (epoch 1); ML-12 is silent: it promises 1 nothing
        12ms 1 Renew: ML-5 asks for another lease; renew → all
        18ms 1 Renew: ML-5 asks for another lease; renew → all
        24ms 1 Lapse: ML-7 its lease has run out; knows no leader any more (epoch 1 is over); release → all
        32.849ms 1 Stand: ML-8 stands in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); request → all
        renew → 2 is lost
        renew → 2 is lost
        release → 2 is lost
        39ms 2 hears request from 1: ML-12 is silent: no vote for 1
        40ms 3 Lapse: ML-8 has not heard of 1 for a lease; knows no leader any more (epoch 1 is over)
        40ms 2 hears request from 1: ML-2 votes for 1 in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); vote → 1
    "#]].assert_eq(&trace);
}

#[test]
fn ml_12_a_node_that_never_took_part_is_not_silent() {
    let mut stage = Stage::new(plan(3), MajorityLease::new);
    stage.script("2 restarts\n2 campaign\nrest");
    assert_eq!(reigns(&stage.trace), 1, "{}", stage.trace);
}

#[test]
fn ml_12_a_voter_without_its_disk_only_follows() {
    let mut stage = Stage::new(plan(3), MajorityLease::new);
    stage.script("1 campaign\nrest\n2 is wiped\nwait 100ms");
    stage.trace.clear();
    stage.script("2 campaign\nrest\nwait 5ms\nrest");
    assert!(tells(&stage.trace, Event::Refused(Refusal::NotEligible)), "{}", stage.trace);
    for line in stage.trace.lines().filter(|line| line.contains(" 2 hears")) {
        assert!(!line.contains("→"), "{line}");
    }
}

/// Node 3 stands in vain, and cannot follow a master of term 1 after that. Nodes 1 and 2 are bound to each other all the while.
#[test]
fn ml_13_a_master_rises_above_later_terms_without_a_gap() {
    plays(
        3,
        "
        1 campaign; 1 > 2; 2 > 1; 1 > 2; lose 1 > 3; lose 1 > 3; 3 campaign; 3 > 2; 2 > 3; 3 > 1
        1 > 3; wait 5ms; 3 > 1; 3 > 1; wait 1ms; lose 1 > 3; 1 > 2; 2 > 1; 1 > 3 last
        ",
        &expect![[r#"
            0ms 1 campaign: ML-1 stands in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); request → all
            0ms 2 hears request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); vote → 1
            0ms 1 hears vote from 2: ML-3 2 voted in term 1; leads until 24ms of its clock; LEADER IS 1 (epoch 1, until 24ms of its clock); leads → all
            0ms 2 hears leads from 1: ML-4 follows 1; LEADER IS 1 (epoch 1)
            request → 3 is lost
            leads → 3 is lost
            0ms 3 campaign: ML-1 stands in term 1; saves a vote for 3 in term 1; knows no leader (epoch 1); request → all
            0ms 2 hears request from 3: ML-2 no vote for 3 in term 1: the vote is given; denied → 3
            0ms 3 hears denied from 2: nothing
            0ms 1 hears request from 3: ML-2 no vote for 3 in term 1: the vote is given; denied → 3
            0ms 3 hears denied from 1: ML-9 has too few votes in term 1; release → all
            4.238ms 3 Stand: ML-8 stands in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); request → all
            5ms 1 hears release from 3: nothing
            5ms 1 hears request from 3: ML-2 no vote for 3 in term 2: another has our promise; denied → 3
            6ms 1 Renew: saves a vote for 1 in term 3; ML-13 there was a later term; stands in term 3 and leads on; request → all
            denied → 3 is lost
            6ms 2 hears request from 1: ML-2 votes for 1 in term 3; saves a vote for 1 in term 3; knows no leader (epoch 3); vote → 1
            6ms 1 hears vote from 2: ML-3 2 voted in term 3; leads until 30ms of its clock; LEADER IS 1 (epoch 3, until 30ms of its clock); leads → all
            6ms 3 hears leads from 1: release → all; saves a vote for 1 in term 3; ML-4 follows 1; LEADER IS 1 (epoch 3)
        "#]],
    );
}
