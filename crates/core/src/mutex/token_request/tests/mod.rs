//! The rules of the token that is asked for, one script each and more for the nasty cases. Node 1 has it at first.

mod giving_up;
mod storms;
mod trying;

use super::TokenRequest;
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::run_script;
use expect_test::{Expect, expect};

fn check(script: &str, trace: Expect) {
    check_group(3, TokenRequest::new, script, trace);
}

fn check_group(nodes: usize, make: impl Fn(NodeId, Group) -> TokenRequest, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, make, script));
}

#[test]
fn tq_1_the_holder_enters_for_nothing_as_often_as_it_likes() {
    check(
        "1 acquire; 1 release; 1 acquire; 1 release",
        expect![[r#"
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.2)
            1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]],
    );
}

/// The second request of node 2 has a larger number than the first, which the token bears.
#[test]
fn tq_1_one_without_the_token_asks_everyone_with_a_new_number() {
    check(
        "2 acquire; rest; 2 release; 3 acquire; rest; 2 acquire",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            3 hears request from 2: TQ-2 remembers request 1 of 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 3: TQ-2 remembers request 1 of 3
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            2 acquire: TQ-1 asks everyone with request 2; request → all
        "#]],
    );
}

#[test]
fn tq_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 2 acquire; 2 try; 2 release; 1 cancel",
        expect![[r#"
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            1 acquire: refused: already inside
            2 acquire: TQ-1 asks everyone with request 1; request → all
            2 try: refused: a request is already under way
            2 release: refused: not inside
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn tq_1_a_group_of_one_sends_nothing() {
    check_group(
        1,
        TokenRequest::new,
        "1 acquire; 1 release; 1 try; 1 release",
        expect![[r#"
            1 acquire: TQ-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            1 try: TQ-1 has the token here; ENTERS (fence 0.2)
            1 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]],
    );
}

#[test]
fn tq_2_an_unused_token_goes_to_the_first_who_asks() {
    check(
        "2 acquire; 2 > 1; 2 > 3; 1 > 2",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            3 hears request from 2: TQ-2 remembers request 1 of 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
        "#]],
    );
}

/// Node 3 hears of the request of node 2 after it was answered, and has the token that says so.
#[test]
fn tq_2_a_request_that_comes_late_changes_nothing() {
    check(
        "2 acquire; 2 > 1; 1 > 2; 2 release; 3 acquire; 3 > 2; 2 > 3 last; 3 release; 2 > 3",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            3 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 hears request from 2: TQ-2 ignores request 1 of 2
        "#]],
    );
}

/// The same, but node 3 hears of it before it has the token, which tells better when it comes.
#[test]
fn tq_2_a_late_request_at_one_who_has_no_token_changes_nothing() {
    check(
        "2 acquire; 2 > 1; 1 > 2; 2 > 3; 2 release; 3 acquire; 3 > 2; 2 > 3; 3 release",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            3 hears request from 2: TQ-2 remembers request 1 of 2
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            3 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]],
    );
}

#[test]
fn tq_2_an_older_request_does_not_replace_a_newer_one() {
    check(
        "2 acquire; 2 cancel; 2 acquire; 2 > 3 last; 2 > 3",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            2 cancel: TQ-5 forgets request 1; cancelled
            2 acquire: TQ-1 asks everyone with request 2; request → all
            3 hears request from 2: TQ-2 remembers request 2 of 2
            3 hears request from 2: TQ-2 ignores request 1 of 2
        "#]],
    );
}

#[test]
fn tq_2_a_stranger_is_not_served() {
    let group_of = |me: NodeId, all: Group| if me.number() == 3 { all } else { Group::of_size(2) };
    check_group(
        3,
        |me, all| TokenRequest::new(me, group_of(me, all)),
        "3 acquire; 3 > 1",
        expect![[r#"
            3 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 3: TQ-2 ignores request 1 of 3
        "#]],
    );
}

#[test]
fn tq_3_the_token_admits_one_who_waits() {
    check(
        "3 acquire; 3 > 1; 1 > 3",
        expect![[r#"
            3 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 3: TQ-2 remembers request 1 of 3; TQ-2 passes the token to 3; token → 3
            3 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
        "#]],
    );
}

/// Node 1 asked first, but node 3 comes first behind node 2.
#[test]
fn tq_4_one_who_leaves_passes_the_token_to_the_next_round_the_ring() {
    check(
        "
        2 acquire; 2 > 1; 1 > 2; 1 acquire; 3 acquire; 1 > 2; 3 > 2; 2 release; 2 > 3 last; 1 > 3
        3 release; 3 > 1 last
        ",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            1 acquire: TQ-1 asks everyone with request 1; request → all
            3 acquire: TQ-1 asks everyone with request 1; request → all
            2 hears request from 1: TQ-2 remembers request 1 of 1
            2 hears request from 3: TQ-2 remembers request 1 of 3
            2 release: LEAVES; TQ-4 passes the token to 3; token → 3
            3 hears token from 2: TQ-3 has the token; ENTERS (fence 0.2)
            3 hears request from 1: TQ-2 remembers request 1 of 1
            3 release: LEAVES; TQ-4 passes the token to 1; token → 1
            1 hears token from 3: TQ-3 has the token; ENTERS (fence 0.3)
        "#]],
    );
}

#[test]
fn tq_4_one_who_leaves_keeps_the_token_if_nobody_asks() {
    check(
        "2 acquire; rest; 2 release; 2 acquire; 2 release",
        expect![[r#"
            2 acquire: TQ-1 asks everyone with request 1; request → all
            1 hears request from 2: TQ-2 remembers request 1 of 2; TQ-2 passes the token to 2; token → 2
            3 hears request from 2: TQ-2 remembers request 1 of 2
            2 hears token from 1: TQ-3 has the token; ENTERS (fence 0.1)
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
            2 acquire: TQ-1 has the token here; ENTERS (fence 0.2)
            2 release: LEAVES; TQ-4 keeps the token: nobody asks for it
        "#]],
    );
}
