//! Tests of the rules of Ricart–Agrawala modulo 2n−1: at least one script per rule. In a script,
//! `1 > 2` delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and
//! `1 > 2 as 3` the oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a
//! script sets the group size. Traces omit the steps before `|` and those without effect (see
//! `crate::mutex::rules`). In a trace, `(2, 3)` is a request of node 3 with the number 2. The
//! algorithm has no fences, so every entry has `fence 0.0`.

mod all_runs;

use super::RicartAgrawalaModulo;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { RicartAgrawalaModulo::new, 3;
    rm_1_a_requesting_node_sends_a_numbered_request_to_all_others("1 acquire", expect![[r#"
        1 acquire: RM-1 requests entry with (1, 1); request → all
    "#]]);

    /// On the circle of three, 0 follows 2.
    rm_1_numbers_wrap_around(
        of 2, "1 acquire; rest; 1 release; 1 acquire; rest; 1 release | 1 acquire; rest; 1 release; 2 acquire;
               rest", expect![[r#"
                   1 acquire: RM-1 requests entry with (0, 1); request → all
                   2 receives request from 1: RM-2 replies to (0, 1); reply → 1
                   1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
                   1 release: LEAVES
                   2 acquire: RM-1 requests entry with (1, 2); request → all
                   1 receives request from 2: RM-2 replies to (1, 2); reply → 2
                   2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
               "#]]);

    rm_1_a_node_that_received_a_request_numbers_its_own_as_younger("3 acquire; 3 > 2; 2 acquire", expect![[r#"
        3 acquire: RM-1 requests entry with (1, 3); request → all
        2 receives request from 3: RM-2 replies to (1, 3); reply → 3
        2 acquire: RM-1 requests entry with (2, 2); request → all
    "#]]);

    /// Node 3 replies after it has made its request (2, 3), but the reply carries no clock. So the
    /// next request of 1 has an equal number, and goes first.
    rm_1_a_reply_does_not_advance_the_number_of_the_next_request(
        "2 acquire; 2 > 3; 3 acquire; 1 acquire; 1 > 2; 1 > 3; 2 > 1 last; 3 > 1 last; 1 release | 1 acquire; rest;
         2 release; rest", expect![[r#"
             1 acquire: RM-1 requests entry with (2, 1); request → all
             1 receives request from 2: RM-2 replies to (1, 2); reply → 2
             1 receives request from 3: RM-2 defers (2, 3): ours (2, 1) goes first
             2 receives request from 3: RM-2 defers (2, 3): ours (1, 2) goes first
             2 receives request from 1: RM-2 defers (2, 1): ours (1, 2) goes first
             3 receives request from 1: RM-2 replies to (2, 1); reply → 1
             2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
             2 release: LEAVES; RM-4 sends its deferred reply to 1; reply → 1; RM-4 sends its deferred reply to 3; reply → 3
             1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
         "#]]);

    rm_2_an_idle_node_replies_to_a_request("1 acquire; 1 > 2", expect![[r#"
        1 acquire: RM-1 requests entry with (1, 1); request → all
        2 receives request from 1: RM-2 replies to (1, 1); reply → 1
    "#]]);

    rm_2_the_holder_defers_a_request("1 acquire; rest | 2 acquire; 2 > 1", expect![[r#"
        2 acquire: RM-1 requests entry with (2, 2); request → all
        1 receives request from 2: RM-2 defers (2, 2): we are in the critical section
    "#]]);

    /// Node 2 received the request of 3 before it made its own, so its own is younger, though its
    /// node id is lower.
    rm_2_of_two_requests_the_older_goes_first(
        "3 acquire; 3 > 2; 2 acquire; 2 > 3 | 3 > 1; 2 > 1; rest; 3 release; rest", expect![[r#"
            1 receives request from 3: RM-2 replies to (1, 3); reply → 3
            1 receives request from 2: RM-2 replies to (2, 2); reply → 2
            3 receives request from 2: RM-2 defers (2, 2): ours (1, 3) goes first
            3 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            3 release: LEAVES; RM-4 sends its deferred reply to 2; reply → 2
            2 receives reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    /// The request (2, 1) is older than (0, 2), which node 2 makes after it has received the
    /// former.
    rm_2_the_older_of_two_requests_may_have_the_larger_number(
        of 2, "1 acquire; rest; 1 release; 1 acquire; 1 > 2 | 2 acquire; 2 > 1 last; rest; 1 release;
               rest", expect![[r#"
                   2 acquire: RM-1 requests entry with (0, 2); request → all
                   1 receives request from 2: RM-2 defers (0, 2): ours (2, 1) goes first
                   1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
                   1 release: LEAVES; RM-4 sends its deferred reply to 2; reply → 2
                   2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
               "#]]);

    rm_2_of_two_requests_with_equal_numbers_the_lower_node_goes_first(
        "1 acquire; 2 acquire | 1 > 2; 2 > 1", expect![[r#"
            2 receives request from 1: RM-2 replies to (1, 1); reply → 1
            1 receives request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
        "#]]);

    rm_3_a_node_with_all_answers_enters("1 acquire; 1 > 2; 1 > 3 | 3 > 1; 2 > 1", expect![[r#"
        1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    rm_3_the_reply_of_a_nonmember_does_not_count("1 acquire; 1 > 2; 1 > 3 | 2 > 1 as 9; 3 > 1", expect![[r#"
        1 receives reply from 9: RM-3 ignores a reply of 9, from which it expects no answer
    "#]]);

    rm_3_a_second_reply_of_a_node_does_not_count("1 acquire; 1 > 2; 1 > 3 | 2 > 1; 3 > 1 as 2", expect![[r#"
        1 receives reply from 2: RM-3 ignores a reply of 2, from which it expects no answer
    "#]]);

    rm_4_a_release_sends_all_deferred_replies(
        "1 acquire; rest; 2 acquire | 3 acquire; 2 > 1; 3 > 1; 1 release; rest; 2 release; rest", expect![[r#"
            3 acquire: RM-1 requests entry with (2, 3); request → all
            1 receives request from 2: RM-2 defers (2, 2): we are in the critical section
            1 receives request from 3: RM-2 defers (2, 3): we are in the critical section
            1 release: LEAVES; RM-4 sends its deferred reply to 2; reply → 2; RM-4 sends its deferred reply to 3; reply → 3
            3 receives request from 2: RM-2 replies to (2, 2); reply → 2
            2 receives request from 3: RM-2 defers (2, 3): ours (2, 2) goes first
            2 receives reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 release: LEAVES; RM-4 sends its deferred reply to 3; reply → 3
            3 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RM-1 requests entry with (0, 1); RM-3 has every reply; ENTERS (fence 0.0)
        1 try: refused: already in the critical section
        1 release: LEAVES
        1 try: RM-6 sends a try to all; RM-3 has every reply; ENTERS (fence 0.0)
        1 cancel: refused: already in the critical section
        1 release: LEAVES
    "#]]);

    // Cancelled requests.

    /// Node 2 waits until the cancelled request has all replies. The cancelled request waits only
    /// for nodes that would go before 2 as well.
    rm_5_a_cancelled_request_stays_pending_until_all_have_answered(
        "1 acquire; 2 acquire; 2 > 1 | 2 > 3; 3 > 2; 1 cancel; rest", expect![[r#"
            3 receives request from 2: RM-2 replies to (1, 2); reply → 2
            1 cancel: cancelled; RM-5 will be idle when all have answered
            2 receives request from 1: RM-2 replies to (1, 1); reply → 1
            3 receives request from 1: RM-2 replies to (1, 1); reply → 1
            1 receives reply from 3: RM-3 sends its deferred reply to 2; reply → 2
            2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_3_all_answers_to_a_cancelled_request_release_the_deferred_ones(
        of 2, "1 acquire; 2 acquire; 2 > 1; 1 cancel; 1 > 2 | 2 > 1; 1 > 2", expect![[r#"
            1 receives reply from 2: RM-3 sends its deferred reply to 2; reply → 2
            2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_1_a_node_that_cancelled_requests_again_when_all_have_answered(
        "1 acquire; 1 cancel; 1 acquire | 1 acquire; 1 try; rest", expect![[r#"
            1 acquire: refused: a request is already pending
            1 try: refused: a request is already pending
            2 receives request from 1: RM-2 replies to (1, 1); reply → 1
            3 receives request from 1: RM-2 replies to (1, 1); reply → 1
            1 receives reply from 3: RM-1 requests entry with (2, 1); request → all
            2 receives request from 1: RM-2 replies to (2, 1); reply → 1
            3 receives request from 1: RM-2 replies to (2, 1); reply → 1
            1 receives reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    /// Node 2 requested while the cancelled request of 1 was pending, and goes before the new one.
    rm_1_a_node_that_cancels_and_requests_again_loses_its_position(
        of 2, "1 acquire; 2 acquire; 1 cancel; 1 acquire | rest; 2 release; rest", expect![[r#"
            2 receives request from 1: RM-2 replies to (1, 1); reply → 1
            1 receives request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
            1 receives reply from 2: RM-3 sends its deferred reply to 2; reply → 2; RM-1 requests entry with (2, 1); request → all
            2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 receives request from 1: RM-2 defers (2, 1): we are in the critical section
            2 release: LEAVES; RM-4 sends its deferred reply to 1; reply → 1
            1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]]);

    rm_5_a_cancelled_request_that_is_not_sent_yet_is_never_sent(
        of 2, "1 acquire; 1 cancel; 1 acquire | 1 cancel; 1 cancel; rest; 1 cancel", expect![[r#"
            1 cancel: cancelled; RM-5 will be idle when all have answered
            1 cancel: refused: no request is pending
            2 receives request from 1: RM-2 replies to (1, 1); reply → 1
            1 cancel: refused: no request is pending
        "#]]);

    /// If node 1 replied to node 2, node 2 could enter three times, with the numbers 1, 2 and 0,
    /// before it receives (1, 1). On the circle of three, 1 is later than 0, so the next
    /// request of node 2 would have the number 2. But node 1, also at 0, would treat 2 as earlier.
    rm_5_numbers_do_not_move_too_far_from_a_cancelled_request(of 2, "1 acquire; 1 cancel; 2 acquire; 2 > 1; rest", expect![[r#"
        1 acquire: RM-1 requests entry with (1, 1); request → all
        1 cancel: cancelled; RM-5 will be idle when all have answered
        2 acquire: RM-1 requests entry with (1, 2); request → all
        1 receives request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
        2 receives request from 1: RM-2 replies to (1, 1); reply → 1
        1 receives reply from 2: RM-3 sends its deferred reply to 2; reply → 2
        2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    // Tries.

    rm_6_a_trying_node_sends_a_try_without_a_number("1 try; rest; 2 acquire; 2 > 1; 1 release", expect![[r#"
        1 try: RM-6 sends a try to all; try → all
        2 receives try from 1: RM-7 replies to the try of 1; reply → 1
        3 receives try from 1: RM-7 replies to the try of 1; reply → 1
        1 receives reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        2 acquire: RM-1 requests entry with (1, 2); request → all
        1 receives request from 2: RM-2 defers (1, 2): we are in the critical section
        1 release: LEAVES; RM-4 sends its deferred reply to 2; reply → 2
    "#]]);

    rm_6_a_try_is_denied_at_once_while_an_earlier_question_is_pending(
        of 2, "1 acquire; 1 cancel; 1 try; rest; 1 try; 1 cancel | 1 try; rest; 1 try", expect![[r#"
            1 try: RM-6 cannot try before all have answered its last request or try; denied
            2 receives try from 1: RM-7 replies to the try of 1; reply → 1
            1 try: RM-6 sends a try to all; try → all
        "#]]);

    rm_7_the_holder_denies_a_try(
        "1 acquire; rest; 2 try | 2 > 3; 2 > 1; 1 > 2; 3 > 2; 1 release", expect![[r#"
            3 receives try from 2: RM-7 replies to the try of 2; reply → 2
            1 receives try from 2: RM-7 denies the try of 2; denied → 2
            2 receives denied from 1: denied
            1 release: LEAVES
        "#]]);

    rm_7_a_waiting_node_denies_a_try("1 acquire; 2 try; 2 > 1", expect![[r#"
        1 acquire: RM-1 requests entry with (1, 1); request → all
        2 try: RM-6 sends a try to all; try → all
        1 receives try from 2: RM-7 denies the try of 2; denied → 2
    "#]]);

    rm_7_a_node_that_cancelled_replies_to_a_try(
        of 2, "1 acquire; 1 cancel; 2 try | 2 > 1; 1 > 2 last; 1 > 2; 2 release; rest", expect![[r#"
            1 receives try from 2: RM-7 replies to the try of 2; reply → 2
            2 receives reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 receives request from 1: RM-2 defers (1, 1): we are in the critical section
            2 release: LEAVES; RM-4 sends its deferred reply to 1; reply → 1
        "#]]);

    /// The request is not sent yet, but the client waits.
    rm_7_a_node_that_cancelled_and_requested_again_denies_a_try(
        of 2, "1 acquire; 1 cancel | 1 acquire; 2 try; 2 > 1", expect![[r#"
            1 acquire: RM-1 will request entry when all have answered its last request or try
            2 try: RM-6 sends a try to all; try → all
            1 receives try from 2: RM-7 denies the try of 2; denied → 2
        "#]]);

    rm_7_of_two_tries_that_of_the_lower_node_enters(of 2, "1 try; 2 try; rest", expect![[r#"
        1 try: RM-6 sends a try to all; try → all
        2 try: RM-6 sends a try to all; try → all
        2 receives try from 1: RM-7 replies to the try of 1; reply → 1; RM-8 gives way to 1; denied
        1 receives try from 2: RM-7 denies the try of 2; denied → 2
        1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    /// The reply of 1 to the try is in transit when 1 requests. If 2 did not give way, both would
    /// enter.
    rm_8_a_try_gives_way_to_a_request(of 2, "2 try; 2 > 1; 1 acquire | 1 > 2 last; rest", expect![[r#"
        2 receives request from 1: RM-2 replies to (1, 1); reply → 1; RM-8 gives way to 1; denied
        1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    rm_8_a_try_gives_way_to_the_try_of_a_lower_node(of 2, "2 try; 2 > 1; 1 try | 1 > 2 last; rest", expect![[r#"
        2 receives try from 1: RM-7 replies to the try of 1; reply → 1; RM-8 gives way to 1; denied
        1 receives reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
    "#]]);

    /// The first of two denials ends the try. The node sends its next request only after the second
    /// denial.
    rm_8_a_denied_try_ends_but_its_answers_are_awaited(
        "1 acquire; 2 acquire; 3 try; 3 > 1 | 3 > 2; 1 > 3 last; 3 acquire; 2 > 3 last", expect![[r#"
            2 receives try from 3: RM-7 denies the try of 3; denied → 3
            3 receives denied from 1: denied
            3 acquire: RM-1 will request entry when all have answered its last request or try
            3 receives denied from 2: RM-1 requests entry with (1, 3); request → all
        "#]]);

    rm_8_the_denial_of_a_nonmember_does_not_count("1 acquire; rest | 3 try; 3 > 1; 1 > 3 as 9", expect![[r#"
        3 try: RM-6 sends a try to all; try → all
        1 receives try from 3: RM-7 denies the try of 3; denied → 3
        3 receives denied from 9: RM-8 ignores a denial of 9, from which it expects no answer to a try
    "#]]);

    rm_5_a_try_can_be_cancelled(of 2, "1 try; 1 cancel; rest; 1 try", expect![[r#"
        1 try: RM-6 sends a try to all; try → all
        1 cancel: cancelled; RM-5 will be idle when all have answered
        2 receives try from 1: RM-7 replies to the try of 1; reply → 1
        1 try: RM-6 sends a try to all; try → all
    "#]]);
}
