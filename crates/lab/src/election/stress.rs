//! Stress for elections: messages have long delays and may overtake each other, and one or all
//! nodes start elections. In some cases ring orders and ranks are random, and any node crashes and
//! restarts at any time.

use super::{Detector, Election, ElectionEntry, Settings};
use crate::election::run::{Attribute, RingOrder, Starters};
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_core::election::{Model, Preference, Repair, Structure};
use quorate_journal::settings::Latency;

/// One stress experiment.
#[derive(Clone)]
struct StressCase {
    nodes: usize,
    latency: Latency,
    starters: Starters,
    prefer: Preference,
    /// Whether ring order and attributes are random.
    has_random_ranks_and_order: bool,
    /// Maximum processing time of an input; zero for the default processing time.
    max_processing: Duration,
    crashes: u64,
}

pub(super) fn stress_specs(entry: &'static ElectionEntry) -> Vec<Spec<Election>> {
    let repairs: &[Repair] = match entry.facts.structure {
        Structure::Ring => &[Repair::Detector, Repair::Timeout],
        Structure::Bully | Structure::Groups | Structure::Votes | Structure::Regions => &[Repair::Detector],
    };
    let specs_for = |repair: &Repair| cases().map(|case| case.spec_for(entry, *repair));
    let mut specs: Vec<_> = repairs.iter().flat_map(specs_for).collect();
    if entry.facts.structure == Structure::Ring {
        specs.extend([Detector::Heartbeat, Detector::Accrual].map(|detector| with_heartbeats(entry, detector)));
    }
    specs
}

/// An experiment with a failure detector that only observes heartbeats.
fn with_heartbeats(entry: &'static ElectionEntry, detector: Detector) -> Spec<Election> {
    let settings = Settings { detector, crashes: 4, order: RingOrder::Random, ..Settings::default() };
    let latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(50) };
    Spec { nodes: 5, latency, settings, ..Spec::new(entry) }
}

fn cases() -> [StressCase; 6] {
    let millis = Duration::from_millis;
    let defaults = StressCase {
        nodes: 5,
        latency: Latency::LongTail { median: millis(2) },
        starters: Starters::All,
        prefer: Preference::Highest,
        has_random_ranks_and_order: false,
        max_processing: Duration::ZERO,
        crashes: 0,
    };
    let wide_range = Latency::Uniform { min: Duration::from_micros(100), max: millis(50) };
    [
        StressCase { nodes: 8, has_random_ranks_and_order: true, ..defaults.clone() },
        StressCase { nodes: 3, crashes: 3, ..defaults.clone() },
        StressCase { crashes: 4, latency: wide_range, has_random_ranks_and_order: true, ..defaults.clone() },
        StressCase { nodes: 4, crashes: 2, starters: Starters::Lowest, prefer: Preference::Lowest, ..defaults.clone() },
        StressCase {
            nodes: 7,
            crashes: 6,
            max_processing: millis(1),
            has_random_ranks_and_order: true,
            ..defaults.clone()
        },
        StressCase { nodes: 9, crashes: 8, starters: Starters::Highest, ..defaults },
    ]
}

impl StressCase {
    fn spec_for(self, entry: &'static ElectionEntry, repair: Repair) -> Spec<Election> {
        let Self { nodes, latency, starters, prefer, has_random_ranks_and_order, max_processing, crashes } = self;
        let crashes = if entry.facts.survives_crashes { crashes } else { 0 };
        let relies_on_bounds = entry.facts.model == Model::Synchronous || repair == Repair::Timeout;
        let latency = match latency {
            // An algorithm that relies on a bound gets a bounded latency. The maximum is the bound
            // that nodes assume for a long tail.
            Latency::LongTail { median } if relies_on_bounds => {
                Latency::Uniform { min: Duration::ZERO, max: median.times(10) }
            }
            latency => latency,
        };
        // Ranks do not decide votes, but a leader with a lease chooses its successor by rank.
        let compares_ranks = entry.facts.structure != Structure::Votes || entry.facts.has_leases;
        let attribute = if has_random_ranks_and_order && compares_ranks { Attribute::Random } else { Attribute::Id };
        let prefer = if compares_ranks { prefer } else { Preference::Highest };
        let order = if has_random_ranks_and_order && entry.facts.structure == Structure::Ring {
            RingOrder::Random
        } else {
            RingOrder::Numbers
        };
        let processing = Latency::Uniform { min: Duration::ZERO, max: max_processing };
        let settings = Settings { starters, prefer, order, attribute, crashes, repair, ..Settings::default() };
        let defaults = Spec::new(entry);
        let processing = if max_processing == Duration::ZERO { defaults.processing } else { processing };
        Spec { nodes, latency, processing, settings, ..defaults }
    }
}
