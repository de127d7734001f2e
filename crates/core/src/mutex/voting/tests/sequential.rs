//! Tests of the sequential form: one replica after the other. In a script, `1 > 2` delivers the
//! oldest message from node 1 to node 2; `rest` delivers all messages; `1 fires` fires the oldest
//! timer of node 1; `of 2` before a script sets the group size. Traces omit the steps before `|`
//! and those without effect (see `crate::mutex::rules`). In a trace, the stamp `(3, 2)` has clock 3
//! and node 2, and `fence 0.1` has epoch 0 and counter 1. In a group of three, node 1 votes for
//! replica 1, node 3 for replica 2 and node 2 for replica 3.

use super::super::{RequestMode, Voting};
use super::BOUNDS;
use crate::group::Group;
use crate::mutex::rules::rule_tests;
use crate::node::NodeId;
use expect_test::expect;

fn sequential_node(me: NodeId, group: Group) -> Voting {
    Voting::new(me, group, RequestMode::Sequential, BOUNDS)
}

rule_tests! { sequential_node, 3;
    /// Of three replicas, two are asked.
    vo_1_sequential_requests_stop_at_enough_votes("2 acquire; rest; 2 release; rest", expect![[r#"
        2 acquire: VO-1 requests 2 of 3 votes with (1, 2); request → 1
        1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
        2 receives vote from 1: request → 3
        3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        2 receives vote from 3: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
        2 release: LEAVES; VO-4 returns every vote for (1, 2); release → 1; release → 3
        1 receives release from 2: VO-5 has the vote of replica 1 back from (1, 2)
        3 receives release from 2: VO-5 has the vote of replica 2 back from (1, 2)
    "#]]);

    vo_1_sequential_requests_continue_after_a_denial(
        of 4, "1 acquire; 1 cancel; 4 acquire; 4 > 1; 1 > 4; 3 acquire; 3 > 1; 1 > 3; 3 > 2; 2 > 3", expect![[r#"
            1 acquire: VO-1 requests 3 of 4 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 2
            1 cancel: cancelled; VO-7 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1)
            4 acquire: VO-1 requests 3 of 4 votes with (1, 4); request → 1
            1 receives request from 4: VO-2 gives (1, 4) the vote of replica 1; vote → 4
            4 receives vote from 1: request → 2
            3 acquire: VO-1 requests 3 of 4 votes with (1, 3); request → 1
            1 receives request from 3: VO-2 denies (1, 3) the vote of replica 1: (1, 4) has it; denied → 3
            3 receives denied from 1: request → 2
            2 receives request from 3: VO-2 gives (1, 3) the vote of replica 2; vote → 3
            3 receives vote from 2: request → 4
        "#]]);

    vo_6_a_sequential_attempt_that_cannot_get_enough_votes_is_retried_later(
        "1 acquire; rest; 2 acquire | rest; 1 release; rest; 2 fires; rest", expect![[r#"
            1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
            2 receives denied from 1: request → 3
            3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
            2 receives denied from 3: VO-6 cannot get 2 votes for (1, 2); waits 2ms..4ms
            1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1); release → 3
            3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 timer: VO-6 requests 2 of 3 votes with (1, 2); request → 1
            1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            2 receives vote from 1: request → 3
            3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 receives vote from 3: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
        "#]]);

    vo_8_a_late_vote_for_a_sequential_request_is_returned("2 acquire; 2 > 1 | 2 cancel; 1 > 2; 2 > 1", expect![[r#"
        2 cancel: cancelled; VO-7 returns every vote for (1, 2)
        2 receives vote from 1: VO-8 does not need the vote of replica 1 for (1, 2); release → 1
        1 receives release from 2: VO-5 has the vote of replica 1 back from (1, 2)
    "#]]);

    vo_9_a_sequential_try_asks_until_enough_votes_are_out_of_reach("1 acquire; rest; 2 try; rest", expect![[r#"
        1 acquire: VO-1 requests 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3
        3 receives request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
        1 receives vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        2 try: VO-1 requests 2 of 3 votes with (1, 2); request → 1
        1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
        2 receives denied from 1: request → 3
        3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
        2 receives denied from 3: denied; VO-9 returns every vote for (1, 2)
    "#]]);
}
