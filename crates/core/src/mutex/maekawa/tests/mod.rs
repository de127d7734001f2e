//! Tests of the rules of Maekawa's voting: at least one script per rule. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the
//! oldest as if node 3 had sent it; `rest` delivers all messages; `of 2` before a script sets the
//! group size, and `by f` makes the nodes with the constructor `f`. Traces omit the steps before
//! `|` and those without effect (see `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has
//! clock 3 and node 2, and `fence 0.1` has epoch 0 and counter 1.
//!
//! Four nodes in a square: 1 has the quorum 1, 2, 3; 2 has 1, 2, 4; 3 has 1, 3, 4; 4 has 2, 3, 4.
//! So 1 and 4 share the voters 2 and 3, and 2 and 3 share 1 and 4.

mod plain;
mod yielding;

use super::{Form, Maekawa};
use crate::group::Group;
use crate::mutex::quorum::Quorums;
use crate::mutex::rules::{rule_tests, with_a_nonmember};
use crate::node::NodeId;
use expect_test::expect;

fn node(me: NodeId, group: Group) -> Maekawa {
    Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid)
}

rule_tests! { node, 4;
    mk_1_a_requesting_node_sends_a_stamped_request_to_its_quorum("2 acquire", expect![[r#"
        2 acquire: MK-1 requests votes of 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
    "#]]);

    mk_1_a_voter_stamps_its_own_request_as_younger_than_the_one_it_voted_for("2 acquire; 2 > 1; 1 acquire", expect![[r#"
        2 acquire: MK-1 requests votes of 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
        1 receives request from 2: MK-2 votes for (1, 2); vote → 2
        1 acquire: MK-1 requests votes of 1,2,3 with (2, 1); request → 2; request → 3; MK-6 queues (2, 1) behind (1, 2)
    "#]]);

    /// Node 4 receives no message of node 1. The clock in the vote of 2 advances its own clock.
    mk_1_a_node_with_a_vote_stamps_its_next_request_as_younger_than_those_the_voter_knows(
        "1 acquire; 1 cancel | 1 acquire; 1 cancel; rest; 4 acquire; 4 > 2; 2 > 4; 4 cancel; 4 acquire", expect![[r#"
            1 acquire: MK-1 requests votes of 1,2,3 with (2, 1); request → 2; request → 3; MK-2 votes for (2, 1)
            1 cancel: cancelled; MK-10 releases every vote for (2, 1); release → 2; release → 3; MK-5 has its vote back; the queue is empty
            2 receives request from 1: MK-2 votes for (1, 1); vote → 1
            3 receives request from 1: MK-2 votes for (1, 1); vote → 1
            2 receives release from 1: MK-5 has its vote back; the queue is empty
            3 receives release from 1: MK-5 has its vote back; the queue is empty
            2 receives request from 1: MK-2 votes for (2, 1); vote → 1
            3 receives request from 1: MK-2 votes for (2, 1); vote → 1
            2 receives release from 1: MK-5 has its vote back; the queue is empty
            3 receives release from 1: MK-5 has its vote back; the queue is empty
            1 receives vote from 2: MK-3 ignores a vote for (1, 1): that request is not pending
            1 receives vote from 3: MK-3 ignores a vote for (1, 1): that request is not pending
            1 receives vote from 2: MK-3 ignores a vote for (2, 1): that request is not pending
            1 receives vote from 3: MK-3 ignores a vote for (2, 1): that request is not pending
            4 acquire: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 receives request from 4: MK-2 votes for (1, 4); vote → 4
            4 cancel: cancelled; MK-10 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
            4 acquire: MK-1 requests votes of 2,3,4 with (3, 4); request → 2; request → 3; MK-2 votes for (3, 4)
        "#]]);

    mk_2_a_voter_votes_for_one_request_and_queues_the_others(
        "1 acquire; 1 > 2 | 4 acquire; 4 > 2; 2 acquire", expect![[r#"
            4 acquire: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 receives request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
            2 acquire: MK-1 requests votes of 1,2,4 with (2, 2); request → 1; request → 4; MK-6 queues (2, 2) behind (1, 1)
        "#]]);

    mk_2_a_request_in_the_name_of_another_is_ignored("2 acquire; 2 > 1 as 3; 2 cancel; 2 > 1 as 3", expect![[r#"
        2 acquire: MK-1 requests votes of 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
        1 receives request from 3: MK-2 ignores (1, 2) from 3: not a member's own request
        2 cancel: cancelled; MK-10 releases every vote for (1, 2); release → 1; release → 4; MK-5 has its vote back; the queue is empty
        1 receives release from 3: MK-5 ignores a release of (1, 2) from 3: not a member's own request
    "#]]);

    mk_3_a_node_with_every_vote_of_its_quorum_enters("4 acquire; 4 > 2; 4 > 3 | 2 > 4; 3 > 4", expect![[r#"
        4 receives vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
    "#]]);

    /// The votes for the cancelled request arrive while the next one waits.
    mk_3_a_late_vote_does_not_count_for_the_next_request(
        "4 acquire; 4 > 2; 4 > 3; 4 cancel; 4 acquire | 2 > 4; 3 > 4; rest", expect![[r#"
            4 receives vote from 2: MK-3 ignores a vote for (1, 4): that request is not pending
            4 receives vote from 3: MK-3 ignores a vote for (1, 4): that request is not pending
            2 receives release from 4: MK-5 has its vote back; the queue is empty
            3 receives release from 4: MK-5 has its vote back; the queue is empty
            2 receives request from 4: MK-2 votes for (2, 4); vote → 4
            3 receives request from 4: MK-2 votes for (2, 4); vote → 4
            4 receives vote from 3: MK-3 has every vote for (2, 4); ENTERS (fence 0.1)
        "#]]);

    mk_4_a_release_returns_every_vote(
        "1 acquire; rest; 1 release; rest; 4 acquire; rest | 4 release; rest", expect![[r#"
            4 release: LEAVES; MK-4 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
            2 receives release from 4: MK-5 has its vote back; the queue is empty
            3 receives release from 4: MK-5 has its vote back; the queue is empty
        "#]]);

    /// Nodes 2 and 3 wait for the vote of 1, which goes to the older request although the other one
    /// arrived first.
    mk_5_a_returned_vote_goes_to_the_oldest_request(
        "1 acquire; 1 > 2; 1 > 3; 2 > 1; 3 > 1 | 3 acquire; 2 acquire; 3 > 1; 2 > 1; 1 release", expect![[r#"
            3 acquire: MK-1 requests votes of 1,3,4 with (2, 3); request → 1; request → 4; MK-6 queues (2, 3) behind (1, 1)
            2 acquire: MK-1 requests votes of 1,2,4 with (2, 2); request → 1; request → 4; MK-6 queues (2, 2) behind (1, 1)
            1 receives request from 3: MK-6 queues (2, 3) behind (1, 1); failed → 3
            1 receives request from 2: MK-6 queues (2, 2) behind (1, 1); failed → 2
            1 release: LEAVES; MK-4 releases every vote for (1, 1); release → 2; release → 3; MK-5 votes for (2, 2); vote → 2
        "#]]);

    /// Node 4 releases and requests again, and its new request overtakes the release of the old one
    /// at 2. No request waits there, so the new one gets the vote at once; the release that
    /// follows ends the old request and not the new one.
    mk_2_a_later_request_of_the_same_node_takes_the_vote_of_the_earlier_one(
        "4 acquire; rest; 4 release; 4 acquire; 4 > 2 last; 4 > 2; 4 > 3 | 4 > 3; 2 > 4; 3 > 4", expect![[r#"
            3 receives request from 4: MK-2 votes for (2, 4); vote → 4
            4 receives vote from 3: MK-3 has every vote for (2, 4); ENTERS (fence 0.2)
        "#]]);

    /// The new request of 4 arrives at 2 before the release of its old one, but the request of 1
    /// waits there.
    mk_2_a_later_request_of_the_same_node_does_not_overtake_waiting_ones(
        "4 acquire; 1 acquire; 4 > 2; 1 > 2; 2 > 4; 4 cancel | 4 acquire; 4 > 2 last; 4 > 2", expect![[r#"
            4 acquire: MK-1 requests votes of 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            2 receives request from 4: MK-6 queues (2, 4) behind (1, 1); failed → 4
            2 receives release from 4: MK-5 votes for (1, 1); vote → 1
        "#]]);

    // Cancelled requests and tries.

    mk_5_a_cancelled_request_leaves_the_queue(
        "1 acquire; 1 > 2; 4 acquire; 4 > 2; 4 cancel | 4 > 2; 1 cancel; 1 > 2", expect![[r#"
            2 receives release from 4: MK-5 removes (1, 4) from the queue
            1 cancel: cancelled; MK-10 releases every vote for (1, 1); release → 2; release → 3; MK-5 has its vote back; the queue is empty
            2 receives release from 1: MK-5 has its vote back; the queue is empty
        "#]]);

    /// The release overtakes the request.
    mk_5_a_request_that_ends_before_it_arrives_gets_no_vote(
        "4 acquire; 4 cancel | 4 > 2 last; 4 > 2; 1 acquire; 1 > 2", expect![[r#"
            2 receives release from 4: MK-5 voids (1, 4) before it arrives
            2 receives request from 4: MK-2 ignores (1, 4): it is void
            1 acquire: MK-1 requests votes of 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 receives request from 1: MK-2 votes for (1, 1); vote → 1
        "#]]);

    mk_10_a_cancellation_returns_every_vote("4 acquire; 4 > 2; 2 > 4 | 4 cancel; rest", expect![[r#"
        4 cancel: cancelled; MK-10 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
        3 receives request from 4: MK-2 votes for (1, 4); vote → 4
        2 receives release from 4: MK-5 has its vote back; the queue is empty
        3 receives release from 4: MK-5 has its vote back; the queue is empty
        4 receives vote from 3: MK-3 ignores a vote for (1, 4): that request is not pending
    "#]]);

    mk_11_a_try_that_finds_a_vote_given_is_denied("1 acquire; 1 > 2; 4 try; 4 > 3 | 4 > 2; 2 > 4; rest", expect![[r#"
        2 receives request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
        4 receives failed from 2: denied; MK-11 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
        3 receives request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
        4 receives vote from 3: MK-3 ignores a vote for (1, 4): that request is not pending
        2 receives release from 4: MK-5 forgets (1, 4), which had ended already
        3 receives release from 4: MK-5 votes for (1, 1); vote → 1
        4 receives inquire from 3: MK-8 does not answer: (1, 4) is in the critical section or has ended
        1 receives vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
    "#]]);

    mk_11_a_try_that_finds_every_vote_enters("4 try; rest; 4 release; rest", expect![[r#"
        4 try: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 receives request from 4: MK-2 votes for (1, 4); vote → 4
        3 receives request from 4: MK-2 votes for (1, 4); vote → 4
        4 receives vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
        4 release: LEAVES; MK-4 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
        2 receives release from 4: MK-5 has its vote back; the queue is empty
        3 receives release from 4: MK-5 has its vote back; the queue is empty
    "#]]);

    mk_11_a_try_whose_own_vote_is_given_is_denied_at_once("1 acquire; 1 > 2; 2 try", expect![[r#"
        1 acquire: MK-1 requests votes of 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
        2 receives request from 1: MK-2 votes for (1, 1); vote → 1
        2 try: MK-11 fails at once: (1, 1) has our own vote; denied
    "#]]);

    /// The release of the first try overtakes the try itself at node 3. Two voters deny the second
    /// try, and the second denial arrives after the try has ended.
    mk_11_a_try_ends_with_the_first_denial(
        "1 acquire; 1 > 2; 1 > 3; 4 try; 4 > 2; 2 > 4; 4 > 2 | 4 > 3 last; 4 > 3; 4 try; 4 > 2; 4 > 3; 3 > 4; 2 > 4;
         rest; 1 release; rest", expect![[r#"
             3 receives release from 4: MK-5 voids (1, 4) before it arrives
             3 receives request from 4: MK-2 ignores (1, 4): it is void
             4 try: MK-1 requests votes of 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
             2 receives request from 4: MK-11 denies (2, 4): (1, 1) has the vote; failed → 4
             3 receives request from 4: MK-11 denies (2, 4): (1, 1) has the vote; failed → 4
             4 receives failed from 3: denied; MK-11 releases every vote for (2, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
             4 receives failed from 2: MK-8 ignores a failure of (2, 4): it has the vote of 2, or has ended
             1 receives vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
             2 receives release from 4: MK-5 forgets (2, 4), which had ended already
             3 receives release from 4: MK-5 forgets (2, 4), which had ended already
             1 release: LEAVES; MK-4 releases every vote for (1, 1); release → 2; release → 3; MK-5 has its vote back; the queue is empty
             2 receives release from 1: MK-5 has its vote back; the queue is empty
             3 receives release from 1: MK-5 has its vote back; the queue is empty
         "#]]);

    /// A denied try does not wait: the returned vote stays with the voter.
    mk_11_a_denied_try_is_not_queued("1 acquire; 1 > 2; 4 try; 4 > 2; 1 cancel; 1 > 2 | 2 > 4; 4 > 2", expect![[r#"
        4 receives failed from 2: denied; MK-11 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
        2 receives release from 4: MK-5 forgets (1, 4), which had ended already
    "#]]);

    /// Node 2 has voted for a try, and inquires when the older request of 1 arrives. A try that has
    /// not failed keeps the vote and enters.
    mk_11_a_try_relinquishes_no_vote(
        "4 try; 1 acquire; 4 > 2; 1 > 2; 2 > 4; 2 > 4; 4 > 3; 3 > 4 | 4 release; rest", expect![[r#"
            4 release: LEAVES; MK-4 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
            3 receives request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            2 receives release from 4: MK-5 votes for (1, 1); vote → 1
            3 receives release from 4: MK-5 votes for (1, 1); vote → 1
            4 receives inquire from 3: MK-8 does not answer: (1, 4) is in the critical section or has ended
            1 receives vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.2)
        "#]]);

    /// Node 3 believes that it is a member; nodes 1 and 2 know that it is not.
    mk_2_a_request_of_a_nonmember_is_ignored(by with_a_nonmember(node), of 3, "3 acquire; 3 > 1; 3 cancel; 3 > 1", expect![[r#"
        3 acquire: MK-1 requests votes of 1,3 with (1, 3); request → 1; MK-2 votes for (1, 3)
        1 receives request from 3: MK-2 ignores (1, 3) from 3: not a member's own request
        3 cancel: cancelled; MK-10 releases every vote for (1, 3); release → 1; MK-5 has its vote back; the queue is empty
        1 receives release from 3: MK-5 ignores a release of (1, 3) from 3: not a member's own request
    "#]]);

    mk_3_a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 release; 1 try; 1 release", expect![[r#"
        1 acquire: MK-1 requests votes of 1 with (1, 1); MK-2 votes for (1, 1); MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        1 release: LEAVES; MK-4 releases every vote for (1, 1); MK-5 has its vote back; the queue is empty
        1 try: MK-1 requests votes of 1 with (2, 1); MK-2 votes for (2, 1); MK-3 has every vote for (2, 1); ENTERS (fence 0.2)
        1 release: LEAVES; MK-4 releases every vote for (2, 1); MK-5 has its vote back; the queue is empty
    "#]]);
}
