//! The rules of Maekawa's voting, one script each and more for the nasty cases.
//!
//! Four nodes in a square: 1 has the quorum 1, 2, 3; 2 has 1, 2, 4; 3 has 1, 3, 4; 4 has 2, 3, 4. So 1 and 4 share the
//! voters 2 and 3, and 2 and 3 share 1 and 4.

mod giving_up;
mod plain;
mod storms;
mod yielding;

use super::{Form, Maekawa};
use crate::group::Group;
use crate::mutex::quorum::Quorums;
use crate::node::NodeId;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn node(me: NodeId, group: Group) -> Maekawa {
    Maekawa::new(me, group, Form::DeadlockFree, Quorums::Grid)
}

fn check(script: &str, trace: Expect) {
    trace.assert_eq(&run_script(4, node, script));
}

#[test]
fn mk_1_asked_to_enter_a_node_stamps_a_request_and_sends_it_to_its_quorum() {
    check(
        "2 acquire",
        expect![[r#"
        2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
    "#]],
    );
}

#[test]
fn mk_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "2 acquire; 2 acquire; 2 try; rest; 2 acquire; 2 try",
        expect![[r#"
            2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
            2 acquire: refused: a request is already under way
            2 try: refused: a request is already under way
            1 hears request from 2: MK-2 votes for (1, 2); vote → 2
            4 hears request from 2: MK-2 votes for (1, 2); vote → 2
            2 hears vote from 1: nothing
            2 hears vote from 4: MK-3 has every vote for (1, 2); ENTERS (fence 0.1)
            2 acquire: refused: already inside
            2 try: refused: already inside
        "#]],
    );
}

#[test]
fn mk_1_who_has_voted_stamps_its_own_request_as_younger() {
    check(
        "2 acquire; 2 > 1; 1 acquire",
        expect![[r#"
            2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
            1 hears request from 2: MK-2 votes for (1, 2); vote → 2
            1 acquire: MK-1 asks 1,2,3 with (2, 1); request → 2; request → 3; MK-6 queues (2, 1) behind (1, 2)
        "#]],
    );
}

/// Node 4 hears nothing from 1 itself. It learns by the clock in the vote of 2 how late it is.
#[test]
fn mk_1_who_has_a_vote_stamps_its_next_request_as_younger_than_what_the_voter_knows() {
    check(
        "
        1 acquire; 1 cancel; 1 acquire; 1 cancel; rest; 4 acquire; 4 > 2; 2 > 4; 4 cancel; 4 acquire
        ",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            1 cancel: cancelled; MK-10 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            1 acquire: MK-1 asks 1,2,3 with (2, 1); request → 2; request → 3; MK-2 votes for (2, 1)
            1 cancel: cancelled; MK-10 gives every vote for (2, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            3 hears request from 1: MK-2 votes for (1, 1); vote → 1
            2 hears release from 1: MK-5 has its vote back; nobody waits
            3 hears release from 1: MK-5 has its vote back; nobody waits
            2 hears request from 1: MK-2 votes for (2, 1); vote → 1
            3 hears request from 1: MK-2 votes for (2, 1); vote → 1
            2 hears release from 1: MK-5 has its vote back; nobody waits
            3 hears release from 1: MK-5 has its vote back; nobody waits
            1 hears vote from 2: MK-3 ignores a vote for (1, 1), which nobody waits with
            1 hears vote from 3: MK-3 ignores a vote for (1, 1), which nobody waits with
            1 hears vote from 2: MK-3 ignores a vote for (2, 1), which nobody waits with
            1 hears vote from 3: MK-3 ignores a vote for (2, 1), which nobody waits with
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 cancel: cancelled; MK-10 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            4 acquire: MK-1 asks 2,3,4 with (3, 4); request → 2; request → 3; MK-2 votes for (3, 4)
        "#]],
    );
}

#[test]
fn mk_2_a_voter_votes_for_one_request_and_queues_the_others() {
    check(
        "1 acquire; 1 > 2; 4 acquire; 4 > 2; 2 acquire",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
            2 acquire: MK-1 asks 1,2,4 with (2, 2); request → 1; request → 4; MK-6 queues (2, 2) behind (1, 1)
        "#]],
    );
}

#[test]
fn mk_2_a_request_in_the_name_of_another_is_ignored() {
    check(
        "2 acquire; 2 > 1 as 3; 2 cancel; 2 > 1 as 3",
        expect![[r#"
            2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
            1 hears request from 3: MK-2 ignores (1, 2), which 3 brought
            2 cancel: cancelled; MK-10 gives every vote for (1, 2) back; release → 1; release → 4; MK-5 has its vote back; nobody waits
            1 hears release from 3: MK-5 ignores the end of (1, 2), which 3 brought
        "#]],
    );
}

#[test]
fn mk_2_a_stranger_is_not_served() {
    let group_of = |me: NodeId, all: Group| if me.number() == 3 { all } else { Group::of_size(2) };
    let trace = run_script(3, |me, all| node(me, group_of(me, all)), "3 acquire; 3 > 1; 3 cancel; 3 > 1");
    expect![[r#"
        3 acquire: MK-1 asks 1,3 with (1, 3); request → 1; MK-2 votes for (1, 3)
        1 hears request from 3: MK-2 ignores (1, 3), which 3 brought
        3 cancel: cancelled; MK-10 gives every vote for (1, 3) back; release → 1; MK-5 has its vote back; nobody waits
        1 hears release from 3: MK-5 ignores the end of (1, 3), which 3 brought
    "#]]
    .assert_eq(&trace);
}

#[test]
fn mk_3_a_node_with_every_vote_of_its_quorum_enters() {
    check(
        "4 acquire; 4 > 2; 4 > 3; 2 > 4; 3 > 4",
        expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
        "#]],
    );
}

/// The votes for the request that was given up come when the next one waits.
#[test]
fn mk_3_a_late_vote_does_not_count_for_the_next_request() {
    check(
        "4 acquire; 4 > 2; 4 > 3; 4 cancel; 4 acquire; 2 > 4; 3 > 4; rest",
        expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 cancel: cancelled; MK-10 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            4 acquire: MK-1 asks 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            4 hears vote from 2: MK-3 ignores a vote for (1, 4), which nobody waits with
            4 hears vote from 3: MK-3 ignores a vote for (1, 4), which nobody waits with
            2 hears release from 4: MK-5 has its vote back; nobody waits
            3 hears release from 4: MK-5 has its vote back; nobody waits
            2 hears request from 4: MK-2 votes for (2, 4); vote → 4
            3 hears request from 4: MK-2 votes for (2, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (2, 4); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn mk_3_a_group_of_one_asks_nobody() {
    let trace = run_script(1, node, "1 acquire\n1 release\n1 try\n1 release");
    expect![[r#"
        1 acquire: MK-1 asks 1 with (1, 1); MK-2 votes for (1, 1); MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        1 release: LEAVES; MK-4 gives every vote for (1, 1) back; MK-5 has its vote back; nobody waits
        1 try: MK-1 asks 1 with (2, 1); MK-2 votes for (2, 1); MK-3 has every vote for (2, 1); ENTERS (fence 0.2)
        1 release: LEAVES; MK-4 gives every vote for (2, 1) back; MK-5 has its vote back; nobody waits
    "#]]
    .assert_eq(&trace);
}

/// The three messages for each voter but oneself, and a fence that grows from one voter to the next.
#[test]
fn mk_4_asked_to_leave_a_node_gives_every_vote_back() {
    check(
        "1 acquire; rest; 1 release; rest; 4 acquire; rest; 4 release; rest",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            3 hears request from 1: MK-2 votes for (1, 1); vote → 1
            1 hears vote from 2: nothing
            1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
            1 release: LEAVES; MK-4 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 1: MK-5 has its vote back; nobody waits
            3 hears release from 1: MK-5 has its vote back; nobody waits
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.2)
            4 release: LEAVES; MK-4 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 has its vote back; nobody waits
            3 hears release from 4: MK-5 has its vote back; nobody waits
        "#]],
    );
}

#[test]
fn mk_4_a_node_that_is_not_inside_cannot_leave() {
    check(
        "2 release; 2 acquire; 2 release",
        expect![[r#"
            2 release: refused: not inside
            2 acquire: MK-1 asks 1,2,4 with (1, 2); request → 1; request → 4; MK-2 votes for (1, 2)
            2 release: refused: not inside
        "#]],
    );
}

/// Nodes 2 and 3 wait for the vote of 1, which goes to the older request although the other one came first.
#[test]
fn mk_5_a_vote_that_comes_back_goes_to_the_oldest_request() {
    check(
        "1 acquire; 1 > 2; 1 > 3; 2 > 1; 3 > 1; 3 acquire; 2 acquire; 3 > 1; 2 > 1; 1 release",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            3 hears request from 1: MK-2 votes for (1, 1); vote → 1
            1 hears vote from 2: nothing
            1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
            3 acquire: MK-1 asks 1,3,4 with (2, 3); request → 1; request → 4; MK-6 queues (2, 3) behind (1, 1)
            2 acquire: MK-1 asks 1,2,4 with (2, 2); request → 1; request → 4; MK-6 queues (2, 2) behind (1, 1)
            1 hears request from 3: MK-6 queues (2, 3) behind (1, 1); failed → 3
            1 hears request from 2: MK-6 queues (2, 2) behind (1, 1); failed → 2
            1 release: LEAVES; MK-4 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 votes for (2, 2); vote → 2
        "#]],
    );
}

/// Node 4 leaves and asks again, and its new request overtakes the release of the old one at 2. Nobody waits there, so that
/// it has the vote at once; the release that comes then ends the old request, and not the new one.
#[test]
fn mk_2_a_later_request_of_the_same_node_has_the_vote_of_the_earlier_one() {
    check(
        "4 acquire; rest; 4 release; 4 acquire; 4 > 2 last; 4 > 2; 4 > 3; 4 > 3; 2 > 4; 3 > 4",
        expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
            4 release: LEAVES; MK-4 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            4 acquire: MK-1 asks 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            2 hears request from 4: MK-2 votes for (2, 4); vote → 4
            2 hears release from 4: MK-5 hears the last of (1, 4)
            3 hears release from 4: MK-5 has its vote back; nobody waits
            3 hears request from 4: MK-2 votes for (2, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (2, 4); ENTERS (fence 0.2)
        "#]],
    );
}

/// Again it comes before the release of the old one, but node 1 waits, and is older.
#[test]
fn mk_2_a_later_request_of_the_same_node_goes_ahead_of_nobody() {
    check(
        "4 acquire; 1 acquire; 4 > 2; 1 > 2; 2 > 4; 4 cancel; 4 acquire; 4 > 2 last; 4 > 2",
        expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            2 hears request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            4 hears vote from 2: nothing
            4 cancel: cancelled; MK-10 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            4 acquire: MK-1 asks 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            2 hears request from 4: MK-6 queues (2, 4) behind (1, 1); failed → 4
            2 hears release from 4: MK-5 votes for (1, 1); vote → 1
        "#]],
    );
}
