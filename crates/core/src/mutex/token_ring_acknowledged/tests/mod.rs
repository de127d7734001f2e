//! The rules of the ring that survives its members, one script each and more for the nasty cases. The token begins with a
//! rest at node 1. Whoever is dead in a script is one to whom nothing comes any more.

mod deaths;
mod giving_up;
mod search;
mod storms;
mod timing;
mod world;

use super::TokenRingAcknowledged;
use crate::bounds::Bounds;
use crate::group::Group;
use crate::node::NodeId;
use crate::testing::{ScriptGroup, run_script};
use crate::time::Duration;
use expect_test::{Expect, expect};

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::from_micros(1) };

fn ring(me: NodeId, group: Group) -> TokenRingAcknowledged {
    TokenRingAcknowledged::new(me, group, BOUNDS)
}

fn check(script: &str, trace: Expect) {
    check_group(3, script, trace);
}

fn check_group(nodes: usize, script: &str, trace: Expect) {
    trace.assert_eq(&run_script(nodes, ring, script));
}

#[test]
fn ta_1_asked_to_enter_where_the_token_rests_a_node_enters_at_once() {
    check(
        "1 acquire",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
        "#]],
    );
}

#[test]
fn ta_1_asked_to_enter_without_the_token_a_node_waits_and_says_nothing() {
    check(
        "2 acquire; 3 acquire",
        expect![[r#"
            2 acquire: TA-1 waits for the token
            3 acquire: TA-1 waits for the token
        "#]],
    );
}

#[test]
fn ta_1_a_node_that_waits_or_is_inside_cannot_ask_again() {
    check(
        "1 acquire; 1 acquire; 1 try; 2 acquire; 2 try; 2 release; 1 cancel",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 acquire: refused: already inside
            1 try: refused: already inside
            2 acquire: TA-1 waits for the token
            2 try: refused: a request is already under way
            2 release: refused: not inside
            1 cancel: refused: already inside
        "#]],
    );
}

#[test]
fn ta_2_the_token_is_acknowledged_and_admits_one_who_waits() {
    check(
        "2 acquire; 1 fires; 1 > 2; 2 > 1",
        expect![[r#"
            2 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.1)
            1 hears received from 2: nothing
        "#]],
    );
}

#[test]
fn ta_2_one_who_wants_nothing_acknowledges_the_token_and_passes_it_on() {
    check(
        "1 fires; 1 > 2; 2 > 1; 2 > 3; 3 > 2",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            1 hears received from 2: nothing
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            2 hears received from 3: nothing
        "#]],
    );
}

#[test]
fn ta_2_only_a_member_can_bring_the_token() {
    check(
        "1 fires; 1 > 2 as 9",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 9: TA-2 ignores 9, which is not one of the others
        "#]],
    );
}

/// The acknowledgement of the first round comes in the second, and does not count for the second pass. Node 1 waits on,
/// and stops a search.
#[test]
fn ta_2_a_token_that_comes_back_before_its_acknowledgement_is_one() {
    check_group(
        2,
        "
        1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 1 last; 1 release; 2 > 1; 1 > 2; 2 acquire
        2 fires; 2 > 1
        ",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 acquire: TA-1 waits for the token
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 1
            1 hears token from 2: received → 2; TA-2 keeps the token; ENTERS (fence 0.2)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 hears received from 2: nothing
            2 hears received from 1: nothing
            2 acquire: TA-1 waits for the token
            2 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            1 hears search from 2: received → 2; TA-9 stops the search of 2: the token has just left
        "#]],
    );
}

/// Node 2 is dead.
#[test]
fn ta_3_a_dead_member_is_skipped() {
    check(
        "3 acquire; 1 fires; 1 fires; 1 > 3; 3 > 1",
        expect![[r#"
            3 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            3 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.2)
            1 hears received from 3: nothing
        "#]],
    );
}

/// Nodes 2, 3 and 4 are dead.
#[test]
fn ta_3_any_number_of_dead_members_are_skipped() {
    check_group(
        5,
        "5 acquire; 1 fires; 1 fires; 1 fires; 1 fires; 1 > 5; 5 > 1; 5 release; 5 > 1",
        expect![[r#"
            5 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            1 timer: TA-3 takes 3 for dead, and skips it; token → 4
            1 timer: TA-3 takes 4 for dead, and skips it; token → 5
            5 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.4)
            1 hears received from 5: nothing
            5 release: LEAVES; TA-4 passes the token on; token → 1
            1 hears token from 5: received → 5; TA-2 passes the token on; token → 5
        "#]],
    );
}

/// Node 2 is dead. The skipped hop counts, so that a round is as long as it was.
#[test]
fn ta_3_the_dead_are_skipped_at_once_from_then_on() {
    check(
        "1 fires; 1 fires; 1 > 3; 3 > 1; 3 > 1; 1 fires; 1 > 3",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
            1 hears received from 3: nothing
            1 hears token from 3: received → 3; TA-5 lets the token rest
            1 timer: TA-5 passes the token on; token → 3
            3 hears received from 1: nothing
        "#]],
    );
}

/// This is not the synchronous model: there are two tokens.
/// The one that node 2 has passed on is still under way when node 1 passes on the other.
#[test]
fn ta_3_an_acknowledgement_that_comes_too_late_brings_its_node_back() {
    check(
        "1 fires; 1 > 2; 1 fires; 2 > 1; 1 > 3; 3 > 1; 3 > 1; 1 fires; 1 > 2",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            1 hears received from 2: TA-3 hears too late that 2 is alive
            3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
            1 hears received from 3: nothing
            1 hears token from 3: received → 3; TA-5 lets the token rest
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
        "#]],
    );
}

#[test]
fn ta_3_only_the_one_that_was_passed_to_can_acknowledge() {
    check(
        "1 fires; 1 > 2; 2 > 1 as 3; 1 fires; 1 > 3",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            1 hears received from 3: nothing
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
        "#]],
    );
}

#[test]
fn ta_4_one_who_leaves_passes_the_token_on_although_it_asks_again() {
    check(
        "1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 3; 3 > 1",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 acquire: TA-1 waits for the token
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-2 keeps the token; ENTERS (fence 0.2)
        "#]],
    );
}

/// One message an entry, acknowledgements apart, and each fence is the next.
#[test]
fn ta_4_everyone_enters_once_a_round() {
    check(
        "
        1 acquire; 2 acquire; 3 acquire; 1 release; 1 acquire; 1 > 2; 2 release; 2 acquire; 2 > 3
        3 release; 3 > 1; 1 release; 1 > 2
        ",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            2 acquire: TA-1 waits for the token
            3 acquire: TA-1 waits for the token
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 acquire: TA-1 waits for the token
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TA-4 passes the token on; token → 3
            2 acquire: TA-1 waits for the token
            3 hears token from 2: received → 2; TA-2 keeps the token; ENTERS (fence 0.3)
            3 release: LEAVES; TA-4 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-2 keeps the token; ENTERS (fence 0.4)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.5)
        "#]],
    );
}

#[test]
fn ta_5_the_token_rests_where_it_has_gone_a_round_without_an_entry() {
    check(
        "1 fires; 1 > 2; 2 > 3; 3 > 1; 2 > 1; 1 fires",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-5 lets the token rest
            1 hears received from 2: nothing
            1 timer: TA-5 passes the token on; token → 2
        "#]],
    );
}

#[test]
fn ta_5_a_user_who_asks_during_the_rest_enters_at_once() {
    check(
        "1 fires; 1 > 2; 2 > 3; 3 > 1; 1 acquire; 1 release",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-5 lets the token rest
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
        "#]],
    );
}

/// Nodes 2 and 3 are dead.
#[test]
fn ta_12_where_all_others_are_dead_the_token_stays() {
    check(
        "1 fires; 1 fires; 1 fires; 1 acquire; 1 release; 1 try; 1 release",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            1 timer: TA-3 takes 3 for dead, and skips it; TA-12 keeps the token: nobody else is alive
            1 acquire: TA-1 has the token here; ENTERS (fence 0.3)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
            1 try: TA-1 has the token here; ENTERS (fence 0.4)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
        "#]],
    );
}

/// Nodes 2 and 3 are dead. In a script timers fire in the order in which they were set, however long they are.
#[test]
fn ta_12_one_who_has_asked_meanwhile_enters_when_all_others_have_turned_out_to_be_dead() {
    check(
        "1 fires; 1 acquire; 1 fires; 1 fires; 1 fires; 1 release",
        expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
            1 acquire: TA-1 waits for the token
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            1 timer: TA-8 does not search: it still passes the token on
            1 timer: TA-3 takes 3 for dead, and skips it; TA-12 keeps the token; ENTERS (fence 0.3)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
        "#]],
    );
}

#[test]
fn ta_12_a_group_of_one_sends_nothing() {
    check_group(
        1,
        "1 acquire; 1 release; 1 try; 1 release",
        expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
            1 try: TA-1 has the token here; ENTERS (fence 0.2)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
        "#]],
    );
}

/// Nor does it set a timer, which would never end.
#[test]
fn ta_12_a_group_of_one_sets_no_timer() {
    assert_eq!(ScriptGroup::new(1, ring).timers(), 0);
    assert_eq!(ScriptGroup::new(2, ring).timers(), 1);
}
