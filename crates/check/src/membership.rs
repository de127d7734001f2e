//! The checker's model of a membership service, for protocols whose groups change.
//!
//! The model has no time, so a lease has no length: it is valid or it has ended, and it may end
//! for any member at any moment. The drift bounds of a real membership service amount to one rule,
//! which the model obeys unless [`Views::waits_for_leases`] is false: a view removes a member only
//! after that member crashed, or after its lease ended by its own clock. Everything else may happen
//! in any order:
//!
//! - a member's lease ends, or a member with a valid lease crashes: either uses up one of the
//!   allowed view changes, and affects no other lease;
//! - a lease that ended is renewed, while its member is in the latest view;
//! - the service decides the next view, without a member that crashed or whose lease has ended; in
//!   a fair run this happens eventually;
//! - the service sends the view to each node that is up or may still restart, including the removed
//!   one. It arrives at any later moment, even after a newer view, and is lost if the node is down.
//!
//! The next incarnation of a node that crashed is in no view, and is never admitted.

use crate::budgets::{Budgets, Cost};
use crate::content::content_fingerprint;
use crate::system::{BUDGETS, LOCALS, System};
use quorate_core::{Epoch, Incarnation, NodeId, Stay, View};

/// How a group's views change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Views {
    /// Maximum number of view changes during a run; each removes one member.
    pub max_changes: u8,
    /// Whether the service removes a member only after its lease has ended or it has crashed.
    /// `false` is a seeded bug.
    pub waits_for_leases: bool,
}

impl Default for Views {
    fn default() -> Self {
        Self { max_changes: 1, waits_for_leases: true }
    }
}

/// Whether a node may act, as far as that depends on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lease {
    /// The group never changes, so no node needs a lease.
    NotRequired,
    Valid,
    /// The lease has ended, but may be renewed.
    Expired,
    /// The node has crashed, or has received a view without itself. It never gets a lease again.
    NotMember,
}

impl Lease {
    /// Returns the lease after the node crashed or received a view without itself.
    pub(crate) fn after_loss(self) -> Self {
        match self {
            Self::NotRequired => Self::NotRequired,
            Self::Valid | Self::Expired | Self::NotMember => Self::NotMember,
        }
    }

    /// Whether the node may act under this lease.
    pub(crate) fn allows_action(self) -> bool {
        matches!(self, Self::NotRequired | Self::Valid)
    }
}

/// A view, packed into 32 bits: its epoch in the upper half, one bit per member below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedView(pub(crate) u32);

/// Position of the epoch in a packed view.
const EPOCH_SHIFT: u32 = 16;

impl PackedView {
    pub(crate) fn founding(nodes: usize) -> Self {
        let members = (1_u32 << nodes) - 1;
        Self((View::FIRST.0 as u32) << EPOCH_SHIFT | members)
    }

    pub(crate) fn has_member(self, node: usize) -> bool {
        self.0 >> node & 1 == 1
    }

    /// Returns the next view, which lacks this member.
    fn without(self, node: usize) -> Self {
        Self((self.0 & !(1 << node)) + (1 << EPOCH_SHIFT))
    }

    pub(crate) fn epoch(self) -> Epoch {
        Epoch(u64::from(self.0 >> EPOCH_SHIFT))
    }

    /// Returns the view. Every member joined in the first view, in its first incarnation.
    pub(crate) fn unpack(self) -> View {
        let stay = Stay { incarnation: Incarnation::FIRST, since: View::FIRST };
        let members = (0..EPOCH_SHIFT as usize).filter(|node| self.has_member(*node));
        View::new(self.epoch(), members.map(|node| (NodeId::from_index(node), stay)))
    }
}

/// Why the service may remove a member now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The member crashed, or its lease has ended.
    Due,
    /// The member is up with a valid lease; the membership service removes it anyway (seeded
    /// bug).
    Premature,
}

