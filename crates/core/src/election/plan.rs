//! The configuration of an election, which is the same at all nodes.

use super::{DEFAULT_ID_BITS, DEFAULT_REGION_BITS, Overlay, Ranking, Ring};
use crate::bounds::Bounds;
use crate::group::Group;
use crate::time::Duration;

/// The configuration of an election. Every node of the group gets the same plan, although each
/// algorithm uses only a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    pub group: Group,
    pub ring: Ring,
    pub ranking: Ranking,
    /// Nodes of the group that are known to be down at start-up.
    pub absent: Group,
    pub announcement: AnnouncementMode,
    pub repair: Repair,
    pub bully: BullyOptions,
    pub lease_settings: LeaseSettings,
    /// Positions of the nodes in an overlay, for algorithms that elect one leader per region.
    pub overlay: Overlay,
    /// Upper bounds on message and processing times.
    pub bounds: Bounds,
    /// Seed of the pseudo-random delays before retries.
    pub seed: u64,
}

impl Plan {
    /// Creates the default plan for a group of this size with these bounds on delays.
    pub fn new(size: usize, bounds: Bounds) -> Self {
        Self {
            group: Group::of_size(size),
            ring: Ring::of_size(size),
            ranking: Ranking::default(),
            absent: Group::of_size(0),
            announcement: AnnouncementMode::default(),
            repair: Repair::default(),
            bully: BullyOptions::default(),
            lease_settings: LeaseSettings::default_for(&bounds),
            overlay: Overlay::new(size, 1, DEFAULT_ID_BITS, DEFAULT_REGION_BITS),
            bounds,
            seed: 1,
        }
    }
}

/// How the winner of an election on a ring is announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum AnnouncementMode {
    /// Around the ring, from node to node.
    #[default]
    Ring,
    /// To all nodes at once.
    Multicast,
}

/// How an election on a ring recovers from a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Repair {
    /// It does not recover: all nodes wait forever.
    None,
    /// Every hop is acknowledged and every election has a timeout. A node that does not answer in
    /// time counts as dead.
    Timeout,
    /// A failure detector reports dead nodes.
    #[default]
    Detector,
}

/// Optional messages of the bully algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BullyOptions {
    /// A node that starts an election notifies the lower nodes.
    pub notifies_lower: bool,
    /// A winner announces itself to all nodes, higher ones included.
    pub announces_to_all: bool,
}

/// The settings of the lease that a vote grants to a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseSettings {
    /// How long a voter promises not to vote for another node.
    pub lease: Duration,
    /// Maximum deviation of a clock's rate from true time, in parts per million.
    pub drift_ppm: u32,
}

impl LeaseSettings {
    /// Returns the default: a lease of 20 round trips, and clocks that drift by at most one in a
    /// thousand.
    pub fn default_for(bounds: &Bounds) -> Self {
        Self { lease: bounds.round_trip().times(20), drift_ppm: 1_000 }
    }

    /// Returns how long the leader may rely on its lease, counted on its own clock from before it
    /// asked for votes: L·(1−ρ)/(1+ρ) for a lease L and a drift ρ. So the leader stops before any
    /// voter's promise ends, even if the leader's clock is the slowest allowed and the voter's the
    /// fastest.
    pub fn trusted_duration(&self) -> Duration {
        let drift = u128::from(self.drift_ppm.min(1_000_000));
        let nanos = u128::from(self.lease.nanos()) * (1_000_000 - drift) / (1_000_000 + drift);
        Duration::from_nanos(nanos as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::LeaseSettings;
    use crate::time::Duration;

    #[test]
    fn a_leader_trusts_its_lease_no_longer_than_voters_promise() {
        let trusted_nanos =
            |drift_ppm| LeaseSettings { lease: Duration::from_secs(1), drift_ppm }.trusted_duration().nanos();
        assert_eq!(trusted_nanos(0), 1_000_000_000);
        assert_eq!(trusted_nanos(1_000), 998_001_998);
        assert_eq!(trusted_nanos(500_000), 333_333_333);
        assert_eq!(trusted_nanos(2_000_000), 0);
    }
}
