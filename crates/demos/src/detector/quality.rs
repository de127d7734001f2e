//! What was measured of a detector.

use quorate_core::Duration;
use serde::{Serialize, Serializer};

/// How good a detector was. Sums are in whole nanoseconds; only what is printed is divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quality {
    /// How many times a node noticed the crash of another, for good, before that one was back.
    pub detections: u64,
    pub missed: u64,
    #[serde(rename = "detection_most_ns", serialize_with = "nanos")]
    pub detection_most: Duration,
    pub mistakes: u64,
    /// The time that all nodes were up, added up.
    #[serde(rename = "watched_ns")]
    pub(super) watched: u64,
    /// The time that pairs of nodes, the one and the other, were both up, added up.
    #[serde(skip)]
    pub(super) pairs: u128,
    #[serde(skip)]
    pub(super) detection_sum: u128,
    #[serde(skip)]
    pub(super) mistake_sum: u128,
}

fn nanos<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(length.nanos())
}

const HOUR: f64 = 3.6e12;

impl Quality {
    pub fn detection_mean(&self) -> Option<Duration> {
        mean(self.detection_sum, self.detections)
    }

    /// How often a node suspects another that is up, in an hour.
    pub fn mistakes_per_node_hour(&self) -> Option<f64> {
        (self.watched > 0).then(|| self.mistakes as f64 * HOUR / self.watched as f64)
    }

    /// How long it takes on average until a mistake is taken back.
    pub fn mistake_mean(&self) -> Option<Duration> {
        mean(self.mistake_sum, self.mistakes)
    }

    /// The share of the time in which a node trusts another that is up: the accuracy of a question asked at any time.
    pub fn accuracy(&self) -> Option<f64> {
        (self.pairs > 0).then(|| 1.0 - self.mistake_sum as f64 / self.pairs as f64)
    }

    pub(super) fn detect(&mut self, after: Duration) {
        self.detections += 1;
        self.detection_sum += u128::from(after.nanos());
        self.detection_most = self.detection_most.max(after);
    }

    pub(super) fn err(&mut self, lasted: Duration) {
        self.mistakes += 1;
        self.mistake_sum += u128::from(lasted.nanos());
    }
}

fn mean(sum: u128, count: u64) -> Option<Duration> {
    // A mean is no longer than the longest of what it is the mean of, which fits.
    sum.checked_div(u128::from(count)).map(|nanos| Duration::from_nanos(nanos as u64))
}
