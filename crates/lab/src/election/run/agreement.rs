//! Whether all live nodes agree on a leader, updated with every change.

use super::Change;
use quorate_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// A node's knowledge of the leader.
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

/// The agreement that an election algorithm promises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expectation {
    /// All live nodes know the same live leader of the same epoch.
    #[default]
    SameLeader,
    /// Every live node knows a leader that considers itself a leader. There may be several.
    SomeLeader,
}

/// The knowledge of all nodes. An update takes logarithmic time in the number of leaders.
#[derive(Clone, Debug, Default)]
pub struct Agreement {
    expectation: Expectation,
    beliefs: Vec<Belief>,
    live_count: usize,
    /// Number of live nodes that know each leader of each epoch, including the leader.
    followers: BTreeMap<(Epoch, NodeId), usize>,
    /// Number of live nodes that know each leader, over all epochs, including the leader.
    follower_counts: Vec<usize>,
    /// Number of live nodes whose leader considers itself a leader.
    led_nodes: usize,
}

impl Agreement {
    /// A group of this size in which all nodes are up, no node knows a leader, and one leader is
    /// expected.
    pub fn new(nodes: usize) -> Self {
        Self {
            beliefs: vec![Belief::Unaware; nodes],
            live_count: nodes,
            follower_counts: vec![0; nodes],
            ..Self::default()
        }
    }

    #[must_use]
    pub fn expecting(self, expectation: Expectation) -> Self {
        Self { expectation, ..self }
    }

    /// Updates the knowledge of a node.
    pub fn record_change(&mut self, node: NodeId, change: Change) {
        let Some(before) = self.beliefs.get(node.index()).copied() else { return };
        let after = match (before, change) {
            (belief, Change::Campaigns | Change::ExtendsLease { .. }) => belief,
            (_, Change::BeginsElection(_) | Change::Starts | Change::LosesLeader) => Belief::Unaware,
            (_, Change::LearnsLeader { leader, epoch, until: _ }) => Belief::Knows { leader, epoch },
            (_, Change::Crashes) => Belief::Down,
        };
        self.remove_belief(node, before);
        if let Some(belief) = self.beliefs.get_mut(node.index()) {
            *belief = after;
        }
        self.add_belief(node, after);
    }

    fn add_belief(&mut self, node: NodeId, belief: Belief) {
        match belief {
            Belief::Unaware => self.live_count += 1,
            Belief::Knows { leader, epoch } => {
                self.live_count += 1;
                *self.followers.entry((epoch, leader)).or_default() += 1;
                if let Some(count) = self.follower_counts.get_mut(leader.index()) {
                    *count += 1;
                    let count = *count;
                    // When a leader learns that it leads, all its followers count as led.
                    self.led_nodes += if leader == node { count } else { usize::from(self.leads(leader)) };
                }
            }
            Belief::Down => {}
        }
    }

    fn remove_belief(&mut self, node: NodeId, belief: Belief) {
        match belief {
            Belief::Unaware => self.live_count -= 1,
            Belief::Knows { leader, epoch } => {
                self.live_count -= 1;
                if let Some(count) = self.follower_counts.get(leader.index()).copied() {
                    self.led_nodes -= if leader == node { count } else { usize::from(self.leads(leader)) };
                    self.follower_counts[leader.index()] = count - 1;
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

    /// The leader that every live node knows, with its epoch, if that leader is live.
    pub fn leader(&self) -> Option<(NodeId, Epoch)> {
        let (&(epoch, leader), &followers) = self.followers.last_key_value()?;
        (followers == self.live_count && self.is_live(leader)).then_some((leader, epoch))
    }

    /// Whether the expected agreement is reached, or no node is live.
    pub fn is_reached(&self) -> bool {
        match self.expectation {
            Expectation::SameLeader => self.live_count == 0 || self.leader().is_some(),
            Expectation::SomeLeader => self.led_nodes == self.live_count,
        }
    }

    /// Whether a node considers itself the leader.
    pub fn leads(&self, node: NodeId) -> bool {
        matches!(self.belief(node), Belief::Knows { leader, .. } if leader == node) && node.index() < self.beliefs.len()
    }

    /// The nodes that consider themselves leaders, in the order of their numbers, with the number
    /// of their followers, without themselves.
    pub fn leaders(&self) -> impl Iterator<Item = (NodeId, usize)> + '_ {
        let follower_counts =
            self.follower_counts.iter().enumerate().map(|(index, count)| (NodeId::from_index(index), *count));
        follower_counts.filter(|(node, _)| self.leads(*node)).map(|(node, count)| (node, count.saturating_sub(1)))
    }

    pub fn belief(&self, node: NodeId) -> Belief {
        self.beliefs.get(node.index()).copied().unwrap_or_default()
    }

    pub fn is_live(&self, node: NodeId) -> bool {
        self.beliefs.get(node.index()).is_some_and(|belief| *belief != Belief::Down)
    }

    /// Whether a live node knows this leader.
    pub fn is_followed(&self, leader: NodeId) -> bool {
        self.followers.keys().any(|(_, followed)| *followed == leader)
    }

    pub fn live_nodes(&self) -> impl DoubleEndedIterator<Item = NodeId> + '_ {
        let live_node =
            |(index, belief): (usize, &Belief)| (*belief != Belief::Down).then(|| NodeId::from_index(index));
        self.beliefs.iter().enumerate().filter_map(live_node)
    }

    /// Describes what the expected agreement lacks; `None` if it is reached.
    pub fn describe_disagreement(&self) -> Option<String> {
        if self.is_reached() {
            return None;
        }
        let beliefs = || self.beliefs.iter().enumerate().map(|(index, belief)| (NodeId::from_index(index), *belief));
        if let Some((node, _)) = beliefs().find(|(_, belief)| *belief == Belief::Unaware) {
            return Some(format!("node {node} knows no leader"));
        }
        let mut informed = beliefs().filter_map(|(node, belief)| match belief {
            Belief::Knows { leader, epoch } => Some((node, leader, epoch)),
            Belief::Unaware | Belief::Down => None,
        });
        if self.expectation == Expectation::SomeLeader {
            let (node, leader, epoch) = informed.find(|(_, leader, _)| !self.leads(*leader))?;
            let state = if self.is_live(leader) { "does not consider itself a leader" } else { "is down" };
            return Some(format!("node {node} knows leader {leader} (epoch {epoch}), which {state}"));
        }
        let (node, leader, epoch) = informed.next()?;
        Some(match informed.find(|(_, other_leader, other_epoch)| (*other_leader, *other_epoch) != (leader, epoch)) {
            Some((other_node, other_leader, other_epoch)) => format!(
                "node {node} knows leader {leader} (epoch {epoch}), and node {other_node} knows leader {other_leader} (epoch \
                 {other_epoch})"
            ),
            None => format!("all nodes know leader {leader} (epoch {epoch}), which is down"),
        })
    }
}
