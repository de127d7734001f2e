//! Groups and majorities.

use crate::node::NodeId;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// A set of nodes in the order of their numbers. Clones share one list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Vec<NodeId>", into = "Vec<NodeId>"))]
pub struct Group(Arc<[NodeId]>);

impl Group {
    /// The nodes 1 to `size`.
    pub fn of_size(size: usize) -> Self {
        Self((0..size).map(NodeId::from_index).collect())
    }

    /// A group without members.
    pub fn empty() -> Self {
        Self::of_size(0)
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this node is a member.
    pub fn contains(&self, node: NodeId) -> bool {
        self.index_of(node).is_some()
    }

    /// The members in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.0.iter().copied()
    }

    /// The members in order, without `node`.
    pub fn others(&self, node: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.iter().filter(move |&member| member != node)
    }

    /// The member with the lowest number.
    pub fn first(&self) -> Option<NodeId> {
        self.0.first().copied()
    }

    /// The member with the highest number.
    pub fn last(&self) -> Option<NodeId> {
        self.0.last().copied()
    }

    /// The next member in order; the first member follows the last, as on a ring. Returns the node
    /// itself in a group of one, and `None` if the node is no member.
    pub fn successor(&self, node: NodeId) -> Option<NodeId> {
        let index = self.index_of(node)?;
        self.0.get((index + 1) % self.0.len()).copied()
    }

    /// The member whose [`successor`](Self::successor) is this node. `None` if the node is no
    /// member.
    pub fn predecessor(&self, node: NodeId) -> Option<NodeId> {
        let index = self.index_of(node)?;
        self.0.get((index + self.0.len() - 1) % self.0.len()).copied()
    }

    /// The smallest number of members that is more than half. Any two majorities share a member.
    pub fn majority(&self) -> usize {
        majority(self.0.len())
    }

    /// The members as a slice.
    pub fn as_slice(&self) -> &[NodeId] {
        &self.0
    }

    pub(crate) fn index_of(&self, node: NodeId) -> Option<usize> {
        self.0.binary_search(&node).ok()
    }
}

/// The smallest number that is more than half of `size`.
pub const fn majority(size: usize) -> usize {
    size / 2 + 1
}

impl From<Vec<NodeId>> for Group {
    fn from(mut members: Vec<NodeId>) -> Self {
        members.sort_unstable();
        members.dedup();
        Self(members.into())
    }
}

impl From<Group> for Vec<NodeId> {
    fn from(group: Group) -> Self {
        group.0.to_vec()
    }
}

impl FromIterator<NodeId> for Group {
    fn from_iter<I: IntoIterator<Item = NodeId>>(members: I) -> Self {
        members.into_iter().collect::<Vec<_>>().into()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            node.fmt(f)?;
        }
        Ok(())
    }
}

/// The number of a view, an election or a term, or the generation of the circulating token of
/// `token-ring-acknowledged`. It only increases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Epoch(pub u64);

impl Epoch {
    /// Upper bound that no group reaches. Nodes ignore a larger epoch, which can only come from a
    /// faulty or malicious peer.
    pub const MAX: Self = Self(1 << 62);
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Group, majority};
    use crate::node::NodeId;

    #[test]
    fn a_majority_is_the_smallest_size_of_which_any_two_sets_share_a_member() {
        for size in 1..200 {
            assert!(2 * majority(size) > size);
            assert!(2 * (majority(size) - 1) <= size);
        }
    }

    #[test]
    fn the_first_member_follows_the_last() {
        let group = Group::of_size(3);
        let [one, two, three] = [0, 1, 2].map(NodeId::from_index);
        assert_eq!(group.successor(three), Some(one));
        assert_eq!(group.predecessor(one), Some(three));
        assert_eq!(group.successor(two), Some(three));
        assert_eq!(Group::of_size(2).successor(three), None);
    }

    #[test]
    fn members_are_sorted_and_unique() {
        let [one, two] = [0, 1].map(NodeId::from_index);
        let group: Group = [two, one, two].into_iter().collect();
        assert_eq!(group, Group::of_size(2));
        assert_eq!(group.others(one).collect::<alloc::vec::Vec<_>>(), [two]);
    }
}
