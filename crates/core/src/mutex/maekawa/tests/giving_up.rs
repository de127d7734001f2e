//! Those who do not wait for ever: requests that are given up, and tries.

use super::check;
use expect_test::expect;

#[test]
fn mk_5_a_request_that_is_given_up_leaves_the_queue() {
    check(
        "1 acquire; 1 > 2; 4 acquire; 4 > 2; 4 cancel; 4 > 2; 1 cancel; 1 > 2",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-6 queues (1, 4) behind (1, 1); failed → 4
            4 cancel: cancelled; MK-10 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 removes (1, 4) from the queue
            1 cancel: cancelled; MK-10 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 1: MK-5 has its vote back; nobody waits
        "#]],
    );
}

/// The release overtakes the request.
#[test]
fn mk_5_a_request_that_is_over_before_it_arrives_gets_no_vote() {
    check(
        "4 acquire; 4 cancel; 4 > 2 last; 4 > 2; 1 acquire; 1 > 2",
        expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            4 cancel: cancelled; MK-10 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 voids (1, 4) before it arrives
            2 hears request from 4: MK-2 ignores (1, 4): it is void
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
        "#]],
    );
}

#[test]
fn mk_10_asked_to_give_up_a_node_gives_every_vote_back() {
    check(
        "4 acquire; 4 > 2; 2 > 4; 4 cancel; rest",
        expect![[r#"
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 cancel: cancelled; MK-10 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            2 hears release from 4: MK-5 has its vote back; nobody waits
            3 hears release from 4: MK-5 has its vote back; nobody waits
            4 hears vote from 3: MK-3 ignores a vote for (1, 4), which nobody waits with
        "#]],
    );
}

#[test]
fn mk_10_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "4 cancel; 4 acquire; rest; 4 cancel",
        expect![[r#"
            4 cancel: refused: no request is under way
            4 acquire: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
            4 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn mk_11_a_try_that_finds_a_vote_given_is_denied() {
    check(
        "1 acquire; 1 > 2; 4 try; 4 > 3; 4 > 2; 2 > 4; rest",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            4 try: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            2 hears request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
            4 hears failed from 2: denied; MK-11 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            3 hears request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            1 hears vote from 2: nothing
            4 hears vote from 3: MK-3 ignores a vote for (1, 4), which nobody waits with
            2 hears release from 4: MK-5 hears the last of (1, 4)
            3 hears release from 4: MK-5 votes for (1, 1); vote → 1
            4 hears inquire from 3: MK-8 does not answer: (1, 4) is inside or over
            1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn mk_11_a_try_that_finds_every_vote_enters() {
    check(
        "4 try; rest; 4 release; rest",
        expect![[r#"
            4 try: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 2: nothing
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
            4 release: LEAVES; MK-4 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 has its vote back; nobody waits
            3 hears release from 4: MK-5 has its vote back; nobody waits
        "#]],
    );
}

#[test]
fn mk_11_a_try_whose_own_vote_is_given_is_denied_at_once() {
    check(
        "1 acquire; 1 > 2; 2 try",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            2 try: MK-11 fails at once: our own vote is with (1, 1); denied
        "#]],
    );
}

/// Two deny it. The second denial comes when it is over, and the release of the try may overtake the try itself.
#[test]
fn mk_11_a_try_is_over_with_the_first_denial() {
    check(
        "
        1 acquire; 1 > 2; 1 > 3; 4 try; 4 > 2; 2 > 4; 4 > 2; 4 > 3 last; 4 > 3; 4 try; 4 > 2; 4 > 3
        3 > 4; 2 > 4; rest; 1 release; rest
        ",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            3 hears request from 1: MK-2 votes for (1, 1); vote → 1
            4 try: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
            4 hears failed from 2: denied; MK-11 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 hears the last of (1, 4)
            3 hears release from 4: MK-5 voids (1, 4) before it arrives
            3 hears request from 4: MK-2 ignores (1, 4): it is void
            4 try: MK-1 asks 2,3,4 with (2, 4); request → 2; request → 3; MK-2 votes for (2, 4)
            2 hears request from 4: MK-11 denies (2, 4): (1, 1) has the vote; failed → 4
            3 hears request from 4: MK-11 denies (2, 4): (1, 1) has the vote; failed → 4
            4 hears failed from 3: denied; MK-11 gives every vote for (2, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            4 hears failed from 2: MK-8 ignores that (2, 4) fails: it has that vote, or is over
            1 hears vote from 2: nothing
            1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.1)
            2 hears release from 4: MK-5 hears the last of (2, 4)
            3 hears release from 4: MK-5 hears the last of (2, 4)
            1 release: LEAVES; MK-4 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 1: MK-5 has its vote back; nobody waits
            3 hears release from 1: MK-5 has its vote back; nobody waits
        "#]],
    );
}

/// A denied try does not wait: when the vote comes back, nobody has it.
#[test]
fn mk_11_a_denied_try_is_not_queued() {
    check(
        "1 acquire; 1 > 2; 4 try; 4 > 2; 1 cancel; 1 > 2; 2 > 4; 4 > 2",
        expect![[r#"
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 1: MK-2 votes for (1, 1); vote → 1
            4 try: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            2 hears request from 4: MK-11 denies (1, 4): (1, 1) has the vote; failed → 4
            1 cancel: cancelled; MK-10 gives every vote for (1, 1) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 1: MK-5 has its vote back; nobody waits
            4 hears failed from 2: denied; MK-11 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            2 hears release from 4: MK-5 hears the last of (1, 4)
        "#]],
    );
}

/// Node 2 wants its vote back from a try for the older request of 1. A try that has not failed keeps it and enters.
#[test]
fn mk_11_a_try_gives_no_vote_back() {
    check(
        "4 try; 1 acquire; 4 > 2; 1 > 2; 2 > 4; 2 > 4; 4 > 3; 3 > 4; 4 release; rest",
        expect![[r#"
            4 try: MK-1 asks 2,3,4 with (1, 4); request → 2; request → 3; MK-2 votes for (1, 4)
            1 acquire: MK-1 asks 1,2,3 with (1, 1); request → 2; request → 3; MK-2 votes for (1, 1)
            2 hears request from 4: MK-2 votes for (1, 4); vote → 4
            2 hears request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            4 hears vote from 2: nothing
            4 hears inquire from 2: nothing
            3 hears request from 4: MK-2 votes for (1, 4); vote → 4
            4 hears vote from 3: MK-3 has every vote for (1, 4); ENTERS (fence 0.1)
            4 release: LEAVES; MK-4 gives every vote for (1, 4) back; release → 2; release → 3; MK-5 has its vote back; nobody waits
            3 hears request from 1: MK-7 wants its vote back from (1, 4) for (1, 1); inquire → 4
            2 hears release from 4: MK-5 votes for (1, 1); vote → 1
            3 hears release from 4: MK-5 votes for (1, 1); vote → 1
            4 hears inquire from 3: MK-8 does not answer: (1, 4) is inside or over
            1 hears vote from 2: nothing
            1 hears vote from 3: MK-3 has every vote for (1, 1); ENTERS (fence 0.2)
        "#]],
    );
}
