//! Tries.

use super::check;
use expect_test::expect;

#[test]
fn ry_8_a_try_gets_a_token_that_lies_unused() {
    check(
        "5 try; rest",
        expect![[r#"
            5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 5; token → 5
            5 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ry_8_a_try_is_denied_at_once_where_somebody_is_queued() {
    check(
        "1 acquire; 4 acquire; 4 > 2; 2 try",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4; RY-4 asks 1 for the token; request → 1
            2 try: RY-8 denies 2; denied
        "#]],
    );
}

/// What node 2 has asked for is a patient request, which nobody denies. A try behind it would wait for as long as
/// somebody is inside.
#[test]
fn ry_8_a_try_is_denied_at_once_behind_a_request_that_was_given_up() {
    check(
        "1 acquire; 2 acquire; 2 cancel; 2 try; 4 try; 4 > 2; 2 > 4",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            2 cancel: RY-7 leaves the queue; cancelled
            2 try: RY-8 denies 2; denied
            4 try: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-8 denies 4; denied → 4
            4 hears denied from 2: RY-8 denies 4; denied
        "#]],
    );
}

#[test]
fn ry_8_one_inside_denies_a_try_and_the_denial_goes_the_way_back() {
    check(
        "1 acquire; 5 try; 5 > 2; 2 > 1; 1 > 2; 2 > 5",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-8 denies 2; denied → 2
            2 hears denied from 1: RY-8 denies 5; denied → 5
            5 hears denied from 2: RY-8 denies 5; denied
        "#]],
    );
}

#[test]
fn ry_8_one_on_the_way_with_others_queued_denies_a_try() {
    check(
        "1 acquire; 4 acquire; 4 > 2; 5 try; 5 > 2; 2 > 5",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4; RY-4 asks 1 for the token; request → 1
            5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-8 denies 5; denied → 5
            5 hears denied from 2: RY-8 denies 5; denied
        "#]],
    );
}

#[test]
fn ry_8_those_behind_a_denied_try_go_on_asking() {
    check(
        "
        1 acquire; 5 try; 5 > 2; 4 acquire; 4 > 2; 2 > 1; 1 > 2; 2 > 5; 2 > 1; 1 release; 1 > 2
        2 > 4
        ",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4
            1 hears request from 2: RY-8 denies 2; denied → 2
            2 hears denied from 1: RY-8 denies 5; denied → 5; RY-4 asks 1 for the token; request → 1
            5 hears denied from 2: RY-8 denies 5; denied
            1 hears request from 2: RY-2 queues 2
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_8_those_behind_a_try_that_gets_in_ask_for_the_token_back() {
    check(
        "5 try; 5 > 2; 4 acquire; 4 > 2; 2 > 1; 1 > 2; 2 > 5; 2 > 5; 5 release; rest",
        expect![[r#"
            5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            4 acquire: RY-1 queues 4; RY-4 asks 2 for the token; request → 2
            2 hears request from 4: RY-2 queues 4
            1 hears request from 2: RY-2 queues 2; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 sends the token to 5; token → 5; RY-4 asks 5 for the token; request → 5
            5 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 hears request from 2: RY-2 queues 2
            5 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            2 hears token from 5: RY-5 has the token; RY-3 sends the token to 4; token → 4
            4 hears token from 2: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_8_the_denial_of_a_try_given_up_lets_the_next_request_ask_again() {
    check(
        "1 acquire; 2 try; 2 cancel; 2 acquire; 2 > 1; 1 > 2; 2 > 1; 1 release; 1 > 2",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 try: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            2 cancel: RY-7 leaves the queue; cancelled
            2 acquire: RY-1 queues 2
            1 hears request from 2: RY-8 denies 2; denied → 2
            2 hears denied from 1: RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            2 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn ry_8_the_denial_of_a_try_given_up_denies_the_next_try() {
    check(
        "1 acquire; 2 try; 2 cancel; 2 try; 2 > 1; 1 > 2",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 try: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            2 cancel: RY-7 leaves the queue; cancelled
            2 try: RY-1 queues 2
            1 hears request from 2: RY-8 denies 2; denied → 2
            2 hears denied from 1: RY-8 denies 2; denied
        "#]],
    );
}

#[test]
fn ry_8_a_try_that_overtakes_the_token_is_denied_by_one_who_waits() {
    check(
        "1 acquire; 2 acquire; 2 > 1; 1 release; 1 try; 1 > 2 last; 1 > 2; 2 > 1",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            2 acquire: RY-1 queues 2; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-2 queues 2
            1 release: LEAVES; RY-6 is done with the token; RY-3 sends the token to 2; token → 2
            1 try: RY-1 queues 1; RY-4 asks 2 for the token; request → 2
            2 hears request from 1: RY-8 denies 1; denied → 1
            2 hears token from 1: RY-5 has the token; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.2)
            1 hears denied from 2: RY-8 denies 1; denied
        "#]],
    );
}

/// Node 5 cannot deny what was asked of node 1.
#[test]
fn ry_8_a_denial_that_answers_no_try_is_ignored() {
    check(
        "1 acquire; 5 try; 5 > 2; 2 > 1; 2 acquire; 1 > 2 as 5",
        expect![[r#"
            1 acquire: RY-1 queues 1; RY-3 has the token, and is the first in the queue; ENTERS (fence 0.1)
            5 try: RY-1 queues 5; RY-4 asks 2 for the token; request → 2
            2 hears request from 5: RY-2 queues 5; RY-4 asks 1 for the token; request → 1
            1 hears request from 2: RY-8 denies 2; denied → 2
            2 acquire: RY-1 queues 2
            2 hears denied from 5: RY-5 ignores an answer: 5 was not asked
        "#]],
    );
}
