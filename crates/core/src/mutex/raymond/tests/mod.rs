//! The rules of the token on a tree, one script each and more for the nasty cases.
//!
//! Node 1 is the root and has the token at first; 2 and 3 are its children, and 4 and 5 those of 2.

mod giving_up;
mod law;
mod storms;
mod trying;

use super::Raymond;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(5, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, Raymond::new, script));
}

#[test]
fn ry_1_the_holder_enters_for_nothing_as_often_as_it_likes() {
    check(
        "1 acquire; 1 release; 1 acquire; 1 release",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            1 release: LEAVES; RY-6 is done with the token
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            1 release: LEAVES; RY-6 is done with the token
        "#]],
    );
}

#[test]
fn ry_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 2 acquire; 2 try; 2 release; 1 cancel",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            1 acquire: refused: already inside
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            2 try: refused: a request is already under way
            2 release: refused: not inside
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn ry_2_requests_of_many_go_up_the_same_branch_as_one() {
    check(
        "1 acquire; 4 acquire; 4 > 2; 5 acquire; 5 > 2; 2 acquire; 2 > 1",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4; RY-4 asks 1 for the token; request → 1
            5 acquire: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5
            2 acquire: RY-1 queues 2
            1 hears request from 2: RY-2 queues 2
        "#]],
    );
}

/// Node 3 is no neighbour of node 2. Node 5 asks only once, though its user asks twice.
#[test]
fn ry_2_only_neighbours_are_heard_and_each_once() {
    check(
        "4 acquire; 4 > 2 as 3; 5 acquire; 5 > 2; 5 cancel; 5 acquire",
        expect![[r#"
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 3: RY-2 ignores a request of 3
            5 acquire: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            5 cancel: RY-7 leaves the queue; cancelled
            5 acquire: RY-1 queues 5
        "#]],
    );
}

/// A neighbour that is queued already breaks the rules if it asks again: here node 4 does so in the name of node 5.
#[test]
fn ry_2_a_neighbour_that_is_queued_is_not_queued_again() {
    check(
        "5 acquire; 5 > 2; 4 acquire; 4 > 2 as 5",
        expect![[r#"
            5 acquire: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 ignores a request of 5
        "#]],
    );
}

/// Exactly two messages for each edge between node 5 and the token; the next entry costs nothing.
#[test]
fn ry_3_the_token_goes_the_way_that_the_request_came() {
    check(
        "5 acquire; 5 > 2; 2 > 1; 1 > 2; 2 > 5; 5 release; 5 acquire",
        expect![[r#"
            5 acquire: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 5; token → 5
            5 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 release: LEAVES; RY-6 is done with the token
            5 acquire: RY-1 queues 5; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_4_one_who_sends_the_token_away_asks_for_it_back_for_the_next() {
    check(
        "
        1 acquire; 2 acquire; 2 > 1; 3 acquire; 3 > 1; 1 release; 1 > 2; 1 > 2; 2 release; 2 > 1
        1 > 3
        ",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2
            3 acquire: RY-1 queues 3; RY-4 asks 1 for the token; request → 1
            1 hears request from 3: RY-2 queues 3
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2; RY-4 asks 2 for the token; request → 2
            2 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            2 hears request from 1: RY-2 queues 1
            2 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 1; token → 1
            1 hears token from 2: RY-5 has the token; RY-3 sends the token to 3; token → 3
            3 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.3)
        "#]],
    );
}

/// The request that asks for the token back arrives first, from where the token seems to be.
#[test]
fn ry_4_a_request_may_overtake_the_token() {
    check(
        "
        1 acquire; 2 acquire; 2 > 1; 3 acquire; 3 > 1; 1 release; 1 > 2 last; 1 > 2; 2 release
        2 > 1; 1 > 3
        ",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2
            3 acquire: RY-1 queues 3; RY-4 asks 1 for the token; request → 1
            1 hears request from 3: RY-2 queues 3
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2; RY-4 asks 2 for the token; request → 2
            2 hears request from 1: RY-2 queues 1
            2 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            2 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 1; token → 1
            1 hears token from 2: RY-5 has the token; RY-3 sends the token to 3; token → 3
            3 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn ry_5_only_the_neighbour_that_was_asked_can_send_the_token() {
    check(
        "2 acquire; 2 > 1; 1 > 2 as 4",
        expect![[r#"
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 4: RY-5 ignores an answer: 4 was not asked
        "#]],
    );
}

#[test]
fn ry_6_one_who_leaves_serves_the_queue_in_order() {
    check(
        "
        2 acquire; rest; 5 acquire; rest; 4 acquire; rest; 1 acquire; rest; 2 release; rest
        5 release; rest; 4 release; rest
        ",
        expect![[r#"
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 acquire: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4
            1 acquire: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 hears request from 1: RY-2 queues 1
            2 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 5; token → 5; RY-4 asks 5 for the token; request → 5
            5 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            5 hears request from 2: RY-2 queues 2
            5 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            2 hears token from 5: RY-5 has the token; RY-3 sends the token to 4; token → 4; RY-4 asks 4 for the token; request → 4
            4 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.3)
            4 hears request from 2: RY-2 queues 2
            4 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            2 hears token from 4: RY-5 has the token; RY-3 sends the token to 1; token → 1
            1 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.4)
        "#]],
    );
}

#[test]
fn ry_6_a_group_of_one_sends_nothing() {
    check_group(
        1,
        "1 acquire; 1 release; 1 try; 1 release",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            1 release: LEAVES; RY-6 is done with the token
            1 try: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            1 release: LEAVES; RY-6 is done with the token
        "#]],
    );
}
