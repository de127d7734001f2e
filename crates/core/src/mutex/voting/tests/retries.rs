//! Tests of nodes that do not get enough votes, and retry. In a script, `1 > 2` delivers the oldest
//! message from node 1 to node 2, and `1 > 2 last` the newest; `rest` delivers all messages;
//! `1 fires` fires the oldest timer of node 1; `of 2` before a script sets the group size. Traces
//! omit the steps before `|` and those without effect (see `crate::mutex::rules`). In a trace, the
//! stamp `(3, 2)` has clock 3 and node 2, and `fence 0.1` has epoch 0 and counter 1.
//!
//! In a group of three, node 1 votes for replica 1, node 3 for replica 2 and node 2 for replica 3;
//! two votes suffice to enter. In a group of four, node 1 votes for replica 1, node 2 for 2 and 4,
//! node 4 for 3, and node 3 for none; three votes suffice. A round trip takes 2 ms.

use super::node;
use crate::mutex::rules::rule_tests;
use expect_test::expect;

rule_tests! { node, 3;
    /// Each node has one vote, and none has two.
    vo_6_a_node_that_cannot_get_enough_votes_returns_them_and_retries_later(
        "1 acquire; 2 acquire | 3 acquire; rest; 1 fires; rest", expect![[r#"
            3 acquire: VO-1 requests 2 of 3 votes with (1, 3); VO-2 gives (1, 3) the vote of replica 2; request → 1; request → 2
            3 receives request from 1: VO-2 denies (1, 1) the vote of replica 2: (1, 3) has it; denied → 1
            2 receives request from 1: VO-2 denies (1, 1) the vote of replica 3: (1, 2) has it; denied → 1
            1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
            3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 3) has it; denied → 2
            1 receives request from 3: VO-2 denies (1, 3) the vote of replica 1: (1, 1) has it; denied → 3
            2 receives request from 3: VO-2 denies (1, 3) the vote of replica 3: (1, 2) has it; denied → 3
            1 receives denied from 2: VO-6 cannot get 2 votes for (1, 1); waits 2ms..4ms; VO-5 has the vote of replica 1 back from (1, 1)
            2 receives denied from 3: VO-6 cannot get 2 votes for (1, 2); waits 2ms..4ms; VO-5 has the vote of replica 3 back from (1, 2)
            3 receives denied from 2: VO-6 cannot get 2 votes for (1, 3); waits 2ms..4ms; VO-5 has the vote of replica 2 back from (1, 3)
            1 timer: VO-6 requests 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 receives request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            2 receives request from 1: VO-2 gives (1, 1) the vote of replica 3; vote → 1
            1 receives vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        "#]]);

    /// Every waiting time is at least one round trip. The maximum beyond that doubles with each
    /// attempt, up to four round trips per replica: enough for an attempt of every node.
    vo_6_waiting_times_grow_with_the_attempts(
        "1 acquire; rest; 2 acquire; rest; 2 fires | rest; 2 fires; rest; 2 fires; rest; 2 fires; rest; 2 fires; rest;
         1 release; rest; 2 fires; rest", expect![[r#"
             1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
             3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
             2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..6ms
             2 timer: VO-6 requests 2 of 3 votes with (1, 2); VO-2 denies (1, 2) the vote of replica 3: (1, 1) has it; request → 1; request → 3
             1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
             3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
             2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..10ms
             2 timer: VO-6 requests 2 of 3 votes with (1, 2); VO-2 denies (1, 2) the vote of replica 3: (1, 1) has it; request → 1; request → 3
             1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
             3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
             2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..18ms
             2 timer: VO-6 requests 2 of 3 votes with (1, 2); VO-2 denies (1, 2) the vote of replica 3: (1, 1) has it; request → 1; request → 3
             1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
             3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
             2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..26ms
             2 timer: VO-6 requests 2 of 3 votes with (1, 2); VO-2 denies (1, 2) the vote of replica 3: (1, 1) has it; request → 1; request → 3
             1 receives request from 2: VO-2 denies (1, 2) the vote of replica 1: (1, 1) has it; denied → 2
             3 receives request from 2: VO-2 denies (1, 2) the vote of replica 2: (1, 1) has it; denied → 2
             2 receives denied from 1: VO-6 cannot get 2 votes for (1, 2); waits 2ms..26ms
             1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1); release → 3; release → 2
             3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
             2 receives release from 1: VO-5 has the vote of replica 3 back from (1, 1)
             2 timer: VO-6 requests 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
             1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
             3 receives request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
             2 receives vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
         "#]]);

    /// Node 3 has the vote of node 4 (for replica 3) and returns it. It asks again before the
    /// return has arrived, and is denied: node 4 still counts its vote as given to this very
    /// request. When the old vote is back, node 3 can get a new one.
    vo_6_a_vote_that_is_on_its_way_back_is_not_given_again(
        of 4, "2 acquire; 3 acquire; 3 > 4 | 4 > 3; 3 > 2; 3 > 2; 2 > 3; 2 > 3; 3 fires; 3 > 4 last; 4 > 3; 3 > 2;
               2 > 3; 3 > 4; 2 cancel; rest; 3 fires; rest", expect![[r#"
                   2 receives request from 3: VO-2 denies (1, 3) the vote of replica 2: (1, 2) has it; denied → 3
                   2 receives request from 3: VO-2 denies (1, 3) the vote of replica 4: (1, 2) has it; denied → 3
                   3 receives denied from 2: VO-6 cannot get 3 votes for (1, 3); waits 2ms..4ms; release → 4
                   3 timer: VO-6 requests 3 of 4 votes with (1, 3); request → 2; request → 4; request → 2
                   4 receives request from 3: VO-2 denies (1, 3) the vote of replica 3: (1, 3) has it; denied → 3
                   2 receives request from 3: VO-2 denies (1, 3) the vote of replica 2: (1, 2) has it; denied → 3
                   3 receives denied from 2: VO-6 cannot get 3 votes for (1, 3); waits 2ms..6ms
                   4 receives release from 3: VO-5 has the vote of replica 3 back from (1, 3)
                   2 cancel: cancelled; VO-7 returns every vote for (1, 2); VO-5 has the vote of replica 2 back from (1, 2); VO-5 has the vote of replica 4 back from (1, 2)
                   1 receives request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
                   4 receives request from 2: VO-2 gives (1, 2) the vote of replica 3; vote → 2
                   1 receives request from 3: VO-2 denies (1, 3) the vote of replica 1: (1, 2) has it; denied → 3
                   2 receives request from 3: VO-2 gives (1, 3) the vote of replica 4; vote → 3
                   2 receives vote from 1: VO-8 does not need the vote of replica 1 for (1, 2); release → 1
                   2 receives vote from 4: VO-8 does not need the vote of replica 3 for (1, 2); release → 4
                   3 receives vote from 2: VO-8 does not need the vote of replica 4 for (1, 3); release → 2
                   1 receives release from 2: VO-5 has the vote of replica 1 back from (1, 2)
                   4 receives release from 2: VO-5 has the vote of replica 3 back from (1, 2)
                   2 receives release from 3: VO-5 has the vote of replica 4 back from (1, 3)
                   3 timer: VO-6 requests 3 of 4 votes with (1, 3); request → 1; request → 2; request → 4; request → 2
                   1 receives request from 3: VO-2 gives (1, 3) the vote of replica 1; vote → 3
                   2 receives request from 3: VO-2 gives (1, 3) the vote of replica 2; vote → 3
                   4 receives request from 3: VO-2 gives (1, 3) the vote of replica 3; vote → 3
                   2 receives request from 3: VO-2 gives (1, 3) the vote of replica 4; vote → 3
                   3 receives vote from 4: VO-3 has enough votes for (1, 3); ENTERS (fence 0.1)
               "#]]);

    /// The vote of node 4 (for replica 3) arrives when node 3 has ended its attempt. Node 3
    /// returns it, so that others can have it while node 3 waits.
    vo_8_a_vote_that_arrives_while_a_node_backs_off_is_returned(
        of 4, "2 acquire; 3 acquire; 3 > 4; 3 > 2; 3 > 2; 2 > 3; 2 > 3; 4 > 3; 3 > 4", expect![[r#"
            2 acquire: VO-1 requests 3 of 4 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 2; VO-2 gives (1, 2) the vote of replica 4; request → 1; request → 4
            3 acquire: VO-1 requests 3 of 4 votes with (1, 3); request → 1; request → 2; request → 4; request → 2
            4 receives request from 3: VO-2 gives (1, 3) the vote of replica 3; vote → 3
            2 receives request from 3: VO-2 denies (1, 3) the vote of replica 2: (1, 2) has it; denied → 3
            2 receives request from 3: VO-2 denies (1, 3) the vote of replica 4: (1, 2) has it; denied → 3
            3 receives denied from 2: VO-6 cannot get 3 votes for (1, 3); waits 2ms..4ms
            3 receives vote from 4: VO-8 does not need the vote of replica 3 for (1, 3); release → 4
            4 receives release from 3: VO-5 has the vote of replica 3 back from (1, 3)
        "#]]);

    /// Nodes 1 and 4 have not answered the first attempt of node 3 when the second begins. They are
    /// not asked twice.
    vo_6_a_late_answer_counts_for_the_next_attempt(
        of 4, "2 acquire; 3 acquire; 3 > 2; 3 > 2; 2 > 3; 2 > 3; 2 cancel | 3 fires; 3 > 2; 3 > 2; 2 > 3; 2 > 3; 3 > 1;
               1 > 3", expect![[r#"
                   3 timer: VO-6 requests 3 of 4 votes with (1, 3); request → 2; request → 2
                   2 receives request from 3: VO-2 gives (1, 3) the vote of replica 2; vote → 3
                   2 receives request from 3: VO-2 gives (1, 3) the vote of replica 4; vote → 3
                   1 receives request from 3: VO-2 gives (1, 3) the vote of replica 1; vote → 3
                   3 receives vote from 1: VO-3 has enough votes for (1, 3); ENTERS (fence 0.1)
               "#]]);

    /// The vote for (1, 1) reaches node 1 after it has cancelled that request and sent the next
    /// one, (2, 1), which arrives before the return. Node 3 gives (2, 1) the vote immediately: a
    /// later request of the same node shows that the earlier one has ended.
    vo_8_a_vote_for_an_ended_request_is_returned(
        "1 acquire; 1 > 3; 1 cancel; 1 acquire | 3 > 1; 1 > 3; 1 > 3; 3 > 1", expect![[r#"
            1 receives vote from 3: VO-8 does not need the vote of replica 2 for (1, 1); release → 3
            3 receives request from 1: VO-2 gives (2, 1) the vote of replica 2; vote → 1
            3 receives release from 1: VO-5 ignores the return of (1, 1), which does not have the vote of replica 2
            1 receives vote from 3: VO-3 has enough votes for (2, 1); ENTERS (fence 0.1)
        "#]]);

    /// Node 1 enters with two votes and releases before the third arrives.
    vo_8_a_vote_that_arrives_after_the_release_is_returned(
        "1 acquire; 1 > 3; 3 > 1; 1 > 2 | 1 release; 2 > 1; rest", expect![[r#"
            1 release: LEAVES; VO-4 returns every vote for (1, 1); VO-5 has the vote of replica 1 back from (1, 1); release → 3
            1 receives vote from 2: VO-8 does not need the vote of replica 3 for (1, 1); release → 2
            3 receives release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 receives release from 1: VO-5 has the vote of replica 3 back from (1, 1)
        "#]]);
}
