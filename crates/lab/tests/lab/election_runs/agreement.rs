//! Compares the incremental agreement check with a reference that inspects every node each time.

use super::node;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use quorate_core::{Epoch, NodeId, Time};
use quorate_lab::election::run::{Agreement, Belief, Change, Expectation};

const NODES: u32 = 4;

struct Reference(Vec<Belief>);

impl Reference {
    fn apply(&mut self, id: NodeId, change: Change) {
        let Some(belief) = self.0.get_mut(id.index()) else { return };
        match change {
            Change::Campaigns | Change::ExtendsLease { .. } => {}
            Change::BeginsElection(_) | Change::Starts | Change::LosesLeader => *belief = Belief::Unaware,
            Change::LearnsLeader { leader, epoch, until: _ } => *belief = Belief::Knows { leader, epoch },
            Change::Crashes => *belief = Belief::Down,
        }
    }

    fn leader(&self) -> Option<(NodeId, Epoch)> {
        let mut live = self.0.iter().filter(|belief| **belief != Belief::Down);
        let first = live.next()?;
        let Belief::Knows { leader, epoch } = *first else { return None };
        let is_live = self.0.get(leader.index()).is_some_and(|belief| *belief != Belief::Down);
        (is_live && live.all(|belief| belief == first)).then_some((leader, epoch))
    }
}

impl Reference {
    fn considers_itself_leader(&self, id: NodeId) -> bool {
        matches!(self.0.get(id.index()), Some(Belief::Knows { leader, .. }) if *leader == id)
    }

    /// Returns the nodes that consider themselves leaders, and how many other nodes follow each.
    fn leaders(&self) -> Vec<(NodeId, usize)> {
        let knows_leader =
            |belief: &&Belief, id: NodeId| matches!(belief, Belief::Knows { leader, .. } if *leader == id);
        let followers = |id: NodeId| self.0.iter().filter(|belief| knows_leader(belief, id)).count();
        let nodes = (0..self.0.len()).map(NodeId::from_index);
        nodes.filter(|id| self.considers_itself_leader(*id)).map(|id| (id, followers(id) - 1)).collect()
    }

    fn all_are_led(&self) -> bool {
        self.0.iter().all(|belief| match belief {
            Belief::Unaware => false,
            Belief::Knows { leader, .. } => self.considers_itself_leader(*leader),
            Belief::Down => true,
        })
    }
}

/// A random change of a random node. Both node and leader may be outside the group, because a
/// journal may name any node.
fn change() -> impl Strategy<Value = (u32, Change)> {
    let epoch = (0_u64..3).prop_map(Epoch);
    let learns_leader = (1..=NODES + 1, epoch.clone()).prop_map(|(leader, epoch)| Change::LearnsLeader {
        leader: node(leader),
        epoch,
        until: Time::NEVER,
    });
    let change = prop_oneof![
        1 => Just(Change::Campaigns),
        2 => epoch.prop_map(Change::BeginsElection),
        6 => learns_leader,
        2 => Just(Change::Crashes),
        1 => Just(Change::Starts),
        1 => Just(Change::LosesLeader),
    ];
    (1..=NODES + 1, change)
}

proptest! {
    #[test]
    fn agreement_matches_an_inspection_of_every_node(
        changes in proptest::collection::vec(change(), 0..60),
        // Whether all nodes learn the same leader; otherwise four nodes hardly ever agree.
        has_one_leader in any::<bool>(),
    ) {
        let (mut incremental, mut reference) = (Agreement::new(NODES as usize), Reference(vec![Belief::Unaware; NODES as usize]));
        for (number, change) in changes {
            let change = match change {
                Change::LearnsLeader { .. } if has_one_leader => Change::LearnsLeader { leader: node(2), epoch: Epoch(1), until: Time::NEVER },
                change => change,
            };
            incremental.record_change(node(number), change);
            reference.apply(node(number), change);
            prop_assert_eq!(incremental.leader(), reference.leader());
            let live: Vec<_> = (1..=NODES).map(node).filter(|node| reference.0[node.index()] != Belief::Down).collect();
            prop_assert_eq!(incremental.live_nodes().collect::<Vec<_>>(), live.clone());
            prop_assert_eq!(incremental.is_reached(), live.is_empty() || reference.leader().is_some());
            prop_assert_eq!(incremental.describe_disagreement().is_none(), incremental.is_reached());
            let several = incremental.clone().expecting(Expectation::SomeLeader);
            prop_assert_eq!(several.is_reached(), reference.all_are_led());
            prop_assert_eq!(several.describe_disagreement().is_none(), several.is_reached());
            prop_assert_eq!(several.leaders().collect::<Vec<_>>(), reference.leaders());
        }
    }
}
