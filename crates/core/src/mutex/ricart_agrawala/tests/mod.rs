//! Tests of the rules of Ricart–Agrawala: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the
//! oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a script sets the
//! group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1`
//! has epoch 0 and counter 1.

use super::RicartAgrawala;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { RicartAgrawala::new, 3;
    ra_1_a_requesting_node_sends_a_stamped_request_to_all_others("1 acquire", expect![[r#"
        1 acquire: RA-1 requests entry with (1, 1); request → all
    "#]]);

    ra_1_a_node_that_received_a_request_stamps_its_own_as_younger(
        "3 acquire; 3 cancel; 3 acquire; 3 > 2 last; 2 acquire", expect![[r#"
            3 acquire: RA-1 requests entry with (1, 3); request → all
            3 cancel: cancelled
            3 acquire: RA-1 requests entry with (2, 3); request → all
            2 receives request from 3: RA-2 replies to (2, 3); reply → 3
            2 acquire: RA-1 requests entry with (3, 2); request → all
        "#]]);

    /// Node 1 receives no message of 3. The clock in the reply of 2 covers the request (2, 3), so
    /// the request that node 1 makes afterwards does not look older.
    ra_1_a_node_that_learned_of_a_request_by_a_reply_stamps_its_own_as_younger(
        "3 acquire; 3 cancel; 3 acquire; 3 > 2 last; 1 acquire; 1 > 2; 2 > 1 | 1 cancel; 1 acquire", expect![[r#"
            1 cancel: cancelled
            1 acquire: RA-1 requests entry with (3, 1); request → all
        "#]]);

    ra_2_an_idle_node_replies_to_a_request("1 acquire; 1 > 2", expect![[r#"
        1 acquire: RA-1 requests entry with (1, 1); request → all
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
    "#]]);

    ra_2_the_holder_defers_a_request("1 acquire; rest; 2 acquire; 2 > 1", expect![[r#"
        1 acquire: RA-1 requests entry with (1, 1); request → all
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
        3 receives request from 1: RA-2 replies to (1, 1); reply → 1
        1 receives reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
        2 acquire: RA-1 requests entry with (2, 2); request → all
        1 receives request from 2: RA-2 defers (2, 2): ours (1, 1) goes first
    "#]]);

    /// Node 2 received the request of 3 before it made its own, so its own is younger, though its
    /// node id is lower.
    ra_2_of_two_requests_the_older_goes_first(
        "3 acquire; 3 > 2; 2 acquire; 2 > 3; 3 > 1; 2 > 1; rest; 3 release; rest", expect![[r#"
            3 acquire: RA-1 requests entry with (1, 3); request → all
            2 receives request from 3: RA-2 replies to (1, 3); reply → 3
            2 acquire: RA-1 requests entry with (2, 2); request → all
            1 receives request from 3: RA-2 replies to (1, 3); reply → 3
            1 receives request from 2: RA-2 replies to (2, 2); reply → 2
            3 receives request from 2: RA-2 defers (2, 2): ours (1, 3) goes first
            3 receives reply from 1: RA-3 has every reply to (1, 3); ENTERS (fence 0.1)
            3 release: LEAVES; RA-4 sends its deferred reply to (2, 2); reply → 2
            2 receives reply from 3: RA-3 has every reply to (2, 2); ENTERS (fence 0.2)
        "#]]);

    ra_2_of_two_requests_with_equal_clocks_the_lower_node_goes_first("1 acquire; 2 acquire | 1 > 2; 2 > 1", expect![[r#"
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
        1 receives request from 2: RA-2 defers (1, 2): ours (1, 1) goes first
    "#]]);

    ra_2_a_request_in_the_name_of_another_is_ignored("1 acquire; 1 > 2 as 3", expect![[r#"
        1 acquire: RA-1 requests entry with (1, 1); request → all
        2 receives request from 3: RA-2 ignores a request of 1 that came from 3
    "#]]);

    ra_3_a_node_with_all_replies_enters("1 acquire; 1 > 2; 1 > 3 | 3 > 1; 2 > 1", expect![[r#"
        1 receives reply from 2: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
    "#]]);

    ra_3_the_reply_of_a_nonmember_does_not_count("1 acquire; 1 > 2; 1 > 3 | 2 > 1 as 9; 3 > 1", expect![[r#"
        nothing
    "#]]);

    ra_4_a_release_sends_all_deferred_replies(
        "1 acquire; rest; 2 acquire; 3 acquire; 2 > 1 | 3 > 1; 1 release; rest; 2 release; rest", expect![[r#"
            1 receives request from 3: RA-2 defers (2, 3): ours (1, 1) goes first
            1 release: LEAVES; RA-4 sends its deferred reply to (2, 2); reply → 2; RA-4 sends its deferred reply to (2, 3); reply → 3
            3 receives request from 2: RA-2 replies to (2, 2); reply → 2
            2 receives request from 3: RA-2 defers (2, 3): ours (2, 2) goes first
            2 receives reply from 3: RA-3 has every reply to (2, 2); ENTERS (fence 0.2)
            2 release: LEAVES; RA-4 sends its deferred reply to (2, 3); reply → 3
            3 receives reply from 2: RA-3 has every reply to (2, 3); ENTERS (fence 0.3)
        "#]]);

    a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RA-1 requests entry with (1, 1); RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
        1 try: refused: already in the critical section
        1 release: LEAVES
        1 try: RA-1 requests entry with (2, 1); RA-3 has every reply to (2, 1); ENTERS (fence 0.2)
        1 cancel: refused: already in the critical section
        1 release: LEAVES
    "#]]);

    // Cancelled requests and tries.

    /// A request that is older than ours arrives while we are in the critical section only if it
    /// was cancelled meanwhile.
    ra_2_the_holder_defers_even_an_older_request(
        of 2, "1 acquire; 1 cancel; 2 acquire; 2 > 1; 1 > 2 last | 1 > 2; 2 release; rest", expect![[r#"
            2 receives request from 1: RA-2 defers (1, 1): ours (1, 2) goes first
            2 release: LEAVES; RA-4 sends its deferred reply to (1, 1); reply → 1
            1 receives reply from 2: RA-3 ignores a reply to (1, 1): that request is not pending
        "#]]);

    /// Both replies to the cancelled request (1, 1) arrive while 2 is in the critical section. If
    /// they counted, 1 would enter too.
    ra_3_late_replies_to_a_cancelled_request_do_not_admit_the_next_one(
        "1 acquire; 1 > 2; 1 > 3; 1 cancel; 2 acquire; 2 > 1 last; 2 > 3; 1 > 2 | 3 > 2; 1 acquire; 2 > 1; 3 > 1; 1 > 2;
         1 > 3; 3 > 1; 2 release; 2 > 1", expect![[r#"
             2 receives reply from 3: RA-3 has every reply to (2, 2); ENTERS (fence 0.1)
             1 acquire: RA-1 requests entry with (3, 1); request → all
             1 receives reply from 2: RA-3 ignores a reply to (1, 1): that request is not pending
             1 receives reply from 3: RA-3 ignores a reply to (1, 1): that request is not pending
             2 receives request from 1: RA-2 defers (3, 1): ours (2, 2) goes first
             3 receives request from 1: RA-2 replies to (3, 1); reply → 1
             2 release: LEAVES; RA-4 sends its deferred reply to (3, 1); reply → 1
             1 receives reply from 2: RA-3 has every reply to (3, 1); ENTERS (fence 0.2)
         "#]]);

    ra_3_a_reply_may_overtake_the_reply_to_a_cancelled_request(
        of 2, "1 acquire; 1 cancel; 1 acquire; 1 > 2; 1 > 2 | 2 > 1 last; 2 > 1", expect![[r#"
            1 receives reply from 2: RA-3 has every reply to (2, 1); ENTERS (fence 0.1)
            1 receives reply from 2: RA-3 ignores a reply to (1, 1): that request is not pending
        "#]]);

    /// The reply to the cancelled request arrives when 1 is already in the critical section with
    /// the next one.
    ra_3_a_request_may_overtake_a_cancelled_request(
        of 2, "1 acquire; 1 cancel; 1 acquire | 1 > 2 last; 2 > 1; 1 > 2; 2 > 1", expect![[r#"
            2 receives request from 1: RA-2 replies to (2, 1); reply → 1
            1 receives reply from 2: RA-3 has every reply to (2, 1); ENTERS (fence 0.1)
            2 receives request from 1: RA-2 replies to (1, 1); reply → 1
            1 receives reply from 2: RA-3 ignores a reply to (1, 1): that request is not pending
        "#]]);

    ra_5_a_cancellation_sends_all_deferred_replies(
        "1 acquire; 2 acquire; 2 > 1; 2 > 3 | 3 > 2; 1 cancel; 1 > 2 last", expect![[r#"
            1 cancel: cancelled; RA-5 sends its deferred reply to (1, 2); reply → 2
            2 receives reply from 1: RA-3 has every reply to (1, 2); ENTERS (fence 0.1)
        "#]]);

    /// Node 2 owes a reply to both requests of 1, and sends both; only the second one admits.
    ra_5_a_node_that_cancels_and_requests_again_may_be_deferred_twice(
        of 2, "2 acquire; rest; 1 acquire; 1 cancel; 1 acquire; rest; 2 release; rest", expect![[r#"
            2 acquire: RA-1 requests entry with (1, 2); request → all
            1 receives request from 2: RA-2 replies to (1, 2); reply → 2
            2 receives reply from 1: RA-3 has every reply to (1, 2); ENTERS (fence 0.1)
            1 acquire: RA-1 requests entry with (2, 1); request → all
            1 cancel: cancelled
            1 acquire: RA-1 requests entry with (3, 1); request → all
            2 receives request from 1: RA-2 defers (2, 1): ours (1, 2) goes first
            2 receives request from 1: RA-2 defers (3, 1): ours (1, 2) goes first
            2 release: LEAVES; RA-4 sends its deferred reply to (2, 1); reply → 1; RA-4 sends its deferred reply to (3, 1); reply → 1
            1 receives reply from 2: RA-3 ignores a reply to (2, 1): that request is not pending
            1 receives reply from 2: RA-3 has every reply to (3, 1); ENTERS (fence 0.2)
        "#]]);

    ra_6_a_try_is_denied_by_the_holder(
        "1 acquire; rest; 2 try; 2 > 3 | 2 > 1; 1 > 2; 3 > 2; 1 release", expect![[r#"
            1 receives request from 2: RA-6 denies (2, 2); denied → 2
            2 receives denied from 1: denied
            2 receives reply from 3: RA-3 ignores a reply to (2, 2): that request is not pending
            1 release: LEAVES
        "#]]);

    ra_6_a_try_is_denied_by_an_older_request_and_permitted_by_a_younger_one(
        "1 acquire; 2 try; 3 acquire | 2 > 3; 2 > 1", expect![[r#"
            3 receives request from 2: RA-2 replies to (1, 2); reply → 2
            1 receives request from 2: RA-6 denies (1, 2); denied → 2
        "#]]);

    ra_6_a_denied_try_sends_all_deferred_replies(
        "1 acquire; 2 try; 3 acquire | 3 > 2; 2 > 1; 1 > 2 last", expect![[r#"
            2 receives request from 3: RA-2 defers (1, 3): ours (1, 2) goes first
            1 receives request from 2: RA-6 denies (1, 2); denied → 2
            2 receives denied from 1: denied; RA-6 sends its deferred reply to (1, 3); reply → 3
        "#]]);

    /// The first of two denials ends the try; neither ends the request that follows.
    ra_6_a_late_denial_has_no_effect(
        "1 acquire; 2 acquire | 3 try; 3 > 1; 3 > 2; 1 > 3 last; 3 acquire; 2 > 3 last", expect![[r#"
            3 try: RA-1 requests entry with (1, 3); request → all
            1 receives request from 3: RA-6 denies (1, 3); denied → 3
            2 receives request from 3: RA-6 denies (1, 3); denied → 3
            3 receives denied from 1: denied
            3 acquire: RA-1 requests entry with (2, 3); request → all
        "#]]);

    /// Node 2 receives no message of 3. The clock in the denial of 1 covers the request (3, 3).
    ra_6_a_node_that_learned_of_a_request_by_a_denial_stamps_its_own_as_younger(
        "1 acquire; rest; 3 acquire; 3 cancel | 3 acquire; 3 > 1 last; 2 try; 2 > 1; 1 > 2; 2 acquire", expect![[r#"
            3 acquire: RA-1 requests entry with (3, 3); request → all
            1 receives request from 3: RA-2 defers (3, 3): ours (1, 1) goes first
            2 try: RA-1 requests entry with (2, 2); request → all
            1 receives request from 2: RA-6 denies (2, 2); denied → 2
            2 receives denied from 1: denied
            2 acquire: RA-1 requests entry with (4, 2); request → all
        "#]]);

    ra_6_of_two_tries_one_enters(of 2, "1 try; 2 try; rest", expect![[r#"
        1 try: RA-1 requests entry with (1, 1); request → all
        2 try: RA-1 requests entry with (1, 2); request → all
        2 receives request from 1: RA-2 replies to (1, 1); reply → 1
        1 receives request from 2: RA-6 denies (1, 2); denied → 2
        1 receives reply from 2: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
        2 receives denied from 1: denied
    "#]]);
}
