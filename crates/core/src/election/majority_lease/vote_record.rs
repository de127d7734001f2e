//! The durable state of a voter.

use crate::group::Epoch;
use crate::node::NodeId;
use crate::protocol::Durable;

/// The latest term in which a node took part, and its vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VoteRecord {
    /// The term; 0 if this disk has no vote.
    pub term: Epoch,
    pub vote: Option<NodeId>,
    /// Whether an earlier disk was lost, together with the votes on it.
    pub was_lost: bool,
}

impl VoteRecord {
    /// Returns whether the node has never taken part in a term, and has not lost a disk.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// Replaces the term and the vote.
    pub const fn set(&mut self, Ballot { term, vote }: Ballot) {
        self.term = term;
        self.vote = Some(vote);
    }
}

/// A vote for a node in a term. A node casts one per term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ballot {
    pub term: Epoch,
    pub vote: NodeId,
}

impl Durable for VoteRecord {
    type Write = Ballot;

    fn apply(&mut self, ballot: Ballot) {
        self.set(ballot);
    }

    fn wiped() -> Self {
        Self { was_lost: true, ..Self::default() }
    }
}
