//! The leader's log clock, and the lease under which it answers queries without a round.

use crate::machine::LogTime;
use quorate_core::{Duration, Time};

/// Derives log time from the elapsed time of a leader's own clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogClock {
    time: LogTime,
    /// The leader's own clock at the last reading.
    last_now: Time,
    /// Maximum time added at once. A leader that was paused for longer did not lead in the
    /// meantime.
    max_step: Duration,
}

impl LogClock {
    /// Starts at `latest`, the highest log time in the log.
    pub(crate) fn start(now: Time, latest: LogTime, tick: Duration) -> Self {
        Self { time: latest, last_now: now, max_step: tick.times(2) }
    }

    /// The log time at an instant of the leader's own clock. It never goes back, even if that clock
    /// does.
    pub(crate) fn at(&mut self, now: Time) -> LogTime {
        self.time = self.time.after(now.since(self.last_now).min(self.max_step));
        self.last_now = now;
        self.time
    }
}

/// The time during which a leader may answer queries without a round.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lease {
    until: Option<Time>,
    /// The last term in which this leader offered the leadership to another node. That node may
    /// become leader at any time, so there is no lease in that term any more.
    transfer_term: u64,
}

impl Lease {
    pub(crate) fn holds(&self, now: Time, term: u64) -> bool {
        self.transfer_term != term && self.until.is_some_and(|until| now < until)
    }

    /// Whether a lease is possible in this term.
    pub(crate) fn can_hold(&self, term: u64) -> bool {
        self.transfer_term != term
    }

    /// Extends the lease after a majority answered a round that began at `began`.
    pub(crate) fn extend(&mut self, began: Time, length: Duration) {
        let until = began + length;
        self.until = Some(self.until.map_or(until, |current| current.max(until)));
    }

    pub(crate) fn end(&mut self) {
        self.until = None;
    }

    /// Ends the lease, and prevents another one in this term.
    pub(crate) fn end_in_term(&mut self, term: u64) {
        self.transfer_term = term;
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
    fn log_time_continues_from_the_log_and_skips_time_without_a_leader() {
        let mut clock = LogClock::start(at(5_000), LogTime::from_nanos(700), TICK);
        assert_eq!(clock.at(at(5_000)), LogTime::from_nanos(700));
        assert_eq!(clock.at(at(5_100)), LogTime::from_nanos(700).after(TICK));
        // After a pause of a minute, two ticks count.
        assert_eq!(clock.at(at(65_100)), LogTime::from_nanos(700).after(TICK.times(3)));
        // A clock that goes back adds nothing, and no time counts twice.
        assert_eq!(clock.at(at(1_000)), LogTime::from_nanos(700).after(TICK.times(3)));
        assert_eq!(clock.at(at(1_100)), LogTime::from_nanos(700).after(TICK.times(4)));
    }

    #[test]
    fn a_lease_counts_from_the_start_of_the_round_and_ends_with_a_transfer() {
        let mut lease = Lease::default();
        assert!(!lease.holds(at(0), 3));
        lease.extend(at(10), Duration::from_millis(50));
        assert!(lease.holds(at(59), 3) && !lease.holds(at(60), 3));
        lease.end_in_term(3);
        lease.extend(at(100), Duration::from_millis(50));
        assert!(!lease.holds(at(110), 3));
        assert!(lease.holds(at(110), 4));
    }
}
