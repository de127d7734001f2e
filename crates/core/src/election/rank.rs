//! Ranks: the values that an election compares, independent of node addresses.

use crate::node::NodeId;
use alloc::sync::Arc;
use core::fmt;

/// The priority of a node in an election. The greatest rank wins.
///
/// A rank consists of the node's attribute (for example free disk space or the inverse of its load)
/// and, to break ties, the node's number. If the lowest attribute is preferred, both are inverted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rank {
    /// The node's attribute, bitwise inverted if the lowest is preferred.
    merit: u64,
    /// The node's number, negated if the lowest is preferred.
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

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.node().fmt(f)
    }
}

/// Which end of the order wins an election.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Prefer {
    /// The highest attribute wins; the highest number breaks ties.
    #[default]
    Highest,
    /// The lowest attribute wins; the lowest number breaks ties.
    Lowest,
}

/// Assigns a rank to every node of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ranking {
    /// Attributes in the order of node numbers. If empty, numbers alone decide.
    attributes: Arc<[u64]>,
    prefer: Prefer,
}

impl Ranking {
    /// Ranks nodes by number alone.
    pub fn by_number(prefer: Prefer) -> Self {
        Self { attributes: Arc::default(), prefer }
    }

    /// Ranks nodes by these attributes, given in the order of node numbers. A missing attribute
    /// counts as 0.
    pub fn by_attribute(attributes: impl Into<Arc<[u64]>>, prefer: Prefer) -> Self {
        Self { attributes: attributes.into(), prefer }
    }

    /// Returns the rank of a node.
    pub fn rank_of(&self, node: NodeId) -> Rank {
        let attribute = self.attributes.get(node.index()).copied().unwrap_or_default();
        let number = i64::from(node.number());
        match self.prefer {
            Prefer::Highest => Rank { merit: attribute, tie_breaker: number },
            Prefer::Lowest => Rank { merit: !attribute, tie_breaker: -number },
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
    use super::{Prefer, Ranking};
    use crate::group::Group;

    /// Returns the number of the node with the greatest rank among nodes 1 to 4.
    #[track_caller]
    fn winner(attributes: &[u64], prefer: Prefer) -> u32 {
        let ranking = Ranking::by_attribute(attributes, prefer);
        for node in Group::of_size(4).iter() {
            assert_eq!(ranking.rank_of(node).node(), node);
        }
        ranking.best(Group::of_size(4).iter()).map_or(0, |node| node.number())
    }

    #[test]
    fn attributes_decide_and_numbers_break_ties() {
        let by_number = Ranking::by_number(Prefer::Lowest);
        assert_eq!(Group::of_size(1).iter().find_map(|node| by_number.attribute(node)), None);
        assert_eq!(winner(&[], Prefer::Highest), 4);
        assert_eq!(winner(&[], Prefer::Lowest), 1);
        assert_eq!(winner(&[7, 9, 9, 1], Prefer::Highest), 3);
        assert_eq!(winner(&[7, 1, 1, 9], Prefer::Lowest), 2);
        assert_eq!(winner(&[5], Prefer::Highest), 1);
        assert_eq!(winner(&[u64::MAX, u64::MAX], Prefer::Lowest), 3);
    }
}
