//! A node's own clock: how far off it is, and how fast it runs.

use quorate_core::{Duration, Time};

/// A clock that was right at some instant, give or take, and has run at its own rate since.
#[derive(Clone, Copy, Debug)]
pub struct NodeClock {
    /// The true time of the last change.
    since: Time,
    /// What the clock showed then.
    shown: Time,
    /// How much faster than true time it runs, in millionths.
    drift_ppm: i32,
}

const MILLION: i128 = 1_000_000;

impl NodeClock {
    /// A clock that shows true time.
    pub fn right(now: Time) -> Self {
        Self { since: now, shown: now, drift_ppm: 0 }
    }

    /// What it shows at a true instant.
    pub fn at(&self, time: Time) -> Time {
        let elapsed = i128::from(time.nanos() - self.since.nanos());
        let shown = i128::from(self.shown.nanos()) + elapsed * (MILLION + i128::from(self.drift_ppm)) / MILLION;
        Time::from_nanos(i64::try_from(shown).unwrap_or(i64::MAX))
    }

    /// How long it truly takes until the clock has advanced this much.
    pub fn true_length(&self, shown: Duration) -> Duration {
        let rate = MILLION + i128::from(self.drift_ppm);
        let nanos = (i128::from(shown.nanos()) * MILLION + rate - 1) / rate.max(1);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Shows this from now on, at the same rate.
    pub fn set(&mut self, now: Time, shown: Time) {
        *self = Self { since: now, shown, ..*self };
    }

    /// Jumps.
    pub fn skew(&mut self, now: Time, nanos: i64) {
        *self = Self { since: now, shown: Time::from_nanos(self.at(now).nanos().saturating_add(nanos)), ..*self };
    }

    /// Runs at another rate from now on.
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
        let mut clock = NodeClock::right(Time::ZERO);
        clock.drift(Time::ZERO, 1_000);
        let length = Duration::from_secs(1);
        let truly = clock.true_length(length);
        assert!(truly < length);
        assert!(clock.at(Time::ZERO + truly) >= Time::ZERO + length);
        assert!(clock.at(Time::ZERO + truly).since(Time::ZERO + length) <= Duration::from_nanos(2));
    }

    #[test]
    fn a_jump_keeps_the_rate_and_a_rate_keeps_the_reading() {
        let mut clock = NodeClock::right(Time::ZERO);
        clock.drift(Time::from_nanos(1_000_000), -500_000);
        clock.skew(Time::from_nanos(3_000_000), -5_000_000);
        assert_eq!(clock.at(Time::from_nanos(3_000_000)), Time::from_nanos(-3_000_000));
        assert_eq!(clock.at(Time::from_nanos(5_000_000)), Time::from_nanos(-2_000_000));
    }
}
