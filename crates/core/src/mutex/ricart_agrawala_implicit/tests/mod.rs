//! The rules of Ricart–Agrawala with implicit replies, one script each and more for the nasty cases.

mod giving_up;
mod storms;
mod timing;

use super::RicartAgrawalaImplicit;
use crate::bounds::Bounds;
use crate::testing::run_script;
use crate::time::Duration;
use expect_test::{Expect, expect};

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(5), processing: Duration::from_millis(1) };

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    let make = |me, group| RicartAgrawalaImplicit::new(me, group, BOUNDS);
    trace.assert_eq(&run_script(nodes, make, script));
}

#[test]
fn ri_1_asked_to_enter_a_node_asks_everyone_and_waits() {
    check(
        "1 acquire; rest",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        "#]],
    );
}

#[test]
fn ri_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 1 try; rest; 1 fires; 1 share",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
            1 share: refused: already inside
        "#]],
    );
}

#[test]
fn ri_2_a_request_arrives_where_nobody_asked_and_nothing_is_said() {
    check(
        "1 acquire; 1 > 2",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
        "#]],
    );
}

#[test]
fn ri_2_a_request_arrives_where_one_is_inside_and_is_told_to_wait() {
    check(
        "1 acquire; rest; 1 fires; 2 acquire; rest; 2 fires",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            3 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
            2 hears deferred from 1: nothing
            2 timer: RI-4 takes silence for consent to (2, 2), and waits for 1
        "#]],
    );
}

#[test]
fn ri_2_of_two_requests_the_older_goes_first() {
    check(
        "3 acquire; 3 > 2; 2 acquire; rest; 3 fires; 2 fires; 3 release; rest",
        expect![[r#"
            3 acquire: RI-1 asks everyone with (1, 3); request → all
            2 hears request from 3: RI-2 lets (1, 3) pass by saying nothing
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 3: RI-2 lets (1, 3) pass by saying nothing
            1 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
            3 hears request from 2: RI-2 defers (2, 2): ours (1, 3) goes first; deferred → 2
            2 hears deferred from 3: nothing
            3 timer: RI-4 has everyone's consent to (1, 3); ENTERS (fence 0.6)
            2 timer: RI-4 takes silence for consent to (2, 2), and waits for 3
            3 release: LEAVES; RI-5 lets (2, 2) pass at last; reply → 2
            2 hears reply from 3: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.8)
        "#]],
    );
}

#[test]
fn ri_2_of_two_requests_with_equal_clocks_the_lower_node_goes_first() {
    check_group(
        2,
        "1 acquire; 2 acquire; rest; 2 fires; 1 fires; 1 release; rest",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 acquire: RI-1 asks everyone with (1, 2); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 hears request from 2: RI-2 defers (1, 2): ours (1, 1) goes first; deferred → 2
            2 hears deferred from 1: nothing
            2 timer: RI-4 takes silence for consent to (1, 2), and waits for 1
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
            1 release: LEAVES; RI-5 lets (1, 2) pass at last; reply → 2
            2 hears reply from 1: RI-4 has everyone's consent to (1, 2); ENTERS (fence 0.4)
        "#]],
    );
}

#[test]
fn ri_2_a_request_in_the_name_of_another_is_ignored() {
    check(
        "1 acquire; 1 > 2 as 3",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 3: RI-2 ignores a request of 1 that 3 brought
        "#]],
    );
}

/// The reply of 1 overtakes the message that says that it defers.
#[test]
fn ri_3_an_answer_to_us_may_overtake_the_one_before_it() {
    check_group(
        2,
        "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 1 release; 1 > 2 last; 1 > 2; 2 fires",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            1 release: LEAVES; RI-5 lets (2, 2) pass at last; reply → 2
            2 hears reply from 1: nothing
            2 hears deferred from 1: nothing
            2 timer: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.6)
        "#]],
    );
}

/// A reply before the wait is over is not yet everyone's consent.
#[test]
fn ri_3_an_early_reply_does_not_end_the_wait() {
    check(
        "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 1 release; 1 > 2; 1 > 2",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            1 release: LEAVES; RI-5 lets (2, 2) pass at last; reply → 2
            2 hears deferred from 1: nothing
            2 hears reply from 1: nothing
        "#]],
    );
}

#[test]
fn ri_3_a_stranger_keeps_nobody_waiting() {
    check_group(
        2,
        "1 acquire; rest; 1 fires; 2 acquire; 2 > 1; 1 > 2 as 9; 2 fires",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.3)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            2 hears deferred from 9: RI-3 ignores that 9 defers (2, 2)
            2 timer: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.6)
        "#]],
    );
}

