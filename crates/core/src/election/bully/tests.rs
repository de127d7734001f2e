//! Tests of the rules of the bully algorithm. A message takes at most one millisecond. So the
//! timeouts are 2 ms for an answer, 10 ms for a result, and 3 ms after a restart.
//!
//! In scripts, `1 > 2` delivers the oldest message from node 1 to node 2, `2 fires` fires the timer
//! that node 2 set last, and `rest` delivers all messages. `1 > 2 last` delivers the newest message
//! instead, `1 > 2 as 3` the oldest with node 3 as its sender, and `lose 1 > 2` drops the oldest.
//! Steps before the bar prepare the state, and `in` replaces the plan of the group.
//! `election/script.rs` lists all steps.
//!
//! In traces, `Answers in 2ms` means that the node sets the timer `Answers`, which ends the wait
//! for answers; likewise `Result`, `Quiet` (after a restart) and `Reports`. `saves` means that the
//! node saves the largest known epoch. Steps without effects have no line.

use super::Bully;
use crate::election::script::{plan, rule_tests};
use crate::election::{BullyOptions, Plan, Preference, Ranking};
use crate::group::Group;
use crate::node::NodeId;
use expect_test::expect;

fn bully(me: NodeId, plan: &Plan) -> Bully {
    Bully::new(me, plan.clone())
}

/// Returns a plan in which the node with the highest number, and so the highest rank, is down at
/// start-up.
fn without_highest(nodes: usize) -> Plan {
    Plan { absent: Group::of_size(nodes).iter().skip(nodes - 1).collect(), ..plan(nodes) }
}

/// Returns a plan in which node 2 has the highest rank, node 3 the next and node 1 the lowest.
fn with_attributes() -> Plan {
    Plan { ranking: Ranking::by_attribute([5, 1, 1], Preference::Lowest), ..plan(3) }
}

fn with_options(options: BullyOptions) -> Plan {
    Plan { bully: options, ..plan(3) }
}

