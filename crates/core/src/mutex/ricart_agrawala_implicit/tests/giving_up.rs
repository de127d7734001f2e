//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

/// Node 1 hears that 2 defers (2, 1) and then replies to it, both too late. Neither counts for (3, 1).
#[test]
fn ri_3_late_answers_to_a_request_that_was_given_up_do_not_count_for_the_next_one() {
    check_group(
        2,
        "
        2 acquire; rest; 2 fires; 1 acquire; 1 > 2; 1 cancel; 1 acquire; 1 > 2; 2 release; 2 > 1
        2 > 1 overtakes 1; 2 > 1; 1 fires; 2 > 1
        ",
        expect![[r#"
            2 acquire: RI-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RI-2 lets (1, 2) pass by saying nothing
            2 timer: RI-4 has everyone's consent to (1, 2); ENTERS (fence 0.4)
            1 acquire: RI-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RI-2 defers (2, 1): ours (1, 2) goes first; deferred → 1
            1 cancel: cancelled
            1 acquire: RI-1 asks everyone with (3, 1); request → all
            2 hears request from 1: RI-2 defers (3, 1): ours (1, 2) goes first; deferred → 1
            2 release: LEAVES; RI-5 lets (2, 1) pass at last; reply → 1; RI-5 lets (3, 1) pass at last; reply → 1
            1 hears deferred from 2: RI-3 ignores that 2 defers (2, 1)
            1 hears reply from 2: RI-3 ignores a reply to (2, 1), which nobody waits with
            1 hears deferred from 2: nothing
            1 timer: RI-4 takes silence for consent to (3, 1), and waits for 2
            1 hears reply from 2: RI-4 has everyone's consent to (3, 1); ENTERS (fence 0.7)
        "#]],
    );
}

#[test]
fn ri_6_asked_to_give_up_a_node_replies_to_everyone_deferred() {
    check(
        "1 acquire; 2 acquire; rest; 1 cancel; rest; 2 fires",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 acquire: RI-1 asks everyone with (1, 2); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 hears request from 2: RI-2 defers (1, 2): ours (1, 1) goes first; deferred → 2
            3 hears request from 2: RI-2 lets (1, 2) pass by saying nothing
            2 hears deferred from 1: nothing
            1 cancel: cancelled; RI-6 lets (1, 2) pass at last; reply → 2
            2 hears reply from 1: nothing
            2 timer: RI-4 has everyone's consent to (1, 2); ENTERS (fence 0.5)
        "#]],
    );
}

#[test]
fn ri_6_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 acquire; rest; 1 fires; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn ri_7_a_try_is_denied_by_one_who_is_inside() {
    check(
        "1 acquire; rest; 1 fires; 2 try; rest; 1 release",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
            2 try: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-7 denies (2, 2); denied → 2
            3 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
            2 hears denied from 1: denied
            1 release: LEAVES
        "#]],
    );
}

#[test]
fn ri_7_a_try_enters_when_the_wait_is_over() {
    check(
        "1 try; rest; 1 fires",
        expect![[r#"
            1 try: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
        "#]],
    );
}

#[test]
fn ri_7_a_denied_try_replies_to_everyone_deferred() {
    check(
        "1 acquire; 2 try; 3 acquire; 3 > 2; 2 > 1; 1 > 2 last",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 try: RI-1 asks everyone with (1, 2); request → all
            3 acquire: RI-1 asks everyone with (1, 3); request → all
            2 hears request from 3: RI-2 defers (1, 3): ours (1, 2) goes first; deferred → 3
            1 hears request from 2: RI-7 denies (1, 2); denied → 2
            2 hears denied from 1: denied; RI-7 lets (1, 3) pass at last; reply → 3
        "#]],
    );
}

#[test]
fn ri_7_a_denial_that_comes_late_or_from_a_stranger_ends_nothing() {
    check_group(
        2,
        "1 acquire; rest; 1 fires; 2 try; 2 > 1; 2 cancel; 2 try; 1 > 2; 2 > 1; 1 > 2 as 9",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
            2 try: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-7 denies (2, 2); denied → 2
            2 cancel: cancelled
            2 try: RI-1 asks everyone with (3, 2); request → all
            2 hears denied from 1: nothing
            1 hears request from 2: RI-7 denies (3, 2); denied → 2
            2 hears denied from 9: nothing
        "#]],
    );
}

#[test]
fn ri_7_of_two_tries_one_enters() {
    check_group(
        2,
        "1 try; 2 try; rest; 1 fires",
        expect![[r#"
            1 try: RI-1 asks everyone with (1, 1); request → all
            2 try: RI-1 asks everyone with (1, 2); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 hears request from 2: RI-7 denies (1, 2); denied → 2
            2 hears denied from 1: denied
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
        "#]],
    );
}
