//! Tests of requests that hold votes which older requests need. In a script, `1 > 2` delivers the
//! oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the oldest as if
//! node 3 had sent it; `rest` delivers all messages. Traces omit the steps before `|` and those
//! without effect (see `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3 and node
//! 2, and `fence 0.1` has epoch 0 and counter 1. Node 1 has the quorum 1, 2, 3; 2 has 1, 2, 4; 3
//! has 1, 3, 4; 4 has 2, 3, 4.

use super::node;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { node, 4;
    mk_6_a_request_that_finds_an_older_one_receives_a_failure(
        "1 acquire; 4 acquire; 1 > 2 | 4 > 2; 2 > 4", expect![[r#"
            2 receives request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
        "#]]);

    /// Sanders' correction. Node 4 has its own vote, and the request of 3 is first in its queue
    /// until the older one of 2 arrives. Without a failure, 3 would keep the vote of 1 that 2
    /// needs, and 2 and 3 would wait for each other.
    mk_6_the_first_in_a_queue_receives_a_failure_when_an_older_one_arrives(
        "4 acquire; 3 acquire; 2 acquire | 3 > 1; 1 > 3; 2 > 1; 1 > 3; 3 > 4; 2 > 4; 4 > 3; rest", expect![[r#"
            1 receives request from 3: MK-2 votes for (1, 3); vote → 3
            1 receives request from 2: MK-7 wants its vote back from (1, 3) for (1, 2); inquire → 3
            4 receives request from 3: MK-7 wants its vote back from (1, 4) for (1, 3)
            4 receives request from 2: MK-6 queues (1, 3) behind (1, 2); failed → 3; MK-7 queues (1, 2) first; has already inquired about the vote
            3 receives request from 4: MK-6 queues (1, 4) behind (1, 3); failed → 4
            2 receives request from 4: MK-6 queues (1, 4) behind (1, 2); failed → 4
            3 receives failed from 4: MK-8 returns to 1 its vote for (1, 3); relinquish → 1
            4 receives failed from 3: MK-8 returns to 4 its vote for (1, 4); MK-9 votes for (1, 2); vote → 2
            1 receives relinquish from 3: MK-9 votes for (1, 2); vote → 2
            2 receives vote from 1: MK-3 has every vote for (1, 2); ENTERS (fence 0.1)
        "#]]);

    mk_7_an_older_request_makes_the_voter_inquire("4 acquire; 1 acquire | 4 > 2; 1 > 2", expect![[r#"
        2 receives request from 4: MK-2 votes for (1, 4); vote → 4
        2 receives request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
    "#]]);

    /// Node 4 inquires of itself, and does not inquire again when the request of 2 arrives after
    /// the request of 3.
    mk_7_a_voter_inquires_once_about_one_vote("4 acquire; 3 acquire; 2 acquire; 3 > 4; 2 > 4", expect![[r#"
        4 acquire: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        3 acquire: MK-1 requests votes of 1,3,4 with (1, 3); request → 1; request → 4; MK-2 votes for (1, 3)
        2 acquire: MK-1 requests votes of 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
        4 receives request from 3: MK-7 wants its vote back from (1, 4) for (1, 3)
        4 receives request from 2: MK-6 queues (1, 3) behind (1, 2); failed → 3; MK-7 queues (1, 2) first; has already inquired about the vote
    "#]]);

    mk_8_a_request_that_failed_elsewhere_relinquishes_the_vote(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3 | 3 > 4; 4 > 2; 2 > 4; 1 > 2; 2 > 4", expect![[r#"
            2 receives request from 4: MK-2 votes for (1, 4); vote → 4
            2 receives request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            4 receives inquire from 2: MK-8 returns to 2 its vote for (1, 4); relinquish → 2
        "#]]);

    mk_8_a_request_that_fails_after_the_inquiry_relinquishes_the_vote_then(
        "4 acquire; 1 acquire; 4 > 2; 1 > 2; 2 > 4 | 2 > 4; 1 > 3; 4 > 3; 3 > 4", expect![[r#"
            3 receives request from 1: MK-2 votes for (1, 1); vote → 1
            3 receives request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
            4 receives failed from 3: MK-8 returns to 2 its vote for (1, 4); relinquish → 2
        "#]]);

    /// The inquiry overtakes the vote. A node can relinquish a vote only after it has arrived.
    mk_8_an_inquiry_may_arrive_before_the_vote_it_is_about(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 1 > 2; 2 > 4 last | 2 > 4; 4 > 2; 2 > 1", expect![[r#"
            4 receives vote from 2: MK-8 returns to 2 its vote for (1, 4); relinquish → 2
            2 receives relinquish from 4: MK-9 votes for (1, 1); vote → 1
        "#]]);

    mk_8_a_node_in_the_critical_section_does_not_answer_an_inquiry(
        "4 acquire; 1 acquire; 4 > 2; 4 > 3; 1 > 2; 2 > 4; 3 > 4 | 2 > 4; 4 release; 4 > 2", expect![[r#"
            4 receives inquire from 2: MK-8 does not answer: (1, 4) is in the critical section or has ended
            4 release: LEAVES; MK-4 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
            2 receives release from 4: MK-5 votes for (1, 1); vote → 1
        "#]]);

    mk_8_a_node_does_not_answer_an_inquiry_about_an_ended_request(
        "4 acquire; 1 acquire; 4 > 2; 1 > 2; 2 > 4; 4 cancel | 4 acquire; 2 > 4", expect![[r#"
            4 acquire: MK-1 requests votes of 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            4 receives inquire from 2: MK-8 does not answer: (1, 4) is in the critical section or has ended
        "#]]);

    /// The request of 4 fails at 2 and then gets the vote of 2, which overtakes the failure. If the
    /// failure counted, node 4 would relinquish other votes without need.
    mk_8_a_failure_that_arrives_after_the_vote_does_not_count(
        "1 acquire; 1 > 2; 4 acquire; 4 > 2; 1 cancel; 1 > 2; 2 > 4 last | 2 > 4; 4 > 3; 3 > 4", expect![[r#"
            4 receives failed from 2: MK-8 ignores a failure of (1, 4): it has the vote of 2, or has ended
            3 receives request from 4: MK-2 votes for (1, 4); vote → 4
            4 receives vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
        "#]]);

    /// Node 4, whose request fails at 2, has its own vote, which 3 needs. It relinquishes this vote
    /// without a message.
    mk_8_a_node_relinquishes_its_own_vote("4 acquire; 3 acquire; 1 acquire; 1 > 2; 4 > 2 | 3 > 4; 2 > 4", expect![[r#"
        4 receives request from 3: MK-7 wants its vote back from (1, 4) for (1, 3)
        4 receives failed from 2: MK-8 returns to 4 its vote for (1, 4); MK-9 votes for (1, 3); vote → 3
    "#]]);

    mk_9_a_relinquished_vote_goes_to_the_oldest_and_later_returns(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 2 > 4; 1 > 2; 2 > 4 | 4 > 2; 3 > 1; 2 > 1; 1 release;
         rest", expect![[r#"
             2 receives relinquish from 4: MK-9 votes for (1, 1); vote → 1
             1 receives vote from 2: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
             1 release: LEAVES; MK-4 releases every vote for (1, 1); release → 2; release → 3; MK-5 has its vote back; the queue is empty
             2 receives release from 1: MK-5 votes for (1, 4); vote → 4
             3 receives release from 1: MK-5 votes for (1, 4); vote → 4
             4 receives vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.2)
         "#]]);

    /// The older request that needs the vote is cancelled meanwhile.
    mk_9_a_relinquished_vote_returns_at_once_if_no_older_request_waits(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 1 > 2; 1 cancel | 1 > 2; 2 > 4; 2 > 4; 4 > 2", expect![[r#"
            2 receives release from 1: MK-5 removes (1, 1) from the queue
            4 receives inquire from 2: MK-8 returns to 2 its vote for (1, 4); relinquish → 2
            2 receives relinquish from 4: MK-9 votes for (1, 4); vote → 4
        "#]]);

    /// Node 4 relinquishes the vote and then cancels. Its release overtakes the relinquish message,
    /// and ends the request for good.
    mk_9_a_relinquish_after_the_release_is_ignored(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 2 > 4; 1 > 2; 2 > 4; 4 cancel | 4 > 2 last;
         4 > 2", expect![[r#"
             2 receives release from 4: MK-5 votes for (1, 1); vote → 1
             2 receives relinquish from 4: MK-9 ignores a vote returned for (1, 4): that request has ended
         "#]]);

    /// Node 3 sends the relinquish message of node 4.
    mk_9_only_the_node_that_has_the_vote_relinquishes_it(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 2 > 4; 1 > 2 | 2 > 4; 4 > 2 as 3", expect![[r#"
            4 receives inquire from 2: MK-8 returns to 2 its vote for (1, 4); relinquish → 2
            2 receives relinquish from 3: MK-9 ignores a vote that 3 returns for (1, 4): not a member's own request
        "#]]);
}
