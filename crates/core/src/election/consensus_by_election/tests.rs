//! Tests of the rules of consensus by election, and of decisions in any order of messages. CI and
//! CR are the rules of the inner election (`circuit.rs` and `chang_roberts.rs`). Unless a test
//! gives attributes, each node proposes its number.
//!
//! In scripts, `1 > 2` delivers the oldest message from node 1 to node 2, and `rest` delivers all
//! messages; steps before the bar prepare the state. Steps without effects are not in the trace.
//! `testing.rs` lists all steps.

use super::{ConsensusByElection, ConsensusByRing, Decision};
use crate::election::{Command, Event, HirschbergSinclair, Plan, Preference, Ranking, script};
use crate::group::{Epoch, Group};
use crate::mutex::rules::rule_tests;
use crate::node::NodeId;
use crate::testing::ScriptGroup;
use alloc::sync::Arc;
use expect_test::expect;
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};
use std::vec::Vec;

fn plan(group: &Group, ranking: Ranking) -> Arc<Plan> {
    Arc::new(Plan { ranking, ..script::plan(group.len()) })
}

fn by_number(me: NodeId, group: Group) -> ConsensusByRing {
    ConsensusByRing::from_plan(me, &plan(&group, Ranking::default()))
}

/// Node 2 ranks highest and proposes 70.
fn with_attributes(me: NodeId, group: Group) -> ConsensusByRing {
    ConsensusByRing::from_plan(me, &plan(&group, Ranking::by_attribute([40, 70, 5], Preference::Highest)))
}

rule_tests! { by_number, 3;
    ce_1_commands_and_messages_go_to_the_inner_election("1 campaign; 1 campaign; 1 resign; 1 > 2", expect![[r#"
        1 campaign: CI-1 begins epoch 1; CR-1 sends its rank on; election → 2; knows no leader (epoch 1)
        1 campaign: refused: the node already takes part in an election
        1 resign: refused: the node is not the leader
        2 receives election from 1: CI-2 takes part in epoch 1; CR-3 sends its own rank in place of 1; election → 3; knows no leader (epoch 1)
    "#]]);

    /// At node 1 the decision arrives first, at node 2 the announcement.
    ce_4_a_node_reports_the_leader_once_it_knows_the_decision(
        "3 campaign | 3 > 1; 1 > 2; 2 > 3; 3 > 1 last; 3 > 1; 1 > 2; 3 > 2; rest", expect![[r#"
            1 receives election from 3: CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 2; knows no leader (epoch 1)
            2 receives election from 1: CI-2 takes part in epoch 1; CR-2 passes 3 on; election → 3; knows no leader (epoch 1)
            3 receives election from 2: CR-4 its rank came all the way around: it has won; CI-5 announces 3 in epoch 1; elected → 1; CE-2 decides 3 in epoch 1; decided → all; CE-4 knows leader 3 and its decision, 3; LEADER IS 3 (epoch 1)
            1 receives decided from 3: CE-3 value 3 is decided in epoch 1
            1 receives elected from 3: elected → 2; CI-6 learns that 3 has won; CE-4 knows leader 3 and its decision, 3; LEADER IS 3 (epoch 1)
            2 receives elected from 1: elected → 3; CI-6 learns that 3 has won
            2 receives decided from 3: CE-3 value 3 is decided in epoch 1; CE-4 knows leader 3 and its decision, 3; LEADER IS 3 (epoch 1)
            3 receives elected from 2: CI-6 the announcement came all the way around
        "#]]);
}

#[test]
fn ce_2_the_leader_decides_for_its_own_proposal() {
    let mut group = ScriptGroup::new(3, with_attributes);
    group.run("2 campaign; rest");
    assert!(group.trace.contains("CE-2 decides 70 in epoch 1; decided → all"), "{}", group.trace);
    for node in &group.nodes {
        assert_eq!(node.decision(), Some(Decision { epoch: Epoch(1), value: 70 }));
    }
}

/// A later leader knows the decision, and must not change it.
#[test]
fn ce_2_later_epochs_keep_the_decision() {
    let mut group = ScriptGroup::new(3, by_number);
    group.nodes[2].decision = Some(Decision { epoch: Epoch(0), value: 9 });
    group.run("1 campaign; rest");
    for node in &group.nodes {
        assert_eq!(node.decision(), Some(Decision { epoch: Epoch(1), value: 9 }));
    }
}

#[test]
fn ce_3_a_decision_does_not_replace_a_later_one() {
    let mut group = ScriptGroup::new(3, by_number);
    group.run("3 campaign; rest");
    let later_decision = Decision { epoch: Epoch(5), value: 3 };
    group.nodes[0].decision = Some(later_decision);
    group.run("3 campaign; rest");
    assert_eq!(group.nodes[0].decision(), Some(later_decision));
    assert_eq!(group.nodes[1].decision(), Some(Decision { epoch: Epoch(2), value: 3 }));
}

proptest! {
    /// In the end all nodes hold the same decision, with the proposal of the highest-ranking node,
    /// for any campaigns. Any election works: this test uses Hirschberg and Sinclair's.
    #[test]
    fn all_nodes_decide_one_value_for_any_message_order(
        nodes in 1..=5_usize,
        actions in prop::collection::vec((any::<bool>(), 0..40_usize), 1..60),
    ) {
        // Up to five different values, which are not in the order of the nodes.
        let attributes: Vec<u64> = (0..nodes as u64).map(|number| number * 7 % 5).collect();
        let ranking = Ranking::by_attribute(attributes, Preference::Highest);
        let new_node = |me, group: Group| {
            let plan = plan(&group, ranking.clone());
            ConsensusByElection::new(me, &plan, HirschbergSinclair::new(me, Arc::clone(&plan)))
        };
        let mut group = ScriptGroup::new(nodes, new_node);
        let mut events_by_node = Vec::new();
        // Node 1 campaigns, so that there is an election.
        let first_action = [(true, 0)];
        for (is_campaign, index) in first_action.into_iter().chain(actions) {
            if is_campaign {
                group.command(NodeId::from_index(index % nodes), Command::Campaign);
            } else if group.in_flight_count() > 0 {
                let (node, events) = group.deliver(index % group.in_flight_count());
                events_by_node.extend(events.into_iter().map(|event| (node, event)));
            }
        }
        while group.in_flight_count() > 0 {
            let (node, events) = group.deliver(0);
            events_by_node.extend(events.into_iter().map(|event| (node, event)));
        }
        let decision = group.nodes[0].decision();
        prop_assert!(decision.is_some(), "{}", group.trace);
        let best = ranking.best(Group::of_size(nodes).iter());
        prop_assert_eq!(decision.map(|decision| decision.value), best.and_then(|best| ranking.attribute(best)));
        for node in &group.nodes {
            prop_assert_eq!(node.decision(), decision, "{} differs:\n{}", node.me, &group.trace);
            let last = events_by_node.iter().rev().find(|(other, _)| *other == node.me).map(|(_, event)| *event);
            prop_assert!(
                matches!(last, Some(Event::Elected { leader, .. }) if Some(leader) == best),
                "the last event of {} is {last:?}:\n{}", node.me, &group.trace
            );
        }
    }
}
