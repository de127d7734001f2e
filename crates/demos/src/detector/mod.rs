//! How good failure detectors are: how soon they notice a crash, against how often they suspect the living.
//!
//! The very component that elections use ([`Watched`]) runs in the simulator around a protocol that does nothing but tell what it
//! hears. Nodes crash and come back by the seed, and every detector is put to the same crashes. What is measured is what Chen, Toueg and
//! Aguilera call the quality of service of a detector (2002): detection time, mistakes, and how long these last.
//!
//! ```
//! use quorate_core::Duration;
//! use quorate_core::wrap::Detector;
//! use quorate_demos::detector::{Conditions, measure};
//!
//! let conditions = Conditions { length: Duration::from_secs(120), ..Conditions::new(3) };
//! let period = conditions.period();
//! let quality = measure(&conditions, Detector::FixedBound { period, bound: conditions.latency.typical() })?;
//! assert_eq!((quality.mistakes, quality.missed), (0, 0)); // perfect, since nothing takes longer than the bound
//! # Ok::<(), quorate_demos::detector::DetectorError>(())
//! ```

mod quality;
mod sentry;
#[cfg(test)]
mod tests;
mod watcher;

pub use quality::Quality;
pub use sentry::Heard;

use quorate_core::wrap::{Detector, Threshold, Watched};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::{Chance, Fault, Latency, Length, SettingError, TimedFault, Unsynced};
use quorate_journal::workload::News;
use quorate_journal::workload::{Plan, Workload};
use quorate_sim::run::{self, Limits};
use quorate_sim::{Setup, Wire, World};
use sentry::Sentry;
use watcher::Watcher;

/// More nodes than anybody would let watch each other, each every other.
pub const MOST_NODES: usize = 1_000;

/// In message times: from one heartbeat to the next, unless given.
const PERIOD: u64 = 10;

/// In heartbeats: how long a node that crashed stays down. Whoever has not noticed by then never would in time to be of use.
const DOWN: u64 = 40;

/// In heartbeats: from a node's return to the next crash at the earliest, so that its pace is known again.
const REST: u64 = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    pub nodes: usize,
    pub seed: u64,
    pub latency: Latency,
    pub processing: Latency,
    pub loss: Chance,
    pub duplicate: Chance,
    /// From one heartbeat to the next; ten message times unless given.
    pub heartbeat: Option<Length>,
    pub crashes: u64,
    pub faults: Vec<TimedFault>,
    pub length: Duration,
}

impl Conditions {
    /// So many nodes on a network that loses nothing, for ten minutes with twenty crashes.
    pub fn new(nodes: usize) -> Self {
        let millis = Duration::from_millis;
        Self {
            nodes,
            seed: 1,
            latency: Latency::Uniform { least: millis(1), most: millis(5) },
            processing: Latency::Fixed(Duration::ZERO),
            loss: Chance::NEVER,
            duplicate: Chance::NEVER,
            heartbeat: None,
            crashes: 20,
            faults: Vec::new(),
            length: Duration::from_secs(600),
        }
    }

    pub fn period(&self) -> Duration {
        self.heartbeat.map_or_else(|| self.latency.typical().times(PERIOD), |Length(period)| period)
    }

    pub fn validate(&self) -> Result<(), DetectorError> {
        let Self { nodes, crashes, length, .. } = *self;
        match nodes {
            0 | 1 => return Err(DetectorError::TooFew { nodes }),
            2..=MOST_NODES => {}
            _ => return Err(DetectorError::TooMany { nodes }),
        }
        let period = self.period();
        if period == Duration::ZERO {
            return Err(DetectorError::NoHeartbeat);
        }
        let least = self.turn().times(crashes.max(1)) + self.turn();
        if length < least {
            return Err(DetectorError::TooShort { length: Length(length), crashes, least: Length(least) });
        }
        self.faults.iter().try_for_each(|fault| fault.validate(nodes))?;
        Ok(())
    }

