//! Those who have votes that older ones need.

use super::node;
use crate::mutex::rules::rules;
use expect_test::expect;

rules! { node, 4;
    mk_6_a_request_that_finds_an_older_one_is_told_that_it_fails(
        "1 acquire; 4 acquire; 1 > 2 | 4 > 2; 2 > 4", expect![[r#"
            2 hears request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
        "#]]);

    /// Sanders' case. Node 4 has its own vote, and 3 is first in its queue until 2 comes, which is older. If 3 were not told, it
    /// would keep the vote of 1 that 2 needs, and 2 and 3 would wait for each other.
    mk_6_who_was_first_in_a_queue_is_told_when_an_older_one_comes(
        "4 acquire; 3 acquire; 2 acquire | 3 > 1; 1 > 3; 2 > 1; 1 > 3; 3 > 4; 2 > 4; 4 > 3; rest", expect![[r#"
            1 hears request from 3: MK-2 votes for (1, 3); vote → 3
            1 hears request from 2: MK-7 wants its vote back from (1, 3) for (1, 2); inquire → 3
            4 hears request from 3: MK-7 wants its vote back from (1, 4) for (1, 3)
            4 hears request from 2: MK-6 queues (1, 3) behind (1, 2); failed → 3; MK-7 queues (1, 2) first: the vote is asked for already
            3 hears request from 4: MK-6 queues (1, 4) behind (1, 3); failed → 4
            2 hears request from 4: MK-6 queues (1, 4) behind (1, 2); failed → 4
            3 hears failed from 4: MK-8 gives 1 its vote for (1, 3) back; relinquish → 1
            4 hears failed from 3: MK-8 gives 4 its vote for (1, 4) back; MK-9 votes for (1, 2); vote → 2
            1 hears relinquish from 3: MK-9 votes for (1, 2); vote → 2
            2 hears vote from 1: MK-3 has every vote for (1, 2); ENTERS (fence 0.1)
        "#]]);

    mk_7_an_older_request_makes_the_voter_inquire("4 acquire; 1 acquire | 4 > 2; 1 > 2", expect![[r#"
        2 hears request from 4: MK-2 votes for (1, 4); vote → 4
        2 hears request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
    "#]]);

    /// Node 4 inquires of itself, and does not ask again when 2 comes after 3.
    mk_7_a_voter_inquires_once_about_one_vote("4 acquire; 3 acquire; 2 acquire; 3 > 4; 2 > 4", expect![[r#"
        4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
        3 acquire: MK-1 asks 1,3,4 with (1, 3); request → 1; request → 4; MK-2 votes for (1, 3)
        2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
        4 hears request from 3: MK-7 wants its vote back from (1, 4) for (1, 3)
        4 hears request from 2: MK-6 queues (1, 3) behind (1, 2); failed → 3; MK-7 queues (1, 2) first: the vote is asked for already
    "#]]);

    mk_8_who_has_failed_elsewhere_gives_the_vote_back(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3 | 3 > 4; 4 > 2; 2 > 4; 1 > 2; 2 > 4", expect![[r#"
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            2 hears request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            4 hears inquire from 2: MK-8 gives 2 its vote for (1, 4) back; relinquish → 2
        "#]]);

    mk_8_who_fails_after_the_inquiry_gives_the_vote_back_then(
        "4 acquire; 1 acquire; 4 > 2; 1 > 2; 2 > 4 | 2 > 4; 1 > 3; 4 > 3; 3 > 4", expect![[r#"
            3 hears request from 1: MK-2 votes for (1, 1); vote → 1
            3 hears request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
            4 hears failed from 3: MK-8 gives 2 its vote for (1, 4) back; relinquish → 2
        "#]]);

    /// The inquiry overtakes the vote. A vote cannot be given back before it is there.
    mk_8_an_inquiry_may_come_before_the_vote_it_is_about(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 1 > 2; 2 > 4 last | 2 > 4; 4 > 2; 2 > 1", expect![[r#"
            4 hears vote from 2: MK-8 gives 2 its vote for (1, 4) back; relinquish → 2
            2 hears relinquish from 4: MK-9 votes for (1, 1); vote → 1
        "#]]);

    mk_8_who_is_inside_does_not_answer_an_inquiry(
        "4 acquire; 1 acquire; 4 > 2; 4 > 3; 1 > 2; 2 > 4; 3 > 4 | 2 > 4; 4 release; 4 > 2", expect![[r#"
            4 hears inquire from 2: MK-8 does not answer: (1, 4) is inside or over
            4 release: LEAVES; MK-4 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 votes for (1, 1); vote → 1
        "#]]);

    mk_8_who_has_left_does_not_answer_an_inquiry(
        "4 acquire; 1 acquire; 4 > 2; 1 > 2; 2 > 4; 4 cancel | 4 acquire; 2 > 4", expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            4 hears inquire from 2: MK-8 does not answer: (1, 4) is inside or over
        "#]]);

    /// The request of 4 fails at 2 and then has its vote; the vote overtakes the failure. If that counted, node 4 would give
    /// other votes back for nothing.
    mk_8_a_failure_that_comes_after_the_vote_does_not_count(
        "1 acquire; 1 > 2; 4 acquire; 4 > 2; 1 cancel; 1 > 2; 2 > 4 last | 2 > 4; 4 > 3; 3 > 4", expect![[r#"
            4 hears failed from 2: MK-8 ignores that (1, 4) fails: it has that vote, or is over
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
        "#]]);

    /// Node 4 has its own vote, which 3 needs, and fails at 2. It gives itself its vote back without a message.
    mk_8_a_node_gives_its_own_vote_back("4 acquire; 3 acquire; 1 acquire; 1 > 2; 4 > 2 | 3 > 4; 2 > 4", expect![[r#"
        4 hears request from 3: MK-7 wants its vote back from (1, 4) for (1, 3)
        4 hears failed from 2: MK-8 gives 4 its vote for (1, 4) back; MK-9 votes for (1, 3); vote → 3
    "#]]);

    mk_9_a_vote_that_is_given_back_goes_to_the_oldest_and_later_returns(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 2 > 4; 1 > 2; 2 > 4 | 4 > 2; 3 > 1; 2 > 1; 1 release;
         rest", expect![[r#"
            2 hears relinquish from 4: MK-9 votes for (1, 1); vote → 1
            1 hears vote from 2: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
            1 release: LEAVES; MK-4 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 1: MK-5 votes for (1, 4); vote → 4
            3 hears release from 1: MK-5 votes for (1, 4); vote → 4
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.2)
        "#]]);

    /// The older request that the vote is wanted for is given up meanwhile.
    mk_9_a_vote_that_nobody_older_wants_any_more_returns_at_once(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 1 > 2; 1 cancel | 1 > 2; 2 > 4; 2 > 4; 4 > 2", expect![[r#"
            2 hears release from 1: MK-5 removes (1, 1) from the queue
            4 hears inquire from 2: MK-8 gives 2 its vote for (1, 4) back; relinquish → 2
            2 hears relinquish from 4: MK-9 votes for (1, 4); vote → 4
        "#]]);

    /// Node 4 gives the vote back and then gives up. Its release overtakes that, and ends the request for good.
    mk_9_a_vote_may_be_given_back_twice(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 2 > 4; 1 > 2; 2 > 4; 4 cancel | 4 > 2 last;
         4 > 2", expect![[r#"
            2 hears release from 4: MK-5 votes for (1, 1); vote → 1
            2 hears relinquish from 4: MK-9 ignores that (1, 4) relinquishes: it is over
        "#]]);

    /// Node 3 speaks for node 4, and node 4 speaks although nobody has asked.
    mk_9_only_who_has_the_vote_gives_it_back(
        "4 acquire; 1 acquire; 1 > 3; 4 > 3; 3 > 4; 4 > 2; 2 > 4; 1 > 2 | 2 > 4; 4 > 2 as 3", expect![[r#"
            4 hears inquire from 2: MK-8 gives 2 its vote for (1, 4) back; relinquish → 2
            2 hears relinquish from 3: MK-9 ignores that 3 relinquishes for (1, 4)
        "#]]);
}
