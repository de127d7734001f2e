//! The properties and expected figures of a detector.

use crate::about::Profile;
use crate::model::Links;

/// A detector's properties and expected figures.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub waiting: Waiting,
    pub links: Links,
    /// Formula for the maximum number of messages of one check, as the literature gives it.
    pub formula: &'static str,
    /// Maximum number of messages of one check for each wait between two sites, if there is such a
    /// bound.
    pub per_wait: Option<u64>,
    /// The kinds of messages that count as cost of detection.
    pub kinds: &'static [&'static str],
}

impl Facts {
    /// The source files whose headers explain the surroundings of every detector: processes that
    /// ask each other, processes that lock resources, and the resolution of deadlocks.
    pub const fn sources_around() -> [&'static str; 3] {
        [include_str!("requests.rs"), include_str!("locks.rs"), include_str!("resolution.rs")]
    }
}

/// The kinds of waits that a detector supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    ForAll,
    ForAny,
    Either,
}

impl Waiting {
    /// Returns whether an agent may wait for all of several others.
    pub const fn for_all(self) -> bool {
        match self {
            Self::ForAll | Self::Either => true,
            Self::ForAny => false,
        }
    }
}