rule_tests! { bully, plan(3);
    bu_1_a_campaign_asks_every_higher_node_even_a_dead_one(in without_highest(4), "2 campaign; 2 campaign", expect![[r#"
        2 campaign: knows no leader (epoch 1); BU-1 asks 3,4; election → 3,4; Answers in 2ms
        2 campaign: refused: the node already takes part in an election
    "#]]);

    bu_1_a_node_whose_only_higher_node_is_dead_declares_at_once(
        in without_highest(3), "2 campaign; rest; 2 resign; 1 resign", expect![[r#"
            2 campaign: BU-1 node 3 alone ranks higher, and is dead; knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
            1 receives coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
            2 resign: refused: this algorithm does not support resigning
            1 resign: refused: the node is not the leader
        "#]]);

    /// A result that the dead leader declared may still be in flight.
    bu_1_a_node_waits_for_the_last_messages_of_a_dead_leader(
        "3 campaign; rest; 3 campaign; 3 crashes; 2 suspects 3; 3 > 2; 3 > 1; 2 fires; rest", expect![[r#"
            3 campaign: knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1,2; LEADER IS 3 (epoch 1)
            1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
            2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
            3 campaign: knows no leader (epoch 2); saves; BU-3 declares itself leader in epoch 2; coordinator → 1,2; LEADER IS 3 (epoch 2)
            2 suspects 3: BU-1 node 3 alone ranks higher, and is dead; knows no leader (epoch 2); Answers in 1ms
            2 receives coordinator from 3: saves; BU-8 does not follow 3, which is dead
            1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
            2 Answers: saves; BU-3 declares itself leader in epoch 3; coordinator → 1; LEADER IS 2 (epoch 3)
            1 receives coordinator from 2: saves; BU-5 follows 2 in epoch 3; LEADER IS 2 (epoch 3)
        "#]]);

    bu_1_a_node_whose_only_higher_node_was_suspected_a_message_time_ago_declares_at_once("2 suspects 3; after 1ms | 2 campaign", expect![[r#"
        1ms 2 campaign: BU-1 node 3 alone ranks higher, and is dead; knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
    "#]]);

    bu_1_suspecting_a_node_that_does_not_lead_starts_no_election("3 campaign | rest; 3 suspects 2; 1 suspects 2; 1 suspects 1", expect![[r#"
        1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
        2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    bu_2_a_question_of_a_lower_node_is_answered_and_starts_an_election("1 campaign | 1 > 2; 1 > 3; rest", expect![[r#"
        2 receives election from 1: answer → 1; knows no leader (epoch 1); BU-2 asks 3; election → 3; Answers in 2ms
        3 receives election from 1: answer → 1; knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1,2; LEADER IS 3 (epoch 1)
        1 receives answer from 2: BU-4 node 2 is alive and ranks higher: waits for its result; Result in 10ms
        3 receives election from 2: answer → 2; BU-2 answers 2, which will learn that 3 leads
        1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
        2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    bu_2_a_late_question_is_answered_without_an_election("1 campaign; 1 > 3; 3 > 2 | 1 > 2", expect![[r#"
        2 receives election from 1: answer → 1; BU-2 answers 1, which will learn that 3 leads
    "#]]);

    bu_2_only_lower_nodes_are_answered("1 campaign; 1 > 2 as 3; 1 > 3 as 3", expect![[r#"
        1 campaign: knows no leader (epoch 1); BU-1 asks 2,3; election → 2,3; Answers in 2ms
    "#]]);

    bu_3_a_node_without_answers_wins(in without_highest(3), "1 campaign; 1 > 2 | 2 fires; 2 > 1; 2 > 1", expect![[r#"
        2 Answers: saves; BU-3 declares itself leader in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
        1 receives answer from 2: BU-4 node 2 is alive and ranks higher: waits for its result; Result in 10ms
        1 receives coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
    "#]]);

    bu_3_a_group_of_one_elects_itself(in plan(1), "1 campaign", expect![[r#"
        1 campaign: knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; LEADER IS 1 (epoch 1)
    "#]]);

    bu_3_ranks_decide_and_not_numbers(in with_attributes(), "1 campaign | rest", expect![[r#"
        2 receives election from 1: answer → 1; knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1,3; LEADER IS 2 (epoch 1)
        3 receives election from 1: answer → 1; knows no leader (epoch 1); BU-2 asks 2; election → 2; Answers in 2ms
        1 receives answer from 2: BU-4 node 2 is alive and ranks higher: waits for its result; Result in 10ms
        1 receives coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
        3 receives coordinator from 2: saves; BU-5 follows 2 in epoch 1; LEADER IS 2 (epoch 1)
        2 receives election from 3: answer → 3; BU-2 answers 3, which will learn that 2 leads
    "#]]);

    bu_4_a_node_with_an_answer_waits_for_the_result_and_asks_again_without_one(
        "1 campaign; 1 > 2; 2 > 1; 2 crashes; 3 crashes; rest | 1 fires; rest; 1 fires", expect![[r#"
            1 Result: knows no leader (epoch 1); BU-4 asks 2,3; election → 2,3; Answers in 2ms
            1 Answers: saves; BU-3 declares itself leader in epoch 1; LEADER IS 1 (epoch 1)
        "#]]);

    /// Node 2 does not wait for node 3: it has declared before the hello of node 3 arrives.
    bu_4_trust_in_a_higher_node_counts_as_its_answer(in without_highest(3), "1 campaign | 1 trusts 3; 2 campaign; 3 boots; 3 > 2", expect![[r#"
        1 trusts 3: BU-4 node 3 is alive and ranks higher: waits for its result; Result in 10ms
        2 campaign: BU-1 node 3 alone ranks higher, and is dead; knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1; LEADER IS 2 (epoch 1)
        3 boots: knows no leader (epoch 1); BU-9 has restarted: says hello; hello → 1,2,3; Quiet in 3ms
    "#]]);

    /// The answer of node 3 arrives after its result, and changes nothing.
    bu_5_a_result_of_a_higher_node_ends_the_election("2 campaign; 2 > 3 | 3 > 2 last; 3 > 2; 3 > 1", expect![[r#"
        2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
        1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    /// Node 3 learns epoch 1 from node 1 before the result arrives, and is in a later election by
    /// then.
    bu_5_a_result_does_not_end_a_later_election(
        in plan(4), "4 campaign; 4 > 1; 4 > 2 | 1 campaign; 1 > 3; 4 > 3; rest", expect![[r#"
            1 campaign: knows no leader (epoch 2); BU-1 asks 2,3,4; election → 2,3,4; Answers in 2ms
            3 receives election from 1: saves; answer → 1; knows no leader (epoch 2); BU-2 asks 4; election → 4; Answers in 2ms
            3 receives coordinator from 4: BU-4 node 4 is alive and ranks higher: waits for its result; Result in 10ms
            2 receives election from 1: answer → 1; knows no leader (epoch 2); BU-2 asks 3,4; election → 3,4; Answers in 2ms
            4 receives election from 1: answer → 1; knows no leader (epoch 2); saves; BU-3 declares itself leader in epoch 2; coordinator → 1,2,3; LEADER IS 4 (epoch 2)
            1 receives answer from 3: BU-4 node 3 is alive and ranks higher: waits for its result; Result in 10ms
            4 receives election from 3: answer → 3; BU-2 answers 3, which will learn that 4 leads
            3 receives election from 2: answer → 2; BU-2 answers 2
            4 receives election from 2: answer → 2; BU-2 answers 2, which will learn that 4 leads
            1 receives coordinator from 4: saves; BU-5 follows 4 in epoch 2; LEADER IS 4 (epoch 2)
            2 receives coordinator from 4: saves; BU-5 follows 4 in epoch 2; LEADER IS 4 (epoch 2)
            3 receives coordinator from 4: saves; BU-5 follows 4 in epoch 2; LEADER IS 4 (epoch 2)
        "#]]);

    bu_6_a_higher_node_takes_over_from_a_lower_one_that_declared(
        in with_options(BullyOptions { announces_to_all: true, ..BullyOptions::default() }), "2 suspects 3; after 1ms; 2 campaign;
         2 > 1 | 2 > 3; 2 trusts 3; rest", expect![[r#"
             1ms 3 receives coordinator from 2: saves; BU-6 takes over from 2, which ranks lower; knows no leader (epoch 2); saves; BU-3 declares itself leader in epoch 2; coordinator → 1,2,3; LEADER IS 3 (epoch 2)
             1ms 1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
             1ms 2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
         "#]]);

    bu_6_an_outdated_declaration_of_a_lower_node_starts_no_election(
        in with_options(BullyOptions { announces_to_all: true, ..BullyOptions::default() }), "2 suspects 3; after 1ms; 2 campaign;
         3 campaign | 3 campaign; 2 > 3", expect![[r#"
             1ms 3 campaign: knows no leader (epoch 2); saves; BU-3 declares itself leader in epoch 2; coordinator → 1,2,3; LEADER IS 3 (epoch 2)
         "#]]);

    /// Node 2 missed two epochs and suspects leader 3, then learns that node 3 is alive.
    bu_7_an_outdated_result_is_corrected_and_its_sender_starts_again(
        "3 campaign; 3 > 1; lose 3 > 2; 3 campaign; 3 > 1; lose 3 > 2; 2 suspects 3; after 1ms; 2 campaign | 2 > 1;
         2 trusts 3; 1 > 2; rest", expect![[r#"
             1ms 1 receives coordinator from 2: BU-7 does not follow 2 in epoch 1: knows epoch 2; report → 2
             1ms 2 receives report from 1: saves; BU-7 leads in epoch 1, but epoch 2 is known; knows no leader (epoch 3); BU-7 asks 3; election → 3; Answers in 2ms
             1ms 3 receives election from 2: answer → 2; knows no leader (epoch 3); saves; BU-3 declares itself leader in epoch 3; coordinator → 1,2; LEADER IS 3 (epoch 3)
             1ms 2 receives answer from 3: BU-4 node 3 is alive and ranks higher: waits for its result; Result in 10ms
             1ms 1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
             1ms 2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
         "#]]);

    bu_8_a_suspected_node_is_not_followed("3 campaign; 3 crashes; 1 suspects 3 | 3 > 1", expect![[r#"
        1 receives coordinator from 3: saves; BU-8 does not follow 3, which is dead; knows no leader (epoch 2); BU-8 asks 2,3; election → 2,3; Answers in 2ms
    "#]]);

    bu_9_a_restarted_node_waits_asks_for_epochs_and_starts_an_election(
        "3 campaign; rest; 3 crashes; 2 suspects 3 | 2 fires; rest; 3 boots; 3 campaign; rest; 3 fires; rest;
         3 fires; rest", expect![[r#"
             2 Answers: saves; BU-3 declares itself leader in epoch 2; coordinator → 1; LEADER IS 2 (epoch 2)
             1 receives coordinator from 2: saves; BU-5 follows 2 in epoch 2; LEADER IS 2 (epoch 2)
             3 boots: knows no leader (epoch 2); BU-9 has restarted: says hello; hello → 1,2,3; Quiet in 3ms
             3 campaign: refused: the node already takes part in an election
             3 Quiet: BU-9 asks all nodes for the largest epoch; knows 1; inquiry → 1,2,3; Reports in 2ms
             1 receives inquiry from 3: report → 3
             2 receives inquiry from 3: report → 3
             3 receives report from 1: saves
             3 Reports: knows no leader (epoch 3); saves; BU-3 declares itself leader in epoch 3; coordinator → 1,2; LEADER IS 3 (epoch 3)
             1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
             2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 3; LEADER IS 3 (epoch 3)
         "#]]);

    /// Node 2 asked node 3 in vain, and may declare until the hello of node 3 arrives; then it
    /// waits.
    bu_9_a_node_that_receives_a_hello_of_a_higher_node_does_not_declare(
        in without_highest(4), "2 campaign; 3 crashes; 2 > 4; 3 boots; 3 > 2", expect![[r#"
            2 campaign: knows no leader (epoch 1); BU-1 asks 3,4; election → 3,4; Answers in 2ms
            3 boots: knows no leader (epoch 1); BU-9 has restarted: says hello; hello → 1,2,3,4; Quiet in 3ms
            2 receives hello from 3: BU-4 node 3 is alive and ranks higher: waits for its result; Result in 10ms
        "#]]);

    bu_9_a_result_of_a_higher_node_ends_the_return("2 crashes | 2 boots; 3 campaign; 3 > 2", expect![[r#"
        2 boots: knows no leader (epoch 1); BU-9 has restarted: says hello; hello → 1,2,3; Quiet in 3ms
        3 campaign: knows no leader (epoch 1); saves; BU-3 declares itself leader in epoch 1; coordinator → 1,2; LEADER IS 3 (epoch 1)
        2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 1; LEADER IS 3 (epoch 1)
    "#]]);

    bu_9_a_restarted_node_answers_questions("2 crashes | 2 boots; 1 campaign; 1 > 2", expect![[r#"
        2 boots: knows no leader (epoch 1); BU-9 has restarted: says hello; hello → 1,2,3; Quiet in 3ms
        1 campaign: knows no leader (epoch 1); BU-1 asks 2,3; election → 2,3; Answers in 2ms
        2 receives election from 1: answer → 1; BU-2 answers 1
    "#]]);

    bu_10_lower_nodes_are_notified_and_forget_their_leader(
        in with_options(BullyOptions { notifies_lower: true, ..BullyOptions::default() }), "3 campaign; rest | 2 campaign; 2 > 1;
         1 fires; rest", expect![[r#"
             2 campaign: knows no leader (epoch 2); begun → 1; BU-1 asks 3; election → 3; Answers in 2ms
             1 receives begun from 2: BU-10 forgets the leader: 2 has started an election; knows no leader (epoch 2); Result in 10ms
             1 Result: knows no leader (epoch 2); BU-4 asks 2,3; election → 2,3; Answers in 2ms
             3 receives election from 2: answer → 2; knows no leader (epoch 2); saves; BU-3 declares itself leader in epoch 2; coordinator → 1,2; LEADER IS 3 (epoch 2)
             2 receives election from 1: answer → 1; BU-2 answers 1
             3 receives election from 1: answer → 1; BU-2 answers 1, which will learn that 3 leads
             2 receives answer from 3: BU-4 node 3 is alive and ranks higher: waits for its result; Result in 10ms
             1 receives coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
             2 receives coordinator from 3: saves; BU-5 follows 3 in epoch 2; LEADER IS 3 (epoch 2)
         "#]]);
}
