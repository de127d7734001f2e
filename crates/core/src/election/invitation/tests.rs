//! Tests of the rules of the invitation algorithm. A message is expected to take one millisecond.
//! With three nodes, the epochs that node 1 takes are multiples of three; those of node 2 are
//! greater by one, and those of node 3 by two.
//!
//! In scripts, `1 > 2` delivers the oldest message from node 1 to node 2, `2 fires` fires the timer
//! that node 2 set last, and `rest` delivers all messages. `1 > 2 last` delivers the newest message
//! instead, `1 > 2 as 3` the oldest with node 3 as its sender, and `lose 1 > 2` drops the oldest.
//! Steps before the bar prepare the state, and `in` replaces the plan of the group. Steps without
//! effects are not in the trace. `election/script.rs` lists all steps.
//!
//! In traces, `Found in 3ms` means that the node sets the timer `Found`, which ends a search;
//! `Invitation` and `Ready` end the wait for these messages, and `Watch` is the time of the next
//! periodic question.

use super::Invitation;
use crate::election::script::{plan, rule_tests};
use crate::election::{Plan, Preference, Ranking};
use crate::node::NodeId;
use expect_test::expect;

fn invitation(me: NodeId, plan: &Plan) -> Invitation {
    Invitation::new(me, plan.clone())
}

/// Returns a plan in which node 2 has the highest rank, node 3 the next and node 1 the lowest.
fn with_attributes() -> Plan {
    Plan { ranking: Ranking::by_attribute([5, 1, 1], Preference::Lowest), ..plan(3) }
}

