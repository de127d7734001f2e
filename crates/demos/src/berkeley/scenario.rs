//! The parameters of a scenario: the clocks of a group, and how they are averaged.

use super::{AveragingSettings, Shift};
use quorate_core::{Bounds, Duration, NodeId};
use quorate_journal::rng::{SeededRng, Stream};
use quorate_journal::settings::{Fault, Latency, Length, Offset, Ppm, SettingError, TimedFault};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    pub nodes: usize,
    pub seed: u64,
    /// The message delay. It must be bounded, because the election needs a bound.
    pub latency: Latency,
    /// Maximum initial skew of each clock, in either direction.
    #[serde(rename = "skew_ns")]
    pub max_skew: Duration,
    /// Maximum drift of each clock, in either direction.
    #[serde(rename = "drift")]
    pub max_drift: Ppm,
    /// The time from one round to the next.
    #[serde(rename = "every_ns")]
    pub period: Duration,
    #[serde(rename = "length_ns")]
    pub run_length: Duration,
    /// Maximum distance from the median at which a clock counts; by default, the maximum initial
    /// distance of two clocks plus the maximum round trip of a message.
    #[serde(rename = "tolerance_ns")]
    pub tolerance: Option<Duration>,
    /// How long followers wait for a poll before they consider the leader missing; three periods by
    /// default.
    #[serde(rename = "patience_ns")]
    pub leader_timeout: Option<Duration>,
    pub faults: Vec<TimedFault>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            nodes: 5,
            seed: 1,
            latency: LATENCY,
            max_skew: Duration::from_millis(500),
            max_drift: Ppm::new(200).unwrap_or_default(),
            period: Duration::from_secs(1),
            run_length: Duration::from_secs(20),
            tolerance: None,
            leader_timeout: None,
            faults: Vec::new(),
        }
    }
}

const LATENCY: Latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(2) };

/// The length of a round, in message delays.
const ROUND_DELAYS: u64 = 3;

/// How long a follower waits for a poll by default, in periods.
const LEADER_TIMEOUT_PERIODS: u64 = 3;

/// Maximum number of nodes; larger groups show nothing new.
const MAX_NODES: usize = 1_000;

const MAX_ROUNDS: u64 = 100_000;

/// Maximum skew: a hundred years.
const MAX_SKEW: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

const MILLION: u128 = 1_000_000;

/// The initial error of a node's clock, and its drift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeClock {
    pub node: NodeId,
    #[serde(rename = "ahead_ns")]
    pub ahead: Shift,
    pub drift: Ppm,
}

impl NodeClock {
    /// The faults that give the node this clock at time zero.
    pub(super) fn faults(&self) -> [TimedFault; 2] {
        let Self { node, ahead, drift } = *self;
        let skew = Fault::Skew { node, by: Offset::from_nanos(ahead.nanos()) };
        [skew, Fault::Drift { node, by: drift }].map(|fault| TimedFault { at: Duration::ZERO, fault, duration: None })
    }
}

impl Scenario {
    pub fn validate(&self) -> Result<(), BerkeleyError> {
        self.validate_size()?;
        if self.latency.upper_bound().is_none() {
            return Err(BerkeleyError::NoBound { latency: self.latency });
        }
        if self.latency.reference_delay() == Duration::ZERO {
            return Err(BerkeleyError::NoLatency);
        }
        if self.max_drift.parts() < 0 {
            return Err(BerkeleyError::NegativeDrift { drift: self.max_drift });
        }
        if self.max_skew > MAX_SKEW {
            return Err(BerkeleyError::SkewTooLarge { skew: Length(self.max_skew), max: Length(MAX_SKEW) });
        }
        self.validate_pace()?;
        self.faults.iter().try_for_each(|fault| fault.validate(self.nodes)).map_err(BerkeleyError::from)
    }

    fn validate_size(&self) -> Result<(), BerkeleyError> {
        match self.nodes {
            0 | 1 => Err(BerkeleyError::TooFew { nodes: self.nodes }),
            nodes if nodes > MAX_NODES => Err(BerkeleyError::TooMany { nodes, max: MAX_NODES }),
            _ => Ok(()),
        }
    }

