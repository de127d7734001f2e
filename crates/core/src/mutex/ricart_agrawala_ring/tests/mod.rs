//! The rules of Ricart–Agrawala round a ring, one script each and more for the nasty cases.

mod giving_up;
mod storms;

use super::RicartAgrawalaRing;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, RicartAgrawalaRing::new, script));
}

#[test]
fn rr_1_asked_to_enter_a_node_sends_a_request_to_the_next() {
    check(
        "1 acquire; 3 acquire",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            3 acquire: RR-1 sends (1, 3) round; request → 1
        "#]],
    );
}

#[test]
fn rr_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 1 try; rest; 1 share",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            1 share: refused: already inside
        "#]],
    );
}

/// Node 2 hears nothing from 3 itself. It learns of the request (2, 3) by the clock that its own brings home.
#[test]
fn rr_1_who_heard_of_a_request_through_its_own_stamps_the_next_as_younger() {
    check(
        "
        3 acquire; 3 cancel; 3 acquire; 3 > 1 last; 2 acquire; 2 > 3; 3 > 1 last; 1 > 2 last
        2 release; 2 acquire
        ",
        expect![[r#"
            3 acquire: RR-1 sends (1, 3) round; request → 1
            3 cancel: cancelled
            3 acquire: RR-1 sends (2, 3) round; request → 1
            1 hears request from 3: RR-2 lets (2, 3) pass; request → 2
            2 acquire: RR-1 sends (1, 2) round; request → 3
            3 hears request from 2: RR-2 lets (1, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (1, 2) pass; request → 2
            2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
            2 release: LEAVES
            2 acquire: RR-1 sends (3, 2) round; request → 3
        "#]],
    );
}

#[test]
fn rr_2_a_request_arrives_where_nobody_asked_and_is_passed_on() {
    check(
        "1 acquire; 1 > 2; 2 > 3",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
        "#]],
    );
}

#[test]
fn rr_2_a_request_arrives_where_one_is_inside_and_is_held() {
    check(
        "1 acquire; rest; 3 acquire; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            3 acquire: RR-1 sends (2, 3) round; request → 1
            1 hears request from 3: RR-2 holds (2, 3): ours (1, 1) goes first
        "#]],
    );
}

#[test]
fn rr_2_of_two_requests_the_older_goes_first() {
    check(
        "3 acquire; 3 > 1; 1 > 2; 2 acquire; 2 > 3 last; rest; 3 release; rest",
        expect![[r#"
            3 acquire: RR-1 sends (1, 3) round; request → 1
            1 hears request from 3: RR-2 lets (1, 3) pass; request → 2
            2 hears request from 1: RR-2 lets (1, 3) pass; request → 3
            2 acquire: RR-1 sends (2, 2) round; request → 3
            3 hears request from 2: RR-2 holds (2, 2): ours (1, 3) goes first
            3 hears request from 2: RR-3 has (1, 3) back; ENTERS (fence 0.1)
            3 release: LEAVES; RR-4 lets (2, 2) pass at last; request → 1
            1 hears request from 3: RR-2 lets (2, 2) pass; request → 2
            2 hears request from 1: RR-3 has (2, 2) back; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rr_2_of_two_requests_with_equal_clocks_the_lower_node_goes_first() {
    check_group(
        2,
        "1 acquire; 2 acquire; rest; 1 release; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 acquire: RR-1 sends (1, 2) round; request → 1
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 2: RR-2 holds (1, 2): ours (1, 1) goes first
            1 hears request from 2: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            1 release: LEAVES; RR-4 lets (1, 2) pass at last; request → 2
            2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rr_2_a_request_that_skipped_a_node_is_ignored() {
    check(
        "1 acquire; 1 > 2; 2 > 3 as 1; 1 cancel; 2 acquire; 2 > 3; 3 > 1; 1 > 2 as 3",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 1: RR-2 ignores (1, 1), which 1 brought
            1 cancel: cancelled
            2 acquire: RR-1 sends (2, 2) round; request → 3
            3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (2, 2) pass; request → 2
            2 hears request from 3: RR-2 ignores (2, 2), which 3 brought
        "#]],
    );
}

#[test]
fn rr_3_the_request_is_back_and_the_node_enters() {
    check(
        "2 acquire; 2 > 3; 3 > 1; 1 > 2",
        expect![[r#"
            2 acquire: RR-1 sends (1, 2) round; request → 3
            3 hears request from 2: RR-2 lets (1, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (1, 2) pass; request → 2
            2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
        "#]],
    );
}

/// The fences of 1 and 3 come with the request, though 1 last entered before 3 did.
#[test]
fn rr_3_the_fence_is_larger_than_all_that_the_request_has_met() {
    check(
        "1 acquire; rest; 1 release; 3 acquire; rest; 3 release; 2 acquire; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            1 release: LEAVES
            3 acquire: RR-1 sends (2, 3) round; request → 1
            1 hears request from 3: RR-2 lets (2, 3) pass; request → 2
            2 hears request from 1: RR-2 lets (2, 3) pass; request → 3
            3 hears request from 2: RR-3 has (2, 3) back; ENTERS (fence 0.2)
            3 release: LEAVES
            2 acquire: RR-1 sends (3, 2) round; request → 3
            3 hears request from 2: RR-2 lets (3, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (3, 2) pass; request → 2
            2 hears request from 1: RR-3 has (3, 2) back; ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn rr_4_asked_to_leave_a_node_passes_on_everything_held() {
    check(
        "1 acquire; rest; 2 acquire; 3 acquire; rest; 1 release; rest; 2 release; rest",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 acquire: RR-1 sends (2, 2) round; request → 3
            3 acquire: RR-1 sends (2, 3) round; request → 1
            3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
            1 hears request from 3: RR-2 holds (2, 3): ours (1, 1) goes first
            1 hears request from 3: RR-2 holds (2, 2): ours (1, 1) goes first
            1 release: LEAVES; RR-4 lets (2, 2) pass at last; request → 2; RR-4 lets (2, 3) pass at last; request → 2
            2 hears request from 1: RR-3 has (2, 2) back; ENTERS (fence 0.2)
            2 hears request from 1: RR-2 holds (2, 3): ours (2, 2) goes first
            2 release: LEAVES; RR-4 lets (2, 3) pass at last; request → 3
            3 hears request from 2: RR-3 has (2, 3) back; ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn rr_4_a_node_that_is_outside_cannot_leave() {
    check(
        "1 release; 1 acquire; 1 release",
        expect![[r#"
            1 release: refused: not inside
            1 acquire: RR-1 sends (1, 1) round; request → 2
            1 release: refused: not inside
        "#]],
    );
}

#[test]
fn a_group_of_one_sends_nothing() {
    check_group(
        1,
        "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release",
        expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; RR-3 has (1, 1) back; ENTERS (fence 0.1)
            1 try: refused: already inside
            1 release: LEAVES
            1 try: RR-1 sends (2, 1) round; RR-3 has (2, 1) back; ENTERS (fence 0.2)
            1 cancel: refused: already inside
            1 release: LEAVES
        "#]],
    );
}
