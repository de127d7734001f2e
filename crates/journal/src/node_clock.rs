//! A node's own clock: its offset from true time and its rate.

use quorate_core::{Duration, Time};

/// A clock with an offset from true time and a constant rate since its last change.
#[derive(Clone, Copy, Debug)]
pub struct NodeClock {
    /// The true time of the last change.
    since: Time,
    /// The reading of the clock at that time.
    shown: Time,
    /// Rate relative to true time in parts per million: positive if the clock runs fast.
    drift_ppm: i32,
}

const MILLION: i128 = 1_000_000;

impl NodeClock {
    /// Creates a clock that shows true time.
    pub fn synchronized(now: Time) -> Self {
        Self { since: now, shown: now, drift_ppm: 0 }
    }

    /// Returns its reading at the true time `time`.
    pub fn at(&self, time: Time) -> Time {
        let elapsed = i128::from(time.nanos() - self.since.nanos());
        let shown = i128::from(self.shown.nanos()) + elapsed * (MILLION + i128::from(self.drift_ppm)) / MILLION;
        Time::from_nanos(i64::try_from(shown).unwrap_or(i64::MAX))
    }

    /// Returns how much true time passes until the clock has advanced by `shown`.
    pub fn true_duration(&self, shown: Duration) -> Duration {
        let rate = MILLION + i128::from(self.drift_ppm);
        let nanos = (i128::from(shown.nanos()) * MILLION + rate - 1) / rate.max(1);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Sets the reading to `shown`, keeping the rate.
    pub fn set(&mut self, now: Time, shown: Time) {
        *self = Self { since: now, shown, ..*self };
    }

    /// Moves the reading by `nanos`, keeping the rate.
    pub fn skew(&mut self, now: Time, nanos: i64) {
        *self = Self { since: now, shown: Time::from_nanos(self.at(now).nanos().saturating_add(nanos)), ..*self };
    }

    /// Changes the rate, keeping the reading.
    pub fn drift(&mut self, now: Time, ppm: i32) {
        *self = Self { since: now, shown: self.at(now), drift_ppm: ppm };
    }
}

#[cfg(test)]
mod tests {
    use super::NodeClock;
    use quorate_core::{Duration, Time};

    #[test]
    fn a_fast_clock_reaches_its_timer_early() {
        let mut clock = NodeClock::synchronized(Time::ZERO);
        clock.drift(Time::ZERO, 1_000);
        let shown = Duration::from_secs(1);
        let actual = clock.true_duration(shown);
        assert!(actual < shown);
        assert!(clock.at(Time::ZERO + actual) >= Time::ZERO + shown);
        assert!(clock.at(Time::ZERO + actual).since(Time::ZERO + shown) <= Duration::from_nanos(2));
    }

    #[test]
    fn skew_keeps_the_rate_and_drift_keeps_the_reading() {
        let mut clock = NodeClock::synchronized(Time::ZERO);
        clock.drift(Time::from_nanos(1_000_000), -500_000);
        clock.skew(Time::from_nanos(3_000_000), -5_000_000);
        assert_eq!(clock.at(Time::from_nanos(3_000_000)), Time::from_nanos(-3_000_000));
        assert_eq!(clock.at(Time::from_nanos(5_000_000)), Time::from_nanos(-2_000_000));
    }
}
