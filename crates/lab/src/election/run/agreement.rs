//! Whether all who live agree on a leader, kept up to date change by change.

use super::Change;
use quorate_core::{Epoch, NodeId};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Belief {
    #[default]
    Unaware,
    Knows {
        leader: NodeId,
        epoch: Epoch,
    },
    Down,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expectation {
    /// Everyone knows the same leader, of the same run.
    #[default]
    OneForAll,
    /// Everyone knows a leader who takes itself for one. There may be several.
    OneForEach,
}

/// What every node knows. A change costs no more in a large group than in a small one.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    expectation: Expectation,
    beliefs: Vec<Belief>,
    live: usize,
    followers: BTreeMap<(Epoch, NodeId), usize>,
    /// How many live nodes know of each leader, whatever the run.
    flocks: Vec<usize>,
    /// How many of these know one who takes itself for a leader.
    led: usize,
}

impl Agreement {
    /// A group of this size in which everyone is up and nobody knows anything, and which is to agree on one leader.
    pub fn new(nodes: usize) -> Self {
        Self { beliefs: vec![Belief::Unaware; nodes], live: nodes, flocks: vec![0; nodes], ..Self::default() }
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { expectation, ..self }
    }

    pub fn change(&mut self, node: NodeId, change: Change) {
        let Some(before) = self.beliefs.get(node.index()).copied() else { return };
        let after = match (before, change) {
            (belief, Change::Campaigns | Change::Extends { .. }) => belief,
            (_, Change::Begins(_) | Change::Boots | Change::Ends) => Belief::Unaware,
            (_, Change::Learns { leader, epoch, until: _ }) => Belief::Knows { leader, epoch },
            (_, Change::Dies) => Belief::Down,
        };
        self.forget(node, before);
        if let Some(belief) = self.beliefs.get_mut(node.index()) {
            *belief = after;
        }
        self.remember(node, after);
    }

    fn remember(&mut self, node: NodeId, belief: Belief) {
        match belief {
            Belief::Unaware => self.live += 1,
            Belief::Knows { leader, epoch } => {
                self.live += 1;
                *self.followers.entry((epoch, leader)).or_default() += 1;
                if let Some(flock) = self.flocks.get_mut(leader.index()) {
                    *flock += 1;
                    let flock = *flock;
                    self.led += if leader == node { flock } else { usize::from(self.leads(leader)) };
                }
            }
            Belief::Down => {}
        }
    }

    fn forget(&mut self, node: NodeId, belief: Belief) {
        match belief {
            Belief::Unaware => self.live -= 1,
            Belief::Knows { leader, epoch } => {
                self.live -= 1;
                if let Some(flock) = self.flocks.get(leader.index()).copied() {
                    self.led -= if leader == node { flock } else { usize::from(self.leads(leader)) };
                    self.flocks[leader.index()] = flock - 1;
                }
                if let Some(count) = self.followers.get_mut(&(epoch, leader)) {
                    *count -= 1;
                    if *count == 0 {
                        self.followers.remove(&(epoch, leader));
                    }
                }
            }
            Belief::Down => {}
        }
    }

    /// The leader whom every live node knows, with the run that elected it, if that leader lives itself.
    pub fn leader(&self) -> Option<(NodeId, Epoch)> {
        let (&(epoch, leader), &followers) = self.followers.last_key_value()?;
        (followers == self.live && self.is_live(leader)).then_some((leader, epoch))
    }

    /// Whether nothing is left to agree on: all live nodes know one live leader, or a leader each who leads, or nobody lives.
    pub fn is_reached(&self) -> bool {
        match self.expectation {
            Expectation::OneForAll => self.live == 0 || self.leader().is_some(),
            Expectation::OneForEach => self.led == self.live,
        }
    }

    pub fn leads(&self, node: NodeId) -> bool {
        matches!(self.belief(node), Belief::Knows { leader, .. } if leader == node) && node.index() < self.beliefs.len()
    }

    /// Those who take themselves for leaders, in the order of their numbers, and how many others know each of them.
    pub fn leaders(&self) -> impl Iterator<Item = (NodeId, usize)> + '_ {
        let flocks = self.flocks.iter().enumerate().map(|(index, flock)| (NodeId::from_index(index), *flock));
        flocks.filter(|(node, _)| self.leads(*node)).map(|(node, flock)| (node, flock.saturating_sub(1)))
    }

    pub fn belief(&self, node: NodeId) -> Belief {
        self.beliefs.get(node.index()).copied().unwrap_or_default()
    }

    pub fn is_live(&self, node: NodeId) -> bool {
        self.beliefs.get(node.index()).is_some_and(|belief| *belief != Belief::Down)
    }

    pub fn is_followed(&self, leader: NodeId) -> bool {
        self.followers.keys().any(|(_, known)| *known == leader)
    }

    pub fn live(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        let up = |(index, belief): (usize, &Belief)| (*belief != Belief::Down).then(|| NodeId::from_index(index));
        self.beliefs.iter().enumerate().filter_map(up)
    }

    /// What keeps the live nodes from agreeing, in one sentence, if anything does.
    pub fn obstacle(&self) -> Option<String> {
        if self.is_reached() {
            return None;
        }
        let beliefs = || self.beliefs.iter().enumerate().map(|(index, belief)| (NodeId::from_index(index), *belief));
        if let Some((node, _)) = beliefs().find(|(_, belief)| *belief == Belief::Unaware) {
            return Some(format!("node {node} knows no leader"));
        }
        let mut known = beliefs().filter_map(|(node, belief)| match belief {
            Belief::Knows { leader, epoch } => Some((node, leader, epoch)),
            Belief::Unaware | Belief::Down => None,
        });
        if self.expectation == Expectation::OneForEach {
            let (node, leader, epoch) = known.find(|(_, leader, _)| !self.leads(*leader))?;
            let stands = if self.is_live(leader) { "takes itself for none" } else { "is down" };
            return Some(format!("node {node} knows leader {leader} (epoch {epoch}), which {stands}"));
        }
        let (node, leader, epoch) = known.next()?;
        Some(match known.find(|(_, other, later)| (*other, *later) != (leader, epoch)) {
            Some((other_node, other, later)) => format!(
                "node {node} knows leader {leader} (epoch {epoch}), and node {other_node} knows leader {other} (epoch \
                 {later})"
            ),
            None => format!("everyone knows leader {leader} (epoch {epoch}), which is down"),
        })
    }
}
