//! What the clocks of a group are like, and how they are kept together.

use super::{Shift, Terms};
use quorate_core::{Bounds, Duration, NodeId};
use quorate_journal::dice::{Dice, Stream};
use quorate_journal::settings::{Fault, Latency, Length, Offset, Ppm, SettingError, TimedFault};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scenario {
    pub nodes: usize,
    pub seed: u64,
    /// How long a message takes. It has a longest time, which the election needs.
    pub latency: Latency,
    /// By how much each clock is off at the beginning, at most, either way.
    #[serde(rename = "skew_ns")]
    pub skew: Duration,
    /// By how much each clock runs too fast or too slow, at most.
    pub drift: Ppm,
    #[serde(rename = "every_ns")]
    pub every: Duration,
    #[serde(rename = "length_ns")]
    pub length: Duration,
    /// How far a clock may be from the middle one to count; as far as clocks can be apart at the beginning unless given.
    #[serde(rename = "tolerance_ns")]
    pub tolerance: Option<Duration>,
    /// How long followers go without a poll before they miss the leader; three rounds unless given.
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

const LATENCY: Latency = Latency::Uniform { least: Duration::from_millis(1), most: Duration::from_millis(2) };

/// In message times: a round, from its first message to its last.
const ROUND: u64 = 3;

/// In rounds: who hears nothing for as long misses the leader.
const PATIENCE: u64 = 3;

/// A group beyond that has nothing to show that a smaller one has not.
const MOST_NODES: usize = 1_000;

/// More rounds than that take too long to watch.
const MOST_ROUNDS: u64 = 100_000;

/// A clock that is off by more is off by a hundred years.
const MOST_SKEW: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);

const MILLION: u128 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockOf {
    pub node: NodeId,
    #[serde(rename = "ahead_ns")]
    pub ahead: Shift,
    pub drift: Ppm,
}

impl ClockOf {
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
        if self.skew > MOST_SKEW {
            return Err(BerkeleyError::TooFarOff { skew: Length(self.skew), most: Length(MOST_SKEW) });
        }
        self.validate_pace()?;
        self.faults.iter().try_for_each(|fault| fault.validate(self.nodes)).map_err(BerkeleyError::from)
    }

    fn validate_size(&self) -> Result<(), BerkeleyError> {
        match self.nodes {
            0 | 1 => Err(BerkeleyError::TooFew { nodes: self.nodes }),
            nodes if nodes > MOST_NODES => Err(BerkeleyError::TooMany { nodes, most: MOST_NODES }),
            _ => Ok(()),
        }
    }

    /// Rounds do not overlap, and followers have the time to hear of the next one.
    fn validate_pace(&self) -> Result<(), BerkeleyError> {
        let least = self.bounds().message.times(ROUND);
        if self.every < least {
            return Err(BerkeleyError::Hasty { every: Length(self.every), least: Length(least) });
        }
        if self.length.nanos() / self.every.nanos().max(1) > MOST_ROUNDS {
            return Err(BerkeleyError::TooLong { most: Length(self.every.times(MOST_ROUNDS)) });
        }
        let least = self.every.times(2);
        match self.patience {
            Some(patience) if patience < least => {
                Err(BerkeleyError::Impatient { patience: Length(patience), least: Length(least) })
            }
            Some(_) | None => Ok(()),
        }
    }

    pub fn clocks(&self) -> Vec<ClockOf> {
        let mut dice = Dice::new(self.seed, Stream::Faults);
        let mut either_way = |most: u64| dice.below(2 * most + 1) as i64 - most as i64;
        let clock = |index| ClockOf {
            node: NodeId::from_index(index),
            ahead: Shift::from_nanos(either_way(self.skew.nanos())),
            drift: Ppm::new(either_way(self.drift.parts().unsigned_abs().into()) as i32).unwrap_or_default(),
        };
        (0..self.nodes).map(clock).collect()
    }

    /// How long things take at most, on any clock: a fast one sees a message take longer.
    pub fn bounds(&self) -> Bounds {
        let message = self.latency.typical();
        let gained = part(message, self.fastest());
        Bounds { message: message + gained, processing: Duration::ZERO }
    }

    pub fn terms(&self) -> Terms {
        let bounds = self.bounds();
        Terms {
            every: self.every,
            wait: bounds.answer(),
            tolerance: self.tolerance.unwrap_or(self.skew.times(2) + bounds.answer()),
            patience: self.patience.unwrap_or(self.every.times(PATIENCE)),
        }
    }

    /// How far two clocks can be apart after a round: as much as messages differ, and what clocks drift while it lasts.
    pub fn uncertainty(&self) -> Duration {
        let (least, most) = match self.latency {
            Latency::Fixed(length) | Latency::LongTail { median: length } => (length, length),
            Latency::Uniform { least, most } => (least, most),
        };
        let differ = Duration::from_nanos(most.nanos().saturating_sub(least.nanos()));
        differ + part(most.times(ROUND + 1), self.fastest()).times(2) + ROUNDING
    }

    /// In millionths: by how much any clock runs too fast, at most.
    fn fastest(&self) -> u128 {
        let by_fault = self.faults.iter().map(|timed| match timed.fault {
            Fault::Drift { by, .. } => by.parts(),
            _ => 0,
        });
        by_fault.chain([self.drift.parts()]).max().unwrap_or(0).unsigned_abs().into()
    }
}

/// What whole numbers leave out, in the halves of round trips, in averages and in what clocks show.
const ROUNDING: Duration = Duration::from_nanos(20);

/// So many millionths of a length, rounded up, and one more for what clocks round.
fn part(length: Duration, millionths: u128) -> Duration {
    let nanos = (u128::from(length.nanos()) * millionths).div_ceil(MILLION) + 1;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BerkeleyError {
    #[error("A group of {nodes} has no clocks to compare: use --nodes 2 or more.")]
    TooFew { nodes: usize },
    #[error("{nodes} nodes are too many here: at most {most} fit.")]
    TooMany { nodes: usize, most: usize },
    #[error(
        "With --latency {latency} a message can take as long as it likes, but the election must know when an answer is late: use for \
         example --latency uniform:1ms..2ms."
    )]
    NoBound { latency: Latency },
    #[error("A latency of zero leaves no round trip to measure: give messages some time, such as --latency fixed:1ms.")]
    NoLatency,
    #[error("--drift {drift} has a direction, but clocks are off either way: give {}ppm instead.", drift.parts().unsigned_abs())]
    NegativeDrift { drift: Ppm },
    #[error("--skew {skew} does not fit: at most {most}.")]
    TooFarOff { skew: Length, most: Length },
    #[error(
        "A round takes {least}, so there cannot be one every {every}: use --every {least} or more, or a shorter --latency."
    )]
    Hasty { every: Length, least: Length },
    #[error("That is more than can be watched: use --for {most} or less, or a longer --every.")]
    TooLong { most: Length },
    #[error(
        "A follower that waits {patience} for a poll misses leaders that are there: use --patience {least} or more."
    )]
    Impatient { patience: Length, least: Length },
    #[error(transparent)]
    Setting(#[from] SettingError),
}
