//! The sequential form: one replica after the other.

use super::super::{Asks, Voting};
use super::BOUNDS;
use crate::group::Group;
use crate::mutex::rules::rules;
use crate::node::NodeId;
use expect_test::expect;

fn node(me: NodeId, group: Group) -> Voting {
    Voting::new(me, group, Asks::Sequential, BOUNDS)
}

rules! { node, 3;
    /// Of three replicas, two are asked.
    vo_1_one_by_one_no_more_votes_are_asked_for_than_it_takes("2 acquire; rest; 2 release; rest", expect![[r#"
        2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); request → 1
        1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
        2 hears vote from 1: request → 3
        3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        2 hears vote from 3: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
        2 release: LEAVES; VO-4 gives every vote for (1, 2) back; release → 1; release → 3
        1 hears release from 2: VO-5 has the vote of replica 1 back from (1, 2)
        3 hears release from 2: VO-5 has the vote of replica 2 back from (1, 2)
    "#]]);

    vo_1_one_by_one_who_is_denied_asks_the_next(
        of 4, "1 acquire; 1 cancel; 4 acquire; 4 > 1; 1 > 4; 3 acquire; 3 > 1; 1 > 3; 3 > 2; 2 > 3", expect![[r#"
            1 acquire: VO-1 asks for 3 of 4 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 2
            1 cancel: cancelled; VO-7 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1)
            4 acquire: VO-1 asks for 3 of 4 votes with (1, 4); request → 1
            1 hears request from 4: VO-2 gives (1, 4) the vote of replica 1; vote → 4
            4 hears vote from 1: request → 2
            3 acquire: VO-1 asks for 3 of 4 votes with (1, 3); request → 1
            1 hears request from 3: VO-2 denies (1, 3) replica 1: (1, 4) has its vote; denied → 3
            3 hears denied from 1: request → 2
            2 hears request from 3: VO-2 gives (1, 3) the vote of replica 2; vote → 3
            3 hears vote from 2: request → 4
        "#]]);

    vo_6_one_by_one_who_cannot_have_enough_votes_begins_again_later(
        "1 acquire; rest; 2 acquire | rest; 1 release; rest; 2 fires; rest", expect![[r#"
            1 hears request from 2: VO-2 denies (1, 2) replica 1: (1, 1) has its vote; denied → 2
            2 hears denied from 1: request → 3
            3 hears request from 2: VO-2 denies (1, 2) replica 2: (1, 1) has its vote; denied → 2
            2 hears denied from 3: VO-6 cannot have 2 votes for (1, 2); waits 2ms..4ms
            1 release: LEAVES; VO-4 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1); release → 3
            3 hears release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 timer: VO-6 asks for 2 of 3 votes with (1, 2); request → 1
            1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            2 hears vote from 1: request → 3
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 hears vote from 3: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
        "#]]);

    vo_8_one_by_one_a_vote_that_comes_late_goes_back("2 acquire; 2 > 1 | 2 cancel; 1 > 2; 2 > 1", expect![[r#"
        2 cancel: cancelled; VO-7 gives every vote for (1, 2) back
        2 hears vote from 1: VO-8 does not need the vote of replica 1 for (1, 2); release → 1
        1 hears release from 2: VO-5 has the vote of replica 1 back from (1, 2)
    "#]]);

    vo_9_one_by_one_a_try_asks_until_it_is_out_of_reach("1 acquire; rest; 2 try; rest", expect![[r#"
        1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3
        3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
        1 hears vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        2 try: VO-1 asks for 2 of 3 votes with (1, 2); request → 1
        1 hears request from 2: VO-2 denies (1, 2) replica 1: (1, 1) has its vote; denied → 2
        2 hears denied from 1: request → 3
        3 hears request from 2: VO-2 denies (1, 2) replica 2: (1, 1) has its vote; denied → 2
        2 hears denied from 3: denied; VO-9 gives every vote for (1, 2) back
    "#]]);
}
