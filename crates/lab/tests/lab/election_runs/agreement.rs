//! Agreement is kept up to date change by change; here it is held against one that looks at everybody each time.

use super::node;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use quorate_core::{Epoch, NodeId, Time};
use quorate_lab::election::run::{Agreement, Belief, Change, Expectation};

const NODES: u32 = 4;

/// Looks at everybody each time.
struct Slow(Vec<Belief>);

impl Slow {
    fn change(&mut self, who: NodeId, change: Change) {
        let Some(belief) = self.0.get_mut(who.index()) else { return };
        match change {
            Change::Campaigns | Change::Extends { .. } => {}
            Change::Begins(_) | Change::Boots | Change::Ends => *belief = Belief::Unaware,
            Change::Learns { leader, epoch, until: _ } => *belief = Belief::Knows { leader, epoch },
            Change::Dies => *belief = Belief::Down,
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

impl Slow {
    fn leads(&self, who: NodeId) -> bool {
        matches!(self.0.get(who.index()), Some(Belief::Knows { leader, .. }) if *leader == who)
    }

    fn leaders(&self) -> Vec<(NodeId, usize)> {
        let knows = |belief: &&Belief, who: NodeId| matches!(belief, Belief::Knows { leader, .. } if *leader == who);
        let followers = |who: NodeId| self.0.iter().filter(|belief| knows(belief, who)).count();
        let all = (0..self.0.len()).map(NodeId::from_index);
        all.filter(|who| self.leads(*who)).map(|who| (who, followers(who) - 1)).collect()
    }

    fn all_are_led(&self) -> bool {
        self.0.iter().all(|belief| match belief {
            Belief::Unaware => false,
            Belief::Knows { leader, .. } => self.leads(*leader),
            Belief::Down => true,
        })
    }
}

/// Nodes beyond the group too: a journal may name anybody.
fn change() -> impl Strategy<Value = (u32, Change)> {
    let epoch = (0_u64..3).prop_map(Epoch);
    let learns = (1..=NODES + 1, epoch.clone()).prop_map(|(leader, epoch)| Change::Learns {
        leader: node(leader),
        epoch,
        until: Time::NEVER,
    });
    let change = prop_oneof![
        1 => Just(Change::Campaigns),
        2 => epoch.prop_map(Change::Begins),
        6 => learns,
        2 => Just(Change::Dies),
        1 => Just(Change::Boots),
        1 => Just(Change::Ends),
    ];
    (1..=NODES + 1, change)
}

proptest! {
    #[test]
    fn agreement_is_what_a_look_at_everybody_shows(
        changes in proptest::collection::vec(change(), 0..60),
        // Without this, all of four nodes hardly ever agree.
        common in any::<bool>(),
    ) {
        let (mut quick, mut slow) = (Agreement::new(NODES as usize), Slow(vec![Belief::Unaware; NODES as usize]));
        for (number, change) in changes {
            let change = match change {
                Change::Learns { .. } if common => Change::Learns { leader: node(2), epoch: Epoch(1), until: Time::NEVER },
                change => change,
            };
            quick.change(node(number), change);
            slow.change(node(number), change);
            prop_assert_eq!(quick.leader(), slow.leader());
            let live: Vec<_> = (1..=NODES).map(node).filter(|node| slow.0[node.index()] != Belief::Down).collect();
            prop_assert_eq!(quick.live().collect::<Vec<_>>(), live.clone());
            prop_assert_eq!(quick.is_reached(), live.is_empty() || slow.leader().is_some());
            prop_assert_eq!(quick.obstacle().is_none(), quick.is_reached());
            let several = quick.clone().expecting(Expectation::OneForEach);
            prop_assert_eq!(several.is_reached(), slow.all_are_led());
            prop_assert_eq!(several.obstacle().is_none(), several.is_reached());
            prop_assert_eq!(several.leaders().collect::<Vec<_>>(), slow.leaders());
        }
    }
}
