//! Tests of the rules of the token ring: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, and `1 > 2 as 3` delivers it as if node 3 had
//! sent it; `rest` delivers all messages; `1 fires` fires the oldest timer of node 1; `of 2` before
//! a script sets the group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0 and counter 1. The token begins with
//! a rest at node 1.

mod on_demand;
mod schedules;

use super::TokenRing;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rule_tests;
use crate::testing::ScriptGroup;
use expect_test::expect;

fn ring(me: NodeId, group: Group) -> TokenRing {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    TokenRing::new(me, group, bounds)
}

rule_tests! { ring, 3;
    tr_1_a_request_where_the_token_rests_enters_at_once("1 acquire", expect![[r#"
        1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
    "#]]);

    tr_1_a_request_without_the_token_waits_and_sends_no_message("2 acquire; 3 acquire", expect![[r#"
        2 acquire: TR-1 waits for the token
        3 acquire: TR-1 waits for the token
    "#]]);

    tr_2_the_token_admits_a_waiting_node("2 acquire; 1 fires; 1 > 2", expect![[r#"
        2 acquire: TR-1 waits for the token
        1 timer: TR-5 passes the token on; token → 2
        2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
    "#]]);

    tr_3_an_idle_node_passes_the_token_on("1 fires; 1 > 2; 2 > 3", expect![[r#"
        1 timer: TR-5 passes the token on; token → 2
        2 receives token from 1: TR-3 passes the token on; token → 3
        3 receives token from 2: TR-3 passes the token on; token → 1
    "#]]);

    tr_3_only_the_previous_member_can_send_the_token("1 fires; 1 > 2 as 3", expect![[r#"
        1 timer: TR-5 passes the token on; token → 2
        2 receives token from 3: TR-3 ignores a token from 3, which is not the previous member
    "#]]);

    /// Node 1 has to wait until the token has gone round, though no other node wants it.
    tr_4_a_release_passes_the_token_on_even_if_the_client_requests_again(
        "1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            1 acquire: TR-1 waits for the token
            2 receives token from 1: TR-3 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-2 keeps the token; ENTERS (fence 0.2)
        "#]]);

    /// Each entry takes one message, and raises the fence by one.
    tr_4_every_node_enters_once_a_round(
        "1 acquire; 2 acquire; 3 acquire; 1 release; 1 acquire | 1 > 2; 2 release; 2 acquire; 2 > 3; 3 release;
         3 acquire; 3 > 1; 1 release; 1 > 2", expect![[r#"
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            2 acquire: TR-1 waits for the token
            3 receives token from 2: TR-2 keeps the token; ENTERS (fence 0.3)
            3 release: LEAVES; TR-4 passes the token on; token → 1
            3 acquire: TR-1 waits for the token
            1 receives token from 3: TR-2 keeps the token; ENTERS (fence 0.4)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.5)
        "#]]);

    tr_5_the_token_rests_after_a_round_without_an_entry(
        "1 fires; 1 > 2; 2 > 3 | 3 > 1; 1 fires", expect![[r#"
            1 receives token from 3: TR-5 lets the token rest
            1 timer: TR-5 passes the token on; token → 2
        "#]]);

    /// Node 2 was the last to enter, so the token rests there after each round without an entry.
    tr_5_the_round_is_counted_from_the_last_entry(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 > 3; 3 > 1; 1 > 2 | 2 fires; 2 > 3; 3 > 1; 1 > 2", expect![[r#"
            2 timer: TR-5 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-3 passes the token on; token → 2
            2 receives token from 1: TR-5 lets the token rest
        "#]]);

    tr_5_a_request_during_the_rest_enters_at_once(
        "1 fires; 1 > 2; 2 > 3 | 3 > 1; 1 acquire; 1 release; 1 > 2", expect![[r#"
            1 receives token from 3: TR-5 lets the token rest
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 receives token from 1: TR-3 passes the token on; token → 3
        "#]]);

    tr_5_a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 release | 1 try; 1 release", expect![[r#"
        1 try: TR-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES
    "#]]);

    // Cancelled requests and tries.

    tr_6_a_cancelling_node_passes_the_token_on("2 acquire; 2 cancel; 1 fires; 1 > 2", expect![[r#"
        2 acquire: TR-1 waits for the token
        2 cancel: TR-6 will pass the token on when it arrives; cancelled
        1 timer: TR-5 passes the token on; token → 2
        2 receives token from 1: TR-3 passes the token on; token → 3
    "#]]);

    tr_6_a_node_that_cancels_and_requests_again_gets_the_same_token(
        "2 acquire; 2 cancel; 2 acquire; 1 fires; 1 > 2", expect![[r#"
            2 acquire: TR-1 waits for the token
            2 cancel: TR-6 will pass the token on when it arrives; cancelled
            2 acquire: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
        "#]]);

    tr_7_a_try_enters_if_no_other_node_has_entered_since_the_token_was_here("2 try; 1 fires; 1 > 2", expect![[r#"
        2 try: TR-1 waits for the token
        1 timer: TR-5 passes the token on; token → 2
        2 receives token from 1: TR-7 keeps the token: it records no recent entry of another node; ENTERS (fence 0.1)
    "#]]);

    tr_7_a_try_is_denied_if_another_node_has_entered_meanwhile("1 acquire; 2 try | 1 release; 1 > 2", expect![[r#"
        1 release: LEAVES; TR-4 passes the token on; token → 2
        2 receives token from 1: TR-7 denies the try: another node has entered since the token was last here; denied; TR-7 passes the token on; token → 3
    "#]]);

    tr_7_a_nodes_own_entry_does_not_deny_its_try(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 try; 2 > 3 | 3 > 1; 1 > 2", expect![[r#"
            1 receives token from 3: TR-3 passes the token on; token → 2
            2 receives token from 1: TR-7 keeps the token: it records no recent entry of another node; ENTERS (fence 0.2)
        "#]]);

    /// The token has gone a full round since the entry of node 1, and has rested.
    tr_7_an_old_entry_does_not_deny_a_try(
        "1 acquire; 1 release; 1 > 2; 2 > 3; 3 > 1; 1 fires | 2 try; 1 > 2", expect![[r#"
            2 try: TR-1 waits for the token
            2 receives token from 1: TR-7 keeps the token: it records no recent entry of another node; ENTERS (fence 0.2)
        "#]]);

    tr_7_a_try_where_the_token_rests_enters_at_once("1 try", expect![[r#"
        1 try: TR-1 has the token here; ENTERS (fence 0.1)
    "#]]);
}

/// In a group of one, the rest timer would fire again and again. A larger group sets it at node 1.
#[test]
fn tr_5_a_group_of_one_sets_no_timer() {
    assert_eq!(ScriptGroup::new(1, ring).timer_count(), 0);
    assert_eq!(ScriptGroup::new(2, ring).timer_count(), 1);
}
