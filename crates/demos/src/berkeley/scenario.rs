//! The parameters of a scenario: the clocks of a group, and how they are averaged.

use super::{Shift, Terms};
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
    pub skew: Duration,
    /// Maximum drift of each clock, in either direction.
    pub drift: Ppm,
    #[serde(rename = "every_ns")]
    pub every: Duration,
    #[serde(rename = "length_ns")]
    pub length: Duration,
    /// Maximum distance from the median at which a clock counts; by default, the maximum initial
    /// distance of two clocks.
    #[serde(rename = "tolerance_ns")]
    pub tolerance: Option<Duration>,
    /// How long followers wait for a poll before they consider the leader missing; three rounds by
    /// default.
    #[serde(rename = "patience_ns")]
    pub patience: Option<Duration>,
    pub faults: Vec<TimedFault>,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            nodes: 5,
            seed: 1,
            latency: LATENCY,
            skew: Duration::from_millis(500),
            drift: Ppm::new(200).unwrap_or_default(),
            every: Duration::from_secs(1),
            length: Duration::from_secs(20),
            tolerance: None,
            patience: None,
            faults: Vec::new(),
        }
    }
}

const LATENCY: Latency = Latency::Uniform { min: Duration::from_millis(1), max: Duration::from_millis(2) };

/// The length of a round, in message delays.
const ROUND: u64 = 3;

/// The default wait for a poll, in rounds.
const PATIENCE: u64 = 3;

/// Maximum number of nodes; larger groups show nothing new.
const MAX_NODES: usize = 1_000;

/// Maximum number of rounds.
const MAX_ROUNDS: u64 = 100_000;

/// Maximum skew: a hundred years.
const MAX_SKEW: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

const MILLION: u128 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NodeClock {
    pub node: NodeId,
    #[serde(rename = "ahead_ns")]
    pub ahead: Shift,
    pub drift: Ppm,
}

impl NodeClock {
    pub(super) fn faults(&self) -> [TimedFault; 2] {
        let Self { node, ahead, drift } = *self;
        let skew = Fault::Skew { node, by: Offset::from_nanos(ahead.nanos()) };
        [skew, Fault::Drift { node, by: drift }].map(|fault| TimedFault { at: Duration::ZERO, fault, lasts: None })
    }
}

impl Scenario {
    pub fn validate(&self) -> Result<(), BerkeleyError> {
        self.validate_size()?;
        if self.latency.bound().is_none() {
            return Err(BerkeleyError::NoBound { latency: self.latency });
        }
        if self.latency.typical() == Duration::ZERO {
            return Err(BerkeleyError::NoLatency);
        }
        if self.drift.parts() < 0 {
            return Err(BerkeleyError::NegativeDrift { drift: self.drift });
        }
        if self.skew > MAX_SKEW {
            return Err(BerkeleyError::TooFarOff { skew: Length(self.skew), most: Length(MAX_SKEW) });
        }
        self.validate_pace()?;
        self.faults.iter().try_for_each(|fault| fault.validate(self.nodes)).map_err(BerkeleyError::from)
    }

    fn validate_size(&self) -> Result<(), BerkeleyError> {
        match self.nodes {
            0 | 1 => Err(BerkeleyError::TooFew { nodes: self.nodes }),
            nodes if nodes > MAX_NODES => Err(BerkeleyError::TooMany { nodes, most: MAX_NODES }),
            _ => Ok(()),
        }
    }

    /// Rounds must not overlap, and followers must have the time to receive the next poll.
    fn validate_pace(&self) -> Result<(), BerkeleyError> {
        let least = self.bounds().message.times(ROUND);
        if self.every < least {
            return Err(BerkeleyError::Hasty { every: Length(self.every), least: Length(least) });
        }
        if self.length.nanos() / self.every.nanos().max(1) > MAX_ROUNDS {
            return Err(BerkeleyError::TooLong { most: Length(self.every.times(MAX_ROUNDS)) });
        }
        let least = self.every.times(2);
        match self.patience {
            Some(patience) if patience < least => {
                Err(BerkeleyError::Impatient { patience: Length(patience), least: Length(least) })
            }
            Some(_) | None => Ok(()),
        }
    }

