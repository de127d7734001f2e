//! Tests of the plain form: voters queue requests in order of arrival, and a request keeps its
//! votes. The last test shows that the deadlock-free form avoids the deadlock. In a script, `1 > 2`
//! delivers the oldest message from node 1 to node 2; `rest` delivers all messages. Traces omit the
//! steps before `|` and those without effect (see `crate::mutex::rules`). In a trace, the stamp
//! `(3, 2)` has clock 3 and node 2, and `fence 0.1` has epoch 0 and counter 1.

use super::super::{Form, Maekawa};
use crate::group::Group;
use crate::mutex::quorum::Quorums;
use crate::mutex::rules::rule_tests;
use crate::node::NodeId;
use crate::testing::run_script;
use expect_test::expect;

fn plain_node(me: NodeId, group: Group) -> Maekawa {
    Maekawa::new(me, group, Form::Plain, Quorums::Grid)
}

rule_tests! { plain_node, 4;
    /// The request of node 1 is younger than the request of node 2, but arrives first.
    mk_2_plain_voters_queue_in_order_of_arrival(
        "3 acquire; 3 > 1; 2 acquire; 1 acquire; 2 > 1; 3 cancel; 3 > 1", expect![[r#"
            3 acquire: MK-1 requests votes of 1,3,4 with (1, 3); request → 1; request → 4; MK-2 votes for (1, 3)
            1 receives request from 3: MK-2 votes for (1, 3); vote → 3
            2 acquire: MK-1 requests votes of 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
            1 acquire: MK-1 requests votes of 1,2,3 with (2, 1); request → 2; request → 3; MK-2 queues (2, 1): (1, 3) has the vote
            1 receives request from 2: MK-2 queues (1, 2): (1, 3) has the vote
            3 cancel: cancelled; MK-10 releases every vote for (1, 3); release → 1; release → 4; MK-5 has its vote back; the queue is empty
            1 receives release from 3: MK-5 votes for (2, 1)
        "#]]);

    /// The textbook deadlock: all nodes request at the same time, and each has its own vote.
    mk_2_four_plain_nodes_deadlock("1 acquire; 2 acquire; 3 acquire | 4 acquire; rest", expect![[r#"
        4 acquire: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 receives request from 1: MK-2 queues (1, 1): (1, 2) has the vote
        3 receives request from 1: MK-2 queues (1, 1): (1, 3) has the vote
        1 receives request from 2: MK-2 queues (1, 2): (1, 1) has the vote
        4 receives request from 2: MK-2 queues (1, 2): (1, 4) has the vote
        1 receives request from 3: MK-2 queues (1, 3): (1, 1) has the vote
        4 receives request from 3: MK-2 queues (1, 3): (1, 4) has the vote
        2 receives request from 4: MK-2 queues (1, 4): (1, 2) has the vote
        3 receives request from 4: MK-2 queues (1, 4): (1, 3) has the vote
    "#]]);

    mk_11_a_plain_voter_denies_tries("1 acquire; 1 > 2; 4 try; 4 > 2; 2 > 4; rest", expect![[r#"
        1 acquire: MK-1 requests votes of 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
        2 receives request from 1: MK-2 votes for (1, 1); vote → 1
        4 try: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 receives request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
        4 receives failed from 2: denied; MK-11 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
        3 receives request from 1: MK-2 votes for (1, 1); vote → 1
        3 receives request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
        2 receives release from 4: MK-5 forgets (1, 4), which had ended already
        3 receives release from 4: MK-5 forgets (1, 4), which had ended already
        1 receives vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        4 receives failed from 3: MK-8 ignores a failure of (1, 4): it has the vote of 3, or has ended
    "#]]);
}

/// The schedule of `mk_2_four_plain_nodes_deadlock` in the deadlock-free form: the oldest request
/// enters, and the others follow.
#[test]
fn mk_8_four_nodes_that_relinquish_votes_do_not_deadlock() {
    let trace = run_script(
        4,
        super::node,
        "
        1 acquire; 2 acquire; 3 acquire; 4 acquire; rest; 1 release; rest; 2 release; rest
        3 release; rest; 4 release; rest
        ",
    );
    expect![[r#"
        1 acquire: MK-1 requests votes of 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
        2 acquire: MK-1 requests votes of 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
        3 acquire: MK-1 requests votes of 1,3,4 with (1, 3); request → 1; request → 4; MK-2 votes for (1, 3)
        4 acquire: MK-1 requests votes of 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 receives request from 1: MK-7 wants its vote back from (1, 2) for (1, 1)
        3 receives request from 1: MK-7 wants its vote back from (1, 3) for (1, 1)
        1 receives request from 2: MK-6 queues (1, 2) behind (1, 1); failed → 2
        4 receives request from 2: MK-7 wants its vote back from (1, 4) for (1, 2)
        1 receives request from 3: MK-6 queues (1, 3) behind (1, 1); failed → 3
        4 receives request from 3: MK-6 queues (1, 3) behind (1, 2); failed → 3
        2 receives request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
        3 receives request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
        2 receives failed from 1: MK-8 returns to 2 its vote for (1, 2); MK-9 votes for (1, 1); vote → 1
        3 receives failed from 1: MK-8 returns to 3 its vote for (1, 3); MK-9 votes for (1, 1); vote → 1
        3 receives failed from 4: nothing
        4 receives failed from 2: MK-8 returns to 4 its vote for (1, 4); MK-9 votes for (1, 2); vote → 2
        4 receives failed from 3: nothing
        1 receives vote from 2: nothing
        1 receives vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        2 receives vote from 4: nothing
        1 release: LEAVES; MK-4 releases every vote for (1, 1); release → 2; release → 3; MK-5 votes for (1, 2); vote → 2
        2 receives release from 1: MK-5 votes for (1, 2)
        3 receives release from 1: MK-5 votes for (1, 3)
        2 receives vote from 1: MK-3 has every vote for (1, 2); ENTERS (fence 0.2)
        2 release: LEAVES; MK-4 releases every vote for (1, 2); release → 1; release → 4; MK-5 votes for (1, 4); vote → 4
        1 receives release from 2: MK-5 votes for (1, 3); vote → 3
        4 receives release from 2: MK-5 votes for (1, 3); vote → 3
        4 receives vote from 2: nothing
        3 receives vote from 1: nothing
        3 receives vote from 4: MK-3 has every vote for (1, 3); ENTERS (fence 0.3)
        3 release: LEAVES; MK-4 releases every vote for (1, 3); release → 1; release → 4; MK-5 votes for (1, 4); vote → 4
        1 receives release from 3: MK-5 has its vote back; the queue is empty
        4 receives release from 3: MK-5 votes for (1, 4)
        4 receives vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.4)
        4 release: LEAVES; MK-4 releases every vote for (1, 4); release → 2; release → 3; MK-5 has its vote back; the queue is empty
        2 receives release from 4: MK-5 has its vote back; the queue is empty
        3 receives release from 4: MK-5 has its vote back; the queue is empty
    "#]].assert_eq(&trace);
}
