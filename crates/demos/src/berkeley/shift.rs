//! A signed duration.

use quorate_core::{Duration, Time};
use std::fmt;

/// A signed duration in nanoseconds: the adjustment of a clock, or how far it is ahead of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Shift(i64);

impl Shift {
    pub const ZERO: Self = Self(0);

    /// A shift of `nanos` nanoseconds forward, or back if negative.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A shift of `nanos` nanoseconds, clamped to the range of `i64`.
    pub(super) fn from_nanos_saturating(nanos: i128) -> Self {
        Self(nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    pub const fn nanos(self) -> i64 {
        self.0
    }

    pub const fn magnitude(self) -> Duration {
        Duration::from_nanos(self.0.unsigned_abs())
    }

    /// How far a clock that shows `reading` is ahead of a clock that shows `reference`.
    pub fn between(reference: Time, reading: Time) -> Self {
        Self::from_nanos_saturating(i128::from(reading.nanos()) - i128::from(reference.nanos()))
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The reading of a clock that is moved by this, if it showed `reading` before.
    pub const fn applied_to(self, reading: Time) -> Time {
        Time::from_nanos(reading.nanos().saturating_add(self.0))
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        self.magnitude().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::Shift;
    use quorate_core::Time;

    #[test]
    fn a_shift_prints_its_sign() {
        let printed = [1_500_000, 0, -3_000_000_000].map(|nanos| Shift::from_nanos(nanos).to_string());
        assert_eq!(printed, ["1.5ms", "0ms", "-3s"]);
    }

    #[test]
    fn a_shift_saturates_instead_of_wrapping() {
        let max = Shift::from_nanos(i64::MAX);
        assert_eq!(max.plus(max), max);
        assert_eq!(Shift::between(Time::from_nanos(i64::MIN), Time::NEVER), max);
        assert_eq!(max.applied_to(Time::from_nanos(1)), Time::NEVER);
        assert_eq!(Shift::from_nanos(i64::MIN).magnitude().nanos(), 1 << 63);
    }
}
