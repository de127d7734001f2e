//! Tests of the rules of the token on request: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, and `1 > 2 last` the newest; `rest` delivers
//! all messages; `of 2` before a script sets the group size, and `by f` makes the nodes with the
//! constructor `f`. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0 and counter 1. Node 1 has the token
//! at first.

mod schedules;

use super::TokenRequest;
use crate::mutex::rules::{rule_tests, with_a_nonmember};
use expect_test::expect;

rule_tests! { TokenRequest::new, 3;
    tq_1_the_holder_enters_again_without_messages("1 acquire; 1 release | 1 acquire; 1 release", expect![[r#"
        1 acquire: TQ-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES; TQ-4 keeps the token: no request is pending
    "#]]);

    /// The second request of node 2 has a larger number than the first, which was answered.
    tq_1_a_node_without_the_token_asks_all_others_with_a_new_number(
        "2 acquire; rest; 2 release; 3 acquire | rest; 2 acquire", expect![[r#"
            1 receives request from 3: TQ-2 stores request 1 of 3
            2 receives request from 3: TQ-2 stores request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 receives token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            2 acquire: TQ-1 sends request 2 to all; request → all
        "#]]);

    tq_1_a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 release; 1 try; 1 release", expect![[r#"
        1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
        1 release: LEAVES; TQ-4 keeps the token: no request is pending
        1 try: TQ-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES; TQ-4 keeps the token: no request is pending
    "#]]);

    tq_2_an_unused_token_goes_to_the_first_requester("2 acquire; 2 > 1; 2 > 3; 1 > 2", expect![[r#"
        2 acquire: TQ-1 sends request 1 to all; request → all
        1 receives request from 2: TQ-2 stores request 1 of 2; TQ-2 passes the token to 2; token → 2
        3 receives request from 2: TQ-2 stores request 1 of 2
        2 receives token from 1: TQ-3 has the token; ENTERS (fence 0.1)
    "#]]);

    /// Node 3 receives the request of node 2 after it was answered, and has the token that records
    /// this.
    tq_2_a_late_request_has_no_effect(
        "2 acquire; 2 > 1; 1 > 2; 2 release; 3 acquire; 3 > 2; 2 > 3 last | 3 release; 2 > 3", expect![[r#"
            3 release: LEAVES; TQ-4 keeps the token: no request is pending
            3 receives request from 2: TQ-2 ignores request 1 of 2
        "#]]);

    /// Node 3 receives the request of node 2 before the token, which then shows that it is
    /// answered.
    tq_2_a_late_request_at_a_node_without_the_token_has_no_effect(
        "2 acquire; 2 > 1; 1 > 2; 2 > 3; 2 release; 3 acquire | 3 > 2; 2 > 3; 3 release", expect![[r#"
            2 receives request from 3: TQ-2 stores request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 receives token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            3 release: LEAVES; TQ-4 keeps the token: no request is pending
        "#]]);

    tq_2_an_older_request_does_not_replace_a_newer_one(
        "2 acquire; 2 cancel; 2 acquire | 2 > 3 last; 2 > 3", expect![[r#"
            3 receives request from 2: TQ-2 stores request 2 of 2
            3 receives request from 2: TQ-2 ignores request 1 of 2
        "#]]);

    tq_3_the_token_admits_a_waiting_node("3 acquire; 3 > 1; 1 > 3", expect![[r#"
        3 acquire: TQ-1 sends request 1 to all; request → all
        1 receives request from 3: TQ-2 stores request 1 of 3; TQ-2 passes the token to 3; token → 3
        3 receives token from 1: TQ-3 has the token; ENTERS (fence 0.1)
    "#]]);

    /// Node 1 requested before node 3, but node 3 is the next after node 2.
    tq_4_a_release_passes_the_token_to_the_next_in_cyclic_order(
        "2 acquire; 2 > 1; 1 > 2 | 1 acquire; 3 acquire; 1 > 2; 3 > 2; 2 release; 2 > 3 last; 1 > 3; 3 release;
         3 > 1 last", expect![[r#"
             1 acquire: TQ-1 sends request 1 to all; request → all
             3 acquire: TQ-1 sends request 1 to all; request → all
             2 receives request from 1: TQ-2 stores request 1 of 1
             2 receives request from 3: TQ-2 stores request 1 of 3
             2 release: LEAVES; TQ-4 passes the token to 3; token → 3
             3 receives token from 2: TQ-3 has the token; ENTERS (fence 0.2)
             3 receives request from 1: TQ-2 stores request 1 of 1
             3 release: LEAVES; TQ-4 passes the token to 1; token → 1
             1 receives token from 3: TQ-3 has the token; ENTERS (fence 0.3)
         "#]]);

    tq_4_a_release_without_pending_requests_keeps_the_token("2 acquire; rest; 2 release | 2 acquire; 2 release", expect![[r#"
        2 acquire: TQ-1 has the token here; ENTERS (fence 0.2)
        2 release: LEAVES; TQ-4 keeps the token: no request is pending
    "#]]);

    // Cancelled requests.

    tq_5_a_token_that_arrives_for_a_cancelled_request_is_kept(
        "2 acquire; 2 > 1; 2 cancel | 1 > 2; 2 acquire; 2 release; 3 acquire; 3 > 2", expect![[r#"
            2 receives token from 1: TQ-3 has the token, which its client no longer wants; TQ-5 keeps the token: no request is pending
            2 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            2 release: LEAVES; TQ-4 keeps the token: no request is pending
            3 acquire: TQ-1 sends request 1 to all; request → all
            2 receives request from 3: TQ-2 stores request 1 of 3; TQ-2 passes the token to 3; token → 3
        "#]]);

    tq_5_a_token_that_arrives_for_a_cancelled_request_is_passed_to_a_waiting_node(
        "2 acquire; 2 > 1; 2 cancel; 3 acquire; 3 > 2 | 1 > 2; 2 > 3 last", expect![[r#"
            2 receives token from 1: TQ-3 has the token, which its client no longer wants; TQ-5 passes the token to 3; token → 3
            3 receives token from 2: TQ-3 has the token; ENTERS (fence 0.1)
        "#]]);

    /// The messages of the newer request arrive when node 2 already has the token, and do not fetch
    /// it again.
    tq_5_a_token_that_arrives_for_a_cancelled_request_serves_the_next_one(
        "2 acquire; 2 > 1 | 2 cancel; 2 acquire; 1 > 2; 2 > 1; 2 release; 3 acquire; 3 > 2; rest", expect![[r#"
            2 cancel: TQ-5 forgets request 1; cancelled
            2 acquire: TQ-1 sends request 2 to all; request → all
            2 receives token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            1 receives request from 2: TQ-2 stores request 2 of 2
            2 release: LEAVES; TQ-4 keeps the token: no request is pending
            3 acquire: TQ-1 sends request 1 to all; request → all
            2 receives request from 3: TQ-2 stores request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 receives request from 2: TQ-2 stores request 1 of 2
            3 receives request from 2: TQ-2 stores request 2 of 2
            1 receives request from 3: TQ-2 stores request 1 of 3
            3 receives token from 2: TQ-3 has the token; ENTERS (fence 0.2)
        "#]]);

    tq_5_a_cancelled_request_that_arrives_late_still_fetches_the_token(
        "2 acquire; 2 cancel; 2 > 1 | 1 > 2; 2 > 3", expect![[r#"
            2 receives token from 1: TQ-3 has the token, which its client no longer wants; TQ-5 keeps the token: no request is pending
            3 receives request from 2: TQ-2 stores request 1 of 2
        "#]]);

    // Tries.

    tq_6_a_try_gets_an_unused_token("2 try; 2 > 1; 1 > 2", expect![[r#"
        2 try: TQ-1 sends request 1 to all; request → all
        1 receives request from 2: TQ-2 stores request 1 of 2; TQ-2 passes the token to 2; token → 2
        2 receives token from 1: TQ-3 has the token; ENTERS (fence 0.1)
    "#]]);

    tq_6_the_holder_denies_a_try("1 acquire; 2 try | 2 > 1; 1 > 2; 1 release", expect![[r#"
        1 receives request from 2: TQ-2 stores request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
        2 receives denied from 1: denied
        1 release: LEAVES; TQ-4 keeps the token: no request is pending
    "#]]);

    tq_6_a_try_that_arrives_before_the_token_is_denied_by_a_waiting_node(
        "2 acquire; 2 > 1; 3 try; 3 > 1; 3 > 2 | 1 > 2; 2 > 3 last", expect![[r#"
            2 receives token from 1: TQ-3 has the token; ENTERS (fence 0.1); TQ-6 denies request 1 of 3; denied → 3
            3 receives denied from 2: denied
        "#]]);

    tq_6_a_try_that_arrives_before_the_token_gets_it_from_an_idle_node(
        "2 acquire; 2 > 1; 2 cancel | 3 try; 3 > 2; 1 > 2; 2 > 3 last", expect![[r#"
            3 try: TQ-1 sends request 1 to all; request → all
            2 receives request from 3: TQ-2 stores request 1 of 3
            2 receives token from 1: TQ-3 has the token, which its client no longer wants; TQ-5 passes the token to 3; token → 3
            3 receives token from 2: TQ-3 has the token; ENTERS (fence 0.1)
        "#]]);

    /// The token arrives at node 2, which no longer wants it: node 3 goes first, and node 4 is
    /// denied.
    tq_6_a_try_behind_another_request_is_denied(
        of 4, "2 acquire; 2 > 1; 2 cancel; 3 acquire | 4 try; 3 > 2; 4 > 2; 1 > 2; 2 > 4 last", expect![[r#"
            4 try: TQ-1 sends request 1 to all; request → all
            2 receives request from 3: TQ-2 stores request 1 of 3
            2 receives request from 4: TQ-2 stores request 1 of 4
            2 receives token from 1: TQ-3 has the token, which its client no longer wants; TQ-6 denies request 1 of 4; denied → 4; TQ-5 passes the token to 3; token → 3
            4 receives denied from 2: denied
        "#]]);

    /// Node 3 receives the try after it was denied, and has the token that records this.
    tq_6_a_denied_try_is_denied_once(
        "1 acquire; 2 try | 2 > 1; 1 > 2; 3 acquire; 3 > 1; 1 release; 1 > 3; 2 > 3; 3 release", expect![[r#"
            1 receives request from 2: TQ-2 stores request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
            2 receives denied from 1: denied
            3 acquire: TQ-1 sends request 1 to all; request → all
            1 receives request from 3: TQ-2 stores request 1 of 3
            1 release: LEAVES; TQ-4 passes the token to 3; token → 3
            3 receives token from 1: TQ-3 has the token; ENTERS (fence 0.2)
            3 receives request from 2: TQ-2 ignores request 1 of 2
            3 release: LEAVES; TQ-4 keeps the token: no request is pending
        "#]]);

    tq_6_the_denial_of_a_cancelled_try_has_no_effect(
        "1 acquire; 2 try; 2 > 1; 2 cancel | 2 try; 1 > 2; 2 > 1 last; 1 > 2", expect![[r#"
            2 try: TQ-1 sends request 2 to all; request → all
            2 receives denied from 1: TQ-6 ignores a denial of request 1
            1 receives request from 2: TQ-2 stores request 2 of 2; TQ-6 denies request 2 of 2; denied → 2
            2 receives denied from 1: denied
        "#]]);

    /// Node 3 believes that it is a member; nodes 1 and 2 know that it is not.
    tq_2_a_request_of_a_nonmember_is_ignored(by with_a_nonmember(TokenRequest::new), "3 acquire; 3 > 1", expect![[r#"
        3 acquire: TQ-1 sends request 1 to all; request → all
        1 receives request from 3: TQ-2 ignores request 1 of 3
    "#]]);
}
