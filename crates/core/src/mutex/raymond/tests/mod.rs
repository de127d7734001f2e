//! Tests of the rules of the token on a tree: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the
//! oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a script sets the
//! group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, `fence 0.1` has epoch 0 and counter 1.
//!
//! Node 1 is the root and has the token at first; 2 and 3 are its children; 4 and 5 are those of 2.

mod message_cost;
mod schedules;

use super::Raymond;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { Raymond::new, 5;
    ry_1_the_holder_enters_again_without_messages("1 acquire; 1 release | 1 acquire; 1 release", expect![[r#"
        1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        1 release: LEAVES; RY-6 no longer uses the token
    "#]]);

    ry_2_requests_of_many_go_up_the_same_branch_as_one(
        "1 acquire; 4 acquire; 4 > 2; 5 acquire | 5 > 2; 2 acquire; 2 > 1", expect![[r#"
            2 receives request from 5: RY-2 queues 5
            2 acquire: RY-1 queues 2
            1 receives request from 2: RY-2 queues 2
        "#]]);

    /// Node 3 is no neighbour of node 2. Node 5 sends one request, though its client requests
    /// twice.
    ry_2_only_neighbours_are_queued_and_each_once(
        "4 acquire; 4 > 2 as 3; 5 acquire; 5 > 2; 5 cancel; 5 acquire", expect![[r#"
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 receives request from 3: RY-2 ignores a request of 3
            5 acquire: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 receives request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            5 cancel: RY-7 leaves the queue; cancelled
            5 acquire: RY-1 queues 5
        "#]]);

    /// Only a faulty neighbour asks again while it is queued: here node 4 does so in the name of
    /// node 5.
    ry_2_a_neighbour_that_is_queued_is_not_queued_again("5 acquire; 5 > 2 | 4 acquire; 4 > 2 as 5", expect![[r#"
        4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
        2 receives request from 5: RY-2 ignores a request of 5
    "#]]);

    /// Exactly two messages for each edge between node 5 and the token; the next entry costs none.
    ry_3_the_token_follows_the_path_of_the_request_back(
        "5 acquire; 5 > 2; 2 > 1; 1 > 2; 2 > 5 | 5 release; 5 acquire", expect![[r#"
            5 release: LEAVES; RY-6 no longer uses the token
            5 acquire: RY-1 queues 5; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    ry_4_a_node_that_sends_the_token_away_asks_for_it_back_for_the_next(
        "1 acquire; 2 acquire; 2 > 1; 3 acquire; 3 > 1 | 1 release; 1 > 2; 1 > 2; 2 release; 2 > 1; 1 > 3", expect![[r#"
            1 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2; RY-4 asks 2 for the token; request → 2
            2 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            2 receives request from 1: RY-2 queues 1
            2 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 1; token → 1
            1 receives token from 2: RY-5 has the token; RY-3 sends the token to 3; token → 3
            3 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.3)
        "#]]);

    /// The request by which node 1 asks for the token back overtakes the token itself.
    ry_4_a_request_may_overtake_the_token(
        "1 acquire; 2 acquire; 2 > 1 | 3 acquire; 3 > 1; 1 release; 1 > 2 last; 1 > 2; 2 release; 2 > 1;
         1 > 3", expect![[r#"
             3 acquire: RY-1 queues 3; RY-4 asks 1 for the token; request → 1
             1 receives request from 3: RY-2 queues 3
             1 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2; RY-4 asks 2 for the token; request → 2
             2 receives request from 1: RY-2 queues 1
             2 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
             2 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 1; token → 1
             1 receives token from 2: RY-5 has the token; RY-3 sends the token to 3; token → 3
             3 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.3)
         "#]]);

    ry_5_only_the_asked_neighbour_can_send_the_token("2 acquire; 2 > 1; 1 > 2 as 4", expect![[r#"
        2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
        1 receives request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
        2 receives token from 4: RY-5 ignores an answer of 4, which it did not ask
    "#]]);

    ry_6_a_release_serves_the_queue_in_order(
        "2 acquire; rest; 5 acquire; rest; 4 acquire; rest; 1 acquire; rest | 2 release; rest; 5 release; rest;
         4 release; rest", expect![[r#"
             2 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 5; token → 5; RY-4 asks 5 for the token; request → 5
             5 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
             5 receives request from 2: RY-2 queues 2
             5 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
             2 receives token from 5: RY-5 has the token; RY-3 sends the token to 4; token → 4; RY-4 asks 4 for the token; request → 4
             4 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.3)
             4 receives request from 2: RY-2 queues 2
             4 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
             2 receives token from 4: RY-5 has the token; RY-3 sends the token to 1; token → 1
             1 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.4)
         "#]]);

    ry_6_a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 release | 1 try; 1 release", expect![[r#"
        1 try: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        1 release: LEAVES; RY-6 no longer uses the token
    "#]]);

    // Cancelled requests.

    ry_7_a_token_that_no_node_wants_any_more_stays(
        "4 acquire; 4 > 2 | 4 cancel; 2 > 1; 1 > 2; 2 > 4; 4 acquire; 4 release; 1 acquire; rest", expect![[r#"
            4 cancel: RY-7 leaves the queue; cancelled
            1 receives request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 receives token from 1: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 receives token from 2: RY-5 has the token
            4 acquire: RY-1 queues 4; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            4 release: LEAVES; RY-6 no longer uses the token
            1 acquire: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 receives request from 1: RY-2 queues 1; RY-4 asks 4 for the token; request → 4
            4 receives request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 receives token from 4: RY-5 has the token; RY-3 sends the token to 1; token → 1
            1 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    ry_7_a_node_that_cancels_and_requests_again_sends_no_second_request("2 acquire; 2 cancel; 2 acquire; 2 > 1; 1 > 2", expect![[r#"
        2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
        2 cancel: RY-7 leaves the queue; cancelled
        2 acquire: RY-1 queues 2
        1 receives request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
        2 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
    "#]]);

    ry_7_requests_behind_a_cancelled_one_are_served(
        "1 acquire; 2 acquire; 4 acquire | 4 > 2; 2 > 1; 2 cancel; 1 release; rest", expect![[r#"
            2 receives request from 4: RY-2 queues 4
            1 receives request from 2: RY-2 queues 2
            2 cancel: RY-7 leaves the queue; cancelled
            1 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
            2 receives token from 1: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    ry_7_a_request_that_overtakes_an_unwanted_token_sends_it_back(
        "1 acquire; 2 acquire; 2 > 1 | 2 cancel; 1 release; 1 acquire; 1 > 2 last; 1 > 2; 2 > 1", expect![[r#"
            2 cancel: RY-7 leaves the queue; cancelled
            1 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
            1 acquire: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 receives request from 1: RY-2 queues 1
            2 receives token from 1: RY-5 has the token; RY-3 sends the token to 1; token → 1
            1 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    // Tries.

    ry_8_a_try_gets_an_unused_token("5 try; rest", expect![[r#"
        5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
        2 receives request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
        1 receives request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
        2 receives token from 1: RY-5 has the token; RY-3 sends the token to 5; token → 5
        5 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
    "#]]);

    ry_8_a_try_is_denied_at_once_by_a_non_empty_queue("1 acquire; 4 acquire | 4 > 2; 2 try", expect![[r#"
        2 receives request from 4: RY-2 queues 4; RY-4 asks 1 for the token; request → 1
        2 try: RY-8 denies 2; denied
    "#]]);

    /// The pending request of node 2 is not a try, so no node denies it. A try behind it would have
    /// to wait until the holder releases.
    ry_8_a_try_is_denied_behind_a_cancelled_request(
        "1 acquire; 2 acquire; 2 cancel; 2 try | 4 try; 4 > 2; 2 > 4", expect![[r#"
            4 try: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 receives request from 4: RY-8 denies 4; denied → 4
            4 receives denied from 2: RY-8 denies 4; denied
        "#]]);

    ry_8_the_holder_denies_a_try_and_the_denial_follows_the_path_back(
        "1 acquire; 5 try; 5 > 2; 2 > 1 | 1 > 2; 2 > 5", expect![[r#"
            2 receives denied from 1: RY-8 denies 5; denied → 5
            5 receives denied from 2: RY-8 denies 5; denied
        "#]]);

    ry_8_a_node_on_the_path_with_a_non_empty_queue_denies_a_try(
        "1 acquire; 4 acquire; 4 > 2; 5 try | 5 > 2; 2 > 5", expect![[r#"
            2 receives request from 5: RY-8 denies 5; denied → 5
            5 receives denied from 2: RY-8 denies 5; denied
        "#]]);

    ry_8_requests_behind_a_denied_try_ask_again(
        "1 acquire; 5 try; 5 > 2; 4 acquire; 4 > 2; 2 > 1 | 1 > 2; 2 > 5; 2 > 1; 1 release; 1 > 2; 2 > 4", expect![[r#"
            2 receives denied from 1: RY-8 denies 5; denied → 5; RY-4 asks 1 for the token; request → 1
            5 receives denied from 2: RY-8 denies 5; denied
            1 receives request from 2: RY-2 queues 2
            1 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
            2 receives token from 1: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    ry_8_requests_behind_an_admitted_try_ask_for_the_token_back(
        "5 try; 5 > 2; 4 acquire; 4 > 2; 2 > 1 | 1 > 2; 2 > 5; 2 > 5; 5 release; rest", expect![[r#"
            2 receives token from 1: RY-5 has the token; RY-3 sends the token to 5; token → 5; RY-4 asks 5 for the token; request → 5
            5 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 receives request from 2: RY-2 queues 2
            5 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
            2 receives token from 5: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 receives token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    ry_8_the_denial_of_a_cancelled_try_makes_the_next_request_ask_again(
        "1 acquire; 2 try; 2 cancel; 2 acquire | 2 > 1; 1 > 2; 2 > 1; 1 release; 1 > 2", expect![[r#"
            1 receives request from 2: RY-8 denies 2; denied → 2
            2 receives denied from 1: RY-4 asks 1 for the token; request → 1
            1 receives request from 2: RY-2 queues 2
            1 release: LEAVES; RY-6 no longer uses the token; RY-3 sends the token to 2; token → 2
            2 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]]);

    ry_8_the_denial_of_a_cancelled_try_denies_the_next_try(
        "1 acquire; 2 try; 2 cancel; 2 try; 2 > 1; 1 > 2", expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 try: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            2 cancel: RY-7 leaves the queue; cancelled
            2 try: RY-1 queues 2
            1 receives request from 2: RY-8 denies 2; denied → 2
            2 receives denied from 1: RY-8 denies 2; denied
        "#]]);

    ry_8_a_try_that_overtakes_the_token_is_denied_by_a_waiting_node(
        "1 acquire; 2 acquire; 2 > 1; 1 release | 1 try; 1 > 2 last; 1 > 2; 2 > 1", expect![[r#"
            1 try: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 receives request from 1: RY-8 denies 1; denied → 1
            2 receives token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            1 receives denied from 2: RY-8 denies 1; denied
        "#]]);

    /// Node 5 cannot deny a request that was sent to node 1.
    ry_8_only_the_asked_neighbour_can_deny("1 acquire; 5 try; 5 > 2 | 2 > 1; 2 acquire; 1 > 2 as 5", expect![[r#"
        1 receives request from 2: RY-8 denies 2; denied → 2
        2 acquire: RY-1 queues 2
        2 receives denied from 5: RY-5 ignores an answer of 5, which it did not ask
    "#]]);
}
