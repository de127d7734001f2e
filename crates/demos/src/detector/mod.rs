//! The quality of failure detectors: how soon they notice a crash, against how often they suspect
//! live nodes.
//!
//! The same component that elections use ([`Watched`]) runs in the simulator around a protocol that
//! only reports suspicions. The seed determines when nodes crash and restart, and every detector
//! faces the same crashes. The measured figures are the quality of service of Chen, Toueg and
//! Aguilera (2002): detection time, mistakes, and how long these last.
//!
//! ```
//! use quorate_core::Duration;
//! use quorate_core::wrap::Detector;
//! use quorate_demos::detector::{Conditions, measure};
//!
//! let conditions = Conditions { length: Duration::from_secs(120), ..Conditions::new(3) };
//! let period = conditions.period();
//! let quality = measure(&conditions, Detector::FixedBound { period, bound: conditions.latency.typical() })?;
//! assert_eq!((quality.mistakes, quality.missed), (0, 0)); // perfect, since no delay exceeds the bound
//! # Ok::<(), quorate_demos::detector::DetectorError>(())
//! ```

mod observer;
mod quality;
mod reporter;
#[cfg(test)]
mod tests;

pub use quality::Quality;
pub use reporter::DetectorEvent;

use observer::QualityObserver;
use quorate_core::wrap::{Detector, Threshold, Watched};
use quorate_core::{Duration, Group, NodeId, Time};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Chance, Fault, Latency, Length, SettingError, TimedFault, Unsynced};
use quorate_journal::workload::ClientEvent;
use quorate_journal::workload::{Plan, Workload};
use quorate_sim::run::{self, Limits};
use quorate_sim::{Setup, Wire, World};
use reporter::Reporter;

/// Maximum number of nodes, all of which watch all others.
pub const MAX_NODES: usize = 1_000;

/// The default time from one heartbeat to the next, in message delays.
const PERIOD: u64 = 10;

/// How long a crashed node stays down, in heartbeats. A detection after that would be of no use.
const DOWN: u64 = 40;

/// Minimum time from a node's restart to the next crash, in heartbeats, so that its pace is known
/// again.
const REST: u64 = 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    pub nodes: usize,
    pub seed: u64,
    pub latency: Latency,
    pub processing: Latency,
    pub loss: Chance,
    pub duplicate: Chance,
    /// The time from one heartbeat to the next; ten message delays by default.
    pub heartbeat: Option<Length>,
    pub crashes: u64,
    pub faults: Vec<TimedFault>,
    pub length: Duration,
}

impl Conditions {
    /// A group of this size on a network without loss, for ten minutes with twenty crashes.
    pub fn new(nodes: usize) -> Self {
        let millis = Duration::from_millis;
        Self {
            nodes,
            seed: 1,
            latency: Latency::Uniform { min: millis(1), max: millis(5) },
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
            2..=MAX_NODES => {}
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

    /// One crash in each equal part of the time, at an instant and of a node that the seed chooses.
    /// The first part has no crash, so that the detectors learn the pace.
    fn crashes(&self) -> Vec<TimedFault> {
        let mut rng = SeededRng::new(self.seed, Stream::Faults);
        let part = self.length.nanos() / (self.crashes + 1);
        let slack = part.saturating_sub(self.period().times(DOWN + REST).nanos());
        let crash = |number: u64| {
            let node = NodeId::from_index(rng.below(self.nodes as u64) as usize);
            let at = Duration::from_nanos((part * number).saturating_add(rng.below(slack.max(1))));
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
    let make = move |me| Watched::new(me, group.clone(), Reporter, detector);
    let mut world = World::new(&conditions.setup(), make, QualityObserver::new(conditions.nodes));
    for fault in conditions.crashes().into_iter().chain(conditions.faults.iter().cloned()) {
        world.schedule(fault);
    }
    world.start();
    let end = Time::ZERO + conditions.length;
    let limits =
        Limits { until: Some(end), events: u64::MAX, settle: Duration::ZERO, patience: Duration::from_nanos(u64::MAX) };
    run::run(&mut world, &mut NoWorkload, limits);
    Ok(world.into_observer().finish(end))
}

/// Returns the timeouts of a series of detectors with a fixed timeout: the shortest makes many
/// wrong suspicions, the longest detects crashes late.
pub fn default_timeouts(period: Duration) -> Vec<Duration> {
    let percent = |percent: u64| Duration::from_nanos(period.nanos() / 100 * percent);
    [102, 105, 110, 125, 150, 200, 225, 300, 400, 600].into_iter().map(percent).collect()
}

/// Returns the thresholds of a series of accrual detectors: the lowest makes many wrong suspicions,
/// the highest detects crashes late.
pub fn default_thresholds() -> Vec<Threshold> {
    let thousandths = [500, 1_000, 1_500, 2_000, 3_000, 5_000, 8_000, 12_000, 16_000, 20_000];
    thousandths.into_iter().filter_map(Threshold::from_thousandths).collect()
}

struct NoWorkload;

impl Workload<quorate_core::Never, DetectorEvent> for NoWorkload {
    fn begin(&mut self, _plan: &mut Plan<quorate_core::Never>) {}

    fn on_event(
        &mut self,
        _now: Time,
        _node: NodeId,
        _notification: &ClientEvent<DetectorEvent>,
        _plan: &mut Plan<quorate_core::Never>,
    ) {
    }

    fn is_done(&self) -> bool {
        false
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetectorError {
    #[error("--nodes must be at least 2; got {nodes}.")]
    TooFew { nodes: usize },
    #[error("--nodes must be at most {MAX_NODES}; got {nodes}.")]
    TooMany { nodes: usize },
    #[error("--heartbeat must be more than 0; use for example --heartbeat 50ms.")]
    NoHeartbeat,
    #[error(
        "--for must be at least {least} for {crashes} crashes; got {length}. Use a longer --for or fewer --crashes."
    )]
    TooShort { length: Length, crashes: u64, least: Length },
    #[error(transparent)]
    Setting(#[from] SettingError),
}
