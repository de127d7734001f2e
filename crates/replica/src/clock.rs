//! The leader's share in log time, and the lease under which it answers queries by itself.

use crate::machine::LogTime;
use quorate_core::{Duration, Time};

/// Makes log time out of a leader's own elapsed time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogClock {
    time: LogTime,
    seen: Time,
    /// The most that is added at once: a leader that was stopped for longer did not lead meanwhile.
    most: Duration,
}

impl LogClock {
    pub(crate) fn start(now: Time, largest: LogTime, tick: Duration) -> Self {
        Self { time: largest, seen: now, most: tick.times(2) }
    }

    /// Log time at an instant of the leader's own clock. It never goes back, even if that clock does.
    pub(crate) fn at(&mut self, now: Time) -> LogTime {
        self.time = self.time.after(now.since(self.seen).min(self.most));
        self.seen = now;
        self.time
    }
}

/// Until when a leader may answer queries without asking anybody.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lease {
    until: Option<Time>,
    /// A term in which leadership was offered to another. Its acceptance may be long under way, so there is no lease
    /// in that term any more.
    given_up: u64,
}

impl Lease {
    pub(crate) fn holds(&self, now: Time, term: u64) -> bool {
        self.given_up != term && self.until.is_some_and(|until| now < until)
    }

    /// Whether there can be a lease in a term at all.
    pub(crate) fn can_hold(&self, term: u64) -> bool {
        self.given_up != term
    }

    /// A round that began at some instant was answered by a majority.
    pub(crate) fn extend(&mut self, began: Time, length: Duration) {
        let until = began + length;
        self.until = Some(self.until.map_or(until, |before| before.max(until)));
    }

    pub(crate) fn end(&mut self) {
        self.until = None;
    }

    pub(crate) fn give_up(&mut self, term: u64) {
        self.given_up = term;
        self.until = None;
    }
}

#[cfg(test)]
mod tests {
    use super::{Lease, LogClock};
    use crate::machine::LogTime;
    use quorate_core::{Duration, Time};

    const TICK: Duration = Duration::from_millis(100);

    fn at(millis: i64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn log_time_goes_on_from_the_log_and_skips_what_nobody_led() {
        let mut clock = LogClock::start(at(5_000), LogTime::from_nanos(700), TICK);
        assert_eq!(clock.at(at(5_000)), LogTime::from_nanos(700));
        assert_eq!(clock.at(at(5_100)), LogTime::from_nanos(700).after(TICK));
        // Stopped for a minute: two ticks count.
        assert_eq!(clock.at(at(65_100)), LogTime::from_nanos(700).after(TICK.times(3)));
        // A clock that goes back adds nothing, and nothing twice.
        assert_eq!(clock.at(at(1_000)), LogTime::from_nanos(700).after(TICK.times(3)));
        assert_eq!(clock.at(at(1_100)), LogTime::from_nanos(700).after(TICK.times(4)));
    }

    #[test]
    fn a_lease_counts_from_before_the_question_and_dies_with_an_offer() {
        let mut lease = Lease::default();
        assert!(!lease.holds(at(0), 3));
        lease.extend(at(10), Duration::from_millis(50));
        assert!(lease.holds(at(59), 3) && !lease.holds(at(60), 3));
        lease.give_up(3);
        lease.extend(at(100), Duration::from_millis(50));
        assert!(!lease.holds(at(110), 3));
        assert!(lease.holds(at(110), 4));
    }
}
