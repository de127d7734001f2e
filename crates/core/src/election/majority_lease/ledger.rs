//! What a voter keeps on its disk.

use crate::group::Epoch;
use crate::node::NodeId;
use crate::protocol::Durable;

/// The latest term in which a node took part, and whom it voted for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ledger {
    /// Which term; the first one is 1.
    pub term: Epoch,
    pub vote: Option<NodeId>,
    /// Whether an earlier disk was lost, with votes that nobody remembers.
    pub was_lost: bool,
}

impl Ledger {
    /// Whether it never took part in anything.
    pub fn is_blank(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a vote.
    pub const fn cast(&mut self, Ballot { term, vote }: Ballot) {
        self.term = term;
        self.vote = Some(vote);
    }
}

/// A vote. There is one a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ballot {
    pub term: Epoch,
    pub vote: NodeId,
}

impl Durable for Ledger {
    type Write = Ballot;

    fn apply(&mut self, ballot: Ballot) {
        self.cast(ballot);
    }

    fn wiped() -> Self {
        Self { was_lost: true, ..Self::default() }
    }
}
