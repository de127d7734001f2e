//! Tests of the rules, as scripts with their expected traces.
//!
//! In scripts, `1 > 2` delivers the oldest message from node 1 to node 2, `again 1 > 2` delivers a
//! copy of it, `1 > 2 last` the newest message, and `lose 1 > 2` drops the oldest. `2 boots`
//! restarts node 2, and `2 is wiped` restarts it with an empty disk. `wait 5ms` lets time pass, and
//! `rest` delivers all messages. Steps before the bar prepare the state, and `in` replaces the plan
//! of the group. Steps without effects are not in the trace. `election/script.rs` lists all steps.
//!
//! In traces, `Votes in 8ms` sets the timer `Votes`, which ends the wait for votes. `Renew` is the
//! time to renew the lease, `Lapse` the end of the lease under which a node leads or follows, and
//! `Stand` the time to campaign, after a pseudo-random delay.

use crate::election::script::{self, rule_tests, run_script};
use crate::election::{LeaseSettings, MajorityLease, Plan, Refusal};
use crate::time::Duration;
use expect_test::expect;
use std::string::ToString;

/// Returns a plan in which a message takes at most 1 ms, a promise lasts for 40 ms, and a leader
/// trusts it for 24 ms, because clocks may drift by a quarter: 40·(1−1/4)/(1+1/4). The leader
/// renews its lease every 6 ms, a quarter of these 24 ms, and votes must arrive within 8 ms.
pub(crate) fn plan(nodes: usize) -> Plan {
    let lease_settings = LeaseSettings { lease: Duration::from_millis(40), drift_ppm: 250_000 };
    Plan { lease_settings, ..script::plan(nodes) }
}

