//! Tests of the rules of voting: at least one script per rule. In a script, `1 > 2` delivers the
//! oldest message from node 1 to node 2, `1 > 2 last` the newest, and `1 > 2 as 3` the oldest as if
//! node 3 had sent it; `rest` delivers all messages; `1 fires` fires the oldest timer of node 1;
//! `of 2` before a script sets the group size, and `by f` makes the nodes with the constructor `f`.
//! Traces omit the steps before `|` and those without effect (see `crate::mutex::rules`). In a
//! trace, the stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1` has epoch 0 and counter 1.
//!
//! In a group of three, node 1 votes for replica 1, node 3 for replica 2 and node 2 for replica 3;
//! two votes suffice to enter. In a group of four, node 1 votes for replica 1, node 2 for 2 and 4,
//! node 4 for 3, and node 3 for none; three votes suffice.

mod retries;
mod sequential;

use super::{RequestMode, Voting};
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::{rule_tests, with_a_nonmember};
use expect_test::expect;

/// A round trip, which is the unit of waiting times, takes 2 ms.
const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };

fn node(me: NodeId, group: Group) -> Voting {
    Voting::new(me, group, RequestMode::AllAtOnce, BOUNDS)
}

rule_tests! { node, 3;
    vo_1_a_requesting_node_asks_for_every_vote_and_for_its_own_first("2 acquire", expect![[r#"
        2 acquire: VO-1 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
    "#]]);

    vo_2_a_voter_votes_for_one_and_denies_the_others("1 acquire; 2 acquire | 1 > 3; 2 > 3", expect![[r#"
        3 receives request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
        3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
    "#]]);

    /// Node 3 of four requests again, and its request to node 1 overtakes the vote that it returns
    /// there.
    vo_2_a_later_request_of_the_same_node_takes_the_vote_of_the_earlier_one(
        of 4, "3 acquire; rest | 3 release; 3 acquire; 3 > 1 last; 3 > 1; rest", expect![[r#"
            3 release: LEAVES; VO-4 returns every vote for (1, 3); release → 1; release → 2; release → 4; release → 2
            3 acquire: VO-1 requests 3 of 4 votes with (2, 3); request → 1; request → 2; request → 4; request → 2
            1 receives request from 3: VO-2 gives (2, 3) the vote of replica 1; vote → 3
            1 receives release from 3: VO-5 ignores the return of (1, 3), which does not have the vote of replica 1
            2 receives release from 3: VO-5 has the vote of replica 2 back from (1, 3)
            4 receives release from 3: VO-5 has the vote of replica 3 back from (1, 3)
            2 receives release from 3: VO-5 has the vote of replica 4 back from (1, 3)
            2 receives request from 3: VO-2 gives (2, 3) the vote of replica 2; vote → 3
            4 receives request from 3: VO-2 gives (2, 3) the vote of replica 3; vote → 3
            2 receives request from 3: VO-2 gives (2, 3) the vote of replica 4; vote → 3
            3 receives vote from 4: VO-3 has enough votes for (2, 3); ENTERS (fence 0.2)
        "#]]);

    /// The earlier request arrives after the later one. It is denied, and the denial has no effect.
    vo_2_an_earlier_request_of_the_same_node_does_not_take_the_vote_of_the_later_one(
        "1 acquire; 1 cancel | 1 acquire; 1 > 3 last; 1 > 3; 3 > 1 last; 3 > 1", expect![[r#"
            1 acquire: VO-1 requests 2 of 3 votes with (2, 1); VO-2 gives (2, 1) the vote of replica 1; request → 3; request → 2
            3 receives request from 1: VO-2 gives (2, 1) the vote of replica 2; vote → 1
            3 receives request from 1: VO-2 denies (1, 1) the vote of replica 2: (2, 1) has it; denied → 1
            1 receives vote from 3: VO-3 has enough votes for (2, 1); ENTERS (fence 0.1)
        "#]]);

    vo_2_messages_from_the_wrong_sender_are_ignored("2 acquire; 2 > 1 as 3; 2 > 3; 3 > 2 as 1; 2 cancel", expect![[r#"
        2 acquire: VO-1 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
        1 receives request from 3: VO-2 ignores (1, 2) from 3: not a member's own request
        3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        2 receives vote from 1: VO-3 ignores an answer of 1, which does not vote for replica 2
        2 cancel: cancelled; VO-7 returns every vote for (1, 2); VO-5 has the vote of replica 3 back from (1, 2)
    "#]]);

    vo_3_a_node_with_enough_votes_enters("1 acquire; 1 > 3; 3 > 1", expect![[r#"
        1 acquire: VO-1 requests 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
        3 receives request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
        1 receives vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
    "#]]);

    /// The third vote arrives when node 1 is in the critical section. It is returned with the
    /// others.
    vo_4_a_release_returns_every_vote(
        "1 acquire; 1 > 3; 3 > 1; 1 > 2; 2 > 1 | 1 release; rest; 2 acquire; rest", expect![[r#"
            1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1); release → 3; release → 2
            3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 receives release from 1: VO-5 has the vote of replica 3 back from (1, 1)
            2 acquire: VO-1 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 receives vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
        "#]]);

    vo_5_a_returned_vote_can_be_given_again(
        "1 acquire; 1 > 3; 1 cancel; 3 > 1 | 1 > 3; 2 acquire; 2 > 3", expect![[r#"
            3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 acquire: VO-1 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        "#]]);

    // Cancelled requests and tries.

    vo_7_a_cancellation_returns_every_vote("1 acquire; 1 cancel; rest; 2 acquire; rest", expect![[r#"
        1 acquire: VO-1 requests 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
        1 cancel: cancelled; VO-7 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1)
        3 receives request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
        2 receives request from 1: VO-2 gives (1, 1) the vote of replica 3; vote → 1
        1 receives vote from 3: VO-8 does not need the vote of replica 2 for (1, 1); release → 3
        1 receives vote from 2: VO-8 does not need the vote of replica 3 for (1, 1); release → 2
        3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
        2 receives release from 1: VO-5 has the vote of replica 3 back from (1, 1)
        2 acquire: VO-1 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
        1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
        3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        2 receives vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
    "#]]);

    vo_7_a_node_that_cancels_between_two_attempts_holds_no_vote_and_can_request_again(
        "1 acquire; rest | 2 acquire; rest; 2 cancel; 1 release; rest; 2 acquire; rest", expect![[r#"
            2 acquire: VO-1 requests 2 of 3 votes with (1, 2); VO-2 denies (1, 2) the vote of replica 3: (1, 1) has it; request → 1; request → 3
            1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
            3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
            2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..4ms
            2 cancel: cancelled; VO-7 returns every vote for (1, 2)
            1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1); release → 3; release → 2
            3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 receives release from 1: VO-5 has the vote of replica 3 back from (1, 1)
            2 acquire: VO-1 requests 2 of 3 votes with (2, 2); VO-2 gives (2, 2) the vote of replica 3; request → 1; request → 3
            1 receives request from 2: VO-2 gives (2, 2) the vote of replica 1; vote → 2
            3 receives request from 2: VO-2 gives (2, 2) the vote of replica 2; vote → 2
            2 receives vote from 1: VO-3 has enough votes for (2, 2); ENTERS (fence 0.2)
        "#]]);

    vo_9_a_try_that_cannot_get_enough_votes_is_denied(
        "1 acquire; 1 > 3; 2 try; 2 > 1; 2 > 3; 1 > 2 | 3 > 2; rest", expect![[r#"
            1 receives vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
            2 receives denied from 1: denied; VO-9 returns every vote for (1, 2); VO-5 has the vote of replica 3 back from (1, 2)
        "#]]);

    vo_9_a_try_that_has_enough_votes_enters("2 try; rest; 2 release; rest", expect![[r#"
        2 try: VO-1 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
        1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
        3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        2 receives vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
        2 release: LEAVES; VO-4 returns every vote for (1, 2); release → 1; release → 3; VO-5 has the vote of replica 3 back from (1, 2)
        1 receives release from 2: VO-5 has the vote of replica 1 back from (1, 2)
        3 receives release from 2: VO-5 has the vote of replica 2 back from (1, 2)
    "#]]);

    /// Node 1 of three votes for all replicas of the resource `lock`.
    vo_1_a_node_whose_own_votes_are_a_majority_enters_without_messages(
        by with_all_votes_at_node_1, "1 acquire; 2 acquire; rest; 1 release; 2 fires; rest", expect![[r#"
            1 acquire: VO-1 requests 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; VO-2 gives (1, 1) the vote of replica 2; VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
            2 acquire: VO-1 requests 2 of 3 votes with (1, 2); request → 1; request → 1; request → 1
            1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
            1 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
            1 receives request from 2: VO-2 gives (1, 2) the vote of replica 3; vote → 2
            2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..4ms
            2 receives vote from 1: VO-8 does not need the vote of replica 3 for (1, 2); release → 1
            1 receives release from 2: VO-5 has the vote of replica 3 back from (1, 2)
            1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1); VO-5 has the vote of replica 2 back from (1, 1)
            2 timer: VO-6 requests 2 of 3 votes with (1, 2); request → 1; request → 1; request → 1
            1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            1 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            1 receives request from 2: VO-2 gives (1, 2) the vote of replica 3; vote → 2
            2 receives vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
        "#]]);

    vo_1_a_group_of_one_sends_no_messages(of 1, "1 acquire; 1 release; 1 try; 1 release", expect![[r#"
        1 acquire: VO-1 requests 1 of 1 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1)
        1 try: VO-1 requests 1 of 1 votes with (2, 1); VO-2 gives (2, 1) the vote of replica 1; VO-3 has enough votes for (2, 1); ENTERS (fence 0.2)
        1 release: LEAVES; VO-4 returns every vote for (2, 1); VO-5 has the vote of replica 1 back from (2, 1)
    "#]]);

    /// Nodes 1 and 2 are a group of two, in which node 1 votes for replica 1 and node 2 for replica
    /// 2. Node 3 wrongly counts itself as a third member.
    vo_2_a_request_of_a_nonmember_is_ignored(by with_a_nonmember(node), "3 acquire; rest", expect![[r#"
        3 acquire: VO-1 requests 2 of 3 votes with (1, 3); VO-2 gives (1, 3) the vote of replica 2; request → 1; request → 2
        1 receives request from 3: VO-2 ignores (1, 3) from 3: not a member's own request
        2 receives request from 3: VO-2 ignores (1, 3) from 3: not a member's own request
    "#]]);
}

fn with_all_votes_at_node_1(me: NodeId, group: Group) -> Voting {
    let needed_votes = 2;
    Voting::with_votes(me, group, "lock", needed_votes, RequestMode::AllAtOnce, BOUNDS)
}
