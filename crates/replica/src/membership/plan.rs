//! How a member is set up.

use crate::members::Members;
use crate::settings::Settings;
use quorate_core::membership::Terms;
use quorate_core::wrap::Retransmission;
use quorate_core::{Duration, Group};

/// How a member is set up. All members of a group share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub replica: Settings,
    pub terms: Terms,
    /// How long to wait for a member's acknowledgement before sending again.
    pub retransmission: Retransmission,
}

impl Plan {
    /// The usual plan for a group. Groups that share nodes should have different seeds.
    ///
    /// A leader is missed after 320 to 640 ms if it is only silent, which a busy machine may make it, and about a tick after its
    /// process is seen to be gone. Leases outlast both.
    pub fn new(group: &Group, seed: u64) -> Self {
        let replica = Settings {
            seed,
            tick: Duration::from_millis(40),
            election_ticks: 8,
            heartbeat_ticks: 2,
            checkpoint_every: 1_000,
            keep_entries: 200,
            requests: 1_000,
            ..Settings::new(Members::voters(group))
        };
        Self { replica, terms: Terms::default(), retransmission: Retransmission::default() }
    }

    /// The members that the group begins with.
    pub fn founders(&self) -> Group {
        self.replica.founders.voters.iter().copied().collect()
    }
}
