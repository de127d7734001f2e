//! What the book says of a detector.

use crate::about::Profile;
use crate::model::Links;

/// A detector's line in the book's table.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub waiting: Waiting,
    pub links: Links,
    /// What one look costs at most, as the book writes it.
    pub formula: &'static str,
    /// How many messages one look takes at most for each wait between two sites, if that bounds it.
    pub per_wait: Option<u64>,
    pub kinds: &'static [&'static str],
}

impl Facts {
    /// The files whose headers explain what is around a detector, the same for all: processes that ask each other, processes that take resources, and how it is
    /// decided who gives up.
    pub const fn sources_around() -> [&'static str; 3] {
        [include_str!("requests.rs"), include_str!("locks.rs"), include_str!("resolution.rs")]
    }
}

/// Which waits a detector understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    ForAll,
    ForAny,
    Either,
}

impl Waiting {
    /// Whether somebody may wait for all of several.
    pub const fn for_all(self) -> bool {
        match self {
            Self::ForAll | Self::Either => true,
            Self::ForAny => false,
        }
    }
}
