//! Instants, durations, and the spans in which timers fire.
//!
//! This module reads no clock. Drivers pass the current time to every step.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

/// An instant on one clock, in nanoseconds from that clock's zero.
///
/// Zero is arbitrary and differs between nodes, so an instant may be negative, and two instants are
/// comparable only if they come from the same clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Time(i64);

impl Time {
    /// The clock's zero.
    pub const ZERO: Self = Self(0);
    /// Later than any event.
    pub const NEVER: Self = Self(i64::MAX);

    /// The serde default of a field that is omitted when it is [`Time::NEVER`].
    #[cfg(feature = "serde")]
    pub(crate) const fn never() -> Self {
        Self::NEVER
    }

    /// Returns whether this is [`Time::NEVER`].
    pub const fn is_never(&self) -> bool {
        self.0 == Self::NEVER.0
    }

    /// The instant `nanos` nanoseconds after the clock's zero.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's zero.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// The time from `earlier` to this instant; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        let nanos = self.0.saturating_sub(earlier.0);
        Duration(if nanos < 0 { 0 } else { nanos as u64 })
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(duration.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub_unsigned(duration.0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        Duration(self.0.unsigned_abs()).fmt(f)
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Duration(u64);

impl Duration {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);

    /// A duration in nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A duration in microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A duration in milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A duration in seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The duration in nanoseconds.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The duration multiplied by `factor`.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Prints the duration in the largest unit that is not longer than it, with at most three decimal
/// places: `1.5ms`, `250µs`, `2s`. Further digits are cut off. Zero is `0ms`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, name) = match self.0 {
            0 => return f.pad("0ms"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let whole = self.0 / unit;
        let thousandths = (self.0 % unit) * 1_000 / unit;
        let digits = alloc::format!("{thousandths:03}");
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            f.pad(&alloc::format!("{whole}{name}"))
        } else {
            f.pad(&alloc::format!("{whole}.{digits}{name}"))
        }
    }
}

/// The range in which a timer fires, as durations from the step that sets it.
///
/// Spans are the only nondeterminism of the core. The simulator picks a duration with its seeded
/// random generator, and a real node picks one at random. The checker explores several durations if
/// it models time; otherwise it lets the timer fire at any moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    pub earliest: Duration,
    /// Never shorter than `earliest`.
    pub latest: Duration,
}

impl Span {
    /// A span of exactly this duration.
    pub const fn exactly(duration: Duration) -> Self {
        Self { earliest: duration, latest: duration }
    }

    /// The span between two durations, in either order.
    pub fn between(a: Duration, b: Duration) -> Self {
        Self { earliest: a.min(b), latest: a.max(b) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.earliest == self.latest {
            self.earliest.fmt(f)
        } else {
            write!(f, "{}..{}", self.earliest, self.latest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Span, Time};
    use alloc::string::ToString;

    #[test]
    fn durations_print_in_the_largest_unit_that_fits() {
        let printed = [0, 7, 1_500, 250_000, 1_500_000, 2_000_000_000].map(|n| Duration::from_nanos(n).to_string());
        assert_eq!(printed, ["0ms", "7ns", "1.5µs", "250µs", "1.5ms", "2s"]);
    }

    #[test]
    fn an_instant_before_zero_prints_its_sign() {
        assert_eq!((Time::ZERO - Duration::from_millis(3)).to_string(), "-3ms");
    }

    #[test]
    fn the_time_since_a_later_instant_is_zero() {
        assert_eq!(Time::ZERO.since(Time::from_nanos(5)), Duration::ZERO);
    }

    #[test]
    fn time_saturates_instead_of_wrapping() {
        assert_eq!(Time::NEVER + Duration::from_secs(1), Time::NEVER);
    }

    #[test]
    fn a_span_orders_its_ends() {
        let span = Span::between(Duration::from_millis(9), Duration::from_millis(2));
        assert_eq!(span.to_string(), "2ms..9ms");
    }
}
