//! Who is in: a membership as the group's surroundings, for protocols whose groups change.
//!
//! Time stands still here, so a lease has no length. It is valid or over, and that it ends is something that may happen to any member at any
//! moment. What the drift bounds of a real membership add up to is one sentence, and that is kept: the group goes on without a member
//! only after that member crashed, or its lease has ended by its own clock. Everything else comes in every order:
//!
//! - a member's lease ends, or it crashes: either costs one change of the view. Other leases stay valid;
//! - a lease that ended is renewed, as long as the group has not gone on without its member;
//! - the next view, without that member, is decided: this is due, so a fair run does not leave it out;
//! - each node, also the one that is out, is told of it, at any later moment. An older view may be told after a newer one.
//!
//! A node that restarts is in no view, and nobody lets it in.

use crate::budgets::{Budgets, Price};
use crate::content::content;
use crate::system::{LOCALS, System};
use quorate_core::{Epoch, Incarnation, NodeId, Stay, View};

/// That the group has views, and how they change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Views {
    /// How many members the group may go on without.
    pub changes: u8,
    /// Whether a view waits until the leases of those it lacks have ended. One that does not is wrong on purpose.
    pub waits: bool,
}

impl Default for Views {
    fn default() -> Self {
        Self { changes: 1, waits: true }
    }
}

/// Whether a node may act, as far as it depends on a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Lease {
    /// The group never changes, and nobody needs one.
    Unneeded,
    Valid,
    /// It has ended, but may be renewed.
    Over,
    /// The node is in no view that it knows of.
    Out,
}

impl Lease {
    /// The node crashed, or is told that it is out.
    pub(crate) fn lost(self) -> Self {
        match self {
            Self::Unneeded => Self::Unneeded,
            Self::Valid | Self::Over | Self::Out => Self::Out,
        }
    }

    /// Whether what the node does counts.
    pub(crate) fn lets_act(self) -> bool {
        matches!(self, Self::Unneeded | Self::Valid)
    }
}

/// The latest view in one word: its number in the upper half, and one bit a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roll(pub(crate) u32);

impl Roll {
    pub(crate) fn founding(nodes: usize) -> Self {
        let members = (1_u32 << nodes) - 1;
        Self((View::FIRST.0 as u32) << 16 | members)
    }

    pub(crate) fn has(self, node: usize) -> bool {
        self.0 >> node & 1 == 1
    }

    /// The next one, which lacks this member.
    fn without(self, node: usize) -> Self {
        Self((self.0 & !(1 << node)) + (1 << 16))
    }

    pub(crate) fn epoch(self) -> Epoch {
        Epoch(u64::from(self.0 >> 16))
    }

    /// All members are there from the beginning, in their first life.
    pub(crate) fn view(self) -> View {
        let stay = Stay { incarnation: Incarnation::FIRST, since: View::FIRST };
        let members = (0..16).filter(|node| self.has(*node));
        View::new(self.epoch(), members.map(|node| (NodeId::from_index(node), stay)))
    }
}

/// Why a view without a member may be decided now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// It crashed, or its lease has ended.
    Due,
    /// Nobody waited for that.
    Rash,
}

impl Removal {
    pub(crate) fn price(self) -> Price {
        match self {
            // Whatever made it due has paid for it.
            Self::Due => Price::Nothing,
            Self::Rash => Price::Change,
        }
    }
}

pub(crate) fn removal_obligation(node: usize) -> u64 {
    const OF_MEMBERSHIP: u8 = 4;
    content(&(node, OF_MEMBERSHIP))
}

impl System {
    #[inline]
    pub(crate) fn roll_len(&self) -> usize {
        usize::from(self.views.is_some())
    }

    pub(crate) fn roll_at(&self) -> usize {
        LOCALS + self.nodes
    }

    #[inline]
    pub(crate) fn roll(&self, state: &[u32]) -> Option<Roll> {
        self.views.map(|_| Roll(state[self.roll_at()]))
    }

    pub(crate) fn is_member(&self, node: usize, state: &[u32]) -> bool {
        self.roll(state).is_some_and(|roll| roll.has(node))
    }

    /// The next view, which lacks a member, if it may be decided now.
    pub(crate) fn removal(&self, node: usize, state: &[u32]) -> Option<(Removal, Roll)> {
        let (views, roll) = (self.views?, self.roll(state)?);
        if !roll.has(node) {
            return None;
        }
        let info = &self.tables.locals[state[LOCALS + node] as usize];
        let removal = if !info.up || !info.leased { Removal::Due } else { Removal::Rash };
        let enough = Budgets::unpack(state[0]).after(removal.price()).is_some();
        (removal == Removal::Due || (!views.waits && enough)).then(|| (removal, roll.without(node)))
    }

    pub(crate) fn awaits_view(&self, state: &[u32]) -> bool {
        self.views.is_some() && (0..self.nodes).any(|node| self.removal(node, state).is_some())
    }

    /// A view is decided: from now on each node may be told of it. One that is down for good never will be.
    pub(crate) fn announce(&self, number: u32, out: &mut Vec<u32>, start: usize) {
        let (roll, letters) = &self.tables.views[number as usize];
        out[start + self.roll_at()] = roll.0;
        let may_return = Budgets::unpack(out[start]).restarts > 0;
        for letter in letters {
            let to = usize::from(self.link(*letter).1);
            let is_up = self.tables.locals[out[start + LOCALS + to] as usize].up;
            if is_up || may_return {
                self.send(*letter, out, start);
            }
        }
    }

    /// Whether a word stands for what the membership tells, and not for a message.
    #[inline]
    pub(crate) fn is_news(&self, word: u32) -> bool {
        usize::from(self.link(word).0) >= self.nodes
    }
}

/// Whose link it is that a view comes by: one of its own, so that an older one may be late.
pub(crate) fn herald(nodes: usize, epoch: Epoch) -> NodeId {
    NodeId::from_index(nodes + epoch.0 as usize)
}

#[cfg(test)]
mod tests {
    use super::Roll;
    use quorate_core::{Epoch, Group, NodeId, View};

    #[test]
    fn the_roll_of_a_group_is_its_view() {
        assert_eq!(Roll::founding(3).view(), View::founding(Group::of_size(3)));
        let next = Roll::founding(3).without(1).view();
        assert_eq!((next.epoch(), next.members().len()), (Epoch(2), 2));
        assert_eq!(next.stay(NodeId::from_index(1)), None);
        assert_eq!(next.veterans().count(), 2);
    }
}
