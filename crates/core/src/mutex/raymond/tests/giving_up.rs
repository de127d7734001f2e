//! Requests that are given up.

use super::check;
use expect_test::expect;

#[test]
fn ry_7_a_token_that_comes_for_nobody_stays() {
    check(
        "4 acquire; 4 > 2; 4 cancel; 2 > 1; 1 > 2; 2 > 4; 4 acquire; 4 release; 1 acquire; rest",
        expect![[r#"
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4; RY-4 asks 1 for the token; request → 1
            4 cancel: RY-7 leaves the queue; cancelled
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 hears token from 2: RY-5 has the token
            4 acquire: RY-1 queues 4; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            4 release: LEAVES; RY-6 is done with the token
            1 acquire: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 hears request from 1: RY-2 queues 1; RY-4 asks 4 for the token; request → 4
            4 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 4: RY-5 has the token; RY-3 sends the token to 1; token → 1
            1 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_7_one_who_gives_up_and_asks_again_asks_nobody_twice() {
    check(
        "2 acquire; 2 cancel; 2 acquire; 2 > 1; 1 > 2",
        expect![[r#"
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            2 cancel: RY-7 leaves the queue; cancelled
            2 acquire: RY-1 queues 2
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ry_7_those_behind_one_who_gives_up_are_served() {
    check(
        "1 acquire; 2 acquire; 4 acquire; 4 > 2; 2 > 1; 2 cancel; 1 release; rest",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4
            1 hears request from 2: RY-2 queues 2
            2 cancel: RY-7 leaves the queue; cancelled
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_7_a_request_that_overtakes_a_token_for_nobody_sends_it_back() {
    check(
        "1 acquire; 2 acquire; 2 > 1; 2 cancel; 1 release; 1 acquire; 1 > 2 last; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2
            2 cancel: RY-7 leaves the queue; cancelled
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            1 acquire: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 hears request from 1: RY-2 queues 1
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 1; token → 1
            1 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_7_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "2 cancel; 1 acquire; 1 cancel",
        expect![[r#"
            2 cancel: refused: no request is under way
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}
