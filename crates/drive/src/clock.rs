//! The clock of a real node: monotonic, and on Linux running while the machine is suspended.

use quorate_core::Time;
use rustix::time::{ClockId, clock_gettime};
use std::fs;

/// A node's clock. Processes of one machine that use the same origin read the same time.
///
/// On Linux it also advances while the machine is suspended, so a lease expires during a suspension
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// When the clock shows zero, in nanoseconds since the machine was booted.
    origin_nanos: i64,
}

impl Clock {
    /// Creates a clock that shows zero this many nanoseconds after the boot. Processes share a
    /// clock by [`origin_nanos`](Self::origin_nanos).
    pub const fn with_origin(nanos: i64) -> Self {
        Self { origin_nanos: nanos }
    }

    /// Creates a clock that shows zero now.
    pub fn start() -> Self {
        Self { origin_nanos: nanos_since_boot() }
    }

    /// Returns when this clock shows zero, in nanoseconds since the boot.
    pub const fn origin_nanos(self) -> i64 {
        self.origin_nanos
    }

    /// Reads the operating system's clock and returns this clock's time.
    pub fn now(self) -> Time {
        Time::from_nanos(nanos_since_boot().saturating_sub(self.origin_nanos))
    }

    /// Returns the machine's wall clock minus this clock, in nanoseconds. It relates the clocks of
    /// several machines, as precisely as their wall clocks agree.
    pub fn wall_clock_offset_nanos(self) -> i64 {
        read_nanos(ClockId::Realtime).saturating_sub(self.now().nanos())
    }
}

/// Returns an identifier of the machine's current boot; empty if the system provides none. The
/// clocks of processes with the same non-empty identifier are comparable.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// The clock that continues during suspension on Linux; the monotonic clock on other systems.
#[cfg(target_os = "linux")]
const STEADY_CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const STEADY_CLOCK: ClockId = ClockId::Monotonic;

fn nanos_since_boot() -> i64 {
    read_nanos(STEADY_CLOCK)
}

fn read_nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::{Clock, boot_id};
    use quorate_core::Time;

    #[test]
    fn clocks_with_the_same_origin_show_the_same_time() {
        let clock = Clock::start();
        let first = clock.now();
        let second = Clock::with_origin(clock.origin_nanos()).now();
        let third = clock.now();
        assert!(Time::ZERO <= first && first <= second && second <= third);
    }

    #[test]
    fn the_boot_id_does_not_change_while_the_machine_runs() {
        assert_eq!(boot_id(), boot_id());
    }
}
