//! Requests that are given up.

use super::check;
use expect_test::expect;

#[test]
fn tq_5_a_token_that_comes_for_a_request_given_up_is_kept() {
    check(
        "2 acquire; 2 > 1; 2 cancel; 1 > 2; 2 acquire; 2 release; 3 acquire; 3 > 2",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 cancel: TQ-5 forgets request 1; cancelled
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 keeps the token: nobody asks for it
            2 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
        "#]],
    );
}

#[test]
fn tq_5_a_token_that_comes_for_a_request_given_up_is_passed_on_to_one_who_waits() {
    check(
        "2 acquire; 2 > 1; 2 cancel; 3 acquire; 3 > 2; 1 > 2; 2 > 3 last",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 cancel: TQ-5 forgets request 1; cancelled
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.1)
        "#]],
    );
}

/// The newer request, which is answered by then, comes late and changes nothing.
#[test]
fn tq_5_a_token_that_comes_for_a_request_given_up_admits_with_the_next_one() {
    check(
        "2 acquire; 2 > 1; 2 cancel; 2 acquire; 1 > 2; 2 > 1; 2 release; 3 acquire; 3 > 2; rest",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 cancel: TQ-5 forgets request 1; cancelled
            2 acquire: TQ-1 asks everyone with request 2; request → all
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            1 hears request from 2: TQ-2 remembers request 2 of 2
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears request from 2: TQ-2 remembers request 1 of 2
            3 hears request from 2: TQ-2 remembers request 2 of 2
            1 hears request from 3: TQ-2 remembers request 1 of 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn tq_5_a_request_that_arrives_after_it_was_given_up_costs_a_token() {
    check(
        "2 acquire; 2 cancel; 2 > 1; 1 > 2; 2 > 3",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            2 cancel: TQ-5 forgets request 1; cancelled
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 keeps the token: nobody asks for it
            3 hears request from 2: TQ-2 remembers request 1 of 2
        "#]],
    );
}

#[test]
fn tq_5_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "2 cancel; 1 acquire; 1 cancel",
        expect![[r#"
            2 cancel: refused: no request is under way
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}
