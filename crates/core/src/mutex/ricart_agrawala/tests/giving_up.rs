//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

/// A request that is older than ours arrives while we are inside only if it was cancelled meanwhile.
#[test]
fn ra_2_who_is_inside_defers_even_an_older_request() {
    check_group(
        2,
        "1 acquire; 1 cancel; 2 acquire; 2 > 1; 1 > 2 last; 1 > 2; 2 release; rest",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled
            2 acquire: RA-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
            2 hears reply from 1: RA-3 has every reply to (1, 2); ENTERS (fence 0.1)
            2 hears request from 1: RA-2 defers (1, 1): ours (1, 2) goes first
            2 release: LEAVES; RA-4 lets (1, 1) pass at last; reply → 1
            1 hears reply from 2: RA-3 ignores a reply to (1, 1), which nobody waits with
        "#]],
    );
}

/// Both replies to the cancelled request (1, 1) arrive while 2 is inside. If they counted, 1 would enter too.
#[test]
fn ra_3_late_replies_to_a_cancelled_request_do_not_admit_the_next_one() {
    check(
        "
        1 acquire; 1 > 2; 1 > 3; 1 cancel; 2 acquire; 2 > 1 last; 2 > 3; 1 > 2; 3 > 2; 1 acquire
        2 > 1; 3 > 1; 1 > 2; 1 > 3; 3 > 1; 2 release; 2 > 1
        ",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 cancel: cancelled
            2 acquire: RA-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            3 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            2 hears reply from 1: nothing
            2 hears reply from 3: RA-3 has every reply to (2, 2); ENTERS (fence 0.1)
            1 acquire: RA-1 asks everyone with (3, 1); request → all
            1 hears reply from 2: RA-3 ignores a reply to (1, 1), which nobody waits with
            1 hears reply from 3: RA-3 ignores a reply to (1, 1), which nobody waits with
            2 hears request from 1: RA-2 defers (3, 1): ours (2, 2) goes first
            3 hears request from 1: RA-2 lets (3, 1) pass; reply → 1
            1 hears reply from 3: nothing
            2 release: LEAVES; RA-4 lets (3, 1) pass at last; reply → 1
            1 hears reply from 2: RA-3 has every reply to (3, 1); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ra_3_a_reply_may_overtake_the_reply_to_a_cancelled_request() {
    check_group(
        2,
        "1 acquire; 1 cancel; 1 acquire; 1 > 2; 1 > 2; 2 > 1 last; 2 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled
            1 acquire: RA-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            2 hears request from 1: RA-2 lets (2, 1) pass; reply → 1
            1 hears reply from 2: RA-3 has every reply to (2, 1); ENTERS (fence 0.1)
            1 hears reply from 2: RA-3 ignores a reply to (1, 1), which nobody waits with
        "#]],
    );
}

/// The cancelled request is answered when 1 is inside already, with the next one.
#[test]
fn ra_3_a_request_may_overtake_a_cancelled_request() {
    check_group(
        2,
        "1 acquire; 1 cancel; 1 acquire; 1 > 2 last; 2 > 1; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            1 cancel: cancelled
            1 acquire: RA-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RA-2 lets (2, 1) pass; reply → 1
            1 hears reply from 2: RA-3 has every reply to (2, 1); ENTERS (fence 0.1)
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: RA-3 ignores a reply to (1, 1), which nobody waits with
        "#]],
    );
}

#[test]
fn ra_5_asked_to_give_up_a_node_replies_to_everyone_deferred() {
    check(
        "1 acquire; 2 acquire; 2 > 1; 2 > 3; 3 > 2; 1 cancel; 1 > 2 last",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 acquire: RA-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RA-2 defers (1, 2): ours (1, 1) goes first
            3 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
            2 hears reply from 3: nothing
            1 cancel: cancelled; RA-5 lets (1, 2) pass at last; reply → 2
            2 hears reply from 1: RA-3 has every reply to (1, 2); ENTERS (fence 0.1)
        "#]],
    );
}

/// Node 2 owes a reply to both requests of 1, and pays both; only the second one admits.
#[test]
fn ra_5_who_gives_up_and_asks_again_may_be_deferred_twice() {
    check_group(
        2,
        "2 acquire; rest; 1 acquire; 1 cancel; 1 acquire; rest; 2 release; rest",
        expect![[r#"
            2 acquire: RA-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
            2 hears reply from 1: RA-3 has every reply to (1, 2); ENTERS (fence 0.1)
            1 acquire: RA-1 asks everyone with (2, 1); request → all
            1 cancel: cancelled
            1 acquire: RA-1 asks everyone with (3, 1); request → all
            2 hears request from 1: RA-2 defers (2, 1): ours (1, 2) goes first
            2 hears request from 1: RA-2 defers (3, 1): ours (1, 2) goes first
            2 release: LEAVES; RA-4 lets (2, 1) pass at last; reply → 1; RA-4 lets (3, 1) pass at last; reply → 1
            1 hears reply from 2: RA-3 ignores a reply to (2, 1), which nobody waits with
            1 hears reply from 2: RA-3 has every reply to (3, 1); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ra_5_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 acquire; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn ra_6_a_try_is_denied_by_one_who_is_inside() {
    check(
        "1 acquire; rest; 2 try; 2 > 3; 2 > 1; 1 > 2; 3 > 2; 1 release",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 try: RA-1 asks everyone with (2, 2); request → all
            3 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            1 hears request from 2: RA-6 denies (2, 2); denied → 2
            2 hears denied from 1: denied
            2 hears reply from 3: RA-3 ignores a reply to (2, 2), which nobody waits with
            1 release: LEAVES
        "#]],
    );
}

#[test]
fn ra_6_a_try_is_denied_by_one_who_asked_earlier_and_let_pass_by_one_who_asked_later() {
    check(
        "1 acquire; 2 try; 3 acquire; 2 > 3; 2 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 try: RA-1 asks everyone with (1, 2); request → all
            3 acquire: RA-1 asks everyone with (1, 3); request → all
            3 hears request from 2: RA-2 lets (1, 2) pass; reply → 2
            1 hears request from 2: RA-6 denies (1, 2); denied → 2
        "#]],
    );
}

#[test]
fn ra_6_a_denied_try_replies_to_everyone_deferred() {
    check(
        "1 acquire; 2 try; 3 acquire; 3 > 2; 2 > 1; 1 > 2 last",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 try: RA-1 asks everyone with (1, 2); request → all
            3 acquire: RA-1 asks everyone with (1, 3); request → all
            2 hears request from 3: RA-2 defers (1, 3): ours (1, 2) goes first
            1 hears request from 2: RA-6 denies (1, 2); denied → 2
            2 hears denied from 1: denied; RA-6 lets (1, 3) pass at last; reply → 3
        "#]],
    );
}

/// Of two denials the first one ends the try; neither ends the request that follows.
#[test]
fn ra_6_a_late_denial_ends_nothing_else() {
    check(
        "1 acquire; 2 acquire; 3 try; 3 > 1; 3 > 2; 1 > 3 last; 3 acquire; 2 > 3 last",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 acquire: RA-1 asks everyone with (1, 2); request → all
            3 try: RA-1 asks everyone with (1, 3); request → all
            1 hears request from 3: RA-6 denies (1, 3); denied → 3
            2 hears request from 3: RA-6 denies (1, 3); denied → 3
            3 hears denied from 1: denied
            3 acquire: RA-1 asks everyone with (2, 3); request → all
            3 hears denied from 2: nothing
        "#]],
    );
}

/// Node 2 hears nothing from 3 itself. It learns of the request (3, 3) by the clock in the denial of 1.
#[test]
fn ra_6_who_heard_of_a_request_through_a_denial_stamps_its_own_as_younger() {
    check(
        "
        1 acquire; rest; 3 acquire; 3 cancel; 3 acquire; 3 > 1 last; 2 try; 2 > 1; 1 > 2; 2 acquire
        ",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            3 acquire: RA-1 asks everyone with (2, 3); request → all
            3 cancel: cancelled
            3 acquire: RA-1 asks everyone with (3, 3); request → all
            1 hears request from 3: RA-2 defers (3, 3): ours (1, 1) goes first
            2 try: RA-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RA-6 denies (2, 2); denied → 2
            2 hears denied from 1: denied
            2 acquire: RA-1 asks everyone with (4, 2); request → all
        "#]],
    );
}

#[test]
fn ra_6_of_two_tries_one_enters() {
    check_group(
        2,
        "1 try; 2 try; rest",
        expect![[r#"
            1 try: RA-1 asks everyone with (1, 1); request → all
            2 try: RA-1 asks everyone with (1, 2); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RA-6 denies (1, 2); denied → 2
            1 hears reply from 2: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 hears denied from 1: denied
        "#]],
    );
}
