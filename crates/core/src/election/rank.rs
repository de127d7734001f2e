//! Ranks: the values that an election compares. They need not follow the order of node numbers.

use crate::node::NodeId;
use alloc::sync::Arc;
use core::fmt;

/// The priority of a node in an election. The greatest rank wins.
///
/// A rank consists of the node's attribute (for example its free disk space or its load) and, to
/// break ties, the node's number. If the lowest attribute wins, both are inverted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rank {
    /// The node's attribute, bitwise inverted if the lowest attribute wins.
    merit: u64,
    /// The node's number, negated if the lowest attribute wins.
    #[cfg_attr(feature = "serde", serde(rename = "turn"))]
    tie_breaker: i64,
}

impl Rank {
    /// Returns the node that has this rank.
    pub fn node(self) -> NodeId {
        NodeId::from_index((self.tie_breaker.unsigned_abs() as usize).saturating_sub(1))
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank({} of {:?})", self.merit, self.node())
    }
}

/// The node that has the rank.
impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node().fmt(f)
    }
}

/// Whether the highest or the lowest attribute wins an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Preference {
    /// The highest attribute wins; the highest number breaks ties.
    #[default]
    Highest,
    /// The lowest attribute wins; the lowest number breaks ties.
    Lowest,
}

/// Assigns a rank to every node of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranking {
    /// Attributes in the order of node numbers. If there are none, numbers alone decide.
    attributes: Arc<[u64]>,
    preference: Preference,
}

impl Ranking {
    /// Ranks nodes by number alone.
    pub fn by_number(preference: Preference) -> Self {
        Self { attributes: Arc::default(), preference }
    }

    /// Ranks nodes by these attributes, given in the order of node numbers. A missing attribute
    /// counts as 0.
    pub fn by_attribute(attributes: impl Into<Arc<[u64]>>, preference: Preference) -> Self {
        Self { attributes: attributes.into(), preference }
    }

    /// Returns the rank of a node.
    pub fn rank_of(&self, node: NodeId) -> Rank {
        let attribute = self.attributes.get(node.index()).copied().unwrap_or_default();
        let number = i64::from(node.number());
        match self.preference {
            Preference::Highest => Rank { merit: attribute, tie_breaker: number },
            Preference::Lowest => Rank { merit: !attribute, tie_breaker: -number },
        }
    }

    /// Returns a node's attribute; `None` if nodes are ranked by number alone.
    pub fn attribute(&self, node: NodeId) -> Option<u64> {
        let attribute = self.attributes.get(node.index()).copied().unwrap_or_default();
        (!self.attributes.is_empty()).then_some(attribute)
    }

    /// Returns the node with the greatest rank; `None` if there are no nodes.
    pub fn best(&self, nodes: impl Iterator<Item = NodeId>) -> Option<NodeId> {
        nodes.max_by_key(|node| self.rank_of(*node))
    }
}

#[cfg(test)]
mod tests {
    use super::{Preference, Ranking};
    use crate::group::Group;

    /// Returns the number of the node with the greatest rank among nodes 1 to 4, and asserts that
    /// each rank names its node.
    #[track_caller]
    fn winner(attributes: &[u64], preference: Preference) -> u32 {
        let ranking = Ranking::by_attribute(attributes, preference);
        for node in Group::of_size(4).iter() {
            assert_eq!(ranking.rank_of(node).node(), node);
        }
        ranking.best(Group::of_size(4).iter()).map_or(0, |node| node.number())
    }

    #[test]
    fn attributes_decide_and_numbers_break_ties() {
        let by_number = Ranking::by_number(Preference::Lowest);
        assert_eq!(Group::of_size(1).iter().find_map(|node| by_number.attribute(node)), None);
        assert_eq!(winner(&[], Preference::Highest), 4);
        assert_eq!(winner(&[], Preference::Lowest), 1);
        assert_eq!(winner(&[7, 9, 9, 1], Preference::Highest), 3);
        assert_eq!(winner(&[7, 1, 1, 9], Preference::Lowest), 2);
        assert_eq!(winner(&[5], Preference::Highest), 1);
        assert_eq!(winner(&[u64::MAX, u64::MAX], Preference::Lowest), 3);
    }
}
