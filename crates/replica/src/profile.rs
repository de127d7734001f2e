//! What the replica and its flawed twins are called, and where they are explained.

use crate::fixtures::Flaw;
use quorate_core::about::Profile;

/// The replica.
pub const REPLICA: Profile = Profile {
    name: "replica",
    class: "replicated log",
    summary: "a leader's log on a majority's disks, and one state machine on all members",
    source: include_str!("replica.rs"),
    flaw: None,
    checkable: false,
};

impl Flaw {
    /// What a replica with this flaw is called, and where it is explained.
    pub const fn profile(self) -> Profile {
        Profile {
            name: self.name(),
            class: "replicated log",
            summary: self.what(),
            source: include_str!("fixtures.rs"),
            flaw: Some(self.what()),
            checkable: false,
        }
    }
}
