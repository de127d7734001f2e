//! The rules of Ricart–Agrawala round a ring, one script each and more for the nasty cases.

use super::RicartAgrawalaRing;
use crate::mutex::rules::rules;
use expect_test::expect;

rules! { RicartAgrawalaRing::new, 3;
    rr_1_asked_to_enter_a_node_sends_a_request_to_the_next("1 acquire; 3 acquire", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round; request → 2
        3 acquire: RR-1 sends (1, 3) round; request → 1
    "#]]);

    /// Node 2 hears nothing from 3 itself. It learns of the request (2, 3) by the clock that its own brings home.
    rr_1_who_heard_of_a_request_through_its_own_stamps_the_next_as_younger(
        "3 acquire; 3 cancel; 3 acquire; 3 > 1 last; 2 acquire; 2 > 3; 3 > 1 last; 1 > 2 last; 2 release;
         2 acquire", expect![[r#"
            3 acquire: RR-1 sends (1, 3) round; request → 1
            3 cancel: cancelled
            3 acquire: RR-1 sends (2, 3) round; request → 1
            1 hears request from 3: RR-2 lets (2, 3) pass; request → 2
            2 acquire: RR-1 sends (1, 2) round; request → 3
            3 hears request from 2: RR-2 lets (1, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (1, 2) pass; request → 2
            2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
            2 release: LEAVES
            2 acquire: RR-1 sends (3, 2) round; request → 3
        "#]]);

    rr_2_a_request_arrives_where_nobody_asked_and_is_passed_on("1 acquire; 1 > 2; 2 > 3", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round; request → 2
        2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
        3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
    "#]]);

    rr_2_a_request_arrives_where_one_is_inside_and_is_held("1 acquire; rest | 3 acquire; rest", expect![[r#"
        3 acquire: RR-1 sends (2, 3) round; request → 1
        1 hears request from 3: RR-2 holds (2, 3): ours (1, 1) goes first
    "#]]);

    rr_2_a_request_that_skipped_a_node_is_ignored(
        "1 acquire; 1 > 2 | 2 > 3 as 1; 1 cancel; 2 acquire; 2 > 3; 3 > 1; 1 > 2 as 3", expect![[r#"
            3 hears request from 1: RR-2 ignores (1, 1), which 1 brought
            1 cancel: cancelled
            2 acquire: RR-1 sends (2, 2) round; request → 3
            3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (2, 2) pass; request → 2
            2 hears request from 3: RR-2 ignores (2, 2), which 3 brought
        "#]]);

    rr_3_the_request_is_back_and_the_node_enters("2 acquire; 2 > 3 | 3 > 1; 1 > 2", expect![[r#"
        1 hears request from 3: RR-2 lets (1, 2) pass; request → 2
        2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
    "#]]);

    /// The fences of 1 and 3 come with the request, though 1 last entered before 3 did.
    rr_3_the_fence_is_larger_than_all_that_the_request_has_met(
        "1 acquire; rest; 1 release; 3 acquire | rest; 3 release; 2 acquire; rest", expect![[r#"
            1 hears request from 3: RR-2 lets (2, 3) pass; request → 2
            2 hears request from 1: RR-2 lets (2, 3) pass; request → 3
            3 hears request from 2: RR-3 has (2, 3) back; ENTERS (fence 0.2)
            3 release: LEAVES
            2 acquire: RR-1 sends (3, 2) round; request → 3
            3 hears request from 2: RR-2 lets (3, 2) pass; request → 1
            1 hears request from 3: RR-2 lets (3, 2) pass; request → 2
            2 hears request from 1: RR-3 has (3, 2) back; ENTERS (fence 0.3)
        "#]]);

    rr_4_asked_to_leave_a_node_passes_on_everything_held(
        "1 acquire; rest; 2 acquire; 3 acquire; rest | 1 release; rest; 2 release; rest", expect![[r#"
            1 release: LEAVES; RR-4 lets (2, 2) pass at last; request → 2; RR-4 lets (2, 3) pass at last; request → 2
            2 hears request from 1: RR-3 has (2, 2) back; ENTERS (fence 0.2)
            2 hears request from 1: RR-2 holds (2, 3): ours (2, 2) goes first
            2 release: LEAVES; RR-4 lets (2, 3) pass at last; request → 3
            3 hears request from 2: RR-3 has (2, 3) back; ENTERS (fence 0.3)
        "#]]);

    a_group_of_one_sends_nothing(of 1, "1 acquire; 1 try; 1 release; 1 try; 1 cancel; 1 release", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round; RR-3 has (1, 1) back; ENTERS (fence 0.1)
        1 try: refused: already inside
        1 release: LEAVES
        1 try: RR-1 sends (2, 1) round; RR-3 has (2, 1) back; ENTERS (fence 0.2)
        1 cancel: refused: already inside
        1 release: LEAVES
    "#]]);

    // Those who do not wait for ever: requests that are given up, and tries.

    rr_3_a_request_that_was_given_up_comes_back_to_nobody(
        "1 acquire; 1 > 2; 1 cancel; 1 acquire; 2 > 3 | 3 > 1; rest", expect![[r#"
            1 hears request from 3: RR-3 takes back (1, 1), which nobody waits with
            2 hears request from 1: RR-2 lets (2, 1) pass; request → 3
            3 hears request from 2: RR-2 lets (2, 1) pass; request → 1
            1 hears request from 3: RR-3 has (2, 1) back; ENTERS (fence 0.1)
        "#]]);

    rr_5_asked_to_give_up_a_node_passes_on_everything_held(
        "1 acquire; 2 acquire; 2 > 3 | 3 > 1; 1 cancel; rest", expect![[r#"
            1 hears request from 3: RR-2 holds (1, 2): ours (1, 1) goes first
            1 cancel: cancelled; RR-5 lets (1, 2) pass at last; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
            2 hears request from 1: RR-3 has (1, 2) back; ENTERS (fence 0.1)
            3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 3: RR-3 takes back (1, 1), which nobody waits with
        "#]]);

    /// The abandoned request is held like any other and goes on when its turn comes.
    rr_5_what_was_given_up_still_goes_its_round(
        "1 acquire; rest; 2 acquire | rest; 2 cancel; 1 release; rest", expect![[r#"
            3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
            1 hears request from 3: RR-2 holds (2, 2): ours (1, 1) goes first
            2 cancel: cancelled
            1 release: LEAVES; RR-4 lets (2, 2) pass at last; request → 2
            2 hears request from 1: RR-3 takes back (2, 2), which nobody waits with
        "#]]);

    rr_6_a_try_is_taken_off_the_ring_by_one_who_is_inside("1 acquire; rest; 2 try; rest", expect![[r#"
        1 acquire: RR-1 sends (1, 1) round; request → 2
        2 hears request from 1: RR-2 lets (1, 1) pass; request → 3
        3 hears request from 2: RR-2 lets (1, 1) pass; request → 1
        1 hears request from 3: RR-3 has (1, 1) back; ENTERS (fence 0.1)
        2 try: RR-1 sends (2, 2) round; request → 3
        3 hears request from 2: RR-2 lets (2, 2) pass; request → 1
        1 hears request from 3: RR-6 denies (2, 2); denied → 2
        2 hears denied from 1: denied
    "#]]);

    /// Node 2 holds (3, 1) because of its try, which 3 denies.
    rr_6_a_denied_try_passes_on_everything_held(
        "3 acquire; 3 > 1; 1 > 2; 2 try; 1 acquire; 1 cancel; 1 acquire; 1 > 2 last; 2 > 3 last; 3 > 2", expect![[r#"
            3 acquire: RR-1 sends (1, 3) round; request → 1
            1 hears request from 3: RR-2 lets (1, 3) pass; request → 2
            2 hears request from 1: RR-2 lets (1, 3) pass; request → 3
            2 try: RR-1 sends (2, 2) round; request → 3
            1 acquire: RR-1 sends (2, 1) round; request → 2
            1 cancel: cancelled
            1 acquire: RR-1 sends (3, 1) round; request → 2
            2 hears request from 1: RR-2 holds (3, 1): ours (2, 2) goes first
            3 hears request from 2: RR-6 denies (2, 2); denied → 2
            2 hears denied from 3: denied; RR-6 lets (3, 1) pass at last; request → 3
        "#]]);

    rr_6_a_denial_that_comes_late_or_from_a_stranger_ends_nothing(
        of 2, "1 acquire; rest; 2 try; 2 > 1; 2 cancel; 2 try; 1 > 2; 2 > 1; 1 > 2 as 9", expect![[r#"
            1 acquire: RR-1 sends (1, 1) round; request → 2
            2 hears request from 1: RR-2 lets (1, 1) pass; request → 1
            1 hears request from 2: RR-3 has (1, 1) back; ENTERS (fence 0.1)
            2 try: RR-1 sends (2, 2) round; request → 1
            1 hears request from 2: RR-6 denies (2, 2); denied → 2
            2 cancel: cancelled
            2 try: RR-1 sends (3, 2) round; request → 1
            1 hears request from 2: RR-6 denies (3, 2); denied → 2
        "#]]);
}
