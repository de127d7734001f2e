//! The plain form: first come, first served, and whoever has a vote keeps it.

use super::super::{Form, Maekawa};
use crate::group::Group;
use crate::mutex::quorum::Quorums;
use crate::mutex::rules::rules;
use crate::node::NodeId;
use crate::testing::run_script;
use expect_test::expect;

fn node(me: NodeId, group: Group) -> Maekawa {
    Maekawa::new(me, group, Form::Plain, Quorums::Grid)
}

rules! { node, 4;
    /// Node 4 is younger, but came first.
    mk_2_plain_voters_queue_in_order_of_arrival(
        "3 acquire; 3 > 1; 2 acquire; 1 acquire; 2 > 1; 3 cancel; 3 > 1", expect![[r#"
            3 acquire: MK-1 asks 1,3,4 with (1, 3); request → 1; request → 4; MK-2 votes for (1, 3)
            1 hears request from 3: MK-2 votes for (1, 3); vote → 3
            2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
            1 acquire: MK-1 asks 1,2,3 with (2, 1); request → 2; request → 3; MK-2 queues (2, 1): (1, 3) has the vote
            1 hears request from 2: MK-2 queues (1, 2): (1, 3) has the vote
            3 cancel: cancelled; MK-10 gives every vote for (1, 3) back; release → 1; release → 4; MK-5 has its vote back; nobody waits
            1 hears release from 3: MK-5 votes for (2, 1)
        "#]]);

    /// The deadlock of the books: everyone asks at once, and has its own vote.
    mk_2_four_plain_nodes_wait_for_each_other_for_ever("1 acquire; 2 acquire; 3 acquire | 4 acquire; rest", expect![[r#"
        4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 hears request from 1: MK-2 queues (1, 1): (1, 2) has the vote
        3 hears request from 1: MK-2 queues (1, 1): (1, 3) has the vote
        1 hears request from 2: MK-2 queues (1, 2): (1, 1) has the vote
        4 hears request from 2: MK-2 queues (1, 2): (1, 4) has the vote
        1 hears request from 3: MK-2 queues (1, 3): (1, 1) has the vote
        4 hears request from 3: MK-2 queues (1, 3): (1, 4) has the vote
        2 hears request from 4: MK-2 queues (1, 4): (1, 2) has the vote
        3 hears request from 4: MK-2 queues (1, 4): (1, 3) has the vote
    "#]]);

    mk_11_a_plain_voter_denies_tries("1 acquire; 1 > 2; 4 try; 4 > 2; 2 > 4; rest", expect![[r#"
        1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
        2 hears request from 1: MK-2 votes for (1, 1); vote → 1
        4 try: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 hears request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
        4 hears failed from 2: denied; MK-11 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
        3 hears request from 1: MK-2 votes for (1, 1); vote → 1
        3 hears request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
        2 hears release from 4: MK-5 hears the last of (1, 4)
        3 hears release from 4: MK-5 hears the last of (1, 4)
        1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        4 hears failed from 3: MK-8 ignores that (1, 4) fails: it has that vote, or is over
    "#]]);
}

/// The same again, free of deadlock: the oldest enters, and the others after it.
#[test]
fn mk_8_four_nodes_that_give_votes_back_do_not() {
    let trace = run_script(
        4,
        super::node,
        "
        1 acquire; 2 acquire; 3 acquire; 4 acquire; rest; 1 release; rest; 2 release; rest
        3 release; rest; 4 release; rest
        ",
    );
    expect![[r#"
        1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
        2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
        3 acquire: MK-1 asks 1,3,4 with (1, 3); request → 1; request → 4; MK-2 votes for (1, 3)
        4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        2 hears request from 1: MK-7 wants its vote back from (1, 2) for (1, 1)
        3 hears request from 1: MK-7 wants its vote back from (1, 3) for (1, 1)
        1 hears request from 2: MK-6 queues (1, 2) behind (1, 1); failed → 2
        4 hears request from 2: MK-7 wants its vote back from (1, 4) for (1, 2)
        1 hears request from 3: MK-6 queues (1, 3) behind (1, 1); failed → 3
        4 hears request from 3: MK-6 queues (1, 3) behind (1, 2); failed → 3
        2 hears request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
        3 hears request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
        2 hears failed from 1: MK-8 gives 2 its vote for (1, 2) back; MK-9 votes for (1, 1); vote → 1
        3 hears failed from 1: MK-8 gives 3 its vote for (1, 3) back; MK-9 votes for (1, 1); vote → 1
        3 hears failed from 4: nothing
        4 hears failed from 2: MK-8 gives 4 its vote for (1, 4) back; MK-9 votes for (1, 2); vote → 2
        4 hears failed from 3: nothing
        1 hears vote from 2: nothing
        1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        2 hears vote from 4: nothing
        1 release: LEAVES; MK-4 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 votes for (1, 2); vote → 2
        2 hears release from 1: MK-5 votes for (1, 2)
        3 hears release from 1: MK-5 votes for (1, 3)
        2 hears vote from 1: MK-3 has every vote for (1, 2); ENTERS (fence 0.2)
        2 release: LEAVES; MK-4 gives every vote for (1, 2) back; release → 1; release → 4; MK-5 votes for (1, 4); vote → 4
        1 hears release from 2: MK-5 votes for (1, 3); vote → 3
        4 hears release from 2: MK-5 votes for (1, 3); vote → 3
        4 hears vote from 2: nothing
        3 hears vote from 1: nothing
        3 hears vote from 4: MK-3 has every vote for (1, 3); ENTERS (fence 0.3)
        3 release: LEAVES; MK-4 gives every vote for (1, 3) back; release → 1; release → 4; MK-5 votes for (1, 4); vote → 4
        1 hears release from 3: MK-5 has its vote back; nobody waits
        4 hears release from 3: MK-5 votes for (1, 4)
        4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.4)
        4 release: LEAVES; MK-4 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
        2 hears release from 4: MK-5 has its vote back; nobody waits
        3 hears release from 4: MK-5 has its vote back; nobody waits
    "#]].assert_eq(&trace);
}
