//! Whether all who live agree on a leader, kept up to date change by change.

use super::Change;
use quorate_core::{Epoch, NodeId};
use std::collections::BTreeMap;

/// What one node knows of the leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Belief {
    /// It is up, and knows of no leader.
    #[default]
    Unaware,
    /// It is up, and knows who leads.
    Knows {
        /// Who.
        leader: NodeId,
        /// In which run.
        epoch: Epoch,
    },
    /// It is down.
    Down,
}

/// What every node knows. A change costs no more in a large group than in a small one.
#[derive(Clone, Debug)]
pub struct Agreement {
    beliefs: Vec<Belief>,
    live: usize,
    /// How many live nodes know of each leader.
    followers: BTreeMap<(Epoch, NodeId), usize>,
}

impl Agreement {
    /// A group of this size in which everyone is up and nobody knows anything.
    pub fn new(nodes: usize) -> Self {
        Self { beliefs: vec![Belief::Unaware; nodes], live: nodes, followers: BTreeMap::new() }
    }

    /// Takes a change into account.
    pub fn change(&mut self, node: NodeId, change: Change) {
        let Some(before) = self.beliefs.get(node.index()).copied() else { return };
        let after = match (before, change) {
            (belief, Change::Campaigns) => belief,
            (_, Change::Begins(_) | Change::Boots) => Belief::Unaware,
            (_, Change::Learns { leader, epoch }) => Belief::Knows { leader, epoch },
            (_, Change::Dies) => Belief::Down,
        };
        self.forget(before);
        match after {
            Belief::Unaware => self.live += 1,
            Belief::Knows { leader, epoch } => {
                self.live += 1;
                *self.followers.entry((epoch, leader)).or_default() += 1;
            }
            Belief::Down => {}
        }
        if let Some(belief) = self.beliefs.get_mut(node.index()) {
            *belief = after;
        }
    }

    fn forget(&mut self, belief: Belief) {
        match belief {
            Belief::Unaware => self.live -= 1,
            Belief::Knows { leader, epoch } => {
                self.live -= 1;
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

    /// Whether nothing is left to agree on: all live nodes know one live leader, or nobody lives.
    pub fn is_reached(&self) -> bool {
        self.live == 0 || self.leader().is_some()
    }

    /// Whether a node is up.
    pub fn is_live(&self, node: NodeId) -> bool {
        self.beliefs.get(node.index()).is_some_and(|belief| *belief != Belief::Down)
    }

    /// Whether any live node takes this one for the leader.
    pub fn is_followed(&self, leader: NodeId) -> bool {
        self.followers.keys().any(|(_, known)| *known == leader)
    }

    /// The nodes that are up, in the order of their numbers.
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
