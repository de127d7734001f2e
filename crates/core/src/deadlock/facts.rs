//! The properties and expected costs of a detector.

use crate::about::Profile;
use crate::model::Links;

/// The properties and expected costs of a detector.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub profile: Profile,
    pub waiting: Waiting,
    /// The order of messages on links that the detector assumes.
    pub links: Links,
    /// The number of messages of the detection, as a formula to print.
    pub formula: &'static str,
    /// Maximum number of messages of one check for each wait between two sites; `None` if there is
    /// no such bound.
    pub max_messages_per_wait: Option<u64>,
    /// The kinds of messages that count as cost of detection.
    pub cost_kinds: &'static [&'static str],
}

impl Facts {
    /// Returns the texts of the source files whose headers explain what all detectors share: the
    /// two hosts, which manage the waiting processes of a site, and the resolution of deadlocks.
    pub const fn shared_sources() -> [&'static str; 3] {
        [include_str!("requests.rs"), include_str!("locks.rs"), include_str!("resolution.rs")]
    }
}

/// The kinds of waits that a detector supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    ForAll,
    ForAny,
    /// Both waits for all and waits for any.
    Either,
}

impl Waiting {
    /// Returns whether an agent may wait for all of several others.
    pub const fn supports_all(self) -> bool {
        match self {
            Self::ForAll | Self::Either => true,
            Self::ForAny => false,
        }
    }
}