    pub fn clocks(&self) -> Vec<NodeClock> {
        let mut rng = SeededRng::new(self.seed, Stream::Faults);
        let mut either_way = |most: u64| rng.below(2 * most + 1) as i64 - most as i64;
        let clock = |index| NodeClock {
            node: NodeId::from_index(index),
            ahead: Shift::from_nanos(either_way(self.skew.nanos())),
            drift: Ppm::new(either_way(self.drift.parts().unsigned_abs().into()) as i32).unwrap_or_default(),
        };
        (0..self.nodes).map(clock).collect()
    }

    /// Upper bounds on delays, as measured by any clock: a fast clock measures longer delays.
    pub fn bounds(&self) -> Bounds {
        let message = self.latency.typical();
        let gained = part(message, self.fastest());
        Bounds { message: message + gained, processing: Duration::ZERO }
    }

    pub fn terms(&self) -> Terms {
        let bounds = self.bounds();
        Terms {
            every: self.every,
            wait: bounds.round_trip(),
            tolerance: self.tolerance.unwrap_or(self.skew.times(2) + bounds.round_trip()),
            patience: self.patience.unwrap_or(self.every.times(PATIENCE)),
        }
    }

    /// Maximum difference of two clocks after a round: the difference between message delays, and
    /// the drift during the round.
    pub fn uncertainty(&self) -> Duration {
        let (least, most) = match self.latency {
            Latency::Fixed(length) | Latency::LongTail { median: length } => (length, length),
            Latency::Uniform { min, max } => (min, max),
        };
        let differ = Duration::from_nanos(most.nanos().saturating_sub(least.nanos()));
        differ + part(most.times(ROUND + 1), self.fastest()).times(2) + ROUNDING
    }

    /// Maximum rate by which any clock runs too fast, in parts per million.
    fn fastest(&self) -> u128 {
        let by_fault = self.faults.iter().map(|timed| match timed.fault {
            Fault::Drift { by, .. } => by.parts(),
            _ => 0,
        });
        by_fault.chain([self.drift.parts()]).max().unwrap_or(0).unsigned_abs().into()
    }
}

/// Upper bound on the rounding errors of round trips, averages and clocks.
const ROUNDING: Duration = Duration::from_nanos(20);

/// This many millionths of a duration, rounded up, plus one for the rounding of clocks.
fn part(length: Duration, millionths: u128) -> Duration {
    let nanos = (u128::from(length.nanos()) * millionths).div_ceil(MILLION) + 1;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BerkeleyError {
    #[error("--nodes must be at least 2; got {nodes}.")]
    TooFew { nodes: usize },
    #[error("--nodes must be at most {most}; got {nodes}.")]
    TooMany { nodes: usize, most: usize },
    #[error(
        "--latency {latency} has no upper bound, but the election needs one to detect a late answer. Use for example \
         --latency uniform:1ms..2ms."
    )]
    NoBound { latency: Latency },
    #[error(
        "--latency must be more than 0, so that there is a round trip to measure; use for example --latency fixed:1ms."
    )]
    NoLatency,
    #[error("--drift must not be negative, since it is a maximum in either direction; got {drift}. Use {}ppm.", drift.parts().unsigned_abs())]
    NegativeDrift { drift: Ppm },
    #[error("--skew must be at most {most}; got {skew}.")]
    TooFarOff { skew: Length, most: Length },
    #[error(
        "--every must be at least {least}, the length of a round; got {every}. Use a longer --every or a shorter --latency."
    )]
    Hasty { every: Length, least: Length },
    #[error("--for must be at most {most} with this --every. Use a shorter --for or a longer --every.")]
    TooLong { most: Length },
    #[error("--leader-timeout must be at least {least}, or followers suspect live leaders; got {patience}.")]
    Impatient { patience: Length, least: Length },
    #[error(transparent)]
    Setting(#[from] SettingError),
}