impl Removal {
    pub(crate) fn cost(self) -> Cost {
        match self {
            // The crash or the ended lease was charged to the budget already.
            Self::Due => Cost::Free,
            Self::Premature => Cost::ViewChange,
        }
    }
}

/// Returns the fingerprint of the obligation to remove this node, which a fair run must meet.
pub(crate) fn removal_obligation(node: usize) -> u64 {
    // Differs from the numbers of the other obligations, which are in `step_table`.
    const REMOVAL_OBLIGATION: u8 = 4;
    content_fingerprint(&(node, REMOVAL_OBLIGATION))
}

impl System {
    /// Number of words that the view takes up in a state.
    #[inline]
    pub(crate) fn view_len(&self) -> usize {
        usize::from(self.views.is_some())
    }

    fn view_offset(&self) -> usize {
        LOCALS + self.nodes
    }

    #[inline]
    pub(crate) fn packed_view(&self, state: &[u32]) -> Option<PackedView> {
        self.views.map(|_| PackedView(state[self.view_offset()]))
    }

    /// Whether the latest view has this node; `false` for every node if the group has no views.
    pub(crate) fn is_member(&self, node: usize, state: &[u32]) -> bool {
        self.packed_view(state).is_some_and(|packed| packed.has_member(node))
    }

    /// Returns the next view, without this member, and why the service may decide it now; `None` if
    /// it may not.
    pub(crate) fn removal(&self, node: usize, state: &[u32]) -> Option<(Removal, PackedView)> {
        let (views, packed) = (self.views?, self.packed_view(state)?);
        if !packed.has_member(node) {
            return None;
        }
        let info = &self.tables.locals[state[LOCALS + node] as usize];
        let removal = if !info.is_up || !info.has_valid_lease { Removal::Due } else { Removal::Premature };
        let is_affordable = Budgets::unpack(state[BUDGETS]).remaining_after(removal.cost()).is_some();
        (removal == Removal::Due || (!views.waits_for_leases && is_affordable)).then(|| (removal, packed.without(node)))
    }

    /// Whether the service may remove some member now.
    pub(crate) fn may_change_view(&self, state: &[u32]) -> bool {
        self.views.is_some() && (0..self.nodes).any(|node| self.removal(node, state).is_some())
    }

    /// Decides the view at this index of the table and sends it to each node, except to nodes that
    /// are down and cannot restart. Changes the state in `out[start..]`.
    pub(crate) fn announce(&self, view_index: u32, out: &mut Vec<u32>, start: usize) {
        let (packed, envelopes) = &self.tables.views[view_index as usize];
        out[start + self.view_offset()] = packed.0;
        let may_restart = Budgets::unpack(out[start + BUDGETS]).restarts > 0;
        for envelope in envelopes {
            let to = self.receiver(*envelope);
            let is_up = self.tables.locals[out[start + LOCALS + to] as usize].is_up;
            if is_up || may_restart {
                self.send(*envelope, out, start);
            }
        }
    }

    /// Whether a message in transit comes from the environment: a view, or a notice of a crash or
    /// restart.
    #[inline]
    pub(crate) fn is_notice(&self, word: u32) -> bool {
        self.sender(word) >= self.nodes
    }
}

/// Returns the pseudo-sender of a view. Views share no link, so an older view may arrive after a
/// newer one.
pub(crate) fn view_sender(nodes: usize, epoch: Epoch) -> NodeId {
    NodeId::from_index(nodes + epoch.0 as usize)
}

#[cfg(test)]
mod tests {
    use super::PackedView;
    use quorate_core::{Epoch, Group, NodeId, View};

    #[test]
    fn a_packed_view_unpacks_to_the_groups_view() {
        assert_eq!(PackedView::founding(3).unpack(), View::founding(Group::of_size(3)));
        let next = PackedView::founding(3).without(1).unpack();
        assert_eq!((next.epoch(), next.members().len()), (Epoch(2), 2));
        assert_eq!(next.stay(NodeId::from_index(1)), None);
        assert_eq!(next.continuing_members().count(), 2);
    }
}
