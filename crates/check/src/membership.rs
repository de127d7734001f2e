//! A membership service as part of the group's environment, for protocols whose groups change.
//!
//! Time is not modelled here, so a lease has no length: it is valid or it has ended, and it may end
//! for any member at any moment. The drift bounds of a real membership service amount to one rule,
//! which the model keeps: a view removes a member only after that member crashed, or after its
//! lease ended by its own clock. Everything else may happen in any order:
//!
//! - a member's lease ends, or the member crashes: either costs one view change. Other leases stay
//!   valid;
//! - a lease that ended is renewed, as long as no view has removed its member;
//! - the next view, without that member, is decided: a fair run eventually does this;
//! - each node, also the removed one, receives the view at any later moment. A node may receive an
//!   older view after a newer one.
//!
//! A node that restarts is in no view, and is not admitted again.

use crate::budgets::{Budgets, Cost};
use crate::content::content;
use crate::system::{LOCALS, System};
use quorate_core::{Epoch, Incarnation, NodeId, Stay, View};

/// How a group's views change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Views {
    /// How many members may be removed.
    pub changes: u8,
    /// Whether a view waits until the leases of removed members have ended. `false` is a seeded
    /// bug.
    pub waits_for_leases: bool,
}

impl Default for Views {
    fn default() -> Self {
        Self { changes: 1, waits_for_leases: true }
    }
}

/// Whether a node may act, as far as that depends on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lease {
    /// The group never changes, so that no node needs a lease.
    NotRequired,
    Valid,
    /// The lease has ended, but may be renewed.
    Expired,
    /// The node is in no view that it knows of.
    NotMember,
}

impl Lease {
    /// The lease after the node crashed or received a view without itself.
    pub(crate) fn lost(self) -> Self {
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

/// The latest view in one word: its epoch in the upper half, and one bit per member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedView(pub(crate) u32);

impl PackedView {
    pub(crate) fn founding(nodes: usize) -> Self {
        let members = (1_u32 << nodes) - 1;
        Self((View::FIRST.0 as u32) << 16 | members)
    }

    pub(crate) fn has(self, node: usize) -> bool {
        self.0 >> node & 1 == 1
    }

    /// Returns the next view, which lacks this member.
    fn without(self, node: usize) -> Self {
        Self((self.0 & !(1 << node)) + (1 << 16))
    }

    pub(crate) fn epoch(self) -> Epoch {
        Epoch(u64::from(self.0 >> 16))
    }

    /// All members belong to the view from the beginning, in their first incarnation.
    pub(crate) fn unpack(self) -> View {
        let stay = Stay { incarnation: Incarnation::FIRST, since: View::FIRST };
        let members = (0..16).filter(|node| self.has(*node));
        View::new(self.epoch(), members.map(|node| (NodeId::from_index(node), stay)))
    }
}

/// Why a view without a member may be decided now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// The member crashed, or its lease has ended.
    Due,
    /// The membership service did not wait for that (seeded bug).
    Premature,
}

impl Removal {
    pub(crate) fn cost(self) -> Cost {
        match self {
            // The crash or the lost lease that made it due has drawn on the budget already.
            Self::Due => Cost::Free,
            Self::Premature => Cost::Change,
        }
    }
}

pub(crate) fn removal_obligation(node: usize) -> u64 {
    const REMOVAL_OBLIGATION: u8 = 4;
    content(&(node, REMOVAL_OBLIGATION))
}

impl System {
    #[inline]
    pub(crate) fn view_len(&self) -> usize {
        usize::from(self.views.is_some())
    }

    pub(crate) fn view_at(&self) -> usize {
        LOCALS + self.nodes
    }

    #[inline]
    pub(crate) fn packed_view(&self, state: &[u32]) -> Option<PackedView> {
        self.views.map(|_| PackedView(state[self.view_at()]))
    }

    pub(crate) fn is_member(&self, node: usize, state: &[u32]) -> bool {
        self.packed_view(state).is_some_and(|packed| packed.has(node))
    }

    /// Returns the next view, without this member, if it may be decided now.
    pub(crate) fn removal(&self, node: usize, state: &[u32]) -> Option<(Removal, PackedView)> {
        let (views, packed) = (self.views?, self.packed_view(state)?);
        if !packed.has(node) {
            return None;
        }
        let info = &self.tables.locals[state[LOCALS + node] as usize];
        let removal = if !info.up || !info.leased { Removal::Due } else { Removal::Premature };
        let enough = Budgets::unpack(state[0]).after(removal.cost()).is_some();
        (removal == Removal::Due || (!views.waits_for_leases && enough)).then(|| (removal, packed.without(node)))
    }

    pub(crate) fn awaits_view(&self, state: &[u32]) -> bool {
        self.views.is_some() && (0..self.nodes).any(|node| self.removal(node, state).is_some())
    }

    /// Decides a view and sends it to each node. A node that is down and cannot restart does not
    /// receive it.
    pub(crate) fn announce(&self, number: u32, out: &mut Vec<u32>, start: usize) {
        let (packed, envelopes) = &self.tables.views[number as usize];
        out[start + self.view_at()] = packed.0;
        let may_return = Budgets::unpack(out[start]).restarts > 0;
        for envelope in envelopes {
            let to = usize::from(self.link(*envelope).1);
            let is_up = self.tables.locals[out[start + LOCALS + to] as usize].up;
            if is_up || may_return {
                self.send(*envelope, out, start);
            }
        }
    }

    /// Whether a word is a notice or a view, and not a message of a node.
    #[inline]
    pub(crate) fn is_notice(&self, word: u32) -> bool {
        usize::from(self.link(word).0) >= self.nodes
    }
}

/// The pseudo-sender of a view: a link of its own, so that an older view may arrive late.
pub(crate) fn view_link(nodes: usize, epoch: Epoch) -> NodeId {
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
