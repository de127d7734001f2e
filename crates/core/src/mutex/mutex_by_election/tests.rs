//! Tests of the rules of mutual exclusion by election, and random schedules. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, and `1 > 2 last` the newest; `rest` delivers
//! all messages. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0 and counter 1. Rules that begin with
//! CI or CR are those of the election inside, which is a new one in each round and so always begins
//! epoch 1; `passes 2 on` means that a node forwards the rank of node 2.

use super::{FACTS, MutexByElection, RoundElection};
use crate::bounds::Bounds;
use crate::election::{ChangRoberts, HirschbergSinclair};
use crate::mutex::COMMANDS;
use crate::mutex::prelude::*;
use crate::mutex::random_schedule::{MAX_ACTIONS, schedules, test_error};
use crate::mutex::rules::rule_tests;
use expect_test::expect;
use proptest::prelude::{prop_assert, proptest};

fn new_node<E: RoundElection>(me: NodeId, group: Group) -> MutexByElection<E> {
    MutexByElection::new(me, group, Bounds { message: Duration::from_millis(1), processing: Duration::ZERO })
}

rule_tests! { new_node::<ChangRoberts>, 3;
    ex_1_a_requesting_node_is_a_candidate_in_the_next_round("1 acquire; 1 acquire; rest; 2 acquire", expect![[r#"
        1 acquire: EX-1 is a candidate in round 1; CI-1 begins epoch 1; CR-1 sends its rank on; election → 2
        1 acquire: refused: a request is already pending
        2 receives election from 1: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 1 on; election → 3
        3 receives election from 2: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 1 on; election → 1
        1 receives election from 3: CR-4 its rank came all the way around: it has won; CI-5 announces 1 in epoch 1; elected → all; EX-4 has won round 1; ENTERS (fence 0.1)
        2 receives elected from 1: CI-6 learns that 1 has won
        3 receives elected from 1: CI-6 learns that 1 has won
        2 acquire: EX-1 waits for the end of round 1
    "#]]);

    /// Node 3 has the highest number, but is idle.
    ex_2_idle_nodes_rank_lowest("1 acquire; 2 acquire; rest", expect![[r#"
        1 acquire: EX-1 is a candidate in round 1; CI-1 begins epoch 1; CR-1 sends its rank on; election → 2
        2 acquire: EX-1 is a candidate in round 1; CI-1 begins epoch 1; CR-1 sends its rank on; election → 3
        2 receives election from 1: CR-3 drops 1: a greater rank was sent
        3 receives election from 2: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 2 on; election → 1
        1 receives election from 3: CR-2 passes 2 on; election → 2
        2 receives election from 1: CR-4 its rank came all the way around: it has won; CI-5 announces 2 in epoch 1; elected → all; EX-4 has won round 1; ENTERS (fence 0.1)
        1 receives elected from 2: CI-6 learns that 2 has won
        3 receives elected from 2: CI-6 learns that 2 has won
    "#]]);

    /// Node 3 requests again at once, but node 1 has waited for one round more and goes first.
    ex_2_a_node_that_has_waited_for_more_rounds_ranks_higher(
        "3 acquire; 3 > 1; 1 acquire; rest; 3 release; 3 acquire; rest", expect![[r#"
            3 acquire: EX-1 is a candidate in round 1; CI-1 begins epoch 1; CR-1 sends its rank on; election → 1
            1 receives election from 3: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 2
            1 acquire: EX-1 waits for the end of round 1
            2 receives election from 1: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 3
            3 receives election from 2: CR-4 its rank came all the way around: it has won; CI-5 announces 3 in epoch 1; elected → all; EX-4 has won round 1; ENTERS (fence 0.1)
            1 receives elected from 3: CI-6 learns that 3 has won
            2 receives elected from 3: CI-6 learns that 3 has won
            3 release: LEAVES; EX-5 ends round 1; round-ended → all
            3 acquire: EX-1 is a candidate in round 2; CI-1 begins epoch 1; CR-1 sends its rank on; election → 1
            1 receives round-ended from 3: EX-6 is a candidate in round 2; CI-1 begins epoch 1; CR-1 sends its rank on; election → 2
            1 receives election from 3: CR-3 drops 3: a greater rank was sent
            2 receives election from 1: EX-2 takes part in round 2; CI-2 takes part in epoch 1; CR-2 passes 1 on; election → 3
            3 receives election from 2: CR-2 passes 1 on; election → 1
            1 receives election from 3: CR-4 its rank came all the way around: it has won; CI-5 announces 1 in epoch 1; elected → all; EX-4 has won round 2; ENTERS (fence 0.2)
            2 receives elected from 1: CI-6 learns that 1 has won
            3 receives elected from 1: CI-6 learns that 1 has won
        "#]]);

    /// The announcement of round 1 arrives after its end.
    ex_3_a_message_of_an_ended_round_is_dropped(
        "1 acquire; 1 > 2; 2 > 3; 3 > 1; 1 release; 1 > 2 last | 1 > 2; 1 > 3 last; 3 acquire; 3 > 1; 1 > 2; 2 > 3;
         3 > 2 last; 1 > 3", expect![[r#"
             2 receives elected from 1: EX-3 drops a message from 1 of round 1
             3 acquire: EX-1 is a candidate in round 2; CI-1 begins epoch 1; CR-1 sends its rank on; election → 1
             1 receives election from 3: EX-2 takes part in round 2; CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 2
             2 receives election from 1: EX-2 takes part in round 2; CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 3
             3 receives election from 2: CR-4 its rank came all the way around: it has won; CI-5 announces 3 in epoch 1; elected → all; EX-4 has won round 2; ENTERS (fence 0.2)
             2 receives elected from 3: CI-6 learns that 3 has won
             3 receives elected from 1: EX-3 drops a message from 1 of round 1
         "#]]);

    ex_4_a_winner_whose_request_was_cancelled_ends_the_round(
        "1 acquire; 1 > 2 | 1 cancel; 2 acquire; rest", expect![[r#"
            1 cancel: EX-7 cancels its request; cancelled
            2 acquire: EX-1 waits for the end of round 1
            3 receives election from 2: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 1 on; election → 1
            1 receives election from 3: CR-4 its rank came all the way around: it has won; CI-5 announces 1 in epoch 1; elected → all; EX-4 has won round 1, but its request was cancelled; round-ended → all
            2 receives elected from 1: CI-6 learns that 1 has won
            3 receives elected from 1: CI-6 learns that 1 has won
            2 receives round-ended from 1: EX-6 is a candidate in round 2; CI-1 begins epoch 1; CR-1 sends its rank on; election → 3
            3 receives election from 2: EX-2 takes part in round 2; CI-2 takes part in epoch 1; CR-2 passes 2 on; election → 1
            1 receives election from 3: EX-2 takes part in round 2; CI-2 takes part in epoch 1; CR-2 passes 2 on; election → 2
            2 receives election from 1: CR-4 its rank came all the way around: it has won; CI-5 announces 2 in epoch 1; elected → all; EX-4 has won round 2; ENTERS (fence 0.2)
            1 receives elected from 2: CI-6 learns that 2 has won
            3 receives elected from 2: CI-6 learns that 2 has won
        "#]]);

    ex_5_a_release_ends_the_round("1 acquire; rest | 1 release; 1 release; rest", expect![[r#"
        1 release: LEAVES; EX-5 ends round 1; round-ended → all
        1 release: refused: not in the critical section
    "#]]);

    ex_6_after_a_round_all_waiting_nodes_are_candidates_in_the_next(
        "1 acquire; rest; 2 acquire | 3 acquire; 1 release; rest; 3 release; rest", expect![[r#"
            3 acquire: EX-1 waits for the end of round 1
            1 release: LEAVES; EX-5 ends round 1; round-ended → all
            2 receives round-ended from 1: EX-6 is a candidate in round 2; CI-1 begins epoch 1; CR-1 sends its rank on; election → 3
            3 receives round-ended from 1: EX-6 is a candidate in round 2; CI-1 begins epoch 1; CR-1 sends its rank on; election → 1
            3 receives election from 2: CR-3 drops 2: a greater rank was sent
            1 receives election from 3: EX-2 takes part in round 2; CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 2
            2 receives election from 1: CR-2 passes 3 on; election → 3
            3 receives election from 2: CR-4 its rank came all the way around: it has won; CI-5 announces 3 in epoch 1; elected → all; EX-4 has won round 2; ENTERS (fence 0.2)
            1 receives elected from 3: CI-6 learns that 3 has won
            2 receives elected from 3: CI-6 learns that 3 has won
            3 release: LEAVES; EX-5 ends round 2; round-ended → all
            2 receives round-ended from 3: EX-6 is a candidate in round 3; CI-1 begins epoch 1; CR-1 sends its rank on; election → 3
            3 receives election from 2: EX-2 takes part in round 3; CI-2 takes part in epoch 1; CR-2 passes 2 on; election → 1
            1 receives election from 3: EX-2 takes part in round 3; CI-2 takes part in epoch 1; CR-2 passes 2 on; election → 2
            2 receives election from 1: CR-4 its rank came all the way around: it has won; CI-5 announces 2 in epoch 1; elected → all; EX-4 has won round 3; ENTERS (fence 0.3)
            1 receives elected from 2: CI-6 learns that 2 has won
            3 receives elected from 2: CI-6 learns that 2 has won
        "#]]);

    ex_7_a_cancelling_node_becomes_idle(
        "1 acquire; rest; 2 acquire | 2 cancel; 2 cancel; 1 release; rest", expect![[r#"
            2 cancel: EX-7 cancels its request; cancelled
            2 cancel: refused: no request is pending
            1 release: LEAVES; EX-5 ends round 1; round-ended → all
        "#]]);

    ex_8_a_try_is_denied_during_a_round_or_if_it_loses_its_own("1 try; 3 acquire | rest; 1 try", expect![[r#"
        2 receives election from 1: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 1 on; election → 3
        1 receives election from 3: CR-2 passes 3 on; election → 2
        3 receives election from 2: CR-3 drops 1: a greater rank was sent
        2 receives election from 1: CR-2 passes 3 on; election → 3
        3 receives election from 2: CR-4 its rank came all the way around: it has won; CI-5 announces 3 in epoch 1; elected → all; EX-4 has won round 1; ENTERS (fence 0.1)
        1 receives elected from 3: CI-6 learns that 3 has won; EX-8 another node goes first; denied
        2 receives elected from 3: CI-6 learns that 3 has won
        1 try: EX-8 round 1 is in progress; denied
    "#]]);

    /// Node 1 receives the end of the round before it learns that 2 has won.
    ex_8_a_try_is_denied_when_its_round_has_already_ended(
        "2 try; 1 try; 1 > 2; 2 > 3; 3 > 1; 1 > 2; 2 release; 2 > 1 last; rest", expect![[r#"
            2 try: EX-1 is a candidate in round 1; CI-1 begins epoch 1; CR-1 sends its rank on; election → 3
            1 try: EX-1 is a candidate in round 1; CI-1 begins epoch 1; CR-1 sends its rank on; election → 2
            2 receives election from 1: CR-3 drops 1: a greater rank was sent
            3 receives election from 2: EX-2 takes part in round 1; CI-2 takes part in epoch 1; CR-2 passes 2 on; election → 1
            1 receives election from 3: CR-2 passes 2 on; election → 2
            2 receives election from 1: CR-4 its rank came all the way around: it has won; CI-5 announces 2 in epoch 1; elected → all; EX-4 has won round 1; ENTERS (fence 0.1)
            2 release: LEAVES; EX-5 ends round 1; round-ended → all
            1 receives round-ended from 2: EX-8 another node goes first; denied
            1 receives elected from 2: EX-3 drops a message from 2 of round 1
            3 receives elected from 2: CI-6 learns that 2 has won
        "#]]);
}

proptest! {
    #[test]
    fn every_schedule_is_safe_and_live_over_chang_and_roberts(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        let nodes = schedule.run(new_node::<ChangRoberts>, &FACTS).map_err(test_error)?;
        prop_assert!(nodes.iter().all(|node| node.election.is_none()), "a round is left over: {nodes:#?}");
    }

    /// The reduction works over another election as well.
    #[test]
    fn every_schedule_is_safe_and_live_over_hirschberg_and_sinclair(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        schedule.run(new_node::<HirschbergSinclair>, &FACTS).map_err(test_error)?;
    }
}
