//! The rules of the token ring, one script each and more for the nasty cases. The token begins with a rest at node 1.

mod on_call;
mod storms;

use super::TokenRing;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rules;
use crate::testing::ScriptGroup;
use expect_test::expect;

fn ring(me: NodeId, group: Group) -> TokenRing {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    TokenRing::new(me, group, bounds)
}

rules! { ring, 3;
    tr_1_asked_to_enter_where_the_token_rests_a_node_enters_at_once("1 acquire", expect![[r#"
        1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
    "#]]);

    tr_1_asked_to_enter_without_the_token_a_node_waits_and_says_nothing("2 acquire; 3 acquire", expect![[r#"
        2 acquire: TR-1 waits for the token
        3 acquire: TR-1 waits for the token
    "#]]);

    tr_2_the_token_admits_one_who_waits("2 acquire; 1 fires; 1 > 2", expect![[r#"
        2 acquire: TR-1 waits for the token
        1 timer: TR-5 passes the token on; token → 2
        2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
    "#]]);

    tr_3_one_who_wants_nothing_passes_the_token_on("1 fires; 1 > 2; 2 > 3", expect![[r#"
        1 timer: TR-5 passes the token on; token → 2
        2 hears token from 1: TR-3 passes the token on; token → 3
        3 hears token from 2: TR-3 passes the token on; token → 1
    "#]]);

    tr_3_only_the_member_before_can_bring_the_token("1 fires; 1 > 2 as 3", expect![[r#"
        1 timer: TR-5 passes the token on; token → 2
        2 hears token from 3: TR-3 ignores a token: 3 is not the member before
    "#]]);

    /// Node 1 has to wait until the token has gone round, though nobody else wants it.
    tr_4_one_who_leaves_passes_the_token_on_although_it_asks_again(
        "1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            1 acquire: TR-1 waits for the token
            2 hears token from 1: TR-3 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-2 keeps the token; ENTERS (fence 0.2)
        "#]]);

    /// One message an entry, and each fence is the next.
    tr_4_everyone_enters_once_a_round(
        "1 acquire; 2 acquire; 3 acquire; 1 release; 1 acquire | 1 > 2; 2 release; 2 acquire; 2 > 3; 3 release;
         3 acquire; 3 > 1; 1 release; 1 > 2", expect![[r#"
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.2)
            2 release: LEAVES; TR-4 passes the token on; token → 3
            2 acquire: TR-1 waits for the token
            3 hears token from 2: TR-2 keeps the token; ENTERS (fence 0.3)
            3 release: LEAVES; TR-4 passes the token on; token → 1
            3 acquire: TR-1 waits for the token
            1 hears token from 3: TR-2 keeps the token; ENTERS (fence 0.4)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.5)
        "#]]);

    tr_5_the_token_rests_where_it_has_gone_a_round_without_an_entry(
        "1 fires; 1 > 2; 2 > 3 | 3 > 1; 1 fires", expect![[r#"
            1 hears token from 3: TR-5 lets the token rest
            1 timer: TR-5 passes the token on; token → 2
        "#]]);

    /// Node 2 was the last one inside, so the token rests at node 2, and each time it comes round.
    tr_5_the_round_is_counted_from_the_last_entry(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 > 3; 3 > 1; 1 > 2 | 2 fires; 2 > 3; 3 > 1; 1 > 2", expect![[r#"
            2 timer: TR-5 passes the token on; token → 3
            3 hears token from 2: TR-3 passes the token on; token → 1
            1 hears token from 3: TR-3 passes the token on; token → 2
            2 hears token from 1: TR-5 lets the token rest
        "#]]);

    /// The timer is cancelled: `1 fires` would find none.
    tr_5_a_user_who_asks_during_the_rest_enters_at_once(
        "1 fires; 1 > 2; 2 > 3 | 3 > 1; 1 acquire; 1 release; 1 > 2", expect![[r#"
            1 hears token from 3: TR-5 lets the token rest
            1 acquire: TR-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TR-4 passes the token on; token → 2
            2 hears token from 1: TR-3 passes the token on; token → 3
        "#]]);

    tr_5_a_group_of_one_sends_nothing(of 1, "1 acquire; 1 release | 1 try; 1 release", expect![[r#"
        1 try: TR-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES
    "#]]);

    // Those who do not wait for ever: requests that are given up, and tries.

    tr_6_one_who_gives_up_lets_the_token_pass("2 acquire; 2 cancel; 1 fires; 1 > 2", expect![[r#"
        2 acquire: TR-1 waits for the token
        2 cancel: TR-6 lets the token come and go; cancelled
        1 timer: TR-5 passes the token on; token → 2
        2 hears token from 1: TR-3 passes the token on; token → 3
    "#]]);

    tr_6_one_who_asks_again_after_giving_up_gets_the_same_token(
        "2 acquire; 2 cancel; 2 acquire; 1 fires; 1 > 2", expect![[r#"
            2 acquire: TR-1 waits for the token
            2 cancel: TR-6 lets the token come and go; cancelled
            2 acquire: TR-1 waits for the token
            1 timer: TR-5 passes the token on; token → 2
            2 hears token from 1: TR-2 keeps the token; ENTERS (fence 0.1)
        "#]]);

    tr_7_a_try_enters_if_nobody_was_inside_since_the_token_was_here("2 try; 1 fires; 1 > 2", expect![[r#"
        2 try: TR-1 waits for the token
        1 timer: TR-5 passes the token on; token → 2
        2 hears token from 1: TR-7 keeps the token: nobody else was inside; ENTERS (fence 0.1)
    "#]]);

    tr_7_a_try_is_denied_if_somebody_was_inside_on_the_tokens_way("1 acquire; 2 try | 1 release; 1 > 2", expect![[r#"
        1 release: LEAVES; TR-4 passes the token on; token → 2
        2 hears token from 1: TR-7 denies: somebody was inside since the token was last here; denied; TR-7 passes the token on; token → 3
    "#]]);

    tr_7_ones_own_entry_does_not_deny_a_try(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 try; 2 > 3 | 3 > 1; 1 > 2", expect![[r#"
            1 hears token from 3: TR-3 passes the token on; token → 2
            2 hears token from 1: TR-7 keeps the token: nobody else was inside; ENTERS (fence 0.2)
        "#]]);

    /// The token has gone a whole round since node 1 was inside, and has rested.
    tr_7_an_old_entry_does_not_deny_a_try(
        "1 acquire; 1 release; 1 > 2; 2 > 3; 3 > 1; 1 fires | 2 try; 1 > 2", expect![[r#"
            2 try: TR-1 waits for the token
            2 hears token from 1: TR-7 keeps the token: nobody else was inside; ENTERS (fence 0.2)
        "#]]);

    tr_7_a_try_where_the_token_rests_enters_at_once("1 try", expect![[r#"
        1 try: TR-1 has the token here; ENTERS (fence 0.1)
    "#]]);
}

/// Nor does it set a timer, which would never end.
#[test]
fn tr_5_a_group_of_one_sets_no_timer() {
    assert_eq!(ScriptGroup::new(1, ring).timers(), 0);
    assert_eq!(ScriptGroup::new(2, ring).timers(), 1);
}