    fn turn(&self) -> Duration {
        self.period().times(DOWN + 2 * REST)
    }

    /// One crash in each equal part of the time, at an instant and of a node that the seed chooses. The first part is for getting to know
    /// each other.
    fn crashes(&self) -> Vec<TimedFault> {
        let mut dice = Dice::new(self.seed, Stream::Faults);
        let part = self.length.nanos() / (self.crashes + 1);
        let slack = part.saturating_sub(self.period().times(DOWN + REST).nanos());
        let crash = |number: u64| {
            let node = NodeId::from_index(dice.below(self.nodes as u64) as usize);
            let at = Duration::from_nanos((part * number).saturating_add(dice.below(slack.max(1))));
            let fault = Fault::Crash { node, unsynced: Unsynced::Lost };
            TimedFault { fault, at, lasts: Some(self.period().times(DOWN)) }
        };
        (1..=self.crashes).map(crash).collect()
    }

    fn setup(&self) -> Setup {
        let Self { nodes, seed, latency, loss, duplicate, .. } = *self;
        let wire = Wire { latency, loss, duplicate, fifo: false };
        Setup { nodes, seed, wire, processing: self.processing, sync: Latency::Fixed(Duration::ZERO) }
    }
}

/// Measures one detector. The same conditions give the same crashes, whatever the detector.
pub fn measure(conditions: &Conditions, detector: Detector) -> Result<Quality, DetectorError> {
    conditions.validate()?;
    let group = Group::of_size(conditions.nodes);
    let make = move |me| Watched::new(me, group.clone(), Sentry, detector);
    let mut world = World::new(&conditions.setup(), make, Watcher::new(conditions.nodes));
    for fault in conditions.crashes().into_iter().chain(conditions.faults.iter().cloned()) {
        world.schedule(fault);
    }
    world.start();
    let end = Time::ZERO + conditions.length;
    let limits =
        Limits { until: Some(end), events: u64::MAX, settle: Duration::ZERO, patience: Duration::from_nanos(u64::MAX) };
    run::run(&mut world, &mut Nobody, limits);
    Ok(world.into_observer().finish(end))
}

/// Detectors with a fixed bound, from one that is soon wrong to one that is slow: the silence that each allows.
pub fn usual_silences(period: Duration) -> Vec<Duration> {
    let percent = |percent: u64| Duration::from_nanos(period.nanos() / 100 * percent);
    [102, 105, 110, 125, 150, 200, 225, 300, 400, 600].into_iter().map(percent).collect()
}

/// The same of accrual detectors: the level at which each suspects.
pub fn usual_thresholds() -> Vec<Threshold> {
    let thousandths = [500, 1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 12_000, 16_000, 20_000];
    thousandths.into_iter().filter_map(Threshold::from_thousandths).collect()
}

struct Nobody;

impl Workload<quorate_core::Never, Heard> for Nobody {
    fn begin(&mut self, _plan: &mut Plan<quorate_core::Never>) {}

    fn hear(&mut self, _now: Time, _node: NodeId, _news: &News<Heard>, _plan: &mut Plan<quorate_core::Never>) {}

    fn is_done(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectorError {
    #[error("{nodes} node has nobody to watch: detectors need at least --nodes 2.")]
    TooFew { nodes: usize },
    #[error("{nodes} nodes are too many to watch each other, each every other: at most {MOST_NODES}.")]
    TooMany { nodes: usize },
    #[error("A heartbeat every 0ms leaves no time for anything else: give it some, such as --heartbeat 50ms.")]
    NoHeartbeat,
    #[error(
        "{length} are too short for {crashes} crashes that are to be noticed: simulate at least --length {least}, or let fewer nodes crash."
    )]
    TooShort { length: Length, crashes: u64, least: Length },
    #[error(transparent)]
    Setting(#[from] SettingError),
}
