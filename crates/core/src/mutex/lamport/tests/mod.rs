//! The rules of Lamport's algorithm, one script each and more for the nasty cases.

mod giving_up;

use super::super::COMMANDS;
use super::super::storm::{GUSTS, storms, sunk};
use super::{FACTS, Lamport};
use crate::testing::run_script;
use crate::wrap::OneOfMany;
use expect_test::{Expect, expect};
use proptest::prelude::{prop_assert, proptest};

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, Lamport::new, script));
}

proptest! {
    #[test]
    fn lamport_stands_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(Lamport::new, &FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(Lamport::is_idle), "something is left behind: {nodes:#?}");
    }
}

#[test]
fn la_1_asked_to_enter_a_node_queues_its_request_and_tells_everyone() {
    check(
        "1 acquire",
        expect![[r#"
        1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
    "#]],
    );
}

#[test]
fn la_1_a_new_request_is_younger_than_all_that_was_heard() {
    check(
        "1 acquire; 1 > 2; 2 acquire; 2 > 3; 3 acquire",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            2 acquire: LA-1 queues (3, 2) and tells everyone; request → all
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 acquire: LA-1 queues (5, 3) and tells everyone; request → all
        "#]],
    );
}

#[test]
fn la_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check_group(
        2,
        "1 acquire; 1 acquire; 1 try; rest; 1 acquire; 1 share",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            1 acquire: refused: a request is already under way
            1 try: refused: a request is already under way
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 acquire: refused: already inside
            1 share: refused: already inside
        "#]],
    );
}

#[test]
fn la_2_a_request_is_queued_and_answered_even_by_one_who_waits_or_is_inside() {
    check(
        "1 acquire; rest; 2 acquire; 3 acquire; 2 > 1; 2 > 3",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            3 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            2 acquire: LA-1 queues (3, 2) and tells everyone; request → all
            3 acquire: LA-1 queues (3, 3) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
        "#]],
    );
}

#[test]
fn la_2_a_request_in_the_name_of_another_is_ignored() {
    check(
        "1 acquire; 1 > 2 as 3",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 3: LA-2 ignores a request of 1 that 3 brought
        "#]],
    );
}

#[test]
fn la_3_the_first_enters_once_something_later_came_from_everyone() {
    check(
        "1 acquire; rest",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            3 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: LA-3 is first with (1, 1); ENTERS (fence 0.1)
        "#]],
    );
}

/// Both asked with the same reading, and the numbers decide: the request of 2 is later than that of 1, so 1 need not
/// wait for the reply, and 2 must.
#[test]
fn la_3_a_later_request_counts_like_a_reply() {
    check_group(
        2,
        "1 acquire; 2 acquire; 2 > 1; 1 > 2; 2 > 1; 1 > 2",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 acquire: LA-1 queues (1, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: nothing
            2 hears reply from 1: nothing
        "#]],
    );
}

/// Node 2 has every reply, but is not first.
#[test]
fn la_3_who_is_not_first_waits_for_the_release() {
    check_group(
        2,
        "1 acquire; 1 > 2; 2 acquire; 2 > 1; 2 > 1; 1 > 2; 1 release; 1 > 2",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            2 acquire: LA-1 queues (3, 2) and tells everyone; request → all
            1 hears reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears reply from 1: nothing
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out; LA-3 is first with (3, 2); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn la_4_asked_to_leave_a_node_tells_everyone() {
    check(
        "1 acquire; rest; 1 release; rest; 2 acquire; rest",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            3 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out
            3 hears release from 1: LA-5 crosses (1, 1) out
            2 acquire: LA-1 queues (3, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (3, 2); reply → 2
            3 hears request from 2: LA-2 queues (3, 2); reply → 2
            2 hears reply from 1: nothing
            2 hears reply from 3: LA-3 is first with (3, 2); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn la_4_a_node_that_is_outside_cannot_leave() {
    check(
        "1 release; 1 acquire; 1 release",
        expect![[r#"
            1 release: refused: not inside
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            1 release: refused: not inside
        "#]],
    );
}

#[test]
fn la_5_a_release_crosses_the_request_out_that_it_names() {
    check_group(
        2,
        "1 acquire; 2 acquire; rest; 1 release; 1 > 2",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 acquire: LA-1 queues (1, 2) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears request from 2: LA-2 queues (1, 2); reply → 2; LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 hears reply from 2: nothing
            2 hears reply from 1: nothing
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears release from 1: LA-5 crosses (1, 1) out; LA-3 is first with (1, 2); ENTERS (fence 0.2)
        "#]],
    );
}

/// Node 1 has no reply yet, but the release of 2 and the request of 3 are stamped later than its own request.
#[test]
fn la_5_a_later_release_counts_like_a_reply() {
    check(
        "2 acquire; rest; 3 acquire; 3 > 2; 1 acquire; 2 release; 2 > 1; 3 > 1",
        expect![[r#"
            2 acquire: LA-1 queues (1, 2) and tells everyone; request → all
            1 hears request from 2: LA-2 queues (1, 2); reply → 2
            3 hears request from 2: LA-2 queues (1, 2); reply → 2
            2 hears reply from 1: nothing
            2 hears reply from 3: LA-3 is first with (1, 2); ENTERS (fence 0.1)
            3 acquire: LA-1 queues (3, 3) and tells everyone; request → all
            2 hears request from 3: LA-2 queues (3, 3); reply → 3
            1 acquire: LA-1 queues (3, 1) and tells everyone; request → all
            2 release: LEAVES; LA-4 crosses (1, 2) out and tells everyone; release → all
            1 hears release from 2: LA-5 crosses (1, 2) out
            1 hears request from 3: LA-2 queues (3, 3); reply → 3; LA-3 is first with (3, 1); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn la_5_nobody_can_release_the_request_of_another() {
    check_group(
        2,
        "1 acquire; rest; 1 release; 1 > 2 as 2",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; request → all
            2 hears request from 1: LA-2 queues (1, 1); reply → 1
            1 hears reply from 2: LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone; release → all
            2 hears release from 2: LA-5 ignores a release of 1 that 2 brought
        "#]],
    );
}

#[test]
fn a_group_of_one_asks_nobody() {
    check_group(
        1,
        "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release",
        expect![[r#"
            1 acquire: LA-1 queues (1, 1) and tells everyone; LA-3 is first with (1, 1); ENTERS (fence 0.1)
            1 try: refused: already inside
            1 release: LEAVES; LA-4 crosses (1, 1) out and tells everyone
            1 try: LA-1 queues (2, 1) and tells everyone; LA-3 is first with (2, 1); ENTERS (fence 0.2)
            1 cancel: refused: already inside
            1 release: LEAVES; LA-4 crosses (2, 1) out and tells everyone
        "#]],
    );
}
