//! The clock of a real node: it runs on while the machine is suspended, and never goes back.

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// A node's clock. All processes of one machine that give it the same origin read the same time off it.
///
/// It counts the time since the machine was booted, suspended or not: a lease that ran out while the lid was closed has
/// run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    origin: i64,
}

impl Clock {
    /// A clock that shows zero so many nanoseconds after the machine was booted.
    pub const fn with_origin(nanos: i64) -> Self {
        Self { origin: nanos }
    }

    /// A clock that shows zero now.
    pub fn start() -> Self {
        Self { origin: since_boot() }
    }

    /// When it shows zero, in nanoseconds since the machine was booted.
    pub const fn origin(self) -> i64 {
        self.origin
    }

    /// What it shows.
    pub fn now(self) -> Time {
        Time::from_nanos(since_boot().saturating_sub(self.origin))
    }

    /// The wall clock of the machine minus this one, in nanoseconds, so that those of several machines can be compared,
    /// as far as wall clocks can.
    pub fn offset(self) -> i64 {
        nanos(ClockId::Realtime).saturating_sub(self.now().nanos())
    }
}

/// A name for this run of this machine: two processes with the same one have clocks that can be compared. Empty where
/// the system does not tell.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The clock that runs on while the machine sleeps. Elsewhere than on Linux the monotonic one does.
#[cfg(target_os = "linux")]
const STEADY: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const STEADY: ClockId = ClockId::Monotonic;

fn since_boot() -> i64 {
    nanos(STEADY)
}

fn nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::{Clock, boot_id};
    use quorate_core::Time;

    #[test]
    fn clocks_with_one_origin_show_one_time() {
        let clock = Clock::start();
        let first = clock.now();
        let second = Clock::with_origin(clock.origin()).now();
        let third = clock.now();
        assert!(Time::ZERO <= first && first <= second && second <= third);
    }

    #[test]
    fn a_machine_keeps_its_name_until_it_is_booted_again() {
        assert_eq!(boot_id(), boot_id());
    }
}
