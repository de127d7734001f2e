//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

#[test]
fn rr_3_a_request_that_was_given_up_comes_back_to_nobody() {
    check(
        "1 acquire; 1 > 2; 1 cancel; 1 acquire; 2 > 3; 3 > 1; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            1 cancel: cancelled
            1 acquire: RR-1 sends (2, 1) round; request → 2
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 takes back (1, 1), which nobody waits with
            2 hears request from 1: RR-2 lets (2, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (2, 1) pass; request → 1
            1 hears request from 3: RR-3 has (2, 1) back; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn rr_5_asked_to_give_up_a_node_passes_on_everything_held() {
    check(
        "1 acquire; 2 acquire; 2 > 3; 3 > 1; 1 cancel; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 acquire: RR-1 sends (1, 2) round; request → 3
            3 hears request from 2: RR-2 lets (1, 2) pass; request → 1
            1 hears request from 3: RR-2 holds (1, 2): ours (1, 1) goes first
            1 cancel: cancelled; RR-5 lets (1, 2) pass at last; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 takes back (1, 1), which nobody waits with
        "#]],
    );
}

/// The abandoned request is held like any other and goes on when its turn comes.
#[test]
fn rr_5_what_was_given_up_still_goes_its_round() {
    check(
        "1 acquire; rest; 2 acquire; rest; 2 cancel; 1 release; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 acquire: RR-1 sends (2, 2) round; request → 3
            3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
            1 hears request from 3: RR-2 holds (2, 2): ours (1, 1) goes first
            2 cancel: cancelled
            1 release: LEAVES; RR-4 lets (2, 2) pass at last; request → 2
            2 hears request from 1: RR-3 takes back (2, 2), which nobody waits with
        "#]],
    );
}

#[test]
fn rr_5_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 acquire; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn rr_6_a_try_is_taken_off_the_ring_by_one_who_is_inside() {
    check(
        "1 acquire; rest; 2 try; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 try: RR-1 sends (2, 2) round; request → 3
            3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
            1 hears request from 3: RR-6 denies (2, 2); denied → 2
            2 hears denied from 1: denied
        "#]],
    );
}

/// Node 2 holds (3, 1) because of its try, which 3 denies.
#[test]
fn rr_6_a_denied_try_passes_on_everything_held() {
    check(
        "
        3 acquire; 3 > 1; 1 > 2; 2 try; 1 acquire; 1 cancel; 1 acquire; 1 > 2 last; 2 > 3 last
        3 > 2
        ",
        expect![[r#"
            3 acquire: RR-1 sends (1, 3) round; request → 1
            1 hears request from 3: RR-2 lets (1, 3) pass; request → 2
            2 hears request from 1: RR-2 lets (1, 3) pass; request → 3
            2 try: RR-1 sends (2, 2) round; request → 3
            1 acquire: RR-1 sends (2, 1) round; request → 2
            1 cancel: cancelled
            1 acquire: RR-1 sends (3, 1) round; request → 2
            2 hears request from 1: RR-2 holds (3, 1): ours (2, 2) goes first
            3 hears request from 2: RR-6 denies (2, 2); denied → 2
            2 hears denied from 3: denied; RR-6 lets (3, 1) pass at last; request → 3
        "#]],
    );
}

#[test]
fn rr_6_a_denial_that_comes_late_or_from_a_stranger_ends_nothing() {
    check_group(
        2,
        "1 acquire; rest; 2 try; 2 > 1; 2 cancel; 2 try; 1 > 2; 2 > 1; 1 > 2 as 9",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 2: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 try: RR-1 sends (2, 2) round; request → 1
            1 hears request from 2: RR-6 denies (2, 2); denied → 2
            2 cancel: cancelled
            2 try: RR-1 sends (3, 2) round; request → 1
            2 hears denied from 1: nothing
            1 hears request from 2: RR-6 denies (3, 2); denied → 2
            2 hears denied from 9: nothing
        "#]],
    );
}

#[test]
fn rr_6_of_two_tries_one_enters() {
    check_group(
        2,
        "1 try; 2 try; rest",
        expect![[r#"
            1 try: RR-1 sends (1, 1) round; request → 2
            2 try: RR-1 sends (1, 2) round; request → 1
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 2: RR-6 denies (1, 2); denied → 2
            1 hears request from 2: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 hears denied from 1: denied
        "#]],
    );
}
