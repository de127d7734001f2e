//! Bad weather for elections by leases: everything that their masters and voters must bear, as long as clocks keep to their bound.

use super::{Election, ElectionEntry, Settings};
use crate::chaos::{FaultMix, percent};
use crate::election::run::Starters;
use crate::spec::Spec;
use quorate_core::Duration;
use quorate_journal::settings::{Latency, Length, TimedFault};

#[derive(Clone)]
struct Weather {
    nodes: usize,
    latency: Latency,
    /// How long nodes are told that a message takes. The shorter, the sooner they stand; nothing but that depends on it.
    bound: Duration,
    disk: Latency,
    lease: Duration,
    starters: Starters,
    /// What goes wrong, in the words of `--random-faults`.
    faults: &'static str,
    /// How likely a message is lost or arrives twice, in percent.
    loss: u32,
    duplicate: u32,
}

/// As far as the seed lets clocks drift, in millionths.
const DRIFT: u32 = 200_000;

/// What clocks show does not matter, as long as they do not jump while something is promised.
const SKEWS: [&str; 2] = ["skew 1 by -5s", "skew 2 by 700ms"];

pub(super) fn weather(entry: &'static ElectionEntry) -> Vec<Spec<Election>> {
    weathers().into_iter().map(|weather| weather.over(entry)).collect()
}

fn weathers() -> [Weather; 8] {
    let millis = Duration::from_millis;
    let usual = Weather {
        nodes: 5,
        latency: Latency::Uniform { least: millis(1), most: millis(5) },
        bound: millis(5),
        disk: Latency::Uniform { least: Duration::ZERO, most: millis(4) },
        // Short enough that faults outlast it.
        lease: millis(100),
        starters: Starters::All,
        faults: "crash=3,pause=2,cut=2,deaf=2,drift=4",
        loss: 5,
        duplicate: 5,
    };
    let hasty = Weather { bound: millis(1), starters: Starters::Lowest, loss: 0, duplicate: 0, ..usual.clone() };
    let tail = Latency::LongTail { median: millis(2) };
    [
        Weather { nodes: 3, faults: "crash=4,drift=3", loss: 0, duplicate: 0, ..usual.clone() },
        Weather { faults: "cut=4,deaf=4,drift=4", loss: 0, starters: Starters::Lowest, ..usual.clone() },
        Weather { nodes: 3, faults: "crash=2,full=2,disk=2,cut=1,drift=3", ..usual.clone() },
        Weather { nodes: 4, latency: tail, loss: 15, duplicate: 15, ..usual.clone() },
        // Nobody waits for longer than it must.
        Weather { nodes: 3, lease: millis(60), faults: "pause=6,drift=6", ..hasty.clone() },
        Weather { nodes: 3, lease: millis(400), faults: "crash=12,cut=4", ..hasty.clone() },
        Weather { lease: millis(80), faults: "crash=3,pause=3,cut=3,deaf=3,drift=6", ..hasty },
        usual,
    ]
}

impl Weather {
    fn over(self, entry: &'static ElectionEntry) -> Spec<Election> {
        let faults: Vec<TimedFault> = SKEWS.iter().filter_map(|skew| skew.parse().ok()).collect();
        debug_assert_eq!(faults.len(), SKEWS.len());
        let settings = Settings {
            starters: self.starters,
            lease: Some(Length(self.lease)),
            drift_ppm: Some(DRIFT),
            ..Settings::default()
        };
        Spec {
            nodes: self.nodes,
            latency: self.latency,
            bound: Some(Length(self.bound)),
            disk: self.disk,
            loss: percent(self.loss),
            duplicate: percent(self.duplicate),
            faults,
            random_faults: FaultMix::known(self.faults),
            settings,
            ..Spec::new(entry)
        }
    }
}
