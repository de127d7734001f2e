//! Tests of the rules of Lamport's algorithm: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, and `1 > 2 as 3` delivers it as if node 3 had
//! sent it; `rest` delivers all messages; `of 2` before a script sets the group size. Traces omit
//! the steps before `|` and those without effect (see `crate::mutex::rules`). In a trace, the stamp
//! `(3, 2)` has clock 3 and node 2, and `fence 0.1` has epoch 0 and counter 1.

use super::Lamport;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { Lamport::new, 3;
    la_1_a_requesting_node_queues_its_request_and_sends_it_to_all("1 acquire", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and sends it to all; request → all
    "#]]);

    la_1_a_new_request_is_younger_than_all_received_ones("1 acquire; 1 > 2; 2 acquire | 2 > 3; 3 acquire", expect![[r#"
        3 receives request from 2: LA-2 queues (3, 2); reply → 2
        3 acquire: LA-1 queues (5, 3) and sends it to all; request → all
    "#]]);

    la_2_a_waiting_node_and_the_holder_queue_and_answer_requests_too(
        "1 acquire; rest; 2 acquire; 3 acquire | 2 > 1; 2 > 3", expect![[r#"
            1 receives request from 2: LA-2 queues (3, 2); reply → 2
            3 receives request from 2: LA-2 queues (3, 2); reply → 2
        "#]]);

    la_2_a_request_in_the_name_of_another_is_ignored("1 acquire; 1 > 2 as 3", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and sends it to all; request → all
        2 receives request from 3: LA-2 ignores a request of 1 that came from 3
    "#]]);

    la_3_the_first_enters_once_a_later_stamp_has_arrived_from_every_peer("1 acquire; rest", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and sends it to all; request → all
        2 receives request from 1: LA-2 queues (1, 1); reply → 1
        3 receives request from 1: LA-2 queues (1, 1); reply → 1
        1 receives reply from 3: LA-3 is first with (1, 1); ENTERS (fence 0.1)
    "#]]);

    /// Both requests have the same clock, and the node numbers decide: the request of 2 is later
    /// than the request of 1, so 1 need not wait for the reply, and 2 must.
    la_3_a_later_request_counts_like_a_reply(of 2, "1 acquire; 2 acquire | 2 > 1; 1 > 2; 2 > 1; 1 > 2", expect![[r#"
        1 receives request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
        2 receives request from 1: LA-2 queues (1, 1); reply → 1
    "#]]);

    /// Node 2 has every reply, but is not first.
    la_3_a_node_that_is_not_first_waits_for_the_release(
        of 2, "1 acquire; 1 > 2; 2 acquire; 2 > 1; 2 > 1; 1 > 2 | 1 release; 1 > 2", expect![[r#"
            1 release: LEAVES; LA-4 removes (1, 1) and sends a release to all; release → all
            2 receives release from 1: LA-5 removes (1, 1); LA-3 is first with (3, 2); ENTERS (fence 0.2)
        "#]]);

    la_4_a_release_goes_to_all_nodes("1 acquire; rest | 1 release; rest; 2 acquire; rest", expect![[r#"
        1 release: LEAVES; LA-4 removes (1, 1) and sends a release to all; release → all
        2 receives release from 1: LA-5 removes (1, 1)
        3 receives release from 1: LA-5 removes (1, 1)
        2 acquire: LA-1 queues (3, 2) and sends it to all; request → all
        1 receives request from 2: LA-2 queues (3, 2); reply → 2
        3 receives request from 2: LA-2 queues (3, 2); reply → 2
        2 receives reply from 3: LA-3 is first with (3, 2); ENTERS (fence 0.2)
    "#]]);

    la_5_a_release_removes_the_request_that_it_names(
        of 2, "1 acquire; 2 acquire; rest | 1 release; 1 > 2", expect![[r#"
            1 release: LEAVES; LA-4 removes (1, 1) and sends a release to all; release → all
            2 receives release from 1: LA-5 removes (1, 1); LA-3 is first with (1, 2); ENTERS (fence 0.2)
        "#]]);

    /// Node 1 has no reply yet, but the release of 2 and the request of 3 are stamped later than
    /// its own request.
    la_5_a_later_release_counts_like_a_reply(
        "2 acquire; rest; 3 acquire; 3 > 2; 1 acquire; 2 release; 2 > 1; 3 > 1", expect![[r#"
            2 acquire: LA-1 queues (1, 2) and sends it to all; request → all
            1 receives request from 2: LA-2 queues (1, 2); reply → 2
            3 receives request from 2: LA-2 queues (1, 2); reply → 2
            2 receives reply from 3: LA-3 is first with (1, 2); ENTERS (fence 0.1)
            3 acquire: LA-1 queues (3, 3) and sends it to all; request → all
            2 receives request from 3: LA-2 queues (3, 3); reply → 3
            1 acquire: LA-1 queues (3, 1) and sends it to all; request → all
            2 release: LEAVES; LA-4 removes (1, 2) and sends a release to all; release → all
            1 receives release from 2: LA-5 removes (1, 2)
            1 receives request from 3: LA-2 queues (3, 3); reply → 3; LA-3 is first with (3, 1); ENTERS (fence 0.2)
        "#]]);

    la_5_a_node_cannot_release_the_request_of_another(of 2, "1 acquire; rest; 1 release; 1 > 2 as 2", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and sends it to all; request → all
        2 receives request from 1: LA-2 queues (1, 1); reply → 1
        1 receives reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
        1 release: LEAVES; LA-4 removes (1, 1) and sends a release to all; release → all
        2 receives release from 2: LA-5 ignores a release of 1 that came from 2
    "#]]);

    a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: LA-1 queues (1, 1) and sends it to all; LA-3 is first with (1, 1); ENTERS (fence 0.1)
        1 try: refused: already in the critical section
        1 release: LEAVES; LA-4 removes (1, 1) and sends a release to all
        1 try: LA-1 queues (2, 1) and sends it to all; LA-3 is first with (2, 1); ENTERS (fence 0.2)
        1 cancel: refused: already in the critical section
        1 release: LEAVES; LA-4 removes (2, 1) and sends a release to all
    "#]]);

    // Cancelled requests and tries.

    la_6_a_cancelled_request_is_removed_by_all_nodes(
        "1 acquire; 1 > 2; 2 acquire | 1 cancel; rest", expect![[r#"
            1 cancel: cancelled; LA-6 removes (1, 1) and sends a release to all; release → all
            3 receives request from 1: LA-2 queues (1, 1); reply → 1
            1 receives request from 2: LA-2 queues (3, 2); reply → 2
            3 receives request from 2: LA-2 queues (3, 2); reply → 2
            2 receives release from 1: LA-5 removes (1, 1)
            3 receives release from 1: LA-5 removes (1, 1)
            2 receives reply from 3: LA-3 is first with (3, 2); ENTERS (fence 0.1)
        "#]]);

    /// The reply to the cancelled request (1, 1) is later than (2, 1) too. It can count: links are
    /// FIFO, so node 2 has no older request in transit.
    la_6_a_late_reply_to_a_cancelled_request_counts_if_it_is_later(
        of 2, "2 acquire; 2 cancel; 1 acquire; 1 cancel; 1 acquire; 1 > 2; 2 > 1; 2 > 1; 2 > 1; 1 > 2; 1 > 2;
               2 > 1", expect![[r#"
                   2 acquire: LA-1 queues (1, 2) and sends it to all; request → all
                   2 cancel: cancelled; LA-6 removes (1, 2) and sends a release to all; release → all
                   1 acquire: LA-1 queues (1, 1) and sends it to all; request → all
                   1 cancel: cancelled; LA-6 removes (1, 1) and sends a release to all; release → all
                   1 acquire: LA-1 queues (2, 1) and sends it to all; request → all
                   2 receives request from 1: LA-2 queues (1, 1); reply → 1
                   1 receives request from 2: LA-2 queues (1, 2); reply → 2
                   1 receives release from 2: LA-5 removes (1, 2)
                   1 receives reply from 2: LA-3 is first with (2, 1); ENTERS (fence 0.1)
                   2 receives release from 1: LA-5 removes (1, 1)
                   2 receives request from 1: LA-2 queues (2, 1); reply → 1
               "#]]);

    /// The stamp of the reply to (1, 1) is (2, 2), which is later than (2, 1) by the node number.
    la_6_a_reply_to_a_cancelled_request_counts_if_it_is_later_by_its_node_number(
        of 2, "1 acquire; 1 > 2 | 1 cancel; 1 acquire; 2 > 1; 1 > 2; 1 > 2; 2 > 1", expect![[r#"
            1 cancel: cancelled; LA-6 removes (1, 1) and sends a release to all; release → all
            1 acquire: LA-1 queues (2, 1) and sends it to all; request → all
            1 receives reply from 2: LA-3 is first with (2, 1); ENTERS (fence 0.1)
            2 receives release from 1: LA-5 removes (1, 1)
            2 receives request from 1: LA-2 queues (2, 1); reply → 1
        "#]]);

    la_7_a_try_that_is_not_first_when_all_have_answered_is_denied(
        of 2, "1 acquire; rest | 2 try; 2 > 1; 1 > 2; 2 > 1", expect![[r#"
            2 try: LA-1 queues (3, 2) and sends it to all; request → all
            1 receives request from 2: LA-2 queues (3, 2); reply → 2
            2 receives reply from 1: denied; LA-7 removes (3, 2) and sends a release to all; release → all
            1 receives release from 2: LA-5 removes (3, 2)
        "#]]);

    la_7_a_try_that_is_first_enters(of 2, "2 try; rest", expect![[r#"
        2 try: LA-1 queues (1, 2) and sends it to all; request → all
        1 receives request from 2: LA-2 queues (1, 2); reply → 2
        2 receives reply from 1: LA-3 is first with (1, 2); ENTERS (fence 0.1)
    "#]]);

    /// Both clocks are 1, so the try of node 1 is older. Node 2 receives it before the reply to its
    /// own try.
    la_7_of_two_simultaneous_tries_the_older_one_enters(of 2, "1 try; 2 try; rest", expect![[r#"
        1 try: LA-1 queues (1, 1) and sends it to all; request → all
        2 try: LA-1 queues (1, 2) and sends it to all; request → all
        2 receives request from 1: LA-2 queues (1, 1); reply → 1
        1 receives request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
        2 receives reply from 1: denied; LA-7 removes (1, 2) and sends a release to all; release → all
        1 receives release from 2: LA-5 removes (1, 2)
    "#]]);

    la_7_a_try_is_denied_while_the_release_is_in_transit(
        "1 acquire; rest; 2 try; 2 > 1; 2 > 3; 1 > 2; 1 release | 3 > 2; rest", expect![[r#"
            2 receives reply from 3: denied; LA-7 removes (3, 2) and sends a release to all; release → all
            2 receives release from 1: LA-5 removes (1, 1)
            3 receives release from 1: LA-5 removes (1, 1)
            1 receives release from 2: LA-5 removes (3, 2)
            3 receives release from 2: LA-5 removes (3, 2)
        "#]]);
}
