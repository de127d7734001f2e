//! The rules of the ring that survives its members, one script each and more for the nasty cases. The token begins with a
//! rest at node 1. Whoever is dead in a script is one to whom nothing comes any more.

mod deaths;
mod search;
mod storms;
mod timing;
mod world;

use super::TokenRingAcknowledged;
use crate::bounds::Bounds;
use crate::mutex::prelude::*;
use crate::mutex::rules::rules;
use crate::testing::ScriptGroup;
use expect_test::expect;

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::from_micros(1) };

fn ring(me: NodeId, group: Group) -> TokenRingAcknowledged {
    TokenRingAcknowledged::new(me, group, BOUNDS)
}

rules! { ring, 3;
    ta_1_asked_to_enter_where_the_token_rests_a_node_enters_at_once("1 acquire", expect![[r#"
        1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
    "#]]);

    ta_1_asked_to_enter_without_the_token_a_node_waits_and_says_nothing("2 acquire; 3 acquire", expect![[r#"
        2 acquire: TA-1 waits for the token
        3 acquire: TA-1 waits for the token
    "#]]);

    ta_2_the_token_is_acknowledged_and_admits_one_who_waits("2 acquire; 1 fires | 1 > 2; 2 > 1", expect![[r#"
        2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.1)
    "#]]);

    ta_2_one_who_wants_nothing_acknowledges_the_token_and_passes_it_on(
        "1 fires; 1 > 2; 2 > 1 | 2 > 3; 3 > 2", expect![[r#"
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
        "#]]);

    ta_2_only_a_member_can_bring_the_token("1 fires; 1 > 2 as 9", expect![[r#"
        1 timer: TA-5 passes the token on; token → 2
        2 hears token from 9: TA-2 ignores 9, which is not one of the others
    "#]]);

    /// The acknowledgement of the first round comes in the second, and does not count for the second pass. Node 1 waits on,
    /// and stops a search.
    ta_2_a_token_that_comes_back_before_its_acknowledgement_is_one(
        of 2, "1 acquire; 1 release; 1 acquire | 1 > 2; 2 > 1 last; 1 release; 2 > 1; 1 > 2; 2 acquire; 2 fires;
               2 > 1", expect![[r#"
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 1
            1 hears token from 2: received → 2; TA-2 keeps the token; ENTERS (fence 0.2)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            2 acquire: TA-1 waits for the token
            2 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            1 hears search from 2: received → 2; TA-9 stops the search of 2: the token has just left
        "#]]);

    /// Node 2 is dead.
    ta_3_a_dead_member_is_skipped("3 acquire; 1 fires | 1 fires; 1 > 3; 3 > 1", expect![[r#"
        1 timer: TA-3 takes 2 for dead, and skips it; token → 3
        3 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.2)
    "#]]);

    /// Nodes 2, 3 and 4 are dead.
    ta_3_any_number_of_dead_members_are_skipped(
        of 5, "5 acquire; 1 fires; 1 fires; 1 fires; 1 fires; 1 > 5; 5 > 1; 5 release; 5 > 1", expect![[r#"
            5 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            1 timer: TA-3 takes 3 for dead, and skips it; token → 4
            1 timer: TA-3 takes 4 for dead, and skips it; token → 5
            5 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.4)
            5 release: LEAVES; TA-4 passes the token on; token → 1
            1 hears token from 5: received → 5; TA-2 passes the token on; token → 5
        "#]]);

    /// Node 2 is dead. The skipped hop counts, so that a round is as long as it was.
    ta_3_the_dead_are_skipped_at_once_from_then_on("1 fires; 1 fires; 1 > 3; 3 > 1; 3 > 1; 1 fires; 1 > 3", expect![[r#"
        1 timer: TA-5 passes the token on; token → 2
        1 timer: TA-3 takes 2 for dead, and skips it; token → 3
        3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
        1 hears token from 3: received → 3; TA-5 lets the token rest
        1 timer: TA-5 passes the token on; token → 3
    "#]]);

    /// This is not the synchronous model: there are two tokens.
    /// The one that node 2 has passed on is still under way when node 1 passes on the other.
    ta_3_an_acknowledgement_that_comes_too_late_brings_its_node_back(
        "1 fires; 1 > 2; 1 fires | 2 > 1; 1 > 3; 3 > 1; 3 > 1; 1 fires; 1 > 2", expect![[r#"
            1 hears received from 2: TA-3 hears too late that 2 is alive
            3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-5 lets the token rest
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
        "#]]);

    ta_3_only_the_one_that_was_passed_to_can_acknowledge("1 fires; 1 > 2; 2 > 1 as 3 | 1 fires; 1 > 3", expect![[r#"
        1 timer: TA-3 takes 2 for dead, and skips it; token → 3
        3 hears token from 1: received → 1; TA-2 passes the token on; token → 1
    "#]]);

    ta_4_one_who_leaves_passes_the_token_on_although_it_asks_again(
        "1 acquire; 1 release; 1 acquire; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            1 acquire: TA-1 waits for the token
            2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
            3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-2 keeps the token; ENTERS (fence 0.2)
        "#]]);

    /// One message an entry, acknowledgements apart, and each fence is the next.
    ta_4_everyone_enters_once_a_round(
        "1 acquire; 2 acquire; 3 acquire; 1 release; 1 acquire; 1 > 2; 2 release; 2 acquire | 2 > 3; 3 release; 3 > 1;
         1 release; 1 > 2", expect![[r#"
            3 hears token from 2: received → 2; TA-2 keeps the token; ENTERS (fence 0.3)
            3 release: LEAVES; TA-4 passes the token on; token → 1
            1 hears token from 3: received → 3; TA-2 keeps the token; ENTERS (fence 0.4)
            1 release: LEAVES; TA-4 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.5)
        "#]]);

    ta_5_the_token_rests_where_it_has_gone_a_round_without_an_entry(
        "1 fires; 1 > 2; 2 > 3; 3 > 1 | 2 > 1; 1 fires", expect![[r#"
            1 timer: TA-5 passes the token on; token → 2
        "#]]);

    ta_5_a_user_who_asks_during_the_rest_enters_at_once(
        "1 fires; 1 > 2; 2 > 3 | 3 > 1; 1 acquire; 1 release", expect![[r#"
            1 hears token from 3: received → 3; TA-5 lets the token rest
            1 acquire: TA-1 has the token here; ENTERS (fence 0.1)
            1 release: LEAVES; TA-4 passes the token on; token → 2
        "#]]);

    /// Nodes 2 and 3 are dead.
    ta_12_where_all_others_are_dead_the_token_stays(
        "1 fires; 1 fires | 1 fires; 1 acquire; 1 release; 1 try; 1 release", expect![[r#"
            1 timer: TA-3 takes 3 for dead, and skips it; TA-12 keeps the token: nobody else is alive
            1 acquire: TA-1 has the token here; ENTERS (fence 0.3)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
            1 try: TA-1 has the token here; ENTERS (fence 0.4)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
        "#]]);

    /// Nodes 2 and 3 are dead. In a script timers fire in the order in which they were set, however long they are.
    ta_12_one_who_has_asked_meanwhile_enters_when_all_others_have_turned_out_to_be_dead(
        "1 fires; 1 acquire; 1 fires; 1 fires | 1 fires; 1 release", expect![[r#"
            1 timer: TA-3 takes 3 for dead, and skips it; TA-12 keeps the token; ENTERS (fence 0.3)
            1 release: LEAVES; TA-12 keeps the token: nobody else is alive
        "#]]);

    ta_12_a_group_of_one_sends_nothing(of 1, "1 acquire; 1 release | 1 try; 1 release", expect![[r#"
        1 try: TA-1 has the token here; ENTERS (fence 0.2)
        1 release: LEAVES; TA-12 keeps the token: nobody else is alive
    "#]]);

    // Those who do not wait for ever: requests that are given up, and tries.

    ta_6_one_who_gives_up_lets_the_token_pass("2 acquire; 2 cancel; 1 fires; 1 > 2", expect![[r#"
        2 acquire: TA-1 waits for the token
        2 cancel: TA-6 lets the token come and go; cancelled
        1 timer: TA-5 passes the token on; token → 2
        2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
    "#]]);

    ta_6_one_who_asks_again_after_giving_up_gets_the_same_token(
        "2 acquire; 2 cancel; 2 acquire; 1 fires; 1 > 2", expect![[r#"
            2 acquire: TA-1 waits for the token
            2 cancel: TA-6 lets the token come and go; cancelled
            2 acquire: TA-1 waits for the token
            1 timer: TA-5 passes the token on; token → 2
            2 hears token from 1: received → 1; TA-2 keeps the token; ENTERS (fence 0.1)
        "#]]);

    /// Node 1 is dead, and the token with it. Node 3 makes a new one and passes it on.
    ta_6_a_search_goes_on_though_its_starter_has_given_up(
        "3 acquire; 3 fires | 3 cancel; 3 fires; 3 > 2; 2 > 3; 2 > 3; 3 > 2; 3 > 2", expect![[r#"
            3 cancel: TA-6 lets the token come and go; cancelled
            3 timer: TA-3 takes 1 for dead, and skips it; search → 2
            2 hears search from 3: received → 3; TA-9 passes the search of 3 on; search → 3
            3 hears search from 2: received → 2; TA-10 makes a new token: nobody has one; TA-10 passes the token on; token → 2
            2 hears token from 3: received → 3; TA-2 passes the token on; token → 3
        "#]]);

    /// Node 2 is dead, and the token with it; node 1 dies with the search. Node 4, which wants nothing, does not search again, and
    /// no longer stops lower ones.
    ta_6_a_search_that_is_lost_ends_for_one_who_has_given_up(
        of 4, "2 acquire; 1 fires; 1 > 2; 2 > 1 | 4 acquire; 4 fires; 4 > 1; 1 > 4; 4 cancel; 4 fires; 3 acquire;
               3 fires; 3 > 4", expect![[r#"
            4 acquire: TA-1 waits for the token
            4 timer: TA-8 searches for the token, to make one of generation 1; search → 1
            1 hears search from 4: received → 4; TA-9 passes the search of 4 on; search → 2
            4 cancel: TA-6 lets the token come and go; cancelled
            3 acquire: TA-1 waits for the token
            3 timer: TA-8 searches for the token, to make one of generation 1; search → 4
            4 hears search from 3: received → 3; TA-9 passes the search of 3 on; search → 1
        "#]]);

    ta_7_a_try_enters_if_nobody_was_inside_since_the_token_was_here("2 try; 1 fires; 1 > 2", expect![[r#"
        2 try: TA-1 waits for the token
        1 timer: TA-5 passes the token on; token → 2
        2 hears token from 1: received → 1; TA-7 keeps the token: nobody else was inside; ENTERS (fence 0.1)
    "#]]);

    ta_7_a_try_is_denied_if_somebody_was_inside_on_the_tokens_way("1 acquire; 2 try | 1 release; 1 > 2", expect![[r#"
        1 release: LEAVES; TA-4 passes the token on; token → 2
        2 hears token from 1: received → 1; TA-7 denies: somebody was inside since the token was last here; denied; TA-7 passes the token on; token → 3
    "#]]);

    ta_7_ones_own_entry_does_not_deny_a_try("1 acquire; 1 release | 1 try; 1 > 2; 2 > 3; 3 > 1", expect![[r#"
        1 try: TA-1 waits for the token
        2 hears token from 1: received → 1; TA-2 passes the token on; token → 3
        3 hears token from 2: received → 2; TA-2 passes the token on; token → 1
        1 hears token from 3: received → 3; TA-7 keeps the token: nobody else was inside; ENTERS (fence 0.2)
    "#]]);

    /// Node 2 was inside, passed the token on and died. The token has gone a whole round when it comes to node 3 again.
    ta_7_the_entry_of_one_who_is_dead_does_not_deny_a_try(
        "2 acquire; 1 fires; 1 > 2; 2 release; 2 > 1; 2 > 3 | 3 > 1; 1 > 3; 1 fires; 3 try; 1 > 3", expect![[r#"
            1 hears token from 3: received → 3; TA-2 passes the token on; token → 2
            1 timer: TA-3 takes 2 for dead, and skips it; token → 3
            3 try: TA-1 waits for the token
            3 hears token from 1: received → 1; TA-7 keeps the token: nobody else was inside; ENTERS (fence 0.3)
        "#]]);

    /// Node 1 is dead, and the token with it.
    ta_7_a_try_enters_with_a_new_token(of 2, "2 try; 2 fires; 2 fires", expect![[r#"
        2 try: TA-1 waits for the token
        2 timer: TA-8 searches for the token, to make one of generation 1; search → 1
        2 timer: TA-3 takes 1 for dead, and skips it; TA-10 makes a new token: nobody has one; TA-7 keeps the token: nobody else was inside; ENTERS (fence 1.1)
    "#]]);
}

/// Nor does it set a timer, which would never end.
#[test]
fn ta_12_a_group_of_one_sets_no_timer() {
    assert_eq!(ScriptGroup::new(1, ring).timers(), 0);
    assert_eq!(ScriptGroup::new(2, ring).timers(), 1);
}