rule_tests! { MajorityLease::new, plan(3);
    ml_1_a_candidate_begins_a_term_and_saves_its_own_vote("2 campaign; 2 campaign", expect![[r#"
        2 campaign: ML-1 campaigns in term 1; saves a vote for 2 in term 1; knows no leader (epoch 1); Votes in 8ms; request → 1,2,3
        2 campaign: refused: the node already takes part in an election
    "#]]);

    ml_2_the_first_candidate_gets_the_vote_and_the_promise(
        in plan(4), "1 campaign; 2 campaign | 1 > 3; 2 > 3; again 1 > 4; 1 > 4", expect![[r#"
            3 receives request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); Stand in 57.534ms; vote → 1
            3 receives request from 2: ML-2 no vote for 2 in term 1: the vote is already given; denied → 2
            4 receives request from 1: ML-2 votes for 1 in term 1; saves a vote for 1 in term 1; knows no leader (epoch 1); Stand in 50.531ms; vote → 1
            4 receives request from 1: ML-2 votes for 1 in term 1; Stand in 50.531ms; vote → 1
        "#]]);

    ml_3_a_majority_makes_a_leader_whose_lease_begins_with_its_request("1 campaign; wait 3ms; 1 > 2 | 2 > 1; 1 > 2", expect![[r#"
        3ms 1 receives vote from 2: ML-3 has the votes of 2 nodes in term 1; leads until 24ms of its clock; LEADER IS 1 (epoch 1, until 24ms of its clock); leads → 1,2,3; Renew in 6ms; Lapse in 21ms
        3ms 2 receives leads from 1: ML-4 follows 1; LEADER IS 1 (epoch 1); Lapse in 40ms
    "#]]);

    ml_4_a_leader_whose_term_has_ended_is_not_followed(
        "1 campaign; 1 > 2; 2 > 1; 1 > 2 | lose 1 > 3; 3 campaign; 3 > 2; 2 > 3; 3 > 1; 1 > 3 last; wait 5ms; 1 > 3", expect![[r#"
            3 campaign: ML-1 campaigns in term 1; saves a vote for 3 in term 1; knows no leader (epoch 1); Votes in 8ms; request → 1,2,3
            2 receives request from 3: ML-2 no vote for 3 in term 1: the vote is already given; denied → 3
            1 receives request from 3: ML-2 no vote for 3 in term 1: the vote is already given; denied → 3
            3 receives denied from 1: ML-9 has too few votes in term 1; release → 1,2,3; Stand in 4.238ms
            4.238ms 3 Stand: ML-8 campaigns in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
            5ms 3 receives leads from 1: ML-4 does not follow 1: term 1 has ended
        "#]]);

    /// A candidate withdraws in favour of the winner of its own term, and releases its voters.
    ml_4_a_candidate_withdraws_for_the_winner(
        in plan(5), "1 campaign; 2 campaign; 2 > 5; 1 > 3; 1 > 4; 3 > 1; 4 > 1; lose 1 > 2 | 1 > 2; 2 > 5", expect![[r#"
            2 receives leads from 1: release → 1,2,3,4,5; ML-4 follows 1; LEADER IS 1 (epoch 1); Lapse in 40ms
            5 receives release from 2: ML-11 its promise to node 2 has ended; Stand in 6.284ms
        "#]]);

    ml_5_promises_are_renewed_long_before_they_expire("1 campaign; rest | wait 6ms; 1 > 2; 1 > 3", expect![[r#"
        6ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
        6ms 2 receives renew from 1: Lapse in 40ms; ML-5 promises 1 another lease; renewed → 1
        6ms 3 receives renew from 1: Lapse in 40ms; ML-5 promises 1 another lease; renewed → 1
    "#]]);

    /// A node that voted for another candidate keeps that promise, even if there is a leader.
    ml_5_a_voter_with_a_promise_to_another_follows_without_a_promise(
        in plan(5), "1 campaign; 2 campaign; 2 > 5; 1 > 3; 1 > 4; 3 > 1; 4 > 1; wait 6ms; lose 1 > 5 | 1 > 5; 1 > 5", expect![[r#"
            6ms 5 receives leads from 1: ML-4 follows 1; LEADER IS 1 (epoch 1); Lapse in 40ms
            6ms 5 receives renew from 1: Lapse in 40ms; ML-5 no promise for 1: 2 has its promise
        "#]]);

    ml_6_a_lease_begins_with_the_request_of_its_round(
        "1 campaign; rest | wait 6ms; 1 > 2; wait 7ms; 2 > 1; 1 > 3; 1 > 3; 3 > 1; 3 > 1", expect![[r#"
            6ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
            6ms 2 receives renew from 1: Lapse in 40ms; ML-5 promises 1 another lease; renewed → 1
            12ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
            13ms 1 receives renewed from 2: ML-6 ignores the answer of 2 to an earlier round
            13ms 3 receives renew from 1: Lapse in 40ms; ML-5 promises 1 another lease; renewed → 1
            13ms 3 receives renew from 1: Lapse in 40ms; ML-5 promises 1 another lease; renewed → 1
            13ms 1 receives renewed from 3: ML-6 ignores the answer of 3 to an earlier round
            13ms 1 receives renewed from 3: ML-6 has renewed promises of 2 nodes; may lead until 36ms of its clock; Lapse in 23ms
        "#]]);

    ml_7_a_leader_without_answers_stops_by_its_own_clock("1 campaign; rest | wait 24ms", expect![[r#"
        6ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
        12ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
        18ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
        24ms 1 Lapse: ML-7 its lease has expired; no longer knows a leader (epoch 1 has ended); release → 1,2,3; Stand in 8.849ms
    "#]]);

    ml_8_a_node_without_messages_for_a_lease_campaigns(
        "1 campaign; rest | wait 46ms; 2 > 3; 3 > 2", expect![[r#"
            6ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
            12ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
            18ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
            24ms 1 Lapse: ML-7 its lease has expired; no longer knows a leader (epoch 1 has ended); release → 1,2,3; Stand in 8.849ms
            32.849ms 1 Stand: ML-8 campaigns in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
            40ms 2 Lapse: ML-8 has received no message of 1 for a lease; no longer knows a leader (epoch 1 has ended); Stand in 5.354ms
            40ms 3 Lapse: ML-8 has received no message of 1 for a lease; no longer knows a leader (epoch 1 has ended); Stand in 9.534ms
            40.849ms 1 Votes: ML-9 has too few votes in term 2; release → 1,2,3; Stand in 25.613ms
            45.354ms 2 Stand: ML-8 campaigns in term 2; saves a vote for 2 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
            46ms 3 receives request from 2: ML-2 votes for 2 in term 2; saves a vote for 2 in term 2; knows no leader (epoch 2); Stand in 42.634ms; vote → 2
            46ms 2 receives vote from 3: ML-3 has the votes of 2 nodes in term 2; leads until 69.354ms of its clock; LEADER IS 2 (epoch 2, until 69.354ms of its clock); leads → 1,2,3; Renew in 6ms; Lapse in 23.354ms
        "#]]);

    ml_9_candidates_without_a_majority_release_their_voters(
        in plan(4), "1 campaign; 2 campaign; 1 > 3; 2 > 4; 3 > 1; 4 > 2; 1 > 4; 4 > 1; 1 > 2 | 2 > 1 last; 1 > 3", expect![[r#"
            1 receives denied from 2: ML-9 has too few votes in term 1; release → 1,2,3,4; Stand in 29.035ms
            3 receives release from 1: ML-11 its promise to node 1 has ended; Stand in 17.534ms
        "#]]);

    ml_9_a_candidate_without_answers_withdraws("1 campaign | wait 8ms", expect![[r#"
        8ms 1 Votes: ML-9 has too few votes in term 1; release → 1,2,3; Stand in 21.035ms
    "#]]);

    ml_10_a_leader_that_resigns_names_its_successor(
        "1 campaign; rest | 2 resign; 1 resign; 1 resign; 1 > 3; 1 > 2; 3 > 2; 2 > 3", expect![[r#"
            2 resign: refused: the node is not the leader
            1 resign: ML-10 resigns in favour of 3; no longer knows a leader (epoch 1 has ended); release → 1,2,3; Stand in 56.849ms
            1 resign: refused: the node is not the leader
            3 receives release from 1: ML-11 its promise to node 1 has ended; ML-11 node 1 no longer leads; no longer knows a leader (epoch 1 has ended); ML-10 campaigns in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
            2 receives release from 1: ML-11 its promise to node 1 has ended; ML-11 node 1 no longer leads; no longer knows a leader (epoch 1 has ended); Stand in 13.354ms
            2 receives request from 3: ML-2 votes for 3 in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); Stand in 49.4ms; vote → 3
            3 receives vote from 2: ML-3 has the votes of 2 nodes in term 2; leads until 24ms of its clock; LEADER IS 3 (epoch 2, until 24ms of its clock); leads → 1,2,3; Renew in 6ms; Lapse in 24ms
        "#]]);

    /// Messages that a leader sent before it resigned may arrive after its release.
    ml_10_a_renewal_that_arrives_after_the_release_gets_no_promise(
        "1 campaign; rest | wait 6ms; 1 resign; 1 > 2 last; 1 > 2; 1 > 3; 1 > 3; 3 > 2", expect![[r#"
            6ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
            6ms 1 resign: ML-10 resigns in favour of 3; no longer knows a leader (epoch 1 has ended); release → 1,2,3; Stand in 56.849ms
            6ms 2 receives release from 1: ML-11 its promise to node 1 has ended; ML-11 node 1 no longer leads; no longer knows a leader (epoch 1 has ended); Stand in 13.354ms
            6ms 2 receives renew from 1: ML-4 does not follow 1: term 1 has ended
            6ms 3 receives renew from 1: Lapse in 40ms; ML-5 promises 1 another lease; renewed → 1
            6ms 3 receives release from 1: ML-11 its promise to node 1 has ended; ML-11 node 1 no longer leads; no longer knows a leader (epoch 1 has ended); ML-10 campaigns in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
            6ms 2 receives request from 3: ML-2 votes for 3 in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); Stand in 49.4ms; vote → 3
        "#]]);

    ml_11_a_release_ends_a_promise_but_never_a_later_one(
        "1 campaign; rest | 1 resign; again 1 > 2; lose 1 > 3; 1 campaign; 1 > 2 last; 1 > 2; 2 > 1", expect![[r#"
            1 resign: ML-10 resigns in favour of 3; no longer knows a leader (epoch 1 has ended); release → 1,2,3; Stand in 56.849ms
            2 receives release from 1: ML-11 its promise to node 1 has ended; ML-11 node 1 no longer leads; no longer knows a leader (epoch 1 has ended); Stand in 13.354ms
            1 campaign: ML-1 campaigns in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
            2 receives request from 1: ML-2 votes for 1 in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); Stand in 49.4ms; vote → 1
            1 receives vote from 2: ML-3 has the votes of 2 nodes in term 2; leads until 24ms of its clock; LEADER IS 1 (epoch 2, until 24ms of its clock); leads → 1,2,3; Renew in 6ms; Lapse in 24ms
        "#]]);

    ml_12_a_voter_that_restarts_is_silent_for_a_lease(
        "1 campaign; rest | 2 boots; 2 campaign; wait 6ms; 1 > 2; wait 33ms; lose 1 > 2; lose 1 > 2; lose 1 > 2;
         again 1 > 2; wait 1ms; 1 > 2", expect![[r#"
             2 boots: ML-12 may have made a promise: it is silent for 40ms; Stand in 45.354ms
             2 campaign: refused: the node may not start an election
             6ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
             6ms 2 receives renew from 1: ML-4 follows 1; LEADER IS 1 (epoch 1); Lapse in 40ms; ML-12 is silent: no promise for 1
             12ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
             18ms 1 Renew: Renew in 6ms; ML-5 asks all nodes to renew its lease; renew → 1,2,3
             24ms 1 Lapse: ML-7 its lease has expired; no longer knows a leader (epoch 1 has ended); release → 1,2,3; Stand in 8.849ms
             32.849ms 1 Stand: ML-8 campaigns in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
             39ms 2 receives request from 1: ML-12 is silent: no vote for 1
             40ms 3 Lapse: ML-8 has received no message of 1 for a lease; no longer knows a leader (epoch 1 has ended); Stand in 9.534ms
             40ms 2 receives request from 1: ML-2 votes for 1 in term 2; saves a vote for 1 in term 2; knows no leader (epoch 2); Stand in 49.4ms; vote → 1
         "#]]);

    /// Node 3 campaigns in term 2 in vain, and then cannot follow the leader of term 1. Node 2 is
    /// bound to node 1 by its promise throughout.
    ml_13_a_leader_takes_a_later_term_without_a_gap(
        "1 campaign; 1 > 2; 2 > 1; 1 > 2; lose 1 > 3 | lose 1 > 3; 3 campaign; 3 > 2; 2 > 3; 3 > 1; 1 > 3; wait 5ms;
         3 > 1; 3 > 1; wait 1ms; lose 1 > 3; 1 > 2; 2 > 1; 1 > 3 last", expect![[r#"
             3 campaign: ML-1 campaigns in term 1; saves a vote for 3 in term 1; knows no leader (epoch 1); Votes in 8ms; request → 1,2,3
             2 receives request from 3: ML-2 no vote for 3 in term 1: the vote is already given; denied → 3
             1 receives request from 3: ML-2 no vote for 3 in term 1: the vote is already given; denied → 3
             3 receives denied from 1: ML-9 has too few votes in term 1; release → 1,2,3; Stand in 4.238ms
             4.238ms 3 Stand: ML-8 campaigns in term 2; saves a vote for 3 in term 2; knows no leader (epoch 2); Votes in 8ms; request → 1,2,3
             5ms 1 receives request from 3: ML-2 no vote for 3 in term 2: another node has our promise; denied → 3
             6ms 1 Renew: saves a vote for 1 in term 3; Renew in 6ms; ML-13 there was a later term: campaigns in term 3 and keeps leading; request → 1,2,3
             6ms 2 receives request from 1: ML-2 votes for 1 in term 3; saves a vote for 1 in term 3; knows no leader (epoch 3); Stand in 49.433ms; vote → 1
             6ms 1 receives vote from 2: ML-3 has the votes of 2 nodes in term 3; leads until 30ms of its clock; LEADER IS 1 (epoch 3, until 30ms of its clock); leads → 1,2,3; Renew in 6ms; Lapse in 24ms
             6ms 3 receives leads from 1: release → 1,2,3; saves a vote for 1 in term 3; ML-4 follows 1; LEADER IS 1 (epoch 3); Lapse in 40ms
         "#]]);
}

/// Votes that arrive when the lease could no longer be trusted do not make a leader. The candidate
/// has withdrawn by then: it waits for votes for 8 ms only (ML-9).
#[test]
fn ml_3_votes_after_the_end_of_the_trusted_lease_do_not_count() {
    let trace = run_script(plan(3), MajorityLease::new, "1 campaign; 1 > 2; wait 24ms; 2 > 1");
    assert!(!trace.contains("LEADER IS"), "{trace}");
}

#[test]
fn ml_12_a_restarted_node_that_never_took_part_is_not_silent() {
    let trace = run_script(plan(3), MajorityLease::new, "2 boots; 2 campaign; rest");
    assert_eq!(trace.matches("of its clock)").count(), 1, "one event, at leader 2, names the end of a lease: {trace}");
}

#[test]
fn ml_12_a_voter_without_its_disk_only_follows() {
    let script = "1 campaign; rest; 2 is wiped; wait 100ms | 2 campaign; rest; wait 5ms; rest";
    let trace = run_script(plan(3), MajorityLease::new, script);
    assert!(trace.contains(&Refusal::NotEligible.to_string()), "{trace}");
    assert!(trace.contains("2 receives renew from 1: saves a vote for 1 in term 1; ML-4 follows 1"), "{trace}");
    for line in trace.lines().filter(|line| line.contains(" 2 receives")) {
        assert!(!line.contains("→"), "node 2 sends a message: {line}");
    }
}
