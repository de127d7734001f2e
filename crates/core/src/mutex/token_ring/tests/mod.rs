//! The rules of the token ring, one script each and more for the nasty cases. The token begins with a rest at node 1.

mod giving_up;
mod on_call;
mod storms;

use super::TokenRing;
use crate::bounds::Bounds;
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::{ScriptGroup, run_script};
use crate::time::Duration;
use expect_test::{Expect, expect};

fn ring(me: NodeId, group: Group) -> TokenRing {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    TokenRing::new(me, group, bounds)
}

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, ring, script));
}

#[test]
fn tr_1_asked_to_enter_where_the_token_rests_a_node_enters_at_once() {
    check(
        "1 acquire",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn tr_1_asked_to_enter_without_the_token_a_node_waits_and_says_nothing() {
    check(
        "2 acquire; 3 acquire",
        expect![[r#"
            2 acquire: TR-1 waits for the token
            3 acquire: TR-1 waits for the token
        "#]],
    );
}

#[test]
fn tr_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 1 try; 2 acquire; 2 try; 2 release; 1 cancel",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 acquire: refused: already inside
            1 try: refused: already inside
            2 acquire: TR-1 waits for the token
            2 try: refused: a request is already under way
            2 release: refused: not inside
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn tr_2_the_token_admits_one_who_waits() {
    check(
        "2 acquire; 1 fires; 1 > 2",
        expect![[r#"
            2 acquire: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn tr_3_one_who_wants_nothing_passes_the_token_on() {
    check(
        "1 fires; 1 > 2; 2 > 3",
        expect![[r#"
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
        "#]],
    );
}

#[test]
fn tr_3_only_the_member_before_can_bring_the_token() {
    check(
        "1 fires; 1 > 2 as 3",
        expect![[r#"
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 3: TR-3 ignores a token: 3 is not the member before
        "#]],
    );
}

/// Node 1 has to wait until the token has gone round, though nobody else wants it.
#[test]
fn tr_4_one_who_leaves_passes_the_token_on_although_it_asks_again() {
    check(
        "1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 3; 3 > 1",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            1 acquire: TR-1 waits for the token
            2 hears token from 1: TR-3 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-2 keeps the token; ENTERS (fence 0.2)
        "#]],
    );
}

/// One message an entry, and each fence is the next.
#[test]
fn tr_4_everyone_enters_once_a_round() {
    check(
        "
        1 acquire; 2 acquire; 3 acquire; 1 release; 1 acquire; 1 > 2; 2 release; 2 acquire; 2 > 3
        3 release; 3 acquire; 3 > 1; 1 release; 1 > 2
        ",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            2 acquire: TR-1 waits for the token
            3 acquire: TR-1 waits for the token
            1 release: LEAVES; TR-4 passes the token on; token → 2
            1 acquire: TR-1 waits for the token
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            2 acquire: TR-1 waits for the token
            3 hears token from 2: TR-2 keeps the token; ENTERS (fence 0.3)
            3 release: LEAVES; TR-4 passes the token on; token → 1
            3 acquire: TR-1 waits for the token
            1 hears token from 3: TR-2 keeps the token; ENTERS (fence 0.4)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.5)
        "#]],
    );
}

#[test]
fn tr_5_the_token_rests_where_it_has_gone_a_round_without_an_entry() {
    check(
        "1 fires; 1 > 2; 2 > 3; 3 > 1; 1 fires",
        expect![[r#"
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-5 lets the token rest
            1 timer: TR-5 passes the token on; token → 2
        "#]],
    );
}

/// Node 2 was the last one inside, so the token rests at node 2, and each time it comes round.
#[test]
fn tr_5_the_round_is_counted_from_the_last_entry() {
    check(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 > 3; 3 > 1; 1 > 2; 2 fires; 2 > 3; 3 > 1; 1 > 2",
        expect![[r#"
            2 acquire: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-3 passes the token on; token → 2
            2 hears token from 1: TR-5 lets the token rest
            2 timer: TR-5 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-3 passes the token on; token → 2
            2 hears token from 1: TR-5 lets the token rest
        "#]],
    );
}

/// The timer is cancelled: `1 fires` would find none.
#[test]
fn tr_5_a_user_who_asks_during_the_rest_enters_at_once() {
    check(
        "1 fires; 1 > 2; 2 > 3; 3 > 1; 1 acquire; 1 release; 1 > 2",
        expect![[r#"
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-5 lets the token rest
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
        "#]],
    );
}

#[test]
fn tr_5_a_group_of_one_sends_nothing() {
    check_group(
        1,
        "1 acquire; 1 release; 1 try; 1 release",
        expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES
            1 try: TR-1 has the token here; ENTERS (fence 0.2)
            1 release: LEAVES
        "#]],
    );
}

/// Nor does it set a timer, which would never end.
#[test]
fn tr_5_a_group_of_one_sets_no_timer() {
    assert_eq!(ScriptGroup::new(1, ring).timers(), 0);
    assert_eq!(ScriptGroup::new(2, ring).timers(), 1);
}
