//! What the nodes of an election are told of their group before it begins.

use super::{Overlay, Ranking, Ring, USUAL_BITS};
use crate::bounds::Bounds;
use crate::group::Group;
use crate::time::Duration;

/// How a group elects. Every node of it is told the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    pub group: Group,
    pub ring: Ring,
    pub ranking: Ranking,
    /// Those of them who are known to be down from the start.
    pub absent: Group,
    pub announce: Announce,
    pub repair: Repair,
    pub courtesy: Courtesy,
    pub tenure: Tenure,
    /// Where they sit in an overlay, where each region of it has its own leader.
    pub overlay: Overlay,
    /// How long things take at most.
    pub bounds: Bounds,
    /// What the waits of those who try again follow from.
    pub seed: u64,
}

impl Plan {
    /// The usual plan of a group of this size, whose messages take so long at most.
    pub fn new(size: usize, bounds: Bounds) -> Self {
        Self {
            group: Group::of_size(size),
            ring: Ring::of_size(size),
            ranking: Ranking::default(),
            absent: Group::of_size(0),
            announce: Announce::default(),
            repair: Repair::default(),
            courtesy: Courtesy::default(),
            tenure: Tenure::usual(&bounds),
            overlay: Overlay::new(size, 1, USUAL_BITS.0, USUAL_BITS.1),
            bounds,
            seed: 1,
        }
    }
}

/// How a winner is made known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Announce {
    #[default]
    Ring,
    Multicast,
}

/// How an election on a ring gets over a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Repair {
    None,
    /// Every hop is acknowledged and every run has its time. Who is silent for longer is taken for dead.
    Timeout,
    /// A failure detector tells who is dead.
    #[default]
    Detector,
}

/// What a bully says beyond what it must.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Courtesy {
    /// Whoever starts tells lower nodes that an election is under way.
    pub tell_lower: bool,
    /// A winner tells everyone, higher nodes included.
    pub broadcast: bool,
}

/// How long votes bind where a leader leads by a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tenure {
    /// For how long a voter promises not to vote for another.
    pub lease: Duration,
    /// By how much clocks are off at most, in millionths.
    pub drift_ppm: u32,
}

impl Tenure {
    /// A lease of many message times on clocks that are off by no more than one in a thousand.
    pub fn usual(bounds: &Bounds) -> Self {
        Self { lease: bounds.answer().times(20), drift_ppm: 1_000 }
    }

    /// For how long the master may trust its lease, counted from before it asked: L·(1−ρ)/(1+ρ), so that it ends first on the
    /// slowest clock that there may be.
    pub fn trusted(&self) -> Duration {
        let drift = u128::from(self.drift_ppm.min(1_000_000));
        let nanos = u128::from(self.lease.nanos()) * (1_000_000 - drift) / (1_000_000 + drift);
        Duration::from_nanos(nanos as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Tenure;
    use crate::time::Duration;

    #[test]
    fn a_master_trusts_its_lease_for_less_than_voters_promise() {
        let trusted = |drift_ppm| Tenure { lease: Duration::from_secs(1), drift_ppm }.trusted().nanos();
        assert_eq!(trusted(0), 1_000_000_000);
        assert_eq!(trusted(1_000), 998_001_998);
        assert_eq!(trusted(500_000), 333_333_333);
        assert_eq!(trusted(2_000_000), 0);
    }
}
