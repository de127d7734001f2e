//! Tests of the ring whose token sleeps until a node calls it.

use super::ring;
use crate::group::Group;
use crate::mutex::TokenRing;
use crate::mutex::rules::rules;
use crate::node::NodeId;
use crate::testing::{ScriptGroup, run_script};
use expect_test::expect;

rules! { TokenRing::on_call, 3;
    tr_8_a_requesting_node_calls_the_token("3 acquire; 3 > 1; 1 > 2; 2 > 3; 3 release; 3 > 1", expect![[r#"
        3 acquire: TR-8 calls the token; call → 1
        1 receives call from 3: TR-9 passes the token on; token → 2
        2 receives token from 1: TR-3 passes the token on; token → 3
        3 receives token from 2: TR-2 keeps the token; ENTERS (fence 0.1)
        3 release: LEAVES; TR-4 passes the token on; token → 1
        1 receives token from 3: TR-9 lets the token sleep
    "#]]);

    tr_8_the_lowest_member_needs_no_message_for_a_sleeping_token(
        "1 acquire; 1 release; 1 try; 1 release", expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-9 lets the token sleep
            1 try: TR-1 has the token here; ENTERS (fence 0.2)
            1 release: LEAVES; TR-9 lets the token sleep
        "#]]);

    tr_8_the_lowest_member_calls_a_token_that_has_left_without_a_message(
        "2 acquire; 2 > 1 | 1 acquire; 1 > 2; 2 release; 2 > 3; 3 > 1; 1 release", expect![[r#"
            1 acquire: TR-8 waits for the token, which has left
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-2 keeps the token; ENTERS (fence 0.2)
            1 release: LEAVES; TR-4 passes the token on; token → 2
        "#]]);

    /// The token has passed node 2 before it requests, and its call arrives while the token is in
    /// transit.
    tr_9_a_call_that_finds_the_token_gone_sends_it_round_again(
        "3 acquire; 3 > 1; 1 > 2; 2 acquire; 2 > 1; 2 > 3; 3 release | 3 > 1; 1 > 2; 2 release; 2 > 3;
         3 > 1", expect![[r#"
            1 receives token from 3: TR-3 passes the token on; token → 2
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-9 lets the token sleep
        "#]]);

    tr_9_a_call_while_the_lowest_member_holds_the_lock_is_recorded(
        "1 acquire; 2 acquire | 2 > 1; 1 release; 1 > 2; 2 release; 2 > 3; 3 > 1", expect![[r#"
            1 receives call from 2: TR-9 records the call of 2
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-9 lets the token sleep
        "#]]);

    tr_9_the_call_of_a_cancelled_request_still_costs_a_round("2 acquire; 2 cancel; 2 > 1; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
        2 acquire: TR-8 calls the token; call → 1
        2 cancel: TR-6 will pass the token on; cancelled
        1 receives call from 2: TR-9 passes the token on; token → 2
        2 receives token from 1: TR-3 passes the token on; token → 3
        3 receives token from 2: TR-3 passes the token on; token → 1
        1 receives token from 3: TR-9 lets the token sleep
    "#]]);
}

/// Only the lowest member handles calls, and only on call.
#[test]
fn tr_9_other_calls_are_ignored() {
    let mixed =
        |me: NodeId, group: Group| if me.number() == 2 { TokenRing::on_call(me, group) } else { ring(me, group) };
    let trace = run_script(3, mixed, "2 acquire\n2 > 1");
    expect![[r#"
        2 acquire: TR-8 calls the token; call → 1
        1 receives call from 2: TR-9 ignores a call of 2
    "#]]
    .assert_eq(&trace);
}

#[test]
fn tr_9_a_sleeping_token_sets_no_timer() {
    assert_eq!(ScriptGroup::new(3, TokenRing::on_call).timers(), 0);
}
