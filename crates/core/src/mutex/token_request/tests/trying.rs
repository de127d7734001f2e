//! Tries.

use super::{check, check_group};
use crate::mutex::TokenRequest;
use expect_test::{Expect, expect};

fn check_four(script: &str, trace: Expect) {
    check_group(4, TokenRequest::new, script, trace);
}

#[test]
fn tq_6_a_try_gets_a_token_that_lies_unused() {
    check(
        "2 try; 2 > 1; 1 > 2",
        expect![[r#"
            2 try: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn tq_6_one_inside_denies_a_try() {
    check(
        "1 acquire; 2 try; 2 > 1; 1 > 2; 1 release",
        expect![[r#"
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            2 try: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
            2 hears denied from 1: denied
            1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]],
    );
}

#[test]
fn tq_6_a_try_that_meets_the_token_in_flight_is_denied_where_it_is_wanted() {
    check(
        "2 acquire; 2 > 1; 3 try; 3 > 1; 3 > 2; 1 > 2; 2 > 3 last",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            3 try: TQ-1 asks everyone with request 1; request → all
            1 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1); TQ-6 denies request 1 of 3; denied → 3
            3 hears denied from 2: denied
        "#]],
    );
}

#[test]
fn tq_6_a_try_that_meets_the_token_in_flight_gets_it_where_nobody_wants_it() {
    check(
        "2 acquire; 2 > 1; 2 cancel; 3 try; 3 > 2; 1 > 2; 2 > 3 last",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 cancel: TQ-5 forgets request 1; cancelled
            3 try: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-5 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.1)
        "#]],
    );
}

/// The token comes to node 2, which wants it no longer: node 3 goes first, and node 4 is denied.
#[test]
fn tq_6_a_try_behind_another_request_is_denied() {
    check_four(
        "2 acquire; 2 > 1; 2 cancel; 3 acquire; 4 try; 3 > 2; 4 > 2; 1 > 2; 2 > 4 last",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 cancel: TQ-5 forgets request 1; cancelled
            3 acquire: TQ-1 asks everyone with request 1; request → all
            4 try: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears request from 4: TQ-2 remembers request 1 of 4
            2 hears token from 1: TQ-3 has the token, and nobody here wants it; TQ-6 denies request 1 of 4; denied → 4; TQ-5 passes the token to 3; token → 3
            4 hears denied from 2: denied
        "#]],
    );
}

/// Node 3 hears of the try after it was denied, and has the token that says so.
#[test]
fn tq_6_a_denied_try_is_denied_once() {
    check(
        "1 acquire; 2 try; 2 > 1; 1 > 2; 3 acquire; 3 > 1; 1 release; 1 > 3; 2 > 3; 3 release",
        expect![[r#"
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            2 try: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
            2 hears denied from 1: denied
            3 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 3: TQ-2 remembers request 1 of 3
            1 release: LEAVES; TQ-4 passes the token to 3; token → 3
            3 hears token from 1: TQ-3 has the token; ENTERS (fence 0.2)
            3 hears request from 2: TQ-2 ignores request 1 of 2
            3 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]],
    );
}

#[test]
fn tq_6_the_denial_of_a_try_given_up_denies_nothing() {
    check(
        "1 acquire; 2 try; 2 > 1; 2 cancel; 2 try; 1 > 2; 2 > 1 last; 1 > 2",
        expect![[r#"
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            2 try: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-6 denies request 1 of 2; denied → 2
            2 cancel: TQ-5 forgets request 1; cancelled
            2 try: TQ-1 asks everyone with request 2; request → all
            2 hears denied from 1: TQ-6 ignores a denial of request 1
            1 hears request from 2: TQ-2 remembers request 2 of 2; TQ-6 denies request 2 of 2; denied → 2
            2 hears denied from 1: denied
        "#]],
    );
}
