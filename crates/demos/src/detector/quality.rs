//! The measured quality of a detector.

use quorate_core::Duration;
use serde::{Serialize, Serializer};

/// The quality of a detector. Sums are in whole nanoseconds; only printed figures are divided.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quality {
    /// How often a node detected the crash of another and still suspected it when that node
    /// restarted.
    pub detections: u64,
    /// How often a node did not detect the crash of another before that node restarted.
    pub missed: u64,
    #[serde(rename = "detection_most_ns", serialize_with = "nanos")]
    pub max_detection_time: Duration,
    pub mistakes: u64,
    /// The sum of the times for which each node was up.
    #[serde(rename = "watched_ns")]
    pub(super) watched: u64,
    /// The sum of the times for which both nodes of each ordered pair were up.
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

    /// How often a node suspects another that is up, per hour.
    pub fn mistakes_per_node_hour(&self) -> Option<f64> {
        (self.watched > 0).then(|| self.mistakes as f64 * HOUR / self.watched as f64)
    }

    /// The mean time until a mistake is corrected.
    pub fn mistake_mean(&self) -> Option<Duration> {
        mean(self.mistake_sum, self.mistakes)
    }

    /// The share of the time in which a node trusts another that is up (query accuracy).
    pub fn accuracy(&self) -> Option<f64> {
        (self.pairs > 0).then(|| 1.0 - self.mistake_sum as f64 / self.pairs as f64)
    }

    pub(super) fn detect(&mut self, after: Duration) {
        self.detections += 1;
        self.detection_sum += u128::from(after.nanos());
        self.max_detection_time = self.max_detection_time.max(after);
    }

    pub(super) fn err(&mut self, lasted: Duration) {
        self.mistakes += 1;
        self.mistake_sum += u128::from(lasted.nanos());
    }
}

fn mean(sum: u128, count: u64) -> Option<Duration> {
    // A mean is not longer than the longest value, so it fits.
    sum.checked_div(u128::from(count)).map(|nanos| Duration::from_nanos(nanos as u64))
}
