//! Tests of the rules of the ring that survives crashes: at least one script per rule. In a script,
//! `1 > 2` delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and
//! `1 > 2 as 3` the oldest as if node 3 had sent it; `1 fires` fires the oldest timer of node 1;
//! `of 2` before a script sets the group size. Traces omit the steps before `|` and those without
//! effect (see `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0 and counter 1. The epoch
//! is the generation of the token. An entry increments the counter, and so does a pass of the token
//! that is not acknowledged in time. The token begins with a rest at node 1. In a script, a crashed
//! node is one that receives no more messages.

mod crashes;
mod schedules;
mod search;
mod timing;
mod world;

use super::TokenRingAcknowledged;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rule_tests;
use crate::testing::ScriptGroup;
use expect_test::expect;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::from_micros(1) };

fn ring(me: NodeId, group: Group) -> TokenRingAcknowledged {
    TokenRingAcknowledged::new(me, group, BOUNDS)
}

rule_tests! { ring, 3;
    ta_1_a_request_where_the_token_rests_enters_at_once("1 acquire", expect![[r#"
        1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
    "#]]);

    ta_1_a_request_without_the_token_waits_and_sends_no_message("2 acquire; 3 acquire", expect![[r#"
        2 acquire: TA-1 waits for the token
        3 acquire: TA-1 waits for the token
    "#]]);

    ta_2_the_token_is_acknowledged_and_admits_a_waiting_node("2 acquire; 1 fires | 1 > 2; 2 > 1", expect![[r#"
        2 receives token from 1: acknowledgement → 1; TA-2 keeps the token; ENTERS (fence 0.1)
    "#]]);

    ta_2_an_idle_node_acknowledges_the_token_and_passes_it_on(
        "1 fires; 1 > 2; 2 > 1 | 2 > 3; 3 > 2", expect![[r#"
            3 receives token from 2: acknowledgement → 2; TA-2 passes the token on; token → 1
        "#]]);

    ta_2_only_a_member_can_send_the_token("1 fires; 1 > 2 as 9", expect![[r#"
        1 timer: TA-5 passes the token on; token → 2
        2 receives token from 9: TA-2 ignores a message from 9, which is not another member
    "#]]);

    /// The acknowledgement of the first round arrives in the second, and does not count for the
    /// second pass. Node 1 continues to wait for the acknowledgement of that pass, and stops a
    /// search.
    ta_2_a_token_that_returns_before_its_acknowledgement_acknowledges_the_pass(
        of 2, "1 acquire; 1 release; 1 acquire | 1 > 2; 2 > 1 last; 1 release; 2 > 1; 1 > 2; 2 acquire; 2 fires;
               2 > 1", expect![[r#"
                   2 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 1
                   1 receives token from 2: acknowledgement → 2; TA-2 keeps the token; ENTERS (fence 0.2)
                   1 release: LEAVES; TA-4 passes the token on; token → 2
                   2 acquire: TA-1 waits for the token
                   2 timer: TA-8 searches for the token, to create one of generation 1; search → 1
                   1 receives search from 2: acknowledgement → 2; TA-9 stops the search of 2: the token has just left
               "#]]);

    /// Node 2 has crashed.
    ta_3_a_crashed_member_is_skipped("3 acquire; 1 fires | 1 fires; 1 > 3; 3 > 1", expect![[r#"
        1 timer: TA-3 suspects 2, and skips it; token → 3
        3 receives token from 1: acknowledgement → 1; TA-2 keeps the token; ENTERS (fence 0.2)
    "#]]);

    /// Nodes 2, 3 and 4 have crashed.
    ta_3_several_crashed_members_are_skipped(
        of 5, "5 acquire; 1 fires; 1 fires; 1 fires; 1 fires; 1 > 5; 5 > 1; 5 release; 5 > 1", expect![[r#"
            5 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            1 timer: TA-3 suspects 2, and skips it; token → 3
            1 timer: TA-3 suspects 3, and skips it; token → 4
            1 timer: TA-3 suspects 4, and skips it; token → 5
            5 receives token from 1: acknowledgement → 1; TA-2 keeps the token; ENTERS (fence 0.4)
            5 release: LEAVES; TA-4 passes the token on; token → 1
            1 receives token from 5: acknowledgement → 5; TA-2 passes the token on; token → 5
        "#]]);

    /// Node 2 has crashed. The skipped hop counts, so that a round keeps its length.
    ta_3_crashed_members_are_skipped_at_once_from_then_on("1 fires; 1 fires; 1 > 3; 3 > 1; 3 > 1; 1 fires; 1 > 3", expect![[r#"
        1 timer: TA-5 passes the token on; token → 2
        1 timer: TA-3 suspects 2, and skips it; token → 3
        3 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 1
        1 receives token from 3: acknowledgement → 3; TA-5 lets the token rest
        1 timer: TA-5 passes the token on; token → 3
    "#]]);

    /// Outside the synchronous model there are two tokens: the one that node 2 has passed on is
    /// still in transit when node 1 passes on the other.
    ta_3_an_acknowledgement_that_arrives_too_late_brings_its_node_back(
        "1 fires; 1 > 2; 1 fires | 2 > 1; 1 > 3; 3 > 1; 3 > 1; 1 fires; 1 > 2", expect![[r#"
            1 receives acknowledgement from 2: TA-3 learns too late that 2 is alive
            3 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 1
            1 receives token from 3: acknowledgement → 3; TA-5 lets the token rest
            1 timer: TA-5 passes the token on; token → 2
            2 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 3
        "#]]);

    ta_3_only_the_receiver_of_a_pass_can_acknowledge_it("1 fires; 1 > 2; 2 > 1 as 3 | 1 fires; 1 > 3", expect![[r#"
        1 timer: TA-3 suspects 2, and skips it; token → 3
        3 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 1
    "#]]);

    ta_4_a_release_passes_the_token_on_even_if_the_client_requests_again(
        "1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 acquire: TA-1 waits for the token
            2 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 3
            3 receives token from 2: acknowledgement → 2; TA-2 passes the token on; token → 1
            1 receives token from 3: acknowledgement → 3; TA-2 keeps the token; ENTERS (fence 0.2)
        "#]]);

    /// There is one message per entry, acknowledgements not counted, and no fence is skipped.
    ta_4_every_node_enters_once_a_round(
        "1 acquire; 2 acquire; 3 acquire; 1 release; 1 acquire; 1 > 2; 2 release; 2 acquire | 2 > 3; 3 release; 3 > 1;
         1 release; 1 > 2", expect![[r#"
             3 receives token from 2: acknowledgement → 2; TA-2 keeps the token; ENTERS (fence 0.3)
             3 release: LEAVES; TA-4 passes the token on; token → 1
             1 receives token from 3: acknowledgement → 3; TA-2 keeps the token; ENTERS (fence 0.4)
             1 release: LEAVES; TA-4 passes the token on; token → 2
             2 receives token from 1: acknowledgement → 1; TA-2 keeps the token; ENTERS (fence 0.5)
         "#]]);

    ta_5_the_token_rests_after_a_round_without_an_entry(
        "1 fires; 1 > 2; 2 > 3; 3 > 1 | 2 > 1; 1 fires", expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
        "#]]);

    ta_5_a_request_during_the_rest_enters_at_once(
        "1 fires; 1 > 2; 2 > 3 | 3 > 1; 1 acquire; 1 release", expect![[r#"
            1 receives token from 3: acknowledgement → 3; TA-5 lets the token rest
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
        "#]]);

    /// Nodes 2 and 3 have crashed.
    ta_12_the_token_stays_if_all_others_have_crashed(
        "1 fires; 1 fires | 1 fires; 1 acquire; 1 release; 1 try; 1 release", expect![[r#"
            1 timer: TA-3 suspects 3, and skips it; TA-12 keeps the token: all others have crashed
            1 acquire: TA-1 has the token here; ENTERS (fence 0.3)
            1 release: LEAVES; TA-12 keeps the token: all others have crashed
            1 try: TA-1 has the token here; ENTERS (fence 0.4)
            1 release: LEAVES; TA-12 keeps the token: all others have crashed
        "#]]);

    /// Nodes 2 and 3 have crashed. In a script timers fire in the order in which they were set,
    /// whatever their lengths.
    ta_12_a_node_that_requests_meanwhile_enters_when_all_others_have_crashed(
        "1 fires; 1 acquire; 1 fires; 1 fires | 1 fires; 1 release", expect![[r#"
            1 timer: TA-3 suspects 3, and skips it; TA-12 keeps the token; ENTERS (fence 0.3)
            1 release: LEAVES; TA-12 keeps the token: all others have crashed
        "#]]);

    ta_12_a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 release | 1 try; 1 release", expect![[r#"
        1 try: TA-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES; TA-12 keeps the token: all others have crashed
    "#]]);

    // Cancelled requests and tries.

    ta_6_a_cancelling_node_passes_the_token_on("2 acquire; 2 cancel; 1 fires; 1 > 2", expect![[r#"
        2 acquire: TA-1 waits for the token
        2 cancel: TA-6 will pass the token on when it arrives; cancelled
        1 timer: TA-5 passes the token on; token → 2
        2 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 3
    "#]]);

    ta_6_a_node_that_cancels_and_requests_again_gets_the_same_token(
        "2 acquire; 2 cancel; 2 acquire; 1 fires; 1 > 2", expect![[r#"
            2 acquire: TA-1 waits for the token
            2 cancel: TA-6 will pass the token on when it arrives; cancelled
            2 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 receives token from 1: acknowledgement → 1; TA-2 keeps the token; ENTERS (fence 0.1)
        "#]]);

    /// Node 1 has crashed with the token. Node 3 creates a new one and passes it on.
    ta_6_a_search_continues_though_its_starter_has_cancelled(
        "3 acquire; 3 fires | 3 cancel; 3 fires; 3 > 2; 2 > 3; 2 > 3; 3 > 2; 3 > 2", expect![[r#"
            3 cancel: TA-6 will pass the token on when it arrives; cancelled
            3 timer: TA-3 suspects 1, and skips it; search → 2
            2 receives search from 3: acknowledgement → 3; TA-9 passes the search of 3 on; search → 3
            3 receives search from 2: acknowledgement → 2; TA-10 creates a new token: no node has one; TA-10 passes the token on; token → 2
            2 receives token from 3: acknowledgement → 3; TA-2 passes the token on; token → 3
        "#]]);

    /// Node 2 has crashed with the token; node 1 crashes with the search. Node 4, which is idle,
    /// does not search again, and no longer stops searches of lower members.
    ta_6_a_lost_search_is_not_repeated_after_a_cancellation(
        of 4, "2 acquire; 1 fires; 1 > 2; 2 > 1 | 4 acquire; 4 fires; 4 > 1; 1 > 4; 4 cancel; 4 fires; 3 acquire;
               3 fires; 3 > 4", expect![[r#"
                   4 acquire: TA-1 waits for the token
                   4 timer: TA-8 searches for the token, to create one of generation 1; search → 1
                   1 receives search from 4: acknowledgement → 4; TA-9 passes the search of 4 on; search → 2
                   4 cancel: TA-6 will pass the token on when it arrives; cancelled
                   3 acquire: TA-1 waits for the token
                   3 timer: TA-8 searches for the token, to create one of generation 1; search → 4
                   4 receives search from 3: acknowledgement → 3; TA-9 passes the search of 3 on; search → 1
               "#]]);

    ta_7_a_try_enters_if_no_other_node_has_entered_since_the_token_was_here("2 try; 1 fires; 1 > 2", expect![[r#"
        2 try: TA-1 waits for the token
        1 timer: TA-5 passes the token on; token → 2
        2 receives token from 1: acknowledgement → 1; TA-7 keeps the token: it records no recent entry of another node; ENTERS (fence 0.1)
    "#]]);

    ta_7_a_try_is_denied_if_another_node_has_entered_meanwhile("1 acquire; 2 try | 1 release; 1 > 2", expect![[r#"
        1 release: LEAVES; TA-4 passes the token on; token → 2
        2 receives token from 1: acknowledgement → 1; TA-7 denies the try: another node has entered since the token was last here; denied; TA-7 passes the token on; token → 3
    "#]]);

    ta_7_a_nodes_own_entry_does_not_deny_its_try("1 acquire; 1 release | 1 try; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
        1 try: TA-1 waits for the token
        2 receives token from 1: acknowledgement → 1; TA-2 passes the token on; token → 3
        3 receives token from 2: acknowledgement → 2; TA-2 passes the token on; token → 1
        1 receives token from 3: acknowledgement → 3; TA-7 keeps the token: it records no recent entry of another node; ENTERS (fence 0.2)
    "#]]);

    /// Node 2 entered, passed the token on and crashed. The token has gone a full round when it
    /// arrives at node 3 again.
    ta_7_the_entry_of_a_crashed_node_does_not_deny_a_try(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 > 1; 2 > 3 | 3 > 1; 1 > 3; 1 fires; 3 try; 1 > 3", expect![[r#"
            1 receives token from 3: acknowledgement → 3; TA-2 passes the token on; token → 2
            1 timer: TA-3 suspects 2, and skips it; token → 3
            3 try: TA-1 waits for the token
            3 receives token from 1: acknowledgement → 1; TA-7 keeps the token: it records no recent entry of another node; ENTERS (fence 0.3)
        "#]]);

    /// Node 1 has crashed with the token.
    ta_7_a_try_enters_with_a_new_token(of 2, "2 try; 2 fires; 2 fires", expect![[r#"
        2 try: TA-1 waits for the token
        2 timer: TA-8 searches for the token, to create one of generation 1; search → 1
        2 timer: TA-3 suspects 1, and skips it; TA-10 creates a new token: no node has one; TA-7 keeps the token: it records no recent entry of another node; ENTERS (fence 1.1)
    "#]]);
}

/// The token never leaves a group of one, so a rest timer would only be set again and again.
#[test]
fn ta_12_a_group_of_one_sets_no_timer() {
    assert_eq!(ScriptGroup::new(1, ring).timer_count(), 0);
    assert_eq!(ScriptGroup::new(2, ring).timer_count(), 1);
}
