//! The leader's log clock, and the lease under which it answers queries without a round of
//! heartbeats to a majority.

use crate::machine::LogTime;
use quorate_core::{Duration, Time};

/// Derives log time from the elapsed time of a leader's own clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogClock {
    /// The log time at the last reading.
    time: LogTime,
    /// The leader's own clock at the last reading.
    last_now: Time,
    /// Maximum time added by one reading. A leader reads its clock at every tick; one that was
    /// paused for longer may have lost the leadership meanwhile, so the excess does not count.
    max_step: Duration,
}

impl LogClock {
    /// Starts at `latest`, the highest log time in the log.
    pub(crate) fn start(now: Time, latest: LogTime, tick: Duration) -> Self {
        Self { time: latest, last_now: now, max_step: tick.times(2) }
    }

    /// The log time at the last reading.
    pub(crate) fn time(&self) -> LogTime {
        self.time
    }

    /// Advances the log clock to an instant of the leader's own clock, and returns the log time.
    /// Log time never goes back, even if the leader's clock does.
    pub(crate) fn advance_to(&mut self, now: Time) -> LogTime {
        self.time = self.time.after(now.since(self.last_now).min(self.max_step));
        self.last_now = now;
        self.time
    }
}

/// The time during which a leader may answer queries without a round of heartbeats.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lease {
    until: Option<Time>,
    /// The last term in which this leader offered the leadership to another node. That node may
    /// become leader at any time, so there is no lease in that term any more. 0 for none.
    transfer_term: u64,
}

impl Lease {
    /// Whether the lease is valid now.
    pub(crate) fn is_valid(&self, now: Time, term: u64) -> bool {
        self.transfer_term != term && self.until.is_some_and(|until| now < until)
    }

    /// Whether the leader may still get a lease in this term.
    pub(crate) fn can_hold(&self, term: u64) -> bool {
        self.transfer_term != term
    }

    /// Extends the lease after a majority answered a round that began at `began_at`.
    pub(crate) fn extend(&mut self, began_at: Time, length: Duration) {
        let until = began_at + length;
        self.until = Some(self.until.map_or(until, |current| current.max(until)));
    }

    pub(crate) fn end(&mut self) {
        self.until = None;
    }

    /// Ends the lease, and prevents another one in this term.
    pub(crate) fn end_for_term(&mut self, term: u64) {
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
    const TERM: u64 = 3;

    fn at(millis: i64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn log_time_continues_from_the_log_and_skips_long_pauses() {
        let mut clock = LogClock::start(at(5_000), LogTime::from_nanos(700), TICK);
        assert_eq!(clock.advance_to(at(5_000)), LogTime::from_nanos(700));
        assert_eq!(clock.advance_to(at(5_100)), LogTime::from_nanos(700).after(TICK));
        // After a pause of a minute, two ticks count.
        assert_eq!(clock.advance_to(at(65_100)), LogTime::from_nanos(700).after(TICK.times(3)));
        // A clock that goes back adds nothing; the time that elapses afterwards counts again.
        assert_eq!(clock.advance_to(at(1_000)), LogTime::from_nanos(700).after(TICK.times(3)));
        assert_eq!(clock.advance_to(at(1_100)), LogTime::from_nanos(700).after(TICK.times(4)));
    }

    #[test]
    fn a_lease_counts_from_the_start_of_the_round_and_ends_with_a_transfer() {
        let mut lease = Lease::default();
        assert!(!lease.is_valid(at(0), TERM));
        lease.extend(at(10), Duration::from_millis(50));
        assert!(lease.is_valid(at(59), TERM) && !lease.is_valid(at(60), TERM));
        lease.end_for_term(TERM);
        lease.extend(at(100), Duration::from_millis(50));
        assert!(!lease.is_valid(at(110), TERM));
        assert!(lease.is_valid(at(110), TERM + 1));
    }
}
