//! One vote: given to one request at a time, and taken back only from the one that has it.

use crate::clock::Stamp;

pub(super) trait Dated: Copy + PartialEq {
    fn stamp(&self) -> Stamp;
}

impl Dated for Stamp {
    fn stamp(&self) -> Stamp {
        *self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ballot<R> {
    holder: Option<R>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked<R> {
    /// The vote was here, and is given.
    Given,
    /// It was with an earlier request of the same node, and is given: that one is over, though nobody has said so yet.
    Passed { over: R },
    /// Another request has it.
    Taken { holder: R },
}

impl<R: Dated> Ballot<R> {
    pub(super) const fn new() -> Self {
        Self { holder: None }
    }

    pub(super) const fn holder(&self) -> Option<R> {
        self.holder
    }

    pub(super) fn give(&mut self, to: R) -> Asked<R> {
        let asked = match self.holder {
            None => Asked::Given,
            Some(over) if over.stamp().node == to.stamp().node && over.stamp() < to.stamp() => Asked::Passed { over },
            Some(holder) => return Asked::Taken { holder },
        };
        self.holder = Some(to);
        asked
    }

    /// It comes back. Tells whether it was with this one.
    pub(super) fn take_back(&mut self, from: R) -> bool {
        let has_it = self.holder == Some(from);
        if has_it {
            self.holder = None;
        }
        has_it
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Ballot};
    use crate::clock::{Clock, Stamp};
    use crate::node::NodeId;

    fn stamp(clock: u64, index: usize) -> Stamp {
        Stamp { clock: Clock(clock), node: NodeId::from_index(index) }
    }

    #[test]
    fn a_vote_is_given_once_and_comes_back_only_from_who_has_it() {
        let (ours, other) = (stamp(2, 0), stamp(1, 1));
        let mut ballot = Ballot::new();
        assert!(!ballot.take_back(ours));
        assert_eq!(ballot.give(ours), Asked::Given);
        assert_eq!(ballot.give(other), Asked::Taken { holder: ours });
        assert_eq!(ballot.give(ours), Asked::Taken { holder: ours });
        assert!(!ballot.take_back(other));
        assert_eq!(ballot.holder(), Some(ours));
        assert!(ballot.take_back(ours));
        assert_eq!((ballot.holder(), ballot.give(other)), (None, Asked::Given));
    }

    /// A node makes one request after the other, and messages overtake each other: the later request may come before the
    /// end of the earlier one, and the earlier request after the later one.
    #[test]
    fn a_later_request_of_the_same_node_speaks_for_itself() {
        let (earlier, later) = (stamp(1, 0), stamp(2, 0));
        let mut ballot = Ballot::new();
        assert_eq!(ballot.give(earlier), Asked::Given);
        assert_eq!(ballot.give(later), Asked::Passed { over: earlier });
        assert!(!ballot.take_back(earlier));
        assert_eq!(ballot.give(earlier), Asked::Taken { holder: later });
        assert!(ballot.take_back(later));
    }
}
