//! Names and descriptions of the replica and its faulty variants.

use crate::fixtures::Flaw;
use quorate_core::about::Profile;

/// The profile of the replica.
pub const REPLICA: Profile = Profile {
    name: "replica",
    class: "replicated log",
    summary: "a leader's log on the disks of a majority, and the same state machine on all members",
    source: include_str!("replica.rs"),
    flaw: None,
    is_checkable: false,
};

impl Flaw {
    /// The profile of the replica with this flaw.
    pub const fn profile(self) -> Profile {
        Profile {
            name: self.name(),
            class: "replicated log",
            summary: self.description(),
            source: include_str!("fixtures.rs"),
            flaw: Some(self.description()),
            is_checkable: false,
        }
    }
}
