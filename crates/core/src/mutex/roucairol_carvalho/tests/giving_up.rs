//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

/// The reply of 2 to (1, 1) comes when 2 has the permission of 1. If it counted, each would have the other's.
#[test]
fn rc_3_a_late_reply_to_a_request_that_was_given_up_is_no_permission() {
    check_group(
        2,
        "
        1 acquire; 1 > 2; 1 cancel; 2 acquire; 2 > 1 last; 1 > 2; 2 > 1; 1 acquire; 2 release; rest
        ",
        expect![[r#"
            1 acquire: RC-1 asks 2 with (1, 1); request → 2
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 cancel: cancelled
            2 acquire: RC-1 asks 1 with (2, 2); request → 1
            1 hears request from 2: RC-2 lets (2, 2) pass; reply → 2
            2 hears reply from 1: RC-4 has every permission for (2, 2); ENTERS (fence 0.1)
            1 hears reply from 2: RC-3 ignores a reply to (1, 1), which nobody waits with
            1 acquire: RC-1 asks 2 with (3, 1); request → 2
            2 release: LEAVES
            2 hears request from 1: RC-2 lets (3, 1) pass; reply → 1
            1 hears reply from 2: RC-4 has every permission for (3, 1); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rc_3_a_late_reply_to_a_request_that_was_given_up_does_not_count_for_the_next_one() {
    check_group(
        2,
        "1 acquire; 1 > 2; 1 cancel; 2 acquire; 2 > 1 last; 1 > 2; 1 acquire; 2 > 1",
        expect![[r#"
            1 acquire: RC-1 asks 2 with (1, 1); request → 2
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 cancel: cancelled
            2 acquire: RC-1 asks 1 with (2, 2); request → 1
            1 hears request from 2: RC-2 lets (2, 2) pass; reply → 2
            2 hears reply from 1: RC-4 has every permission for (2, 2); ENTERS (fence 0.1)
            1 acquire: RC-1 asks 2 with (3, 1); request → 2
            1 hears reply from 2: RC-3 ignores a reply to (1, 1), which nobody waits with
        "#]],
    );
}

/// Node 1 has given (1, 1) up when it lets (1, 2) pass. Node 2 cannot know, and asks once more than it need.
#[test]
fn rc_5_even_a_request_that_was_given_up_takes_a_permission_away() {
    check(
        "1 acquire; 1 cancel; 2 acquire; 2 > 1; 1 > 2 last; 1 > 2; rest",
        expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            1 cancel: cancelled
            2 acquire: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            1 hears request from 2: RC-2 lets (1, 2) pass; reply → 2
            2 hears reply from 1: nothing
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1; RC-5 asks 1 again with (1, 2); request → 1
            3 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            3 hears request from 2: RC-2 lets (1, 2) pass; reply → 2
            1 hears reply from 2: RC-3 ignores a reply to (1, 1), which nobody waits with
            1 hears request from 2: RC-2 lets (1, 2) pass; reply → 2
            1 hears reply from 3: RC-3 ignores a reply to (1, 1), which nobody waits with
            2 hears reply from 3: nothing
            2 hears reply from 1: RC-4 has every permission for (1, 2); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn rc_7_asked_to_give_up_a_node_replies_to_everyone_deferred_and_keeps_the_other_permissions() {
    check(
        "1 acquire; 1 > 3; 3 > 1; 2 acquire; 2 > 1; 1 cancel; 1 acquire",
        expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            3 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 hears reply from 3: nothing
            2 acquire: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            1 hears request from 2: RC-2 defers (1, 2): ours (1, 1) goes first
            1 cancel: cancelled; RC-7 lets (1, 2) pass at last; reply → 2
            1 acquire: RC-1 asks 2 with (2, 1); request → 2
        "#]],
    );
}

#[test]
fn rc_7_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 acquire; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn rc_8_a_try_is_denied_by_one_who_is_inside() {
    check(
        "1 acquire; rest; 2 try; 2 > 3; 3 > 2; 2 > 1; 1 > 2; 1 release; 2 acquire",
        expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
            2 try: RC-1 asks 1,3 with (2, 2); request → 1; request → 3
            3 hears request from 2: RC-2 lets (2, 2) pass; reply → 2
            2 hears reply from 3: nothing
            1 hears request from 2: RC-8 denies (2, 2); denied → 2
            2 hears denied from 1: denied
            1 release: LEAVES
            2 acquire: RC-1 asks 1 with (3, 2); request → 1
        "#]],
    );
}

#[test]
fn rc_8_a_try_is_denied_by_one_who_asked_earlier_and_let_pass_by_one_who_asked_later() {
    check(
        "1 acquire; 2 try; 3 acquire; 2 > 3; 2 > 1",
        expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            2 try: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            3 acquire: RC-1 asks 1,2 with (1, 3); request → 1; request → 2
            3 hears request from 2: RC-2 lets (1, 2) pass; reply → 2
            1 hears request from 2: RC-8 denies (1, 2); denied → 2
        "#]],
    );
}

#[test]
fn rc_8_a_denied_try_replies_to_everyone_deferred() {
    check(
        "1 acquire; 2 try; 3 acquire; 3 > 2; 2 > 1; 1 > 2 last",
        expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            2 try: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            3 acquire: RC-1 asks 1,2 with (1, 3); request → 1; request → 2
            2 hears request from 3: RC-2 defers (1, 3): ours (1, 2) goes first
            1 hears request from 2: RC-8 denies (1, 2); denied → 2
            2 hears denied from 1: denied; RC-8 lets (1, 3) pass at last; reply → 3
        "#]],
    );
}

/// The try has the permission of 1 and waits for that of 3 alone, when the older request of 1 arrives.
#[test]
fn rc_8_a_try_that_would_have_to_ask_again_is_denied() {
    check(
        "2 acquire; rest; 2 release; 3 acquire; rest; 3 release; 1 acquire; 2 try; 1 > 2; rest",
        expect![[r#"
            2 acquire: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            1 hears request from 2: RC-2 lets (1, 2) pass; reply → 2
            3 hears request from 2: RC-2 lets (1, 2) pass; reply → 2
            2 hears reply from 1: nothing
            2 hears reply from 3: RC-4 has every permission for (1, 2); ENTERS (fence 0.1)
            2 release: LEAVES
            3 acquire: RC-1 asks 1,2 with (2, 3); request → 1; request → 2
            1 hears request from 3: RC-2 lets (2, 3) pass; reply → 3
            2 hears request from 3: RC-2 lets (2, 3) pass; reply → 3
            3 hears reply from 1: nothing
            3 hears reply from 2: RC-4 has every permission for (2, 3); ENTERS (fence 0.2)
            3 release: LEAVES
            1 acquire: RC-1 asks 2,3 with (3, 1); request → 2; request → 3
            2 try: RC-1 asks 3 with (3, 2); request → 3
            2 hears request from 1: RC-2 lets (3, 1) pass; reply → 1; denied
            3 hears request from 1: RC-2 lets (3, 1) pass; reply → 1
            3 hears request from 2: RC-2 lets (3, 2) pass; reply → 2
            1 hears reply from 2: nothing
            1 hears reply from 3: RC-4 has every permission for (3, 1); ENTERS (fence 0.3)
            2 hears reply from 3: RC-3 ignores a reply to (3, 2), which nobody waits with
        "#]],
    );
}

#[test]
fn rc_8_a_late_denial_ends_nothing_else() {
    check(
        "1 acquire; 2 acquire; 3 try; 3 > 1; 3 > 2; 1 > 3 last; 3 try; 2 > 3 last",
        expect![[r#"
            1 acquire: RC-1 asks 2,3 with (1, 1); request → 2; request → 3
            2 acquire: RC-1 asks 1,3 with (1, 2); request → 1; request → 3
            3 try: RC-1 asks 1,2 with (1, 3); request → 1; request → 2
            1 hears request from 3: RC-8 denies (1, 3); denied → 3
            2 hears request from 3: RC-8 denies (1, 3); denied → 3
            3 hears denied from 1: denied
            3 try: RC-1 asks 1,2 with (2, 3); request → 1; request → 2
            3 hears denied from 2: nothing
        "#]],
    );
}

#[test]
fn rc_8_the_denial_of_a_stranger_does_not_count() {
    check_group(
        2,
        "1 acquire; rest; 2 try; 2 > 1; 1 > 2 as 9",
        expect![[r#"
            1 acquire: RC-1 asks 2 with (1, 1); request → 2
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
            2 try: RC-1 asks 1 with (2, 2); request → 1
            1 hears request from 2: RC-8 denies (2, 2); denied → 2
            2 hears denied from 9: nothing
        "#]],
    );
}

#[test]
fn rc_8_of_two_tries_one_enters() {
    check_group(
        2,
        "1 try; 2 try; rest",
        expect![[r#"
            1 try: RC-1 asks 2 with (1, 1); request → 2
            2 try: RC-1 asks 1 with (1, 2); request → 1
            2 hears request from 1: RC-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RC-8 denies (1, 2); denied → 2
            1 hears reply from 2: RC-4 has every permission for (1, 1); ENTERS (fence 0.1)
            2 hears denied from 1: denied
        "#]],
    );
}
