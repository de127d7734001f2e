//! Rolling upgrades, drawn by the seed: some nodes run an older release, of format level 1, until
//! their first restart.

use super::chaos::ChaosLimits;
use quorate_core::{Duration, Incarnation, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Fault, TimedFault, UnsyncedSaves};
use quorate_replica::settings::OldRelease;

/// Makes these draws differ from those of other seed-chosen faults. Any constant would do.
const SEED_SALT: u64 = 0x0_1D5E_ED0F;

/// The release that a node runs until its first restart.
const OLD_RELEASE: OldRelease = OldRelease { level: 1, until: Incarnation::FIRST };

/// The upgrades of a run: for each node that needs one, the restart that brings it.
pub(super) struct Upgrades(Vec<(NodeId, TimedFault)>);

impl Upgrades {
    /// In half of all seeds, about half of the nodes run the older release at first.
    pub(super) fn draw(seed: u64, limits: ChaosLimits) -> Self {
        let mut rng = SeededRng::new(seed ^ SEED_SALT, Stream::Faults);
        if rng.below(2) == 0 {
            return Self(Vec::new());
        }
        let mut upgrades = Vec::new();
        for node in (0..limits.nodes).map(NodeId::from_index) {
            let at = rng.between(limits.tick, limits.window);
            let duration = Some(rng.between(Duration::from_nanos(1), limits.tick.times(20)));
            if rng.below(2) == 0 {
                let fault = Fault::Crash { node, unsynced: UnsyncedSaves::Lost };
                upgrades.push((node, TimedFault { at, fault, duration }));
            }
        }
        Self(upgrades)
    }

    /// The older release that a node runs at first, if it does.
    pub(super) fn old_release(&self, node: NodeId) -> Option<OldRelease> {
        self.0.iter().any(|(old, _)| *old == node).then_some(OLD_RELEASE)
    }

    /// The restarts that upgrade the nodes.
    pub(super) fn restarts(self) -> impl Iterator<Item = TimedFault> {
        self.0.into_iter().map(|(_, restart)| restart)
    }
}
