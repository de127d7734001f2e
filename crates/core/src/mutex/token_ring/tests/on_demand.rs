//! Tests of the on-demand ring: its token sleeps at the lowest member until a node calls it. In a
//! script, `1 > 2` delivers the oldest message from node 1 to node 2. Traces omit the steps before
//! `|` and those without effect (see `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0
//! and counter 1.

use super::ring;
use crate::group::Group;
use crate::mutex::TokenRing;
use crate::mutex::rules::rule_tests;
use crate::node::NodeId;
use crate::testing::{ScriptGroup, run_script};
use expect_test::expect;

rule_tests! { TokenRing::new_on_demand, 3;
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

    tr_8_the_lowest_member_sends_no_message_to_call_a_token_that_has_left(
        "2 acquire; 2 > 1 | 1 acquire; 1 > 2; 2 release; 2 > 3; 3 > 1; 1 release", expect![[r#"
            1 acquire: TR-8 waits for the token, which has left
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-2 keeps the token; ENTERS (fence 0.2)
            1 release: LEAVES; TR-4 passes the token on; token → 2
        "#]]);

    /// Node 2 requests after the token has passed it, and its call reaches node 1 while the token
    /// is still on its round.
    tr_9_a_call_while_the_token_is_away_starts_another_round(
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
            1 receives call from 2: TR-9 records the call from 2
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 receives token from 1: TR-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            3 receives token from 2: TR-3 passes the token on; token → 1
            1 receives token from 3: TR-9 lets the token sleep
        "#]]);

    tr_9_the_call_of_a_cancelled_request_still_costs_a_round("2 acquire; 2 cancel; 2 > 1; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
        2 acquire: TR-8 calls the token; call → 1
        2 cancel: TR-6 will pass the token on when it arrives; cancelled
        1 receives call from 2: TR-9 passes the token on; token → 2
        2 receives token from 1: TR-3 passes the token on; token → 3
        3 receives token from 2: TR-3 passes the token on; token → 1
        1 receives token from 3: TR-9 lets the token sleep
    "#]]);
}

/// Only the lowest member of an on-demand ring handles calls. Here node 2 runs the on-demand
/// variant, and the other nodes run the ordinary ring.
#[test]
fn tr_9_a_node_of_an_ordinary_ring_ignores_calls() {
    let mixed_variants =
        |me: NodeId, group: Group| if me.number() == 2 { TokenRing::new_on_demand(me, group) } else { ring(me, group) };
    let trace = run_script(3, mixed_variants, "2 acquire\n2 > 1");
    expect![[r#"
        2 acquire: TR-8 calls the token; call → 1
        1 receives call from 2: TR-9 ignores a call from 2
    "#]]
    .assert_eq(&trace);
}

#[test]
fn tr_9_a_sleeping_token_sets_no_timer() {
    assert_eq!(ScriptGroup::new(3, TokenRing::new_on_demand).timer_count(), 0);
}
