//! Those who do not wait for ever: requests that are given up, and tries.

use super::check;
use expect_test::expect;

#[test]
fn vo_7_asked_to_give_up_a_node_gives_every_vote_back() {
    check(
        "1 acquire; 1 cancel; rest; 2 acquire; rest",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            1 cancel: cancelled; VO-7 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1)
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            2 hears request from 1: VO-2 gives (1, 1) the vote of replica 3; vote → 1
            1 hears vote from 3: VO-8 does not need the vote of replica 2 for (1, 1); release → 3
            1 hears vote from 2: VO-8 does not need the vote of replica 3 for (1, 1); release → 2
            3 hears release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 hears release from 1: VO-5 has the vote of replica 3 back from (1, 1)
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 hears vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
            2 hears vote from 3: nothing
        "#]],
    );
}

/// Whoever has given up does not ask again.
#[test]
fn vo_7_who_gives_up_between_two_attempts_stops_waiting() {
    check(
        "1 acquire; rest; 2 acquire; rest; 2 cancel; 1 release; rest; 2 acquire; rest",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            2 hears request from 1: VO-2 gives (1, 1) the vote of replica 3; vote → 1
            1 hears vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
            1 hears vote from 2: nothing
            2 acquire: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 denies (1, 2) replica 3: (1, 1) has its vote; request → 1; request → 3
            1 hears request from 2: VO-2 denies (1, 2) replica 1: (1, 1) has its vote; denied → 2
            3 hears request from 2: VO-2 denies (1, 2) replica 2: (1, 1) has its vote; denied → 2
            2 hears denied from 1: VO-6 cannot have 2 votes for (1, 2); waits 2ms..4ms
            2 hears denied from 3: nothing
            2 cancel: cancelled; VO-7 gives every vote for (1, 2) back
            1 release: LEAVES; VO-4 gives every vote for (1, 1) back; VO-5 has the vote of replica 1 back from (1, 1); release → 3; release → 2
            3 hears release from 1: VO-5 has the vote of replica 2 back from (1, 1)
            2 hears release from 1: VO-5 has the vote of replica 3 back from (1, 1)
            2 acquire: VO-1 asks for 2 of 3 votes with (2, 2); VO-2 gives (2, 2) the vote of replica 3; request → 1; request → 3
            1 hears request from 2: VO-2 gives (2, 2) the vote of replica 1; vote → 2
            3 hears request from 2: VO-2 gives (2, 2) the vote of replica 2; vote → 2
            2 hears vote from 1: VO-3 has enough votes for (2, 2); ENTERS (fence 0.2)
            2 hears vote from 3: nothing
        "#]],
    );
}

#[test]
fn vo_7_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 acquire; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            2 hears request from 1: VO-2 gives (1, 1) the vote of replica 3; vote → 1
            1 hears vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
            1 hears vote from 2: nothing
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn vo_9_a_try_that_cannot_have_enough_votes_is_denied() {
    check(
        "1 acquire; 1 > 3; 2 try; 2 > 1; 2 > 3; 1 > 2; 3 > 2; rest",
        expect![[r#"
            1 acquire: VO-1 asks for 2 of 3 votes with (1, 1); VO-2 gives (1, 1) the vote of replica 1; request → 3; request → 2
            3 hears request from 1: VO-2 gives (1, 1) the vote of replica 2; vote → 1
            2 try: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            1 hears request from 2: VO-2 denies (1, 2) replica 1: (1, 1) has its vote; denied → 2
            3 hears request from 2: VO-2 denies (1, 2) replica 2: (1, 1) has its vote; denied → 2
            2 hears request from 1: VO-2 denies (1, 1) replica 3: (1, 2) has its vote; denied → 1
            2 hears denied from 3: nothing
            1 hears vote from 3: VO-3 has enough votes for (1, 1); ENTERS (fence 0.1)
            2 hears denied from 1: denied; VO-9 gives every vote for (1, 2) back; VO-5 has the vote of replica 3 back from (1, 2)
            1 hears denied from 2: nothing
        "#]],
    );
}

#[test]
fn vo_9_a_try_that_has_enough_votes_enters() {
    check(
        "2 try; rest; 2 release; rest",
        expect![[r#"
            2 try: VO-1 asks for 2 of 3 votes with (1, 2); VO-2 gives (1, 2) the vote of replica 3; request → 1; request → 3
            1 hears request from 2: VO-2 gives (1, 2) the vote of replica 1; vote → 2
            3 hears request from 2: VO-2 gives (1, 2) the vote of replica 2; vote → 2
            2 hears vote from 1: VO-3 has enough votes for (1, 2); ENTERS (fence 0.1)
            2 hears vote from 3: nothing
            2 release: LEAVES; VO-4 gives every vote for (1, 2) back; release → 1; release → 3; VO-5 has the vote of replica 3 back from (1, 2)
            1 hears release from 2: VO-5 has the vote of replica 1 back from (1, 2)
            3 hears release from 2: VO-5 has the vote of replica 2 back from (1, 2)
        "#]],
    );
}
