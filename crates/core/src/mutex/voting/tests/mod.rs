//! The rules of voting, one script each and more for the nasty cases.
//!
//! In a group of three, node 1 votes for replica 1, node 3 for replica 2 and node 2 for replica 3; two votes admit. In a
//! group of four, node 1 votes for replica 1, node 2 for 2 and 4, node 4 for 3, and node 3 for none; three votes admit.

mod again;
mod giving_up;
mod one_by_one;
mod storms;

use super::{Asks, Voting};
use crate::bounds::Bounds;
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::run_script;
use crate::time::Duration;
use expect_test::{Expect, expect};

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };

fn node(me: NodeId, group: Group) -> Voting {
    Voting::new(me, group, Asks::All, BOUNDS)
}

fn check(script: &str, trace: Expect) {
    trace.assert_eq(&run_script(3, node, script));
}

fn check_four(script: &str, trace: Expect) {
    trace.assert_eq(&run_script(4, node, script));
}

#[test]
fn vo_1_asked_to_enter_a_node_asks_for_every_vote_and_for_its_own_first() {
    check(
        "2 acquire",
        expect![[r#"
        2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
    "#]],
    );
}

#[test]
fn vo_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "2 acquire; 2 acquire; 2 try; rest; 2 acquire; 2 try",
        expect![[r#"
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            2 acquire: refused: a request is already under way
            2 try: refused: a request is already under way
            1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 hears vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
            2 hears vote from 3: nothing
            2 acquire: refused: already inside
            2 try: refused: already inside
        "#]],
    );
}

/// All replicas of `lock` are with node 1 of three.
#[test]
fn vo_1_a_node_that_has_most_votes_itself_asks_nobody() {
    let trace = run_script(
        3,
        |me, group| Voting::with_votes(me, group, "lock", 2, Asks::All, BOUNDS),
        "1 acquire; 2 acquire; rest; 1 release; 2 fires; rest",
    );
    expect![[r#"
        1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; VO-2 gives (1, 1) the vote of replica 2; VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); request → 1; request → 1; request → 1
        1 hears request from 2: VO-2 denies (1, 2) replica 1: (1, 1) has its vote; denied → 2
        1 hears request from 2: VO-2 denies (1, 2) replica 2: (1, 1) has its vote; denied → 2
        1 hears request from 2: VO-2 gives (1, 2) the vote of replica 3; vote → 2
        2 hears denied from 1: nothing
        2 hears denied from 1: VO-6 cannot have 2 votes for (1, 2); waits 2ms..4ms
        2 hears vote from 1: VO-8 does not need the vote of replica 3 for (1, 2); release → 1
        1 hears release from 2: VO-5 has the vote of replica 3 back from (1, 2)
        1 release: LEAVES; VO-4 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1); VO-5 has the vote of replica 2 back from (1, 1)
        2 timer: VO-6 asks for 2 of 3 votes with (1, 2); request → 1; request → 1; request → 1
        1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
        1 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        1 hears request from 2: VO-2 gives (1, 2) the vote of replica 3; vote → 2
        2 hears vote from 1: nothing
        2 hears vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
        2 hears vote from 1: nothing
    "#]].assert_eq(&trace);
}

#[test]
fn vo_1_a_group_of_one_asks_nobody() {
    let trace = run_script(1, node, "1 acquire\n1 release\n1 try\n1 release");
    expect![[r#"
        1 acquire: VO-1 asks for 1 of 1 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        1 release: LEAVES; VO-4 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1)
        1 try: VO-1 asks for 1 of 1 votes with (2, 1); VO-2 gives (2, 1) the vote of replica 1; VO-3 has enough votes for (2, 1); ENTERS (fence 0.2)
        1 release: LEAVES; VO-4 gives every vote for (2, 1) back; VO-5 has the vote of replica 1 back from (2, 1)
    "#]].assert_eq(&trace);
}

#[test]
fn vo_2_a_voter_votes_for_one_and_denies_the_others() {
    check(
        "1 acquire; 2 acquire; 1 > 3; 2 > 3",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            3 hears request from 2: VO-2 denies (1, 2) replica 2: (1, 1) has its vote; denied → 2
        "#]],
    );
}

/// Node 3 of four asks again, and that overtakes the votes that it gives back.
#[test]
fn vo_2_a_later_request_of_the_same_node_has_the_vote_of_the_earlier_one() {
    check_four(
        "3 acquire; rest; 3 release; 3 acquire; 3 > 1 last; 3 > 1; rest",
        expect![[r#"
            3 acquire: VO-1 asks for 3 of 4 votes with (1, 3); request → 1; request → 2; request → 4; request → 2
            1 hears request from 3: VO-2 gives (1, 3) the vote of replica 1; vote → 3
            2 hears request from 3: VO-2 gives (1, 3) the vote of replica 2; vote → 3
            4 hears request from 3: VO-2 gives (1, 3) the vote of replica 3; vote → 3
            2 hears request from 3: VO-2 gives (1, 3) the vote of replica 4; vote → 3
            3 hears vote from 1: nothing
            3 hears vote from 2: nothing
            3 hears vote from 4: VO-3 has enough votes for (1, 3); ENTERS (fence 0.1)
            3 hears vote from 2: nothing
            3 release: LEAVES; VO-4 gives every vote for (1, 3) back; release → 1; release → 2; release → 4; release → 2
            3 acquire: VO-1 asks for 3 of 4 votes with (2, 3); request → 1; request → 2; request → 4; request → 2
            1 hears request from 3: VO-2 gives (2, 3) the vote of replica 1; vote → 3
            1 hears release from 3: VO-5 ignores (1, 3): it has no vote of replica 1
            2 hears release from 3: VO-5 has the vote of replica 2 back from (1, 3)
            4 hears release from 3: VO-5 has the vote of replica 3 back from (1, 3)
            2 hears release from 3: VO-5 has the vote of replica 4 back from (1, 3)
            2 hears request from 3: VO-2 gives (2, 3) the vote of replica 2; vote → 3
            4 hears request from 3: VO-2 gives (2, 3) the vote of replica 3; vote → 3
            2 hears request from 3: VO-2 gives (2, 3) the vote of replica 4; vote → 3
            3 hears vote from 1: nothing
            3 hears vote from 2: nothing
            3 hears vote from 4: VO-3 has enough votes for (2, 3); ENTERS (fence 0.2)
            3 hears vote from 2: nothing
        "#]],
    );
}

/// The earlier request comes after the later one. It is denied, which nobody waits to hear.
#[test]
fn vo_2_an_earlier_request_of_the_same_node_has_nothing_of_the_later_one() {
    check(
        "1 acquire; 1 cancel; 1 acquire; 1 > 3 last; 1 > 3; 3 > 1 last; 3 > 1",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            1 cancel: cancelled; VO-7 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1)
            1 acquire: VO-1 asks for 2 of 3 votes with (2, 1); VO-2 gives (2, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (2, 1) the vote of replica 2; vote → 1
            3 hears request from 1: VO-2 denies (1, 1) replica 2: (2, 1) has its vote; denied → 1
            1 hears denied from 3: nothing
            1 hears vote from 3: VO-3 has enough votes for (2, 1); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn vo_2_a_request_in_the_name_of_another_is_ignored() {
    check(
        "2 acquire; 2 > 1 as 3; 2 > 3; 3 > 2 as 1; 2 cancel",
        expect![[r#"
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            1 hears request from 3: VO-2 ignores (1, 2), of which 3 speaks
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 hears vote from 1: VO-3 ignores 1, which does not vote for replica 2
            2 cancel: cancelled; VO-7 gives every vote for (1, 2) back; VO-5 has the vote of replica 3 back from (1, 2)
        "#]],
    );
}

/// Node 3 is not of the group of the other two, in which replica 1 is with node 1 and replica 2 with node 2.
#[test]
fn vo_2_a_stranger_is_not_served() {
    let group_of = |me: NodeId, all: Group| if me.number() == 3 { all } else { Group::of_size(2) };
    let trace = run_script(3, |me, all| node(me, group_of(me, all)), "3 acquire; rest");
    expect![[r#"
        3 acquire: VO-1 asks for 2 of 3 votes with (1, 3); VO-2 gives (1, 3) the vote of replica 2; request → 1; request → 2
        1 hears request from 3: VO-2 ignores (1, 3), of which 3 speaks
        2 hears request from 3: VO-2 ignores (1, 3), of which 3 speaks
    "#]].assert_eq(&trace);
}

#[test]
fn vo_3_a_node_with_enough_votes_enters() {
    check(
        "1 acquire; 1 > 3; 3 > 1",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            1 hears vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
        "#]],
    );
}

/// The third vote comes when node 1 is inside. It goes back with the others.
#[test]
fn vo_4_asked_to_leave_a_node_gives_every_vote_back() {
    check(
        "1 acquire; 1 > 3; 3 > 1; 1 > 2; 2 > 1; 1 release; rest; 2 acquire; rest",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            1 hears vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
            2 hears request from 1: VO-2 gives (1, 1) the vote of replica 3; vote → 1
            1 hears vote from 2: nothing
            1 release: LEAVES; VO-4 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1); release → 3; release → 2
            3 hears release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 hears release from 1: VO-5 has the vote of replica 3 back from (1, 1)
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 hears vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.2)
            2 hears vote from 3: nothing
        "#]],
    );
}

#[test]
fn vo_4_a_node_that_is_not_inside_cannot_leave() {
    check(
        "2 release; 2 acquire; 2 release",
        expect![[r#"
            2 release: refused: not inside
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            2 release: refused: not inside
        "#]],
    );
}

#[test]
fn vo_5_a_vote_that_comes_back_can_be_given_again() {
    check(
        "1 acquire; 1 > 3; 1 cancel; 3 > 1; 1 > 3; 2 acquire; 2 > 3",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            1 cancel: cancelled; VO-7 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1)
            1 hears vote from 3: VO-8 does not need the vote of replica 2 for (1, 1); release → 3
            3 hears release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
        "#]],
    );
}
