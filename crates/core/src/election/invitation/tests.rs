//! The rules of the invitation algorithm, one by one. Messages are taken to last one millisecond. In a group of three, the epochs of nodes
//! 1, 2 and 3 are multiples of three, those plus one, and those plus two.

use super::Invitation;
use crate::election::drill::{plan, rules};
use crate::election::{Plan, Prefer, Ranking};
use crate::node::NodeId;
use expect_test::expect;

fn invitation(me: NodeId, plan: &Plan) -> Invitation {
    Invitation::new(me, plan.clone())
}

fn ranked() -> Plan {
    Plan { ranking: Ranking::by_attribute([5, 1, 1], Prefer::Lowest), ..plan(3) }
}

rules! { invitation, plan(3);
    in_1_who_campaigns_asks_everyone("2 campaign; 2 campaign; 2 resign", expect![[r#"
        2 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
        2 campaign: refused: it takes part in a run that is already under way
        2 resign: refused: it does not lead
    "#]]);

    in_1_who_is_back_seeks_and_counts_on(
        "3 campaign; rest; 3 fires; rest | 3 crashes; 3 boots; rest; 3 fires; rest", expect![[r#"
            3 boots: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
            1 hears check from 3: IN-2 lets 3 know of it; found → 3
            2 hears check from 3: IN-2 lets 3 know of it; found → 3
            3 Found: saves; IN-4 forms a group in epoch 8, and invites 2; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
            2 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
            2 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
        "#]]);

    in_2_a_higher_one_is_told_who_coordinates(
        in plan(4), "4 campaign | 4 > 1; 2 campaign; 4 > 2; 3 campaign; 3 fires; 3 > 1; 4 > 3", expect![[r#"
            1 hears check from 4: knows no leader (epoch 0); Invitation in 8ms; IN-2 lets 4 know of it; found → 4
            2 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3,4
            2 hears check from 4: IN-2 lets 4 know of it; found → 4
            3 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3,4
            3 Found: saves; IN-4 forms a group in epoch 6, and invites 0; LEADER IS 3 (epoch 6); Watch in 8ms
            1 hears check from 3: IN-2 lets 3 know of it; found → 3
            3 hears check from 4: IN-2 lets 4 know of it; found → 4
        "#]]);

    /// A member leaves it to its coordinator, unless it is that one which asks.
    in_2_a_member_answers_none_but_its_own_coordinator(
        in plan(4), "3 campaign; 3 > 1; 1 > 3 | 3 fires; 3 > 1; 1 > 3; 3 > 1; 4 campaign; 4 > 1; 3 crashes; 3 boots;
         3 > 1 last", expect![[r#"
            3 Found: saves; IN-4 forms a group in epoch 6, and invites 1; LEADER IS 3 (epoch 6); invitation → 1; Watch in 8ms
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 6; knows no leader (epoch 6); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 6); Watch in 8ms
            4 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3,4
            3 boots: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 6); Found in 3ms; check → 1,2,3,4
            1 hears check from 3: IN-2 lets 3 know of it; found → 3
        "#]]);

    in_3_a_lower_one_that_asks_is_invited("3 campaign | 3 fires; 2 campaign; 2 > 3; 3 > 2 last; rest", expect![[r#"
        3 Found: saves; IN-4 forms a group in epoch 5, and invites 0; LEADER IS 3 (epoch 5); Watch in 8ms
        2 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
        3 hears check from 2: IN-3 invites 2; invitation → 2
        2 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
        1 hears check from 3: knows no leader (epoch 0); Invitation in 8ms; IN-2 lets 3 know of it; found → 3
        2 hears check from 3: IN-2 lets 3 know of it; found → 3
        1 hears check from 2: IN-2 lets 2 know of it; found → 2
        3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
        3 hears found from 1: IN-3 invites 1; invitation → 1
        3 hears found from 2: IN-3 invites 2; invitation → 2
        2 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
        1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
        2 hears invitation from 3: accept → 3
        3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
        3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
        1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
    "#]]);

    in_3_a_higher_one_that_never_took_part_seeks_itself("1 campaign | 1 > 3", expect![[r#"
        3 hears check from 1: IN-3 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
    "#]]);

    in_4_who_hears_of_nobody_higher_forms_a_group_with_those_it_found(
        "1 campaign; rest | 1 fires; 2 fires; 3 fires; rest; 3 campaign; 1 resign; 3 resign", expect![[r#"
            1 Found: IN-5 waits to be invited; Invitation in 8ms
            2 Found: IN-5 waits to be invited; Invitation in 8ms
            3 Found: saves; IN-4 forms a group in epoch 5, and invites 2; LEADER IS 3 (epoch 5); invitation → 1,2; Watch in 8ms
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            2 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            2 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            3 campaign: saves; IN-12 forms a group in epoch 8, and invites 2; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
            1 resign: refused: it does not lead
            3 resign: refused: this algorithm knows no handover
        "#]]);

    in_4_a_node_alone_leads_itself(in plan(1), "1 campaign", expect![[r#"
        1 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; saves; IN-4 forms a group in epoch 1, and invites 0; LEADER IS 1 (epoch 1); Watch in 8ms
    "#]]);

    in_4_ranks_decide_and_not_numbers(in ranked(), "1 campaign; rest; 1 fires; 3 fires | 2 fires; rest", expect![[r#"
        2 Found: saves; IN-4 forms a group in epoch 4, and invites 2; LEADER IS 2 (epoch 4); invitation → 1,3; Watch in 8ms
        1 hears invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 4; knows no leader (epoch 4); accept → 2; Ready in 4ms
        3 hears invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 4; knows no leader (epoch 4); accept → 2; Ready in 4ms
        2 hears accept from 1: IN-7 takes 1 into its group; ready → 1
        2 hears accept from 3: IN-7 takes 3 into its group; ready → 3
        1 hears ready from 2: IN-8 is in the group of 2; LEADER IS 2 (epoch 4); Watch in 8ms
        3 hears ready from 2: IN-8 is in the group of 2; LEADER IS 2 (epoch 4); Watch in 8ms
    "#]]);

    in_5_who_is_not_invited_seeks_again(
        in plan(2), "1 campaign; 2 campaign; rest; 2 crashes; 1 fires | 1 fires; rest; 1 fires", expect![[r#"
            1 Invitation: IN-5 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2
            1 Found: saves; IN-4 forms a group in epoch 2, and invites 0; LEADER IS 1 (epoch 2); Watch in 8ms
        "#]]);

    /// Nodes 1 and 2 are a group, and so is node 3.
    in_6_a_coordinator_takes_its_members_along(
        "2 campaign; 2 > 1; 1 > 2; 2 fires; 2 > 1; 1 > 2; 2 > 1; lose 2 > 3; 3 campaign; 3 > 1; 3 > 2; 3 fires;
         2 > 3 | rest", expect![[r#"
            2 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; invitation → 1; Ready in 4ms
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            1 hears invitation from 2: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            2 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
        "#]]);

    in_6_nobody_leaves_a_group_for_a_lower_coordinator(
        "2 campaign; 2 > 1; 3 campaign; 3 > 1; 1 > 2; 1 > 3; 3 fires; 3 > 1; 1 > 3; 3 > 1; 2 fires | 2 > 1", expect![[r#"
            1 hears invitation from 2: IN-6 does not leave its group for that of 2
        "#]]);

    /// Whoever was in a later epoch says so, and an invitation that was accepted is accepted again.
    in_6_nobody_goes_back_to_an_earlier_epoch(
        in plan(2), "1 campaign; lose 1 > 2; 1 fires | 1 campaign; 1 campaign; 2 campaign; lose 2 > 1; 2 fires;
         2 fires; 2 > 1; rest", expect![[r#"
            1 campaign: saves; IN-12 forms a group in epoch 4, and invites 0; LEADER IS 1 (epoch 4); Watch in 8ms
            1 campaign: saves; IN-12 forms a group in epoch 6, and invites 0; LEADER IS 1 (epoch 6); Watch in 8ms
            2 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2
            2 Found: saves; IN-4 forms a group in epoch 3, and invites 0; LEADER IS 2 (epoch 3); Watch in 8ms
            2 Watch: check → 1; Watch in 8ms
            1 hears check from 2: IN-2 lets 2 know of it; found → 2
            2 hears found from 1: saves; IN-12 forms a group in epoch 9, and invites 1; LEADER IS 2 (epoch 9); invitation → 1; Watch in 8ms
            1 hears invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 9; knows no leader (epoch 9); accept → 2; Ready in 4ms
            2 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 2: IN-8 is in the group of 2; LEADER IS 2 (epoch 9); Watch in 8ms
        "#]]);

    in_7_who_accepts_is_taken_in_and_who_is_too_late_is_told(
        "2 campaign; 2 > 1; 1 > 2; 2 fires; 2 > 1 | 2 campaign; 1 > 2; 2 crashes; 2 boots; 1 campaign; rest", expect![[r#"
            2 campaign: saves; IN-12 forms a group in epoch 7, and invites 0; LEADER IS 2 (epoch 7); Watch in 8ms
            2 hears accept from 1: IN-10 invites 1, which is in epoch 4, to 7; invitation → 1
            2 boots: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 7); Found in 3ms; check → 1,2,3
            1 campaign: refused: it takes part in a run that is already under way
            3 hears check from 2: IN-3 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            1 hears invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 7; knows no leader (epoch 7); accept → 2; Ready in 4ms
            1 hears check from 2: IN-2 lets 2 know of it; found → 2
            2 hears check from 3: IN-2 lets 3 know of it; found → 3
            2 hears accept from 1: IN-10 tells 1 that the group of epoch 7 is gone; gone → 1
            1 hears gone from 2: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 7); Found in 3ms; check → 1,2,3
        "#]]);

    in_8_only_the_group_that_was_joined_is_ready(
        "3 campaign; 3 > 1; 1 > 3; 3 fires; 3 > 1; 1 > 3; 3 > 1 as 2; 1 fires", expect![[r#"
            3 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            1 hears check from 3: knows no leader (epoch 0); Invitation in 8ms; IN-2 lets 3 know of it; found → 3
            3 Found: saves; IN-4 forms a group in epoch 5, and invites 1; LEADER IS 3 (epoch 5); invitation → 1; Watch in 8ms
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 Ready: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
        "#]]);

    in_9_members_and_coordinators_look_after_each_other(
        "3 campaign; rest; 3 fires; rest | 1 fires; rest; 3 fires; rest", expect![[r#"
            1 Watch: query → 3; Watch in 8ms
            3 hears query from 1: here → 1
            3 Watch: Watch in 8ms
        "#]]);

    in_10_a_member_learns_how_things_are(
        "3 campaign; rest; 3 fires; rest | 1 fires; 3 campaign; 1 > 3; 3 > 1 last; 1 > 3; 3 > 1 last; 3 crashes;
         3 boots; 1 fires; 1 > 3; 3 > 1 last", expect![[r#"
            1 Watch: query → 3; Watch in 8ms
            3 campaign: saves; IN-12 forms a group in epoch 8, and invites 2; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
            3 hears query from 1: IN-10 invites 1, which is in epoch 5, to 8; invitation → 1
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
            3 boots: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 8); Found in 3ms; check → 1,2,3
            1 Watch: query → 3; Watch in 8ms
            3 hears query from 1: IN-10 tells 1 that the group of epoch 8 is gone; gone → 1
            1 hears gone from 3: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 8); Found in 3ms; check → 1,2,3
        "#]]);

    in_11_a_coordinator_that_is_dead_or_silent_is_left(
        "3 campaign; rest; 3 fires; rest | 1 suspects 2; 1 suspects 3; 3 crashes; 2 fires; 2 fires; 2 fires; 2 fires", expect![[r#"
            1 suspects 3: IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
            2 Watch: query → 3; Watch in 8ms
            2 Watch: query → 3; Watch in 8ms
            2 Watch: query → 3; Watch in 8ms
            2 Watch: IN-11 has not heard of 3 for long; IN-11 is alone, and asks who coordinates a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
        "#]]);

    /// Node 3 was alone for a while, and its epochs are behind.
    in_12_a_group_takes_a_later_epoch_for_a_newcomer_that_knows_one(
        "3 campaign; 3 > 1; 1 > 3; 3 fires; 3 > 1; 1 > 3 | 3 > 1; lose 3 > 2; 2 campaign; 2 fires; 2 campaign;
         2 campaign; 3 fires; rest", expect![[r#"
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            2 campaign: IN-1 is alone, and asks who coordinates a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            2 Found: saves; IN-4 forms a group in epoch 4, and invites 0; LEADER IS 2 (epoch 4); Watch in 8ms
            2 campaign: saves; IN-12 forms a group in epoch 7, and invites 0; LEADER IS 2 (epoch 7); Watch in 8ms
            2 campaign: saves; IN-12 forms a group in epoch 10, and invites 0; LEADER IS 2 (epoch 10); Watch in 8ms
            3 Watch: check → 2; Watch in 8ms
            3 hears check from 2: IN-3 invites 2; invitation → 2
            2 hears check from 3: IN-2 lets 3 know of it; found → 3
            2 hears invitation from 3: IN-6 cannot be in epoch 5: it was in 10 already; found → 3
            3 hears found from 2: saves; IN-12 forms a group in epoch 14, and invites 2; LEADER IS 3 (epoch 14); invitation → 1,2; Watch in 8ms
            3 hears found from 2: IN-3 invites 2; invitation → 2
            1 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 14; knows no leader (epoch 14); accept → 3; Ready in 4ms
            2 hears invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 14; knows no leader (epoch 14); accept → 3; Ready in 4ms
            2 hears invitation from 3: accept → 3
            3 hears accept from 1: IN-7 takes 1 into its group; ready → 1
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            3 hears accept from 2: IN-7 takes 2 into its group; ready → 2
            1 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 14); Watch in 8ms
            2 hears ready from 3: IN-8 is in the group of 3; LEADER IS 3 (epoch 14); Watch in 8ms
        "#]]);
}
