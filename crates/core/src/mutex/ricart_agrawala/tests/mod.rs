//! The rules of Ricart–Agrawala, one script each and more for the nasty cases.

mod giving_up;

use super::RicartAgrawala;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, RicartAgrawala::new, script));
}

#[test]
fn ra_1_asked_to_enter_a_node_stamps_a_request_and_sends_it_to_everyone() {
    check(
        "1 acquire",
        expect![[r#"
        1 acquire: RA-1 asks everyone with (1, 1); request → all
    "#]],
    );
}

#[test]
fn ra_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 1 try; rest; 1 acquire; 1 try",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 acquire: refused: already inside
            1 try: refused: already inside
        "#]],
    );
}

#[test]
fn ra_1_who_heard_a_request_stamps_its_own_as_younger() {
    check(
        "3 acquire; 3 cancel; 3 acquire; 3 > 2 last; 2 acquire",
        expect![[r#"
            3 acquire: RA-1 asks everyone with (1, 3); request → all
            3 cancel: cancelled
            3 acquire: RA-1 asks everyone with (2, 3); request → all
            2 hears request from 3: RA-2 lets (2, 3) pass; reply → 3
            2 acquire: RA-1 asks everyone with (3, 2); request → all
        "#]],
    );
}

/// Node 1 hears nothing from 3 itself. It learns of the request (2, 3) by the clock in the reply of 2, so the
/// request it makes afterwards does not claim to be older.
#[test]
fn ra_1_who_heard_of_a_request_through_a_reply_stamps_its_own_as_younger() {
    check(
        "3 acquire; 3 cancel; 3 acquire; 3 > 2 last; 1 acquire; 1 > 2; 2 > 1; 1 cancel; 1 acquire",
        expect![[r#"
            3 acquire: RA-1 asks everyone with (1, 3); request → all
            3 cancel: cancelled
            3 acquire: RA-1 asks everyone with (2, 3); request → all
            2 hears request from 3: RA-2 lets (2, 3) pass; reply → 3
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 cancel: cancelled
            1 acquire: RA-1 asks everyone with (3, 1); request → all
        "#]],
    );
}

#[test]
fn ra_2_a_request_arrives_where_nobody_asked_and_is_let_pass() {
    check(
        "1 acquire; 1 > 2",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
        "#]],
    );
}

#[test]
fn ra_2_a_request_arrives_where_one_is_inside_and_is_deferred() {
    check(
        "1 acquire; rest; 2 acquire; 2 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 acquire: RA-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RA-2 defers (2, 2): ours (1, 1) goes first
        "#]],
    );
}

/// Node 2 heard of the request of 3 before it asked, so its own is younger, though its number is lower.
#[test]
fn ra_2_of_two_requests_the_older_goes_first() {
    check(
        "3 acquire; 3 > 2; 2 acquire; 2 > 3; 3 > 1; 2 > 1; rest; 3 release; rest",
        expect![[r#"
            3 acquire: RA-1 asks everyone with (1, 3); request → all
            2 hears request from 3: RA-2 lets (1, 3) pass; reply → 3
            2 acquire: RA-1 asks everyone with (2, 2); request → all
            3 hears reply from 2: nothing
            1 hears request from 3: RA-2 lets (1, 3) pass; reply → 3
            1 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            3 hears request from 2: RA-2 defers (2, 2): ours (1, 3) goes first
            3 hears reply from 1: RA-3 has every reply to (1, 3); ENTERS (fence 0.1)
            2 hears reply from 1: nothing
            3 release: LEAVES; RA-4 lets (2, 2) pass at last; reply → 2
            2 hears reply from 3: RA-3 has every reply to (2, 2); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ra_2_of_two_requests_with_equal_clocks_the_lower_node_goes_first() {
    check(
        "1 acquire; 2 acquire; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 acquire: RA-1 asks everyone with (1, 2); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RA-2 defers (1, 2): ours (1, 1) goes first
        "#]],
    );
}

#[test]
fn ra_2_a_request_in_the_name_of_another_is_ignored() {
    check(
        "1 acquire; 1 > 2 as 3",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 3: RA-2 ignores a request of 1 that 3 brought
        "#]],
    );
}

#[test]
fn ra_3_all_replies_are_in_and_the_node_enters() {
    check(
        "1 acquire; 1 > 2; 1 > 3; 3 > 1; 2 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 3: nothing
            1 hears reply from 2: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ra_3_the_reply_of_a_stranger_does_not_count() {
    check(
        "1 acquire; 1 > 2; 1 > 3; 2 > 1 as 9; 3 > 1",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 9: nothing
            1 hears reply from 3: nothing
        "#]],
    );
}

#[test]
fn ra_4_asked_to_leave_a_node_replies_to_everyone_deferred() {
    check(
        "1 acquire; rest; 2 acquire; 3 acquire; 2 > 1; 3 > 1; 1 release; rest; 2 release; rest",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RA-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 acquire: RA-1 asks everyone with (2, 2); request → all
            3 acquire: RA-1 asks everyone with (2, 3); request → all
            1 hears request from 2: RA-2 defers (2, 2): ours (1, 1) goes first
            1 hears request from 3: RA-2 defers (2, 3): ours (1, 1) goes first
            1 release: LEAVES; RA-4 lets (2, 2) pass at last; reply → 2; RA-4 lets (2, 3) pass at last; reply → 3
            3 hears request from 2: RA-2 lets (2, 2) pass; reply → 2
            2 hears request from 3: RA-2 defers (2, 3): ours (2, 2) goes first
            2 hears reply from 1: nothing
            3 hears reply from 1: nothing
            2 hears reply from 3: RA-3 has every reply to (2, 2); ENTERS (fence 0.2)
            2 release: LEAVES; RA-4 lets (2, 3) pass at last; reply → 3
            3 hears reply from 2: RA-3 has every reply to (2, 3); ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn ra_4_a_node_that_is_outside_cannot_leave() {
    check(
        "1 release; 1 acquire; 1 release",
        expect![[r#"
            1 release: refused: not inside
            1 acquire: RA-1 asks everyone with (1, 1); request → all
            1 release: refused: not inside
        "#]],
    );
}

#[test]
fn a_group_of_one_asks_nobody() {
    check_group(
        1,
        "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release",
        expect![[r#"
            1 acquire: RA-1 asks everyone with (1, 1); RA-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 try: refused: already inside
            1 release: LEAVES
            1 try: RA-1 asks everyone with (2, 1); RA-3 has every reply to (2, 1); ENTERS (fence 0.2)
            1 cancel: refused: already inside
            1 release: LEAVES
        "#]],
    );
}
