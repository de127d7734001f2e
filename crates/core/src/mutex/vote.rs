//! One vote: a voter gives it to one request at a time, and only that request can return it.

use crate::clock::Stamp;

/// A request that has a stamp.
pub(super) trait Stamped: Copy + PartialEq {
    fn stamp(&self) -> Stamp;
}

impl Stamped for Stamp {
    fn stamp(&self) -> Stamp {
        *self
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Vote<R> {
    holder: Option<R>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VoteOutcome<R> {
    /// The vote was free and is now given to the request.
    Given,
    /// The vote moved from an earlier request of the same node, which has ended although its
    /// release has not arrived yet.
    Moved { from: R },
    /// The vote stays with its holder, which may be this very request.
    Held { holder: R },
}

impl<R: Stamped> Vote<R> {
    pub(super) const fn new() -> Self {
        Self { holder: None }
    }

    pub(super) const fn holder(&self) -> Option<R> {
        self.holder
    }

    /// Gives the vote to a request if the vote is free, or an earlier request of its node has it.
    pub(super) fn try_give(&mut self, to: R) -> VoteOutcome<R> {
        let outcome = match self.holder {
            None => VoteOutcome::Given,
            Some(from) if from.stamp().node == to.stamp().node && from.stamp() < to.stamp() => {
                VoteOutcome::Moved { from }
            }
            Some(holder) => return VoteOutcome::Held { holder },
        };
        self.holder = Some(to);
        outcome
    }

    /// Frees the vote if this request holds it. Returns whether the request held it.
    pub(super) fn take_back(&mut self, from: R) -> bool {
        let is_holder = self.holder == Some(from);
        if is_holder {
            self.holder = None;
        }
        is_holder
    }
}

#[cfg(test)]
mod tests {
    use super::{Vote, VoteOutcome};
    use crate::clock::{Clock, Stamp};
    use crate::node::NodeId;

    fn stamp(clock: u64, index: usize) -> Stamp {
        Stamp { clock: Clock(clock), node: NodeId::from_index(index) }
    }

    #[test]
    fn a_vote_goes_to_one_request_and_only_that_request_returns_it() {
        let (ours, other) = (stamp(2, 0), stamp(1, 1));
        let mut vote = Vote::new();
        assert!(!vote.take_back(ours));
        assert_eq!(vote.try_give(ours), VoteOutcome::Given);
        assert_eq!(vote.try_give(other), VoteOutcome::Held { holder: ours });
        assert_eq!(vote.try_give(ours), VoteOutcome::Held { holder: ours });
        assert!(!vote.take_back(other));
        assert_eq!(vote.holder(), Some(ours));
        assert!(vote.take_back(ours));
        assert_eq!((vote.holder(), vote.try_give(other)), (None, VoteOutcome::Given));
    }

    /// A node makes one request after the other, and messages overtake each other: the later
    /// request may arrive before the release of the earlier one, or even before the earlier
    /// request.
    #[test]
    fn a_later_request_of_the_same_node_takes_the_vote_from_an_earlier_one() {
        let (earlier, later) = (stamp(1, 0), stamp(2, 0));
        let mut vote = Vote::new();
        assert_eq!(vote.try_give(earlier), VoteOutcome::Given);
        assert_eq!(vote.try_give(later), VoteOutcome::Moved { from: earlier });
        assert!(!vote.take_back(earlier));
        assert_eq!(vote.try_give(earlier), VoteOutcome::Held { holder: later });
        assert!(vote.take_back(later));
    }
}