#[test]
fn ri_4_the_wait_is_over_and_silence_is_consent() {
    check(
        "1 acquire; rest; 1 fires",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
        "#]],
    );
}

/// In the order of stamps, each fence is n times the clock, and the node's place.
#[test]
fn ri_4_the_stamp_of_an_entry_makes_its_fence() {
    check(
        "
        2 acquire; rest; 2 fires; 2 release; 1 acquire; 3 acquire; rest; 1 fires; 3 fires; 1 release
        rest; 3 release; 2 acquire; rest; 2 fires
        ",
        expect![[r#"
            2 acquire: RI-1 asks everyone with (1, 2); request → all
            1 hears request from 2: RI-2 lets (1, 2) pass by saying nothing
            3 hears request from 2: RI-2 lets (1, 2) pass by saying nothing
            2 timer: RI-4 has everyone's consent to (1, 2); ENTERS (fence 0.5)
            2 release: LEAVES
            1 acquire: RI-1 asks everyone with (2, 1); request → all
            3 acquire: RI-1 asks everyone with (2, 3); request → all
            2 hears request from 1: RI-2 lets (2, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (2, 1) pass by saying nothing
            1 hears request from 3: RI-2 defers (2, 3): ours (2, 1) goes first; deferred → 3
            2 hears request from 3: RI-2 lets (2, 3) pass by saying nothing
            3 hears deferred from 1: nothing
            1 timer: RI-4 has everyone's consent to (2, 1); ENTERS (fence 0.7)
            3 timer: RI-4 takes silence for consent to (2, 3), and waits for 1
            1 release: LEAVES; RI-5 lets (2, 3) pass at last; reply → 3
            3 hears reply from 1: RI-4 has everyone's consent to (2, 3); ENTERS (fence 0.9)
            3 release: LEAVES
            2 acquire: RI-1 asks everyone with (3, 2); request → all
            1 hears request from 2: RI-2 lets (3, 2) pass by saying nothing
            3 hears request from 2: RI-2 lets (3, 2) pass by saying nothing
            2 timer: RI-4 has everyone's consent to (3, 2); ENTERS (fence 0.11)
        "#]],
    );
}

#[test]
fn ri_5_asked_to_leave_a_node_replies_to_everyone_deferred() {
    check(
        "
        1 acquire; rest; 1 fires; 2 acquire; 3 acquire; rest; 2 fires; 3 fires; 1 release; rest
        2 release; rest
        ",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            2 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            3 hears request from 1: RI-2 lets (1, 1) pass by saying nothing
            1 timer: RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.4)
            2 acquire: RI-1 asks everyone with (2, 2); request → all
            3 acquire: RI-1 asks everyone with (2, 3); request → all
            1 hears request from 2: RI-2 defers (2, 2): ours (1, 1) goes first; deferred → 2
            3 hears request from 2: RI-2 lets (2, 2) pass by saying nothing
            1 hears request from 3: RI-2 defers (2, 3): ours (1, 1) goes first; deferred → 3
            2 hears request from 3: RI-2 defers (2, 3): ours (2, 2) goes first; deferred → 3
            2 hears deferred from 1: nothing
            3 hears deferred from 1: nothing
            3 hears deferred from 2: nothing
            2 timer: RI-4 takes silence for consent to (2, 2), and waits for 1
            3 timer: RI-4 takes silence for consent to (2, 3), and waits for 1,2
            1 release: LEAVES; RI-5 lets (2, 2) pass at last; reply → 2; RI-5 lets (2, 3) pass at last; reply → 3
            2 hears reply from 1: RI-4 has everyone's consent to (2, 2); ENTERS (fence 0.8)
            3 hears reply from 1: nothing
            2 release: LEAVES; RI-5 lets (2, 3) pass at last; reply → 3
            3 hears reply from 2: RI-4 has everyone's consent to (2, 3); ENTERS (fence 0.9)
        "#]],
    );
}

#[test]
fn ri_5_a_node_that_is_outside_cannot_leave() {
    check(
        "1 release; 1 acquire; 1 release",
        expect![[r#"
            1 release: refused: not inside
            1 acquire: RI-1 asks everyone with (1, 1); request → all
            1 release: refused: not inside
        "#]],
    );
}

#[test]
fn a_group_of_one_waits_for_nobody() {
    check_group(
        1,
        "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release",
        expect![[r#"
            1 acquire: RI-1 asks everyone with (1, 1); RI-4 has everyone's consent to (1, 1); ENTERS (fence 0.2)
            1 try: refused: already inside
            1 release: LEAVES
            1 try: RI-1 asks everyone with (2, 1); RI-4 has everyone's consent to (2, 1); ENTERS (fence 0.3)
            1 cancel: refused: already inside
            1 release: LEAVES
        "#]],
    );
}
