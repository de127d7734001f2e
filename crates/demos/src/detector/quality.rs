//! The measured quality of a detector.

use quorate_core::Duration;
use serde::{Serialize, Serializer};

/// The quality of a detector. Sums are in whole nanoseconds, so that only means are rounded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Quality {
    /// How often a node detected the crash of another and still suspected it when that node
    /// restarted or the run ended.
    pub detections: u64,
    /// How often a node did not detect the crash of another before that node restarted or the run
    /// ended.
    pub missed: u64,
    #[serde(rename = "detection_most_ns", serialize_with = "serialize_nanos")]
    pub max_detection_time: Duration,
    /// How often a node suspected another that was up.
    pub mistakes: u64,
    /// The sum of the times for which each node was up.
    #[serde(rename = "watched_ns")]
    pub(super) uptime_nanos: u64,
    /// The sum of the times for which both nodes of each ordered pair were up.
    #[serde(skip)]
    pub(super) pair_uptime_nanos: u128,
    /// The sum of the times from a crash to its detection.
    #[serde(skip)]
    pub(super) detection_nanos: u128,
    /// The sum of the durations of all mistakes.
    #[serde(skip)]
    pub(super) mistake_nanos: u128,
}

fn serialize_nanos<S: Serializer>(length: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(length.nanos())
}

const HOUR_NANOS: f64 = 3.6e12;

impl Quality {
    /// The mean time from a crash to its detection; `None` without detections.
    pub fn detection_mean(&self) -> Option<Duration> {
        mean(self.detection_nanos, self.detections)
    }

    /// Mistakes per hour of a node's uptime; `None` if no node was up.
    pub fn mistakes_per_node_hour(&self) -> Option<f64> {
        (self.uptime_nanos > 0).then(|| self.mistakes as f64 * HOUR_NANOS / self.uptime_nanos as f64)
    }

    /// The mean duration of a mistake, which ends when it is corrected or becomes true, or when the
    /// node that makes it crashes or the run ends; `None` without mistakes.
    pub fn mistake_mean(&self) -> Option<Duration> {
        mean(self.mistake_nanos, self.mistakes)
    }

    /// The share of the time in which a node trusts another while both are up (query accuracy);
    /// `None` if no two nodes were up at the same time.
    pub fn accuracy(&self) -> Option<f64> {
        (self.pair_uptime_nanos > 0).then(|| 1.0 - self.mistake_nanos as f64 / self.pair_uptime_nanos as f64)
    }

    pub(super) fn record_detection(&mut self, detection_time: Duration) {
        self.detections += 1;
        self.detection_nanos += u128::from(detection_time.nanos());
        self.max_detection_time = self.max_detection_time.max(detection_time);
    }

    pub(super) fn record_mistake(&mut self, duration: Duration) {
        self.mistakes += 1;
        self.mistake_nanos += u128::from(duration.nanos());
    }
}

fn mean(sum: u128, count: u64) -> Option<Duration> {
    // A mean is not longer than the longest value, so it fits.
    sum.checked_div(u128::from(count)).map(|nanos| Duration::from_nanos(nanos as u64))
}
