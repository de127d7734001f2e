//! Tests of the rules of an election by mutual exclusion, and of elections in any order of
//! messages. RA-1 to RA-3 are rules of Ricart and Agrawala's lock, in which `(2, 1)` is the request
//! of node 1 at clock 2.
//!
//! In scripts, `1 > 2` delivers the oldest message from node 1 to node 2, and `rest` delivers all
//! messages; steps before the bar prepare the state. Steps without effects are not in the trace.
//! Groups have 3 nodes. `testing.rs` lists all steps.

use super::{ByMutex, Phase};
use crate::election::{Command, Event};
use crate::group::{Epoch, Group};
use crate::mutex::rules::rule_tests;
use crate::mutex::{Central, RicartAgrawala};
use crate::node::NodeId;
use crate::protocol::Protocol;
use crate::testing::ScriptGroup;
use expect_test::expect;
use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::collections::BTreeMap;
use std::vec::Vec;

fn over_permissions(me: NodeId, group: Group) -> ByMutex<RicartAgrawala> {
    ByMutex::new(me, group.clone(), RicartAgrawala::new(me, group))
}

fn over_a_coordinator(me: NodeId, group: Group) -> ByMutex<Central> {
    ByMutex::new(me, group.clone(), Central::new(me, group))
}

rule_tests! { over_permissions, 3;
    bm_1_a_candidate_requests_the_lock_once_and_a_leader_may_not_resign(
        "1 campaign; 1 campaign; rest; 1 campaign; 1 resign; 2 resign", expect![[r#"
            1 campaign: BM-1 requests the lock; knows no leader (epoch 1); RA-1 requests entry with (1, 1); request → all
            1 campaign: refused: the node already takes part in an election
            2 receives request from 1: RA-2 replies to (1, 1); reply → 1
            3 receives request from 1: RA-2 replies to (1, 1); reply → 1
            1 receives reply from 3: RA-3 has every reply to (1, 1); BM-3 holds the lock, and leads in epoch 1; leads → all; LEADER IS 1 (epoch 1)
            2 receives leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            3 receives leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            1 campaign: refused: the node is the leader already
            1 resign: refused: this algorithm does not support resigning
            2 resign: refused: the node is not the leader
        "#]]);

    bm_2_a_candidate_asks_the_leader_to_release_the_lock("1 campaign; rest | 2 campaign; rest", expect![[r#"
        2 campaign: BM-2 asks 1 to release the lock; yield → 1; BM-1 requests the lock; knows no leader (epoch 2); RA-1 requests entry with (2, 2); request → all
        1 receives yield from 2: BM-5 releases the lock: 2 wants an election; no longer knows a leader (epoch 1 has ended)
        1 receives request from 2: RA-2 replies to (2, 2); reply → 2
        3 receives request from 2: RA-2 replies to (2, 2); reply → 2
        2 receives reply from 3: RA-3 has every reply to (2, 2); BM-3 holds the lock, and leads in epoch 2; leads → all; LEADER IS 2 (epoch 2)
        1 receives leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
        3 receives leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
    "#]]);

    bm_3_the_lock_holder_leads_in_the_epoch_of_its_fence("2 campaign; 2 > 1; 2 > 3; 1 > 2 | 3 > 2", expect![[r#"
        2 receives reply from 3: RA-3 has every reply to (1, 2); BM-3 holds the lock, and leads in epoch 1; leads → all; LEADER IS 2 (epoch 1)
    "#]]);

    bm_4_a_waiting_candidate_cancels_when_another_node_leads(
        "1 campaign; 2 campaign; 1 > 2; 1 > 3 | 2 > 1; 2 > 3; 2 > 1; 3 > 1; 1 > 2; 1 > 3; rest", expect![[r#"
            1 receives request from 2: RA-2 defers (1, 2): ours (1, 1) goes first
            3 receives request from 2: RA-2 replies to (1, 2); reply → 2
            1 receives reply from 3: RA-3 has every reply to (1, 1); BM-3 holds the lock, and leads in epoch 1; leads → all; LEADER IS 1 (epoch 1)
            2 receives leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            3 receives leads from 1: BM-4 follows 1; LEADER IS 1 (epoch 1)
            2 receives reply from 3: RA-3 ignores a reply to (1, 2): that request is not pending
        "#]]);

    /// The announcement of epoch 1 arrives after that of epoch 2.
    bm_4_a_leader_of_an_earlier_epoch_is_ignored(
        "1 campaign; 1 > 2; 1 > 3; 2 > 1; 3 > 1; 1 > 2; 2 campaign; 2 > 1; 2 > 1; 2 > 3; 1 > 2; 3 > 2; 2 > 3 | 1 > 3;
         rest", expect![[r#"
            3 receives leads from 1: BM-4 ignores that 1 led in epoch 1
            1 receives leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
        "#]]);

    /// Nodes 2 and 3 both challenge leader 1, which yields to 2 and no longer leads when 3's
    /// message arrives.
    bm_5_a_former_leader_ignores_a_late_request_to_yield(
        "1 campaign; rest; 2 campaign; 3 campaign; 2 > 1 | 3 > 1; rest", expect![[r#"
            1 receives yield from 3: BM-5 no longer leads in epoch 1
            1 receives request from 2: RA-2 replies to (2, 2); reply → 2
            3 receives request from 2: RA-2 replies to (2, 2); reply → 2
            1 receives request from 3: RA-2 replies to (2, 3); reply → 3
            2 receives request from 3: RA-2 defers (2, 3): ours (2, 2) goes first
            2 receives reply from 3: RA-3 has every reply to (2, 2); BM-3 holds the lock, and leads in epoch 2; leads → all; LEADER IS 2 (epoch 2)
            1 receives leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
            3 receives leads from 2: BM-4 follows 2; LEADER IS 2 (epoch 2)
        "#]]);
}

/// One action in a group. Indices wrap around the number of nodes or messages.
#[derive(Clone, Debug)]
enum Action {
    Campaign(usize),
    Deliver(usize),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        1 => (0..5_usize).prop_map(Action::Campaign),
        4 => (0..60_usize).prop_map(Action::Deliver),
    ];
    prop::collection::vec(action, 0..120)
}

/// Performs the actions, then delivers all messages. Checks that two nodes never lead at a time,
/// that an epoch has one leader, that epochs never decrease, and that in the end all nodes know the
/// last leader.
fn check_elections<P>(
    nodes: usize,
    new_node: fn(NodeId, Group) -> ByMutex<P>,
    actions: &[Action],
) -> Result<(), proptest::test_runner::TestCaseError>
where
    P: Protocol<Command = crate::mutex::Command, Event = crate::mutex::Event, Message: crate::describe::Describe>,
{
    let mut group = ScriptGroup::new(nodes, new_node);
    let mut leaders: BTreeMap<Epoch, NodeId> = BTreeMap::new();
    let mut latest_epochs = std::vec![Epoch(0); nodes];
    let mut has_campaigned = false;
    // Enough to deliver all messages, unless they circulate forever.
    let deliveries = core::iter::repeat_n(&Action::Deliver(0), 3_000);
    for action in actions.iter().chain(deliveries) {
        let (node, events) = match action {
            Action::Campaign(node) => {
                has_campaigned = true;
                let node = NodeId::from_index(node % nodes);
                (node, group.command(node, Command::Campaign))
            }
            Action::Deliver(_) if group.in_flight_count() == 0 => continue,
            Action::Deliver(index) => group.deliver(index % group.in_flight_count()),
        };
        for event in events {
            let (Event::Began { epoch } | Event::Elected { epoch, .. } | Event::Ended { epoch }) = event else {
                continue;
            };
            prop_assert!(
                epoch >= latest_epochs[node.index()],
                "the epoch of {node} decreases to {epoch}:\n{}",
                group.trace
            );
            latest_epochs[node.index()] = epoch;
            if let Event::Elected { leader, .. } = event {
                prop_assert_eq!(*leaders.entry(epoch).or_insert(leader), leader, "epoch {}", epoch);
            }
        }
        let leader_count = group.nodes.iter().filter(|node| node.phase == Phase::Decided(node.me)).count();
        prop_assert!(leader_count <= 1, "{leader_count} nodes lead at a time:\n{}", group.trace);
    }
    prop_assert_eq!(group.in_flight_count(), 0, "messages circulate forever");
    if has_campaigned {
        let (_, leader) = leaders.last_key_value().expect("a leader follows from a campaign");
        for node in &group.nodes {
            prop_assert_eq!(node.phase, Phase::Decided(*leader), "{} disagrees:\n{}", node.me, &group.trace);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn all_nodes_agree_in_the_end_for_any_campaigns_and_message_order(
        nodes in 1..=5_usize, actions in actions()
    ) {
        check_elections(nodes, over_permissions, &actions)?;
    }

    #[test]
    fn an_election_over_a_coordinator_ends_in_agreement_too(nodes in 1..=5_usize, actions in actions()) {
        check_elections(nodes, over_a_coordinator, &actions)?;
    }
}
