//! What the book says of an election, as data: tables print it beside what was measured.

use crate::about::Profile;

/// An algorithm's line in the book's table.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// What it is called, and where it is explained.
    pub profile: Profile,
    /// What an election costs.
    pub cost: Cost,
    /// Whether it copes by itself with messages that are lost, repeated or out of order. Where it does not, reliable
    /// links are put under it.
    pub tolerates_loss: bool,
}

/// What an election costs when one node starts it and nobody else does.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Messages an election, as the book writes it.
    pub formula: &'static str,
    /// Messages an election in a group of so many.
    pub messages: fn(usize) -> Tally,
    /// Whether every such election costs exactly that, wherever it starts; else it is the most it costs.
    pub exact: bool,
}

/// Messages of an election. Textbooks differ in whether they count the announcement, so the two are kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Those that find the winner.
    pub election: u64,
    /// Those that tell who it is.
    pub announcement: u64,
}

impl Tally {
    /// Both together.
    pub const fn total(self) -> u64 {
        self.election.saturating_add(self.announcement)
    }
}
