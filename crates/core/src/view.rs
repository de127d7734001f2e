//! Views: the members of a group between two changes of membership.

use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// One stay of a node in a group: its incarnation, and the view in which the stay began.
///
/// A node that restarts begins a new incarnation, and a node that was removed and admitted again
/// begins a new stay. Nothing of an earlier stay counts in a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stay {
    pub incarnation: Incarnation,
    /// The view in which the stay began.
    pub since: Epoch,
}

/// The members of a group from this epoch until the next view.
#[derive(Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "SerializedView", into = "SerializedView"))]
pub struct View {
    epoch: Epoch,
    members: Group,
    /// The members' stays, in the order of the members.
    stays: Arc<[Stay]>,
}

impl View {
    /// The epoch of a group's first view.
    pub const FIRST: Epoch = Epoch(1);

    /// The first view of a group, with all members in their first incarnation.
    pub fn founding(members: Group) -> Self {
        let stay = Stay { incarnation: Incarnation::FIRST, since: Self::FIRST };
        Self::new(Self::FIRST, members.iter().map(|node| (node, stay)))
    }

    /// The view with this epoch and these members. If a node is listed twice, the later stay
    /// counts.
    pub fn new(epoch: Epoch, members: impl IntoIterator<Item = (NodeId, Stay)>) -> Self {
        let mut listed: Vec<_> = members.into_iter().collect();
        // `dedup_by_key` keeps the first of several, so the later stay must come first.
        listed.sort_unstable();
        listed.reverse();
        listed.dedup_by_key(|(node, _)| *node);
        listed.reverse();
        let members = listed.iter().map(|(node, _)| *node).collect();
        Self { epoch, members, stays: listed.into_iter().map(|(_, stay)| stay).collect() }
    }

    /// The view's number.
    pub const fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the nodes that are members of the view.
    pub const fn members(&self) -> &Group {
        &self.members
    }

    /// The stay of a node in this view; `None` if it is no member.
    pub fn stay(&self, node: NodeId) -> Option<Stay> {
        self.stays.get(self.members.index_of(node)?).copied()
    }

    /// The members with their stays, in order.
    pub fn stays(&self) -> impl Iterator<Item = (NodeId, Stay)> + '_ {
        self.members.iter().zip(self.stays.iter().copied())
    }

    /// The members whose stay began in an earlier view, and so may have state from that view.
    pub fn continuing_members(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.stays().filter(|(_, stay)| stay.since < self.epoch).map(|(node, _)| node)
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {} of {:?}", self.epoch, self.members)
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "view {} of {}", self.epoch, self.members)
    }
}

/// The serialized form of a view: its epoch, and a list of members with their stays.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
struct SerializedView {
    epoch: Epoch,
    members: Vec<(NodeId, Stay)>,
}

#[cfg(feature = "serde")]
impl From<SerializedView> for View {
    fn from(serialized: SerializedView) -> Self {
        Self::new(serialized.epoch, serialized.members)
    }
}

#[cfg(feature = "serde")]
impl From<View> for SerializedView {
    fn from(view: View) -> Self {
        Self { epoch: view.epoch, members: view.stays().collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Stay, View};
    use crate::group::{Epoch, Group};
    use crate::node::{Incarnation, NodeId};
    use alloc::vec::Vec;

    #[test]
    fn members_of_an_earlier_view_continue() {
        let [one, two, three] = [0, 1, 2].map(NodeId::from_index);
        let stay = |since| Stay { incarnation: Incarnation::FIRST, since: Epoch(since) };
        let view = View::new(Epoch(3), [(three, stay(1)), (one, stay(2)), (two, stay(3))]);
        assert_eq!(view.continuing_members().collect::<Vec<_>>(), [one, three]);
        assert_eq!(view.stay(two), Some(stay(3)));
        assert_eq!(View::founding(Group::of_size(3)).continuing_members().count(), 0);
    }

    #[test]
    fn the_later_of_two_stays_of_a_node_counts() {
        let one = NodeId::from_index(0);
        let stay = |since| Stay { incarnation: Incarnation::FIRST, since: Epoch(since) };
        let view = View::new(Epoch(3), [(one, stay(3)), (one, stay(1))]);
        assert_eq!((view.members().len(), view.stay(one)), (1, Some(stay(3))));
    }
}
