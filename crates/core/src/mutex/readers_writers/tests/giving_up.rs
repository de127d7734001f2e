//! Those who do not wait for ever: requests that are given up, and tries.

use super::{check, check_group};
use expect_test::expect;

/// Both replies to the reader's request (1, 1) arrive while 2 writes. If they counted, 1 would write too.
#[test]
fn rw_3_late_replies_to_a_request_that_was_given_up_do_not_admit_the_next_one() {
    check(
        "
        1 share; 1 > 2; 1 > 3; 1 cancel; 2 acquire; 2 > 1 last; 2 > 3; 1 > 2; 3 > 2; 1 acquire
        2 > 1; 3 > 1
        ",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 cancel: cancelled
            2 acquire: RW-1 asks everyone with (2, 2) to write; write → all
            1 hears write from 2: RW-2 lets (2, 2) pass; reply → 2
            3 hears write from 2: RW-2 lets (2, 2) pass; reply → 2
            2 hears reply from 1: nothing
            2 hears reply from 3: RW-3 has every reply to (2, 2); ENTERS (fence 0.1)
            1 acquire: RW-1 asks everyone with (3, 1) to write; write → all
            1 hears reply from 2: RW-3 ignores a reply to (1, 1), which nobody waits with
            1 hears reply from 3: RW-3 ignores a reply to (1, 1), which nobody waits with
        "#]],
    );
}

#[test]
fn rw_5_asked_to_give_up_a_writer_lets_the_readers_behind_it_pass() {
    check(
        "1 share; rest; 2 acquire; rest; 3 share; rest; 2 cancel; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 acquire: RW-1 asks everyone with (2, 2) to write; write → all
            1 hears write from 2: RW-2 defers (2, 2): ours (1, 1) goes first
            3 hears write from 2: RW-2 lets (2, 2) pass; reply → 2
            2 hears reply from 3: nothing
            3 share: RW-1 asks everyone with (3, 3) to read; read → all
            1 hears read from 3: RW-2 lets (3, 3) pass; reply → 3
            2 hears read from 3: RW-2 defers (3, 3): ours (2, 2) goes first
            3 hears reply from 1: nothing
            2 cancel: cancelled; RW-5 lets (3, 3) pass at last; reply → 3
            3 hears reply from 2: RW-3 has every reply to (3, 3); ENTERS (fence 0.2)
        "#]],
    );
}

#[test]
fn rw_5_a_node_that_does_not_wait_cannot_give_up() {
    check(
        "1 cancel; 1 share; rest; 1 cancel",
        expect![[r#"
            1 cancel: refused: no request is under way
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn rw_6_a_try_is_denied_by_a_reader_who_is_inside() {
    check(
        "1 share; rest; 2 try; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 try: RW-1 asks everyone with (2, 2) to write; write → all
            1 hears write from 2: RW-6 denies (2, 2); denied → 2
            3 hears write from 2: RW-2 lets (2, 2) pass; reply → 2
            2 hears denied from 1: denied
            2 hears reply from 3: RW-3 ignores a reply to (2, 2), which nobody waits with
        "#]],
    );
}

#[test]
fn rw_6_a_denied_try_lets_those_behind_it_pass() {
    check(
        "1 share; 2 try; 3 share; 3 > 2; 2 > 1; 1 > 2 last; rest",
        expect![[r#"
            1 share: RW-1 asks everyone with (1, 1) to read; read → all
            2 try: RW-1 asks everyone with (1, 2) to write; write → all
            3 share: RW-1 asks everyone with (1, 3) to read; read → all
            2 hears read from 3: RW-2 defers (1, 3): ours (1, 2) goes first
            1 hears write from 2: RW-6 denies (1, 2); denied → 2
            2 hears denied from 1: denied; RW-6 lets (1, 3) pass at last; reply → 3
            2 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears read from 1: RW-2 lets (1, 1) pass; reply → 1
            3 hears write from 2: RW-2 lets (1, 2) pass; reply → 2
            1 hears read from 3: RW-2 lets (1, 3) pass; reply → 3
            3 hears reply from 2: nothing
            1 hears reply from 2: nothing
            1 hears reply from 3: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 hears reply from 3: RW-3 ignores a reply to (1, 2), which nobody waits with
            3 hears reply from 1: RW-3 has every reply to (1, 3); ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn rw_6_a_late_denial_ends_nothing_else() {
    check(
        "1 acquire; 2 acquire; 3 try; 3 > 1; 3 > 2; 1 > 3 last; 3 share; 2 > 3 last",
        expect![[r#"
            1 acquire: RW-1 asks everyone with (1, 1) to write; write → all
            2 acquire: RW-1 asks everyone with (1, 2) to write; write → all
            3 try: RW-1 asks everyone with (1, 3) to write; write → all
            1 hears write from 3: RW-6 denies (1, 3); denied → 3
            2 hears write from 3: RW-6 denies (1, 3); denied → 3
            3 hears denied from 1: denied
            3 share: RW-1 asks everyone with (2, 3) to read; read → all
            3 hears denied from 2: nothing
        "#]],
    );
}

#[test]
fn rw_6_of_two_tries_one_enters() {
    check_group(
        2,
        "1 try; 2 try; rest",
        expect![[r#"
            1 try: RW-1 asks everyone with (1, 1) to write; write → all
            2 try: RW-1 asks everyone with (1, 2) to write; write → all
            2 hears write from 1: RW-2 lets (1, 1) pass; reply → 1
            1 hears write from 2: RW-6 denies (1, 2); denied → 2
            1 hears reply from 2: RW-3 has every reply to (1, 1); ENTERS (fence 0.1)
            2 hears denied from 1: denied
        "#]],
    );
}
