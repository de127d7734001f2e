//! Configuration of a member.

use crate::members::Members;
use crate::settings::Settings;
use quorate_core::membership::LeaseTerms;
use quorate_core::wrap::RetransmissionTimeouts;
use quorate_core::{Duration, Group};

/// The configuration of a member. All members of a group share it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub replica: Settings,
    pub terms: LeaseTerms,
    /// Timeouts of retransmissions to members.
    pub retransmission: RetransmissionTimeouts,
}

impl Plan {
    /// The default plan for a group. Groups that share nodes should have different seeds.
    ///
    /// Followers replace a silent leader after 320 to 640 ms, and a leader whose process has ended
    /// about a tick after they detect it. Leases last for 2 s, which is longer than both.
    pub fn new(group: &Group, seed: u64) -> Self {
        let replica = Settings {
            seed,
            tick: Duration::from_millis(40),
            election_ticks: 8,
            heartbeat_ticks: 2,
            checkpoint_every: 1_000,
            keep_entries: 200,
            max_pending_requests: 1_000,
            ..Settings::new(Members::voters(group))
        };
        Self { replica, terms: LeaseTerms::default(), retransmission: RetransmissionTimeouts::default() }
    }

    /// The initial members of the group.
    pub fn founders(&self) -> Group {
        self.replica.founders.voters.iter().copied().collect()
    }
}
