//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

#[test]
fn ta_6_one_who_gives_up_lets_the_token_pass() {
    check(
        "2 acquire; 2 cancel; 1 fires; 1 > 2",
        expect![[r#"
            2 acquire: TA-1 waits for the token
            2 cancel: TA-6 lets the token come and go; cancelled
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
        "#]],
    );
}

#[test]
fn ta_6_one_who_asks_again_after_giving_up_gets_the_same_token() {
    check(
        "2 acquire; 2 cancel; 2 acquire; 1 fires; 1 > 2",
        expect![[r#"
            2 acquire: TA-1 waits for the token
            2 cancel: TA-6 lets the token come and go; cancelled
            2 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ta_6_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "2 cancel; 1 acquire; 1 cancel",
        expect![[r#"
            2 cancel: refused: no request is under way
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

/// Node 1 is dead, and the token with it. Node 3 makes a new one and passes it on.
#[test]
fn ta_6_a_search_goes_on_though_its_starter_has_given_up() {
    check(
        "3 acquire; 3 fires; 3 cancel; 3 fires; 3 > 2; 2 > 3; 2 > 3; 3 > 2; 3 > 2",
        expect![[r#"
            3 acquire: TA-1 waits for the token
            3 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            3 cancel: TA-6 lets the token come and go; cancelled
            3 timer: TA-3 takes 1 for dead, and skips it; search → 2
            2 hears search from 3: received → 3; TA-9 passes the search of 3 on; search → 3
            3 hears received from 2: nothing
            3 hears search from 2: received → 2; TA-10 makes a new token: nobody has one; TA-10 passes the token on; token → 2
            2 hears received from 3: nothing
            2 hears token from 3: received → 3; TA-2 passes the token on; token → 3
        "#]],
    );
}

/// Node 2 is dead, and the token with it; node 1 dies with the search. Node 4, which wants nothing, does not search again, and
/// no longer stops lower ones.
#[test]
fn ta_6_a_search_that_is_lost_ends_for_one_who_has_given_up() {
    check_group(
        4,
        "
        2 acquire; 1 fires; 1 > 2; 2 > 1; 4 acquire; 4 fires; 4 > 1; 1 > 4; 4 cancel; 4 fires
        3 acquire; 3 fires; 3 > 4
        ",
        expect![[r#"
            2 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.1)
            1 hears received from 2: nothing
            4 acquire: TA-1 waits for the token
            4 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            1 hears search from 4: received → 4; TA-9 passes the search of 4 on; search → 2
            4 hears received from 1: nothing
            4 cancel: TA-6 lets the token come and go; cancelled
            4 timer: nothing
            3 acquire: TA-1 waits for the token
            3 timer: TA-8 searches for the token, to make one of generation 1; search → 4
            4 hears search from 3: received → 3; TA-9 passes the search of 3 on; search → 1
        "#]],
    );
}

#[test]
fn ta_7_a_try_enters_if_nobody_was_inside_since_the_token_was_here() {
    check(
        "2 try; 1 fires; 1 > 2",
        expect![[r#"
            2 try: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-7 keeps the token: nobody else was inside; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ta_7_a_try_is_denied_if_somebody_was_inside_on_the_tokens_way() {
    check(
        "1 acquire; 2 try; 1 release; 1 > 2",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            2 try: TA-1 waits for the token
            1 release: LEAVES; TA-4 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-7 denies: somebody was inside since the token was last here; denied; TA-7 passes the token on; token → 3
        "#]],
    );
}

#[test]
fn ta_7_ones_own_entry_does_not_deny_a_try() {
    check(
        "1 acquire; 1 release; 1 try; 1 > 2; 2 > 3; 3 > 1",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 try: TA-1 waits for the token
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-7 keeps the token: nobody else was inside; ENTERS (fence 0.2)
        "#]],
    );
}

/// Node 2 was inside, passed the token on and died. The token has gone a whole round when it comes to node 3 again.
#[test]
fn ta_7_the_entry_of_one_who_is_dead_does_not_deny_a_try() {
    check(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 > 1; 2 > 3; 3 > 1; 1 > 3; 1 fires; 3 try; 1 > 3",
        expect![[r#"
            2 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.1)
            2 release: LEAVES; TA-4 passes the token on; token → 3
            1 hears received from 2: nothing
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-2 passes the token on; token → 2
            3 hears received from 1: nothing
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            3 try: TA-1 waits for the token
            3 hears token from 1: received → 1; TA-7 keeps the token: nobody else was inside; ENTERS (fence 0.3)
        "#]],
    );
}

/// Node 1 is dead, and the token with it.
#[test]
fn ta_7_a_try_enters_with_a_new_token() {
    check_group(
        2,
        "2 try; 2 fires; 2 fires",
        expect![[r#"
            2 try: TA-1 waits for the token
            2 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            2 timer: TA-3 takes 1 for dead, and skips it; TA-10 makes a new token: nobody has one; TA-7 keeps the token: nobody else was inside; ENTERS (fence 1.1)
        "#]],
    );
}
