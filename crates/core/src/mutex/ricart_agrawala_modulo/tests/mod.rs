//! The rules of Ricart–Agrawala modulo 2n−1, one script each and more for the nasty cases.

mod all_runs;
mod giving_up;
mod trying;

use super::RicartAgrawalaModulo;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, RicartAgrawalaModulo::new, script));
}

#[test]
fn rm_1_asked_to_enter_a_node_numbers_a_request_and_sends_it_to_everyone() {
    check(
        "1 acquire",
        expect![[r#"
        1 acquire: RM-1 asks everyone with (1, 1); request → all
    "#]],
    );
}

/// On the circle of three, 0 comes after 2.
#[test]
fn rm_1_numbers_come_round() {
    check_group(
        2,
        "
        1 acquire; rest; 1 release; 1 acquire; rest; 1 release; 1 acquire; rest; 1 release
        2 acquire; rest
        ",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES
            1 acquire: RM-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES
            1 acquire: RM-1 asks everyone with (0, 1); request → all
            2 hears request from 1: RM-2 lets (0, 1) pass; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 1 try; rest; 1 acquire; 1 try",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            1 acquire: refused: already inside
            1 try: refused: already inside
        "#]],
    );
}

#[test]
fn rm_1_who_heard_a_request_numbers_its_own_as_younger() {
    check(
        "3 acquire; 3 > 2; 2 acquire",
        expect![[r#"
            3 acquire: RM-1 asks everyone with (1, 3); request → all
            2 hears request from 3: RM-2 lets (1, 3) pass; reply → 3
            2 acquire: RM-1 asks everyone with (2, 2); request → all
        "#]],
    );
}

/// The reply of 3 comes after its request (2, 3), but does not tell of it. So the next request of 1 has an equal
/// number, and enters first.
#[test]
fn rm_1_who_heard_of_a_request_through_a_reply_may_number_its_own_as_older() {
    check(
        "
        2 acquire; 2 > 3; 3 acquire; 1 acquire; 1 > 2; 1 > 3; 2 > 1 last; 3 > 1 last; 1 release
        1 acquire; rest; 2 release; rest
        ",
        expect![[r#"
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            3 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            3 acquire: RM-1 asks everyone with (2, 3); request → all
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES
            1 acquire: RM-1 asks everyone with (2, 1); request → all
            1 hears request from 2: RM-2 lets (1, 2) pass; reply → 2
            2 hears reply from 3: nothing
            1 hears request from 3: RM-2 defers (2, 3): ours (2, 1) goes first
            2 hears request from 3: RM-2 defers (2, 3): ours (1, 2) goes first
            2 hears request from 1: RM-2 defers (2, 1): ours (1, 2) goes first
            3 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            1 hears reply from 3: nothing
            2 release: LEAVES; RM-4 lets 1 pass at last; reply → 1; RM-4 lets 3 pass at last; reply → 3
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            3 hears reply from 2: nothing
        "#]],
    );
}

#[test]
fn rm_2_a_request_arrives_where_nobody_asked_and_is_let_pass() {
    check(
        "1 acquire; 1 > 2",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
        "#]],
    );
}

#[test]
fn rm_2_a_request_arrives_where_one_is_inside_and_is_deferred() {
    check(
        "1 acquire; rest; 2 acquire; 2 > 1",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 acquire: RM-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RM-2 defers (2, 2): we are inside
        "#]],
    );
}

/// Node 2 heard of the request of 3 before it asked, so its own is younger, though its node is lower.
#[test]
fn rm_2_of_two_requests_the_older_goes_first() {
    check(
        "3 acquire; 3 > 2; 2 acquire; 2 > 3; 3 > 1; 2 > 1; rest; 3 release; rest",
        expect![[r#"
            3 acquire: RM-1 asks everyone with (1, 3); request → all
            2 hears request from 3: RM-2 lets (1, 3) pass; reply → 3
            2 acquire: RM-1 asks everyone with (2, 2); request → all
            3 hears reply from 2: nothing
            1 hears request from 3: RM-2 lets (1, 3) pass; reply → 3
            1 hears request from 2: RM-2 lets (2, 2) pass; reply → 2
            3 hears request from 2: RM-2 defers (2, 2): ours (1, 3) goes first
            3 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
            2 hears reply from 1: nothing
            3 release: LEAVES; RM-4 lets 2 pass at last; reply → 2
            2 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

/// The request (2, 1) is older than (0, 2), which node 2 makes when it has heard of it.
#[test]
fn rm_2_the_older_of_two_requests_may_have_the_larger_number() {
    check_group(
        2,
        "
        1 acquire; rest; 1 release; 1 acquire; 1 > 2; 2 acquire; 2 > 1 last; rest; 1 release; rest
        ",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES
            1 acquire: RM-1 asks everyone with (2, 1); request → all
            2 hears request from 1: RM-2 lets (2, 1) pass; reply → 1
            2 acquire: RM-1 asks everyone with (0, 2); request → all
            1 hears request from 2: RM-2 defers (0, 2): ours (2, 1) goes first
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
            1 release: LEAVES; RM-4 lets 2 pass at last; reply → 2
            2 hears reply from 1: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_2_of_two_requests_with_equal_numbers_the_lower_node_goes_first() {
    check(
        "1 acquire; 2 acquire; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 acquire: RM-1 asks everyone with (1, 2); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears request from 2: RM-2 defers (1, 2): ours (1, 1) goes first
        "#]],
    );
}

#[test]
fn rm_3_all_answers_are_in_and_the_node_enters() {
    check(
        "1 acquire; 1 > 2; 1 > 3; 3 > 1; 2 > 1",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 3: nothing
            1 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_3_the_reply_of_a_stranger_does_not_count() {
    check(
        "1 acquire; 1 > 2; 1 > 3; 2 > 1 as 9; 3 > 1",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 9: RM-3 ignores a reply of 9, which was not asked
            1 hears reply from 3: nothing
        "#]],
    );
}

#[test]
fn rm_3_nobody_counts_twice() {
    check(
        "1 acquire; 1 > 2; 1 > 3; 2 > 1; 3 > 1 as 2",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 2: RM-3 ignores a reply of 2, which was not asked
        "#]],
    );
}

#[test]
fn rm_4_asked_to_leave_a_node_replies_to_everyone_deferred() {
    check(
        "1 acquire; rest; 2 acquire; 3 acquire; 2 > 1; 3 > 1; 1 release; rest; 2 release; rest",
        expect![[r#"
            1 acquire: RM-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            3 hears request from 1: RM-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 acquire: RM-1 asks everyone with (2, 2); request → all
            3 acquire: RM-1 asks everyone with (2, 3); request → all
            1 hears request from 2: RM-2 defers (2, 2): we are inside
            1 hears request from 3: RM-2 defers (2, 3): we are inside
            1 release: LEAVES; RM-4 lets 2 pass at last; reply → 2; RM-4 lets 3 pass at last; reply → 3
            3 hears request from 2: RM-2 lets (2, 2) pass; reply → 2
            2 hears request from 3: RM-2 defers (2, 3): ours (2, 2) goes first
            2 hears reply from 1: nothing
            3 hears reply from 1: nothing
            2 hears reply from 3: RM-3 has every reply; ENTERS (fence 0.0)
            2 release: LEAVES; RM-4 lets 3 pass at last; reply → 3
            3 hears reply from 2: RM-3 has every reply; ENTERS (fence 0.0)
        "#]],
    );
}

#[test]
fn rm_4_a_node_that_is_outside_cannot_leave() {
    check(
        "1 release; 1 acquire; 1 release",
        expect![[r#"
            1 release: refused: not inside
            1 acquire: RM-1 asks everyone with (1, 1); request → all
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
            1 acquire: RM-1 asks everyone with (0, 1); RM-3 has every reply; ENTERS (fence 0.0)
            1 try: refused: already inside
            1 release: LEAVES
            1 try: RM-6 tries everyone; RM-3 has every reply; ENTERS (fence 0.0)
            1 cancel: refused: already inside
            1 release: LEAVES
        "#]],
    );
}
