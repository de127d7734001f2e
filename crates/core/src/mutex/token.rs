//! The token of the token-based algorithms: a group has one, and its holder may enter.
//!
//! Each algorithm decides how the token travels. This module stores it and increases its fence.

use super::{Floor, ViewStart};
use crate::mutex::prelude::*;

/// The only token of a group, with a label that the algorithm defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token<L> {
    /// The fence of the last entry, or a larger one.
    pub fence: Fence,
    pub label: L,
}

/// A node's place for the token, which is empty while the token is elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenSlot<L> {
    /// Lower bound for the token's fence, from the reports at the beginning of the view or from
    /// earlier instances of the algorithm, of any name, that this node has forgotten. The token
    /// carries its own fence, so the floor does not grow when the token leaves.
    floor: Fence,
    token: Option<Token<L>>,
}

impl<L> TokenSlot<L> {
    pub(super) fn empty() -> Self {
        Self { floor: Fence::default(), token: None }
    }

    /// The slot of the initial token holder.
    pub(super) fn holding(label: L) -> Self {
        Self { floor: Fence::default(), token: Some(Token { fence: Fence::default(), label }) }
    }

    /// The slot at the beginning of a view: the new token is at the node in the critical section,
    /// or else at the lowest member.
    pub(super) fn at_view_start(me: NodeId, start: &ViewStart) -> Self
    where
        L: Default,
    {
        let keeper = start.holder().or_else(|| start.group().first());
        if keeper == Some(me) { Self::holding(L::default()) } else { Self::empty() }
    }

    pub(super) const fn has_token(&self) -> bool {
        self.token.is_some()
    }

    #[cfg(any(test, feature = "fixtures"))]
    pub(super) const fn token(&self) -> Option<&Token<L>> {
        self.token.as_ref()
    }

    pub(super) fn label(&self) -> Option<&L> {
        self.token.as_ref().map(|token| &token.label)
    }

    pub(super) fn label_mut(&mut self) -> Option<&mut L> {
        self.token.as_mut().map(|token| &mut token.label)
    }

    /// Stores the token and returns `true`. If the slot has a token already, which only a faulty
    /// peer can cause, drops the new one and returns `false`.
    #[must_use]
    pub(super) fn put(&mut self, mut token: Token<L>) -> bool {
        if self.has_token() {
            return false;
        }
        token.fence.raise(self.floor);
        self.token = Some(token);
        true
    }

    /// Increments the token's fence for a new entry and returns it, or `None` without the token.
    pub(super) fn advance_fence(&mut self) -> Option<Fence> {
        let token = self.token.as_mut()?;
        token.fence = token.fence.next();
        Some(token.fence)
    }

    pub(super) fn take(&mut self) -> Option<Token<L>> {
        self.token.take()
    }

    /// Returns the floor that later instances of the algorithm must start from, with this clock
    /// reading.
    pub(super) fn floor(&self, clock: Clock) -> Floor {
        let fence = self.token.as_ref().map_or(self.floor, |token| self.floor.max(token.fence));
        Floor { clock, fence }
    }

    /// Raises the slot's floor, and the fence of the token in it, to at least this floor.
    pub(super) fn raise_floor(&mut self, floor: &Floor) {
        self.floor.raise(floor.fence);
        if let Some(token) = &mut self.token {
            token.fence.raise(floor.fence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, TokenSlot};
    use crate::clock::Clock;
    use crate::fence::Fence;
    use crate::group::Epoch;
    use crate::mutex::Floor;

    fn fence(counter: u64) -> Fence {
        Fence { epoch: Epoch(0), counter }
    }

    #[test]
    fn fences_grow_with_entries_and_travel_with_the_token() {
        let (mut first, mut second) = (TokenSlot::holding(()), TokenSlot::empty());
        assert_eq!(first.advance_fence(), Some(fence(1)));
        assert_eq!(second.advance_fence(), None);
        assert!(second.put(first.take().expect("the token")));
        assert_eq!(first.advance_fence(), None);
        assert_eq!(second.advance_fence(), Some(fence(2)));
    }

    #[test]
    fn a_floor_raises_a_held_token_and_one_that_arrives_later() {
        let floor = Floor { clock: Clock(3), fence: fence(7) };
        let mut held = TokenSlot::holding(());
        held.raise_floor(&floor);
        assert_eq!(held.advance_fence(), Some(fence(8)));
        let mut empty = TokenSlot::empty();
        empty.raise_floor(&floor);
        assert_eq!(empty.floor(Clock(3)), floor);
        assert!(empty.put(Token { fence: fence(2), label: () }));
        assert_eq!(empty.advance_fence(), Some(fence(8)));
        assert_eq!(empty.floor(Clock(4)), Floor { clock: Clock(4), fence: fence(8) });
    }

    #[test]
    fn a_slot_with_the_token_drops_a_second_one() {
        let mut slot = TokenSlot::holding(1);
        assert!(!slot.put(Token { fence: fence(9), label: 2 }));
        assert_eq!(slot.take(), Some(Token { fence: fence(0), label: 1 }));
    }
}
