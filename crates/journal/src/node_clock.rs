//! A node's own clock: its offset from true time and its rate.

use quorate_core::{Duration, Time};

/// A clock with an offset from true time and a constant rate since its last change.
#[derive(Clone, Copy, Debug)]
pub struct NodeClock {
    /// The true time of the last change.
    changed_at: Time,
    /// The reading of the clock at that time.
    reading_at_change: Time,
    /// Deviation of the rate from true time in parts per million: positive if the clock runs fast.
    drift_ppm: i32,
}

const MILLION: i128 = 1_000_000;

impl NodeClock {
    /// Creates a clock that shows true time.
    pub fn synchronized(now: Time) -> Self {
        Self { changed_at: now, reading_at_change: now, drift_ppm: 0 }
    }

    /// Returns the reading of the clock at the true time `time`.
    pub fn at(&self, time: Time) -> Time {
        let elapsed = i128::from(time.nanos()) - i128::from(self.changed_at.nanos());
        let reading =
            i128::from(self.reading_at_change.nanos()) + elapsed * (MILLION + i128::from(self.drift_ppm)) / MILLION;
        Time::from_nanos(reading.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    /// Returns how much true time passes until the clock has advanced by `clock_duration`, rounded
    /// up.
    pub fn true_duration(&self, clock_duration: Duration) -> Duration {
        let rate = MILLION + i128::from(self.drift_ppm);
        let true_nanos = (i128::from(clock_duration.nanos()) * MILLION + rate - 1) / rate.max(1);
        Duration::from_nanos(u64::try_from(true_nanos).unwrap_or(u64::MAX))
    }

    /// Sets the reading, keeping the rate.
    pub fn set(&mut self, now: Time, reading: Time) {
        *self = Self { changed_at: now, reading_at_change: reading, ..*self };
    }

    /// Moves the reading by `nanos`, keeping the rate.
    pub fn skew(&mut self, now: Time, nanos: i64) {
        *self = Self {
            changed_at: now,
            reading_at_change: Time::from_nanos(self.at(now).nanos().saturating_add(nanos)),
            ..*self
        };
    }

    /// Changes the rate, keeping the reading.
    pub fn drift(&mut self, now: Time, ppm: i32) {
        *self = Self { changed_at: now, reading_at_change: self.at(now), drift_ppm: ppm };
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
        let clock_duration = Duration::from_secs(1);
        let true_duration = clock.true_duration(clock_duration);
        assert!(true_duration < clock_duration);
        assert!(clock.at(Time::ZERO + true_duration) >= Time::ZERO + clock_duration);
        assert!(clock.at(Time::ZERO + true_duration).since(Time::ZERO + clock_duration) <= Duration::from_nanos(2));
    }

    #[test]
    fn skew_keeps_the_rate_and_drift_keeps_the_reading() {
        let mut clock = NodeClock::synchronized(Time::ZERO);
        // Half as fast as true time.
        clock.drift(Time::from_nanos(1_000_000), -500_000);
        clock.skew(Time::from_nanos(3_000_000), -5_000_000);
        assert_eq!(clock.at(Time::from_nanos(3_000_000)), Time::from_nanos(-3_000_000));
        assert_eq!(clock.at(Time::from_nanos(5_000_000)), Time::from_nanos(-2_000_000));
    }
}