rule_tests! { invitation, plan(3);
    in_1_a_campaign_asks_every_node("2 campaign; 2 campaign; 2 resign", expect![[r#"
        2 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
        2 campaign: refused: the node already takes part in an election
        2 resign: refused: the node is not the leader
    "#]]);

    in_1_a_restarted_node_seeks_and_takes_later_epochs(
        "3 campaign; rest; 3 fires; rest | 3 crashes; 3 boots; rest; 3 fires; rest", expect![[r#"
            3 boots: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
            1 receives check from 3: IN-2 answers 3; found → 3
            2 receives check from 3: IN-2 answers 3; found → 3
            3 Found: saves; IN-4 forms a group in epoch 8, and invites 2 nodes; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
            1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
            2 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
            3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
            3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
            1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
            2 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
        "#]]);

    in_2_a_coordinator_answers_a_higher_one(
        in plan(4), "4 campaign | 4 > 1; 2 campaign; 4 > 2; 3 campaign; 3 fires; 3 > 1; 4 > 3", expect![[r#"
            1 receives check from 4: knows no leader (epoch 0); Invitation in 8ms; IN-2 answers 4; found → 4
            2 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3,4
            2 receives check from 4: IN-2 answers 4; found → 4
            3 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3,4
            3 Found: saves; IN-4 forms a group in epoch 6, and invites 0 nodes; LEADER IS 3 (epoch 6); Watch in 8ms
            1 receives check from 3: IN-2 answers 3; found → 3
            3 receives check from 4: IN-2 answers 4; found → 4
        "#]]);

    /// A member leaves the answer to its coordinator, unless the coordinator itself asks.
    in_2_a_member_answers_only_its_own_coordinator(
        in plan(4), "3 campaign; 3 > 1; 1 > 3 | 3 fires; 3 > 1; 1 > 3; 3 > 1; 4 campaign; 4 > 1; 3 crashes; 3 boots;
         3 > 1 last", expect![[r#"
             3 Found: saves; IN-4 forms a group in epoch 6, and invites 1 nodes; LEADER IS 3 (epoch 6); invitation → 1; Watch in 8ms
             1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 6; knows no leader (epoch 6); accept → 3; Ready in 4ms
             3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
             1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 6); Watch in 8ms
             4 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3,4
             3 boots: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 6); Found in 3ms; check → 1,2,3,4
             1 receives check from 3: IN-2 answers 3; found → 3
         "#]]);

    in_3_a_coordinator_invites_a_lower_one_that_asks("3 campaign | 3 fires; 2 campaign; 2 > 3; 3 > 2 last; rest", expect![[r#"
        3 Found: saves; IN-4 forms a group in epoch 5, and invites 0 nodes; LEADER IS 3 (epoch 5); Watch in 8ms
        2 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
        3 receives check from 2: IN-3 invites 2; invitation → 2
        2 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
        1 receives check from 3: knows no leader (epoch 0); Invitation in 8ms; IN-2 answers 3; found → 3
        2 receives check from 3: IN-2 answers 3; found → 3
        1 receives check from 2: IN-2 answers 2; found → 2
        3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
        3 receives found from 1: IN-3 invites 1; invitation → 1
        3 receives found from 2: IN-3 invites 2; invitation → 2
        2 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
        1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
        2 receives invitation from 3: accept → 3
        3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
        3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
        1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
    "#]]);

    in_3_a_higher_node_without_a_group_seeks_first("1 campaign | 1 > 3", expect![[r#"
        3 receives check from 1: IN-3 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
    "#]]);

    in_4_a_node_that_no_higher_node_asks_forms_a_group(
        "1 campaign; rest | 1 fires; 2 fires; 3 fires; rest; 3 campaign; 1 resign; 3 resign", expect![[r#"
            1 Found: IN-5 waits for an invitation; Invitation in 8ms
            2 Found: IN-5 waits for an invitation; Invitation in 8ms
            3 Found: saves; IN-4 forms a group in epoch 5, and invites 2 nodes; LEADER IS 3 (epoch 5); invitation → 1,2; Watch in 8ms
            1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            2 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
            3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
            1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            2 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
            3 campaign: saves; IN-12 forms a group in epoch 8, and invites 2 nodes; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
            1 resign: refused: the node is not the leader
            3 resign: refused: this algorithm does not support resigning
        "#]]);

    in_4_a_single_node_leads_itself(in plan(1), "1 campaign", expect![[r#"
        1 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; saves; IN-4 forms a group in epoch 1, and invites 0 nodes; LEADER IS 1 (epoch 1); Watch in 8ms
    "#]]);

    in_4_ranks_decide_and_not_numbers(in with_attributes(), "1 campaign; rest; 1 fires; 3 fires | 2 fires; rest", expect![[r#"
        2 Found: saves; IN-4 forms a group in epoch 4, and invites 2 nodes; LEADER IS 2 (epoch 4); invitation → 1,3; Watch in 8ms
        1 receives invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 4; knows no leader (epoch 4); accept → 2; Ready in 4ms
        3 receives invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 4; knows no leader (epoch 4); accept → 2; Ready in 4ms
        2 receives accept from 1: IN-7 adds 1 to its group; ready → 1
        2 receives accept from 3: IN-7 adds 3 to its group; ready → 3
        1 receives ready from 2: IN-8 is a member of the group of 2; LEADER IS 2 (epoch 4); Watch in 8ms
        3 receives ready from 2: IN-8 is a member of the group of 2; LEADER IS 2 (epoch 4); Watch in 8ms
    "#]]);

    in_5_a_node_without_an_invitation_seeks_again(
        in plan(2), "1 campaign; 2 campaign; rest; 2 crashes; 1 fires | 1 fires; rest; 1 fires", expect![[r#"
            1 Invitation: IN-5 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2
            1 Found: saves; IN-4 forms a group in epoch 2, and invites 0 nodes; LEADER IS 1 (epoch 2); Watch in 8ms
        "#]]);

    /// Nodes 1 and 2 form a group, and node 3 forms another.
    in_6_a_coordinator_forwards_the_invitation_to_its_members(
        "2 campaign; 2 > 1; 1 > 2; 2 fires; 2 > 1; 1 > 2; 2 > 1; lose 2 > 3; 3 campaign; 3 > 1; 3 > 2; 3 fires;
         2 > 3 | rest", expect![[r#"
             2 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; invitation → 1; Ready in 4ms
             3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
             1 receives invitation from 2: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
             2 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
             3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
             1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
         "#]]);

    in_6_a_member_does_not_leave_for_a_lower_coordinator(
        "2 campaign; 2 > 1; 3 campaign; 3 > 1; 1 > 2; 1 > 3; 3 fires; 3 > 1; 1 > 3; 3 > 1; 2 fires | 2 > 1", expect![[r#"
            1 receives invitation from 2: IN-6 does not leave its group for that of 2
        "#]]);

    /// Node 1 was in a later epoch than that of node 2, and reports its epoch. So node 2 invites
    /// node 1 to an even later one.
    in_12_a_coordinator_takes_a_later_epoch_before_it_invites_a_node_that_knows_one(
        in plan(2), "1 campaign; lose 1 > 2; 1 fires | 1 campaign; 1 campaign; 2 campaign; lose 2 > 1; 2 fires;
         2 fires; 2 > 1; rest", expect![[r#"
             1 campaign: saves; IN-12 forms a group in epoch 4, and invites 0 nodes; LEADER IS 1 (epoch 4); Watch in 8ms
             1 campaign: saves; IN-12 forms a group in epoch 6, and invites 0 nodes; LEADER IS 1 (epoch 6); Watch in 8ms
             2 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2
             2 Found: saves; IN-4 forms a group in epoch 3, and invites 0 nodes; LEADER IS 2 (epoch 3); Watch in 8ms
             2 Watch: check → 1; Watch in 8ms
             1 receives check from 2: IN-2 answers 2; found → 2
             2 receives found from 1: saves; IN-12 forms a group in epoch 9, and invites 1 nodes; LEADER IS 2 (epoch 9); invitation → 1; Watch in 8ms
             1 receives invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 9; knows no leader (epoch 9); accept → 2; Ready in 4ms
             2 receives accept from 1: IN-7 adds 1 to its group; ready → 1
             1 receives ready from 2: IN-8 is a member of the group of 2; LEADER IS 2 (epoch 9); Watch in 8ms
         "#]]);

    in_7_a_node_that_accepts_too_late_is_invited_again_or_learns_that_the_group_is_gone(
        "2 campaign; 2 > 1; 1 > 2; 2 fires; 2 > 1 | 2 campaign; 1 > 2; 2 crashes; 2 boots; 1 campaign; rest", expect![[r#"
            2 campaign: saves; IN-12 forms a group in epoch 7, and invites 0 nodes; LEADER IS 2 (epoch 7); Watch in 8ms
            2 receives accept from 1: IN-10 invites 1, in epoch 4, to epoch 7; invitation → 1
            2 boots: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 7); Found in 3ms; check → 1,2,3
            1 campaign: refused: the node already takes part in an election
            3 receives check from 2: IN-3 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            1 receives invitation from 2: saves; IN-6 accepts the invitation of 2 to epoch 7; knows no leader (epoch 7); accept → 2; Ready in 4ms
            1 receives check from 2: IN-2 answers 2; found → 2
            2 receives check from 3: IN-2 answers 3; found → 3
            2 receives accept from 1: IN-10 reports to 1 that the group of epoch 7 is gone; gone → 1
            1 receives gone from 2: IN-11 is alone, and asks which nodes coordinate a group; knows no leader (epoch 7); Found in 3ms; check → 1,2,3
        "#]]);

    in_8_a_ready_message_of_another_node_is_ignored(
        "3 campaign; 3 > 1; 1 > 3; 3 fires; 3 > 1; 1 > 3; 3 > 1 as 2; 1 fires", expect![[r#"
            3 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
            1 receives check from 3: knows no leader (epoch 0); Invitation in 8ms; IN-2 answers 3; found → 3
            3 Found: saves; IN-4 forms a group in epoch 5, and invites 1 nodes; LEADER IS 3 (epoch 5); invitation → 1; Watch in 8ms
            1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 5; knows no leader (epoch 5); accept → 3; Ready in 4ms
            3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
            1 Ready: IN-11 is alone, and asks which nodes coordinate a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
        "#]]);

    in_9_members_ask_periodically_and_a_coordinator_only_nodes_outside_its_group(
        "3 campaign; rest; 3 fires; rest | 1 fires; rest; 3 fires; rest", expect![[r#"
            1 Watch: query → 3; Watch in 8ms
            3 receives query from 1: confirm → 1
            3 Watch: Watch in 8ms
        "#]]);

    in_10_a_member_learns_the_state_of_its_group(
        "3 campaign; rest; 3 fires; rest | 1 fires; 3 campaign; 1 > 3; 3 > 1 last; 1 > 3; 3 > 1 last; 3 crashes;
         3 boots; 1 fires; 1 > 3; 3 > 1 last", expect![[r#"
             1 Watch: query → 3; Watch in 8ms
             3 campaign: saves; IN-12 forms a group in epoch 8, and invites 2 nodes; LEADER IS 3 (epoch 8); invitation → 1,2; Watch in 8ms
             3 receives query from 1: IN-10 invites 1, in epoch 5, to epoch 8; invitation → 1
             1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 8; knows no leader (epoch 8); accept → 3; Ready in 4ms
             3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
             1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 8); Watch in 8ms
             3 boots: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 8); Found in 3ms; check → 1,2,3
             1 Watch: query → 3; Watch in 8ms
             3 receives query from 1: IN-10 reports to 1 that the group of epoch 8 is gone; gone → 1
             1 receives gone from 3: IN-11 is alone, and asks which nodes coordinate a group; knows no leader (epoch 8); Found in 3ms; check → 1,2,3
         "#]]);

    in_11_a_member_leaves_a_dead_or_silent_coordinator(
        "3 campaign; rest; 3 fires; rest | 1 suspects 2; 1 suspects 3; 3 crashes; 2 fires; 2 fires; 2 fires; 2 fires", expect![[r#"
            1 suspects 3: IN-11 is alone, and asks which nodes coordinate a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
            2 Watch: query → 3; Watch in 8ms
            2 Watch: query → 3; Watch in 8ms
            2 Watch: query → 3; Watch in 8ms
            2 Watch: IN-11 has not received an answer of 3 for long; IN-11 is alone, and asks which nodes coordinate a group; knows no leader (epoch 5); Found in 3ms; check → 1,2,3
        "#]]);

    /// Node 2 was alone for some time, and is in a later epoch than the group of node 3.
    in_12_a_group_takes_a_later_epoch_for_a_joiner_that_knows_one(
        "3 campaign; 3 > 1; 1 > 3; 3 fires; 3 > 1; 1 > 3 | 3 > 1; lose 3 > 2; 2 campaign; 2 fires; 2 campaign;
         2 campaign; 3 fires; rest", expect![[r#"
             1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 5); Watch in 8ms
             2 campaign: IN-1 is alone, and asks which nodes coordinate a group; knows no leader (epoch 0); Found in 3ms; check → 1,2,3
             2 Found: saves; IN-4 forms a group in epoch 4, and invites 0 nodes; LEADER IS 2 (epoch 4); Watch in 8ms
             2 campaign: saves; IN-12 forms a group in epoch 7, and invites 0 nodes; LEADER IS 2 (epoch 7); Watch in 8ms
             2 campaign: saves; IN-12 forms a group in epoch 10, and invites 0 nodes; LEADER IS 2 (epoch 10); Watch in 8ms
             3 Watch: check → 2; Watch in 8ms
             3 receives check from 2: IN-3 invites 2; invitation → 2
             2 receives check from 3: IN-2 answers 3; found → 3
             2 receives invitation from 3: IN-6 cannot join epoch 5: it was in epoch 10 already; found → 3
             3 receives found from 2: saves; IN-12 forms a group in epoch 14, and invites 2 nodes; LEADER IS 3 (epoch 14); invitation → 1,2; Watch in 8ms
             3 receives found from 2: IN-3 invites 2; invitation → 2
             1 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 14; knows no leader (epoch 14); accept → 3; Ready in 4ms
             2 receives invitation from 3: saves; IN-6 accepts the invitation of 3 to epoch 14; knows no leader (epoch 14); accept → 3; Ready in 4ms
             2 receives invitation from 3: accept → 3
             3 receives accept from 1: IN-7 adds 1 to its group; ready → 1
             3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
             3 receives accept from 2: IN-7 adds 2 to its group; ready → 2
             1 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 14); Watch in 8ms
             2 receives ready from 3: IN-8 is a member of the group of 3; LEADER IS 3 (epoch 14); Watch in 8ms
         "#]]);
}
