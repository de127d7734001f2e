//! The token of the token-based algorithms: there is one, and whoever has it may enter.
//!
//! An algorithm decides how the token travels. That there is one, and that its fence only grows, is the same for all.

use super::{Floor, Past};
use crate::mutex::prelude::*;

/// The one token of a group, with what an algorithm writes on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token<L> {
    /// The fence of the last entry, or a larger one that somebody knew who had the token.
    pub fence: Fence,
    pub label: L,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Hand<L> {
    /// The largest fence that this node's forgotten resources knew. A token brings its own along, so that it is not
    /// worth remembering once the token is gone.
    floor: Fence,
    token: Option<Token<L>>,
}

impl<L> Hand<L> {
    pub(super) fn empty() -> Self {
        Self { floor: Fence::default(), token: None }
    }

    /// The hand of the one who has the token at first.
    pub(super) fn holding(label: L) -> Self {
        Self { floor: Fence::default(), token: Some(Token { fence: Fence::default(), label }) }
    }

    /// A hand at the beginning of a view: the new token is with the one inside, or else at the lowest member.
    pub(super) fn of_view(me: NodeId, past: &Past) -> Self
    where
        L: Default,
    {
        let keeper = past.holder().or_else(|| past.group().first());
        if keeper == Some(me) { Self::holding(L::default()) } else { Self::empty() }
    }

    pub(super) const fn holds(&self) -> bool {
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

    /// Takes the token. Tells whether it was taken: a second one, which only a peer that breaks the rules can bring, is not.
    #[must_use]
    pub(super) fn take(&mut self, mut token: Token<L>) -> bool {
        if self.holds() {
            return false;
        }
        token.fence.raise(self.floor);
        self.token = Some(token);
        true
    }

    /// The fence of an entry with the token, if it is here.
    pub(super) fn enter(&mut self) -> Option<Fence> {
        let token = self.token.as_mut()?;
        token.fence = token.fence.next();
        Some(token.fence)
    }

    pub(super) fn pass(&mut self) -> Option<Token<L>> {
        self.token.take()
    }

    /// What a later instance must not fall below, with this clock reading.
    pub(super) fn floor(&self, clock: Clock) -> Floor {
        let fence = self.token.as_ref().map_or(self.floor, |token| self.floor.max(token.fence));
        Floor { clock, fence }
    }

    /// Lifts the hand, and the token in it, to at least this floor.
    pub(super) fn raise(&mut self, floor: &Floor) {
        self.floor.raise(floor.fence);
        if let Some(token) = &mut self.token {
            token.fence.raise(floor.fence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Hand, Token};
    use crate::clock::Clock;
    use crate::fence::Fence;
    use crate::group::Epoch;
    use crate::mutex::Floor;

    fn fence(counter: u64) -> Fence {
        Fence { epoch: Epoch(0), counter }
    }

    #[test]
    fn fences_grow_with_entries_and_travel_with_the_token() {
        let (mut one, mut two) = (Hand::holding(()), Hand::empty());
        assert_eq!(one.enter(), Some(fence(1)));
        assert_eq!(two.enter(), None);
        assert!(two.take(one.pass().expect("the token")));
        assert_eq!(one.enter(), None);
        assert_eq!(two.enter(), Some(fence(2)));
    }

    #[test]
    fn a_floor_lifts_the_token_wherever_it_is() {
        let floor = Floor { clock: Clock(3), fence: fence(7) };
        let mut held = Hand::holding(());
        held.raise(&floor);
        assert_eq!(held.enter(), Some(fence(8)));
        let mut empty = Hand::empty();
        empty.raise(&floor);
        assert_eq!(empty.floor(Clock(3)), floor);
        assert!(empty.take(Token { fence: fence(2), label: () }));
        assert_eq!(empty.enter(), Some(fence(8)));
        assert_eq!(empty.floor(Clock(4)), Floor { clock: Clock(4), fence: fence(8) });
    }

    #[test]
    fn a_second_token_is_not_taken() {
        let mut hand = Hand::holding(1);
        assert!(!hand.take(Token { fence: fence(9), label: 2 }));
        assert_eq!(hand.pass(), Some(Token { fence: fence(0), label: 1 }));
    }
}
