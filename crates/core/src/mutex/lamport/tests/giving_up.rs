//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

#[test]
fn la_6_a_request_that_is_given_up_is_crossed_out_everywhere() {
    check(
        "1 acquire; 1 > 2; 2 acquire; 1 cancel; rest",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            2 acquire: LA-1 queues (3, 2) and tells everyone; request → all
            1 cancel: cancelled; LA-6 crosses (1, 1) out and tells everyone; release → all
            3 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: nothing
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears release from 1: LA-5 crosses (1, 1) out
            3 hears release from 1: LA-5 crosses (1, 1) out
            1 hears reply from 3: nothing
            2 hears reply from 1: nothing
            2 hears reply from 3: LA-3 is first with (3, 2); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn la_6_a_node_that_does_not_wait_cannot_give_up() {
    check_group(
        2,
        "1 cancel; 1 acquire; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

/// The reply to (1, 1), which was given up, is later than (2, 1) too. It can count: links keep the order, so node 2 has
/// no older request under way.
#[test]
fn la_6_a_late_reply_to_a_request_that_was_given_up_counts_if_it_is_later() {
    check_group(
        2,
        "
        2 acquire; 2 cancel; 1 acquire; 1 cancel; 1 acquire; 1 > 2; 2 > 1; 2 > 1; 2 > 1; 1 > 2
        1 > 2; 2 > 1
        ",
        expect![[r#"
            2 acquire: LA-1 queues (1, 2) and tells everyone; request → all
            2 cancel: cancelled; LA-6 crosses (1, 2) out and tells everyone; release → all
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            1 cancel: cancelled; LA-6 crosses (1, 1) out and tells everyone; release → all
            1 acquire: LA-1 queues (2, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears request from 2: LA-2 queues (1, 2); reply → 2
            1 hears release from 2: LA-5 crosses (1, 2) out
            1 hears reply from 2: LA-3 is first with (2, 1); ENTERS (fence 0.1)
            2 hears release from 1: LA-5 crosses (1, 1) out
            2 hears request from 1: LA-2 queues (2, 1); reply → 1
            1 hears reply from 2: nothing
        "#]],
    );
}

/// The reply to (1, 1) is not later than (3, 1), and says nothing about it.
#[test]
fn la_6_an_early_reply_to_a_request_that_was_given_up_does_not_count() {
    check_group(
        2,
        "1 acquire; 1 > 2; 1 cancel; 1 acquire; 2 > 1; 1 > 2; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 cancel: cancelled; LA-6 crosses (1, 1) out and tells everyone; release → all
            1 acquire: LA-1 queues (2, 1) and tells everyone; request → all
            1 hears reply from 2: LA-3 is first with (2, 1); ENTERS (fence 0.1)
            2 hears release from 1: LA-5 crosses (1, 1) out
            2 hears request from 1: LA-2 queues (2, 1); reply → 1
            1 hears reply from 2: nothing
        "#]],
    );
}

#[test]
fn la_7_a_try_that_is_not_first_when_all_have_answered_is_denied() {
    check_group(
        2,
        "1 acquire; rest; 2 try; 2 > 1; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            2 try: LA-1 queues (3, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears reply from 1: denied; LA-7 crosses (3, 2) out and tells everyone; release → all
            1 hears release from 2: LA-5 crosses (3, 2) out
        "#]],
    );
}

#[test]
fn la_7_a_try_that_is_first_enters() {
    check_group(
        2,
        "2 try; rest",
        expect![[r#"
            2 try: LA-1 queues (1, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (1, 2); reply → 2
            2 hears reply from 1: LA-3 is first with (1, 2); ENTERS (fence 0.1)
        "#]],
    );
}

/// Of two tries at once the older one is first, and the younger one hears of it before its answer is complete.
#[test]
fn la_7_of_two_tries_at_once_the_older_one_enters() {
    check_group(
        2,
        "1 try; 2 try; rest",
        expect![[r#"
            1 try: LA-1 queues (1, 1) and tells everyone; request → all
            2 try: LA-1 queues (1, 2) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 hears reply from 2: nothing
            2 hears reply from 1: denied; LA-7 crosses (1, 2) out and tells everyone; release → all
            1 hears release from 2: LA-5 crosses (1, 2) out
        "#]],
    );
}

/// The release is under way already, but the try has its answer before.
#[test]
fn la_7_a_try_is_denied_while_the_release_is_under_way() {
    check(
        "1 acquire; rest; 2 try; 2 > 1; 2 > 3; 1 > 2; 1 release; 3 > 2; rest",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            3 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            2 try: LA-1 queues (3, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears reply from 1: nothing
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears reply from 3: denied; LA-7 crosses (3, 2) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out
            3 hears release from 1: LA-5 crosses (1, 1) out
            1 hears release from 2: LA-5 crosses (3, 2) out
            3 hears release from 2: LA-5 crosses (3, 2) out
        "#]],
    );
}
