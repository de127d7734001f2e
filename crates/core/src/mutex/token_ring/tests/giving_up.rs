//! Those who do not wait for ever: requests that are given up, and tries.

use super::check;
use expect_test::expect;

#[test]
fn tr_6_one_who_gives_up_lets_the_token_pass() {
    check(
        "2 acquire; 2 cancel; 1 fires; 1 > 2",
        expect![[r#"
            2 acquire: TR-1 waits for the token
            2 cancel: TR-6 lets the token come and go; cancelled
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
        "#]],
    );
}

#[test]
fn tr_6_one_who_asks_again_after_giving_up_gets_the_same_token() {
    check(
        "2 acquire; 2 cancel; 2 acquire; 1 fires; 1 > 2",
        expect![[r#"
            2 acquire: TR-1 waits for the token
            2 cancel: TR-6 lets the token come and go; cancelled
            2 acquire: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn tr_6_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "2 cancel; 1 acquire; 1 cancel",
        expect![[r#"
            2 cancel: refused: no request is under way
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn tr_7_a_try_enters_if_nobody_was_inside_since_the_token_was_here() {
    check(
        "2 try; 1 fires; 1 > 2",
        expect![[r#"
            2 try: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-7 keeps the token: nobody else was inside; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn tr_7_a_try_is_denied_if_somebody_was_inside_on_the_tokens_way() {
    check(
        "1 acquire; 2 try; 1 release; 1 > 2",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            2 try: TR-1 waits for the token
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 hears token from 1: TR-7 denies: somebody was inside since the token was last here; denied; TR-7 passes the token on; token → 3
        "#]],
    );
}

#[test]
fn tr_7_ones_own_entry_does_not_deny_a_try() {
    check(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 try; 2 > 3; 3 > 1; 1 > 2",
        expect![[r#"
            2 acquire: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            2 try: TR-1 waits for the token
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-3 passes the token on; token → 2
            2 hears token from 1: TR-7 keeps the token: nobody else was inside; ENTERS (fence 0.2)
        "#]],
    );
}

/// The token has gone a whole round since node 1 was inside, and has rested.
#[test]
fn tr_7_an_old_entry_does_not_deny_a_try() {
    check(
        "1 acquire; 1 release; 1 > 2; 2 > 3; 3 > 1; 1 fires; 2 try; 1 > 2",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-5 lets the token rest
            1 timer: TR-5 passes the token on; token → 2
            2 try: TR-1 waits for the token
            2 hears token from 1: TR-7 keeps the token: nobody else was inside; ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn tr_7_a_try_where_the_token_rests_enters_at_once() {
    check(
        "1 try",
        expect![[r#"
            1 try: TR-1 has the token here; ENTERS (fence 0.1)
        "#]],
    );
}
