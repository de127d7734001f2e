//! Tests of the rules of Ricart–Agrawala round a ring: at least one script per rule. In a script,
//! `1 > 2` delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and
//! `1 > 2 as 3` the oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a
//! script sets the group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1`
//! has epoch 0 and counter 1.

use super::RicartAgrawalaRing;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { RicartAgrawalaRing::new, 3;
    rr_1_a_requesting_node_sends_a_request_to_the_next("1 acquire; 3 acquire", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round the ring; request → 2
        3 acquire: RR-1 sends (1, 3) round the ring; request → 1
    "#]]);

    /// No request of node 3 reaches node 2. But node 2's own request collects the clock of node 3,
    /// so the next stamp of node 2 is younger than (2, 3).
    rr_1_a_stamp_is_younger_than_the_clock_that_the_previous_request_collected(
        "3 acquire; 3 cancel; 3 acquire; 3 > 1 last; 2 acquire; 2 > 3; 3 > 1 last; 1 > 2 last; 2 release;
         2 acquire", expect![[r#"
             3 acquire: RR-1 sends (1, 3) round the ring; request → 1
             3 cancel: cancelled
             3 acquire: RR-1 sends (2, 3) round the ring; request → 1
             1 receives request from 3: RR-2 forwards (2, 3); request → 2
             2 acquire: RR-1 sends (1, 2) round the ring; request → 3
             3 receives request from 2: RR-2 forwards (1, 2); request → 1
             1 receives request from 3: RR-2 forwards (1, 2); request → 2
             2 receives request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
             2 release: LEAVES
             2 acquire: RR-1 sends (3, 2) round the ring; request → 3
         "#]]);

    rr_2_an_idle_node_forwards_a_request("1 acquire; 1 > 2; 2 > 3", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round the ring; request → 2
        2 receives request from 1: RR-2 forwards (1, 1); request → 3
        3 receives request from 2: RR-2 forwards (1, 1); request → 1
    "#]]);

    rr_2_the_holder_holds_a_request("1 acquire; rest | 3 acquire; rest", expect![[r#"
        3 acquire: RR-1 sends (2, 3) round the ring; request → 1
        1 receives request from 3: RR-2 holds (2, 3): ours (1, 1) goes first
    "#]]);

    rr_2_a_request_that_skipped_a_node_is_ignored(
        "1 acquire; 1 > 2 | 2 > 3 as 1; 1 cancel; 2 acquire; 2 > 3; 3 > 1; 1 > 2 as 3", expect![[r#"
            3 receives request from 1: RR-2 ignores (1, 1) from 1: not the previous node
            1 cancel: cancelled
            2 acquire: RR-1 sends (2, 2) round the ring; request → 3
            3 receives request from 2: RR-2 forwards (2, 2); request → 1
            1 receives request from 3: RR-2 forwards (2, 2); request → 2
            2 receives request from 3: RR-2 ignores (2, 2) from 3: not the previous node
        "#]]);

    rr_3_a_node_whose_request_returns_enters("2 acquire; 2 > 3 | 3 > 1; 1 > 2", expect![[r#"
        1 receives request from 3: RR-2 forwards (1, 2); request → 2
        2 receives request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
    "#]]);

    /// The request of 2 first passes node 3, which knows the fence 0.2, and then node 1, which only
    /// knows 0.1. It keeps the larger one.
    rr_3_the_fence_is_larger_than_all_that_the_request_has_collected(
        "1 acquire; rest; 1 release; 3 acquire | rest; 3 release; 2 acquire; rest", expect![[r#"
            1 receives request from 3: RR-2 forwards (2, 3); request → 2
            2 receives request from 1: RR-2 forwards (2, 3); request → 3
            3 receives request from 2: RR-3 has (2, 3) back; ENTERS (fence 0.2)
            3 release: LEAVES
            2 acquire: RR-1 sends (3, 2) round the ring; request → 3
            3 receives request from 2: RR-2 forwards (3, 2); request → 1
            1 receives request from 3: RR-2 forwards (3, 2); request → 2
            2 receives request from 1: RR-3 has (3, 2) back; ENTERS (fence 0.3)
        "#]]);

    rr_4_a_release_forwards_all_held_requests(
        "1 acquire; rest; 2 acquire; 3 acquire; rest | 1 release; rest; 2 release; rest", expect![[r#"
            1 release: LEAVES; RR-4 forwards (2, 2), which it held; request → 2; RR-4 forwards (2, 3), which it held; request → 2
            2 receives request from 1: RR-3 has (2, 2) back; ENTERS (fence 0.2)
            2 receives request from 1: RR-2 holds (2, 3): ours (2, 2) goes first
            2 release: LEAVES; RR-4 forwards (2, 3), which it held; request → 3
            3 receives request from 2: RR-3 has (2, 3) back; ENTERS (fence 0.3)
        "#]]);

    a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round the ring; RR-3 has (1, 1) back; ENTERS (fence 0.1)
        1 try: refused: already in the critical section
        1 release: LEAVES
        1 try: RR-1 sends (2, 1) round the ring; RR-3 has (2, 1) back; ENTERS (fence 0.2)
        1 cancel: refused: already in the critical section
        1 release: LEAVES
    "#]]);

    // Cancelled requests and tries.

    rr_3_a_cancelled_request_that_returns_admits_no_node(
        "1 acquire; 1 > 2; 1 cancel; 1 acquire; 2 > 3 | 3 > 1; rest", expect![[r#"
            1 receives request from 3: RR-3 removes (1, 1): that request is not pending
            2 receives request from 1: RR-2 forwards (2, 1); request → 3
            3 receives request from 2: RR-2 forwards (2, 1); request → 1
            1 receives request from 3: RR-3 has (2, 1) back; ENTERS (fence 0.1)
        "#]]);

    rr_5_a_cancellation_forwards_all_held_requests(
        "1 acquire; 2 acquire; 2 > 3 | 3 > 1; 1 cancel; rest", expect![[r#"
            1 receives request from 3: RR-2 holds (1, 2): ours (1, 1) goes first
            1 cancel: cancelled; RR-5 forwards (1, 2), which it held; request → 2
            2 receives request from 1: RR-2 forwards (1, 1); request → 3
            2 receives request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
            3 receives request from 2: RR-2 forwards (1, 1); request → 1
            1 receives request from 3: RR-3 removes (1, 1): that request is not pending
        "#]]);

    /// The cancelled request is held like any other and continues when its turn comes.
    rr_5_a_cancelled_request_still_completes_its_round(
        "1 acquire; rest; 2 acquire | rest; 2 cancel; 1 release; rest", expect![[r#"
            3 receives request from 2: RR-2 forwards (2, 2); request → 1
            1 receives request from 3: RR-2 holds (2, 2): ours (1, 1) goes first
            2 cancel: cancelled
            1 release: LEAVES; RR-4 forwards (2, 2), which it held; request → 2
            2 receives request from 1: RR-3 removes (2, 2): that request is not pending
        "#]]);

    rr_6_the_holder_removes_a_try_from_the_ring("1 acquire; rest; 2 try; rest", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round the ring; request → 2
        2 receives request from 1: RR-2 forwards (1, 1); request → 3
        3 receives request from 2: RR-2 forwards (1, 1); request → 1
        1 receives request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
        2 try: RR-1 sends (2, 2) round the ring; request → 3
        3 receives request from 2: RR-2 forwards (2, 2); request → 1
        1 receives request from 3: RR-6 denies (2, 2); denied → 2
        2 receives denied from 1: denied
    "#]]);

    /// Node 2 holds (3, 1) because of its try, which 3 denies.
    rr_6_a_denied_try_forwards_all_held_requests(
        "3 acquire; 3 > 1; 1 > 2; 2 try; 1 acquire; 1 cancel; 1 acquire; 1 > 2 last; 2 > 3 last; 3 > 2", expect![[r#"
            3 acquire: RR-1 sends (1, 3) round the ring; request → 1
            1 receives request from 3: RR-2 forwards (1, 3); request → 2
            2 receives request from 1: RR-2 forwards (1, 3); request → 3
            2 try: RR-1 sends (2, 2) round the ring; request → 3
            1 acquire: RR-1 sends (2, 1) round the ring; request → 2
            1 cancel: cancelled
            1 acquire: RR-1 sends (3, 1) round the ring; request → 2
            2 receives request from 1: RR-2 holds (3, 1): ours (2, 2) goes first
            3 receives request from 2: RR-6 denies (2, 2); denied → 2
            2 receives denied from 3: denied; RR-6 forwards (3, 1), which it held; request → 3
        "#]]);

    rr_6_a_denial_that_is_late_or_from_a_nonmember_has_no_effect(
        of 2, "1 acquire; rest; 2 try; 2 > 1; 2 cancel; 2 try; 1 > 2; 2 > 1; 1 > 2 as 9", expect![[r#"
            1 acquire: RR-1 sends (1, 1) round the ring; request → 2
            2 receives request from 1: RR-2 forwards (1, 1); request → 1
            1 receives request from 2: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 try: RR-1 sends (2, 2) round the ring; request → 1
            1 receives request from 2: RR-6 denies (2, 2); denied → 2
            2 cancel: cancelled
            2 try: RR-1 sends (3, 2) round the ring; request → 1
            1 receives request from 2: RR-6 denies (3, 2); denied → 2
        "#]]);
}
