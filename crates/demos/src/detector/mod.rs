//! The quality of failure detectors: how soon they notice a crash, against how often they suspect
//! live nodes.
//!
//! The same component that elections use ([`Watched`]) runs in the simulator around a protocol that
//! only reports suspicions. The seed determines when nodes crash and restart, and every detector
//! faces the same crashes. The measures are the quality of service of Chen, Toueg and Aguilera
//! (2002): detection time, number of mistakes, and duration of mistakes.
//!
//! ```
//! use quorate_core::Duration;
//! use quorate_core::wrap::Detector;
//! use quorate_demos::detector::{Conditions, measure};
//!
//! let conditions = Conditions { run_length: Duration::from_secs(120), ..Conditions::new(3) };
//! let period = conditions.heartbeat_period();
//! let quality = measure(&conditions, Detector::FixedBound { period, bound: Duration::from_millis(5) })?;
//! assert_eq!((quality.mistakes, quality.missed), (0, 0)); // perfect, since all delays are 1 to 5 ms
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
use quorate_journal::settings::{Chance, Fault, Latency, Length, SettingError, TimedFault, UnsyncedSaves};
use quorate_journal::workload::ClientEvent;
use quorate_journal::workload::{Plan, Workload};
use quorate_sim::run::{self, Limits};
use quorate_sim::{LinkDefaults, Setup, World};
use reporter::Reporter;

/// Maximum number of nodes, all of which watch all others.
pub const MAX_NODES: usize = 1_000;

/// The default time from one heartbeat to the next, in reference delays of the latency.
const PERIOD_DELAYS: u64 = 10;

/// How long a crashed node stays down, in heartbeats. A detector that has not noticed the crash by
/// then has missed it.
const DOWN_HEARTBEATS: u64 = 40;

/// Minimum time from a node's restart to the next crash, in heartbeats, in which detectors learn
/// the pace of the node's heartbeats.
const RECOVERY_HEARTBEATS: u64 = 20;

/// The group, its network, and the crashes to detect.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditions {
    pub nodes: usize,
    pub seed: u64,
    pub latency: Latency,
    pub processing: Latency,
    pub loss: Chance,
    pub duplicate: Chance,
    /// The time from one heartbeat to the next; by default, ten reference delays of `latency`.
    pub heartbeat: Option<Length>,
    /// Number of random crashes, which the seed determines.
    pub crashes: u64,
    /// Further faults, besides the random crashes.
    pub faults: Vec<TimedFault>,
    pub run_length: Duration,
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
            run_length: Duration::from_secs(600),
        }
    }

    /// The time from one heartbeat to the next.
    pub fn heartbeat_period(&self) -> Duration {
        self.heartbeat.map_or_else(|| self.latency.reference_delay().times(PERIOD_DELAYS), |Length(period)| period)
    }

    pub fn validate(&self) -> Result<(), DetectorError> {
        let Self { nodes, crashes, run_length, .. } = *self;
        match nodes {
            0 | 1 => return Err(DetectorError::TooFew { nodes }),
            2..=MAX_NODES => {}
            _ => return Err(DetectorError::TooMany { nodes }),
        }
        let period = self.heartbeat_period();
        if period == Duration::ZERO {
            return Err(DetectorError::NoHeartbeat);
        }
        let min = self.min_interval_per_crash().times(crashes.max(1)) + self.min_interval_per_crash();
        if run_length < min {
            return Err(DetectorError::TooShort { length: Length(run_length), crashes, min: Length(min) });
        }
        self.faults.iter().try_for_each(|fault| fault.validate(nodes))?;
        Ok(())
    }

    /// Minimum length of an interval with one crash: the time for which the node is down, its
    /// recovery, and a span as long as the recovery, from which the instant of the crash is drawn.
    fn min_interval_per_crash(&self) -> Duration {
        self.heartbeat_period().times(DOWN_HEARTBEATS + 2 * RECOVERY_HEARTBEATS)
    }

    /// Divides the run into equal intervals. The first one has no crash, so that detectors learn
    /// the pace of heartbeats. In each of the others, one node crashes; the seed chooses the node
    /// and the instant.
    fn draw_crashes(&self) -> Vec<TimedFault> {
        let mut rng = SeededRng::new(self.seed, Stream::Faults);
        let interval = self.run_length.nanos() / (self.crashes + 1);
        let max_offset =
            interval.saturating_sub(self.heartbeat_period().times(DOWN_HEARTBEATS + RECOVERY_HEARTBEATS).nanos());
        let crash = |number: u64| {
            let node = NodeId::from_index(rng.below(self.nodes as u64) as usize);
            let at = Duration::from_nanos((interval * number).saturating_add(rng.below(max_offset.max(1))));
            let fault = Fault::Crash { node, unsynced: UnsyncedSaves::Lost };
            TimedFault { fault, at, duration: Some(self.heartbeat_period().times(DOWN_HEARTBEATS)) }
        };
        (1..=self.crashes).map(crash).collect()
    }

    fn setup(&self) -> Setup {
        let Self { nodes, seed, latency, loss, duplicate, .. } = *self;
        let link_defaults = LinkDefaults { latency, loss, duplicate, is_fifo: false };
        Setup { nodes, seed, link_defaults, processing: self.processing, sync: Latency::Fixed(Duration::ZERO) }
    }
}

/// Measures one detector. The same conditions give the same crashes, whatever the detector.
pub fn measure(conditions: &Conditions, detector: Detector) -> Result<Quality, DetectorError> {
    conditions.validate()?;
    let group = Group::of_size(conditions.nodes);
    let make_node = move |me| Watched::new(me, group.clone(), Reporter, detector);
    let mut world = World::new(&conditions.setup(), make_node, QualityObserver::new(conditions.nodes));
    for fault in conditions.draw_crashes().into_iter().chain(conditions.faults.iter().cloned()) {
        world.schedule_fault(fault);
    }
    world.start();
    let end = Time::ZERO + conditions.run_length;
    // Only `max_time` ends the run: the workload is never done, and a quiet run is not stuck.
    let limits = Limits {
        max_time: Some(end),
        max_inputs: u64::MAX,
        max_settling: Duration::ZERO,
        max_silence: Duration::from_nanos(u64::MAX),
    };
    run::run(&mut world, &mut NoWorkload, limits);
    Ok(world.into_observer().into_quality(end))
}

/// Timeouts for a series of detectors with a fixed timeout: the shortest makes many mistakes, the
/// longest detects crashes late.
pub fn default_timeouts(period: Duration) -> Vec<Duration> {
    let percent = |percent: u64| Duration::from_nanos(period.nanos() / 100 * percent);
    [102, 105, 110, 125, 150, 200, 225, 300, 400, 600].into_iter().map(percent).collect()
}

/// Thresholds for a series of accrual detectors: the lowest makes many mistakes, the highest
/// detects crashes late.
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
        _event: &ClientEvent<DetectorEvent>,
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
    #[error("--heartbeat must be greater than 0; got 0ms. Use for example --heartbeat 50ms.")]
    NoHeartbeat,
    #[error("--for must be at least {min} with --crashes {crashes}; got {length}.")]
    TooShort { length: Length, crashes: u64, min: Length },
    #[error(transparent)]
    Setting(#[from] SettingError),
}
