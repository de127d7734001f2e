//! Stress for elections with leases: faults that leaders and voters must tolerate while clocks keep
//! to their drift bound.

use super::{Election, ElectionEntry, Settings};
use crate::chaos::{FaultMix, percent_to_chance};
use crate::election::run::Starters;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::settings::{Latency, Length, TimedFault};

/// One stress experiment.
#[derive(Clone)]
struct StressCase {
    nodes: usize,
    latency: Latency,
    /// The message delay that nodes assume. A shorter bound only makes them candidates earlier.
    delay_bound: Duration,
    /// Duration of a disk sync.
    disk: Latency,
    lease: Duration,
    starters: Starters,
    /// The number of random faults of each kind, in the syntax of `--random-faults`. `deaf`: one
    /// node receives nothing from another; `full`, `disk`: a disk is full, or fails.
    faults: &'static str,
    loss_percent: u32,
    duplicate_percent: u32,
}

/// The maximum drift that the seed chooses, in ppm. Nodes know it as the drift bound.
const MAX_DRIFT_PPM: u32 = 200_000;

/// Constant skew must not matter, as long as clocks do not jump while a lease is valid.
const SKEWS: [&str; 2] = ["skew 1 by -5s", "skew 2 by 700ms"];

pub(super) fn stress_specs(entry: &'static ElectionEntry) -> Vec<Spec<Election>> {
    cases().into_iter().map(|case| case.spec_for(entry)).collect()
}

fn cases() -> [StressCase; 8] {
    let millis = Duration::from_millis;
    let defaults = StressCase {
        nodes: 5,
        latency: Latency::Uniform { min: millis(1), max: millis(5) },
        delay_bound: millis(5),
        disk: Latency::Uniform { min: Duration::ZERO, max: millis(4) },
        // Short enough that some faults outlast it.
        lease: millis(100),
        starters: Starters::All,
        faults: "crash=3,pause=2,cut=2,deaf=2,drift=4",
        loss_percent: 5,
        duplicate_percent: 5,
    };
    let short_bound = StressCase {
        delay_bound: millis(1),
        starters: Starters::Lowest,
        loss_percent: 0,
        duplicate_percent: 0,
        ..defaults.clone()
    };
    let long_tail = Latency::LongTail { median: millis(2) };
    [
        StressCase { nodes: 3, faults: "crash=4,drift=3", loss_percent: 0, duplicate_percent: 0, ..defaults.clone() },
        StressCase { faults: "cut=4,deaf=4,drift=4", loss_percent: 0, starters: Starters::Lowest, ..defaults.clone() },
        StressCase { nodes: 3, faults: "crash=2,full=2,disk=2,cut=1,drift=3", ..defaults.clone() },
        StressCase { nodes: 4, latency: long_tail, loss_percent: 15, duplicate_percent: 15, ..defaults.clone() },
        // With short timeouts, after which nodes become candidates.
        StressCase { nodes: 3, lease: millis(60), faults: "pause=6,drift=6", ..short_bound.clone() },
        StressCase { nodes: 3, lease: millis(400), faults: "crash=12,cut=4", ..short_bound.clone() },
        StressCase { lease: millis(80), faults: "crash=3,pause=3,cut=3,deaf=3,drift=6", ..short_bound },
        defaults,
    ]
}

impl StressCase {
    fn spec_for(self, entry: &'static ElectionEntry) -> Spec<Election> {
        let faults: Vec<TimedFault> = SKEWS.iter().filter_map(|skew| skew.parse().ok()).collect();
        debug_assert_eq!(faults.len(), SKEWS.len());
        let settings = Settings {
            starters: self.starters,
            lease: Some(Length(self.lease)),
            drift_ppm: Some(MAX_DRIFT_PPM),
            ..Settings::default()
        };
        Spec {
            nodes: self.nodes,
            latency: self.latency,
            delay_bound: Some(Length(self.delay_bound)),
            disk: self.disk,
            loss: percent_to_chance(self.loss_percent),
            duplicate: percent_to_chance(self.duplicate_percent),
            faults,
            random_faults: FaultMix::from_constant(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