    /// Rounds must not overlap, and followers must have the time to receive the next poll.
    fn validate_pace(&self) -> Result<(), BerkeleyError> {
        let min = self.bounds().message.times(ROUND_DELAYS);
        if self.period < min {
            return Err(BerkeleyError::PeriodTooShort { period: Length(self.period), min: Length(min) });
        }
        if self.run_length.nanos() / self.period.nanos().max(1) > MAX_ROUNDS {
            return Err(BerkeleyError::RunTooLong {
                length: Length(self.run_length),
                period: Length(self.period),
                max: Length(self.period.times(MAX_ROUNDS)),
            });
        }
        let min = self.period.times(2);
        match self.leader_timeout {
            Some(timeout) if timeout < min => {
                Err(BerkeleyError::LeaderTimeoutTooShort { timeout: Length(timeout), min: Length(min) })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Draws the clocks of all nodes from the seed.
    pub fn draw_clocks(&self) -> Vec<NodeClock> {
        let mut rng = SeededRng::new(self.seed, Stream::Faults);
        let mut draw_symmetric = |max: u64| rng.below(2 * max + 1) as i64 - max as i64;
        let clock = |index| NodeClock {
            node: NodeId::from_index(index),
            ahead: Shift::from_nanos(draw_symmetric(self.max_skew.nanos())),
            drift: Ppm::new(draw_symmetric(self.max_drift.parts().unsigned_abs().into()) as i32).unwrap_or_default(),
        };
        (0..self.nodes).map(clock).collect()
    }

    /// Upper bounds on delays, as measured by any clock: a fast clock measures longer delays.
    pub fn bounds(&self) -> Bounds {
        // For a bounded latency, this is its upper bound; `validate` refuses others.
        let message = self.latency.reference_delay();
        let excess = scale_by_ppm(message, self.max_gain_ppm());
        Bounds { message: message + excess, processing: Duration::ZERO }
    }

    pub fn averaging_settings(&self) -> AveragingSettings {
        let bounds = self.bounds();
        AveragingSettings {
            period: self.period,
            answer_timeout: bounds.round_trip(),
            tolerance: self.tolerance.unwrap_or(self.max_skew.times(2) + bounds.round_trip()),
            leader_timeout: self.leader_timeout.unwrap_or(self.period.times(LEADER_TIMEOUT_PERIODS)),
        }
    }

    /// Maximum difference of two clocks after a round: the range of message delays, the drift of
    /// both clocks during the round and one more message delay, and rounding.
    pub fn uncertainty(&self) -> Duration {
        let (min_delay, max_delay) = match self.latency {
            // `validate` refuses a long tail.
            Latency::Fixed(length) | Latency::LongTail { median: length } => (length, length),
            Latency::Uniform { min, max } => (min, max),
        };
        let delay_range = Duration::from_nanos(max_delay.nanos().saturating_sub(min_delay.nanos()));
        delay_range + scale_by_ppm(max_delay.times(ROUND_DELAYS + 1), self.max_gain_ppm()).times(2) + MAX_ROUNDING_ERROR
    }

    /// Maximum rate by which any clock runs too fast, in parts per million, drift faults included.
    fn max_gain_ppm(&self) -> u128 {
        let fault_drifts = self.faults.iter().map(|timed| match timed.fault {
            Fault::Drift { by, .. } => by.parts(),
            _ => 0,
        });
        fault_drifts.chain([self.max_drift.parts()]).max().unwrap_or(0).unsigned_abs().into()
    }
}

/// Upper bound on the rounding errors of round trips, averages and clocks.
const MAX_ROUNDING_ERROR: Duration = Duration::from_nanos(20);

/// `ppm` parts per million of a duration, rounded up, plus one nanosecond for the rounding of
/// clocks.
fn scale_by_ppm(length: Duration, ppm: u128) -> Duration {
    let nanos = (u128::from(length.nanos()) * ppm).div_ceil(MILLION) + 1;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BerkeleyError {
    #[error("--nodes must be at least 2; got {nodes}.")]
    TooFew { nodes: usize },
    #[error("--nodes must be at most {max}; got {nodes}.")]
    TooMany { nodes: usize, max: usize },
    #[error(
        "--latency {latency} has no upper bound, but the election needs one to detect a late answer. Use for example \
         --latency uniform:1ms..2ms."
    )]
    NoBound { latency: Latency },
    #[error(
        "--latency must be greater than 0, so that there is a round trip to measure; got 0ms. Use for example --latency fixed:1ms."
    )]
    NoLatency,
    #[error("--drift must not be negative, since it is a maximum in either direction; got {drift}. Use {}ppm.", drift.parts().unsigned_abs())]
    NegativeDrift { drift: Ppm },
    #[error("--skew must be at most {max}; got {skew}.")]
    SkewTooLarge { skew: Length, max: Length },
    #[error(
        "--every must be at least {min}, the length of a round; got {period}. Use a longer --every or a shorter --latency."
    )]
    PeriodTooShort { period: Length, min: Length },
    #[error(
        "--for must be at most {max} with --every {period}; got {length}. Use a shorter --for or a longer --every."
    )]
    RunTooLong { length: Length, period: Length, max: Length },
    #[error("--leader-timeout must be at least {min}, or followers suspect live leaders; got {timeout}.")]
    LeaderTimeoutTooShort { timeout: Length, min: Length },
    #[error(transparent)]
    Setting(#[from] SettingError),
}
