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

    /// A shift of `nanos` nanoseconds, clamped to the range.
    pub(super) fn saturated(nanos: i128) -> Self {
        Self(nanos.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    }

    pub const fn nanos(self) -> i64 {
        self.0
    }

    pub const fn length(self) -> Duration {
        Duration::from_nanos(self.0.unsigned_abs())
    }

    /// How far a clock that shows `one` is ahead of a clock that shows `other`.
    pub fn between(other: Time, one: Time) -> Self {
        Self::saturated(i128::from(one.nanos()) - i128::from(other.nanos()))
    }

    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub const fn applied_to(self, shown: Time) -> Time {
        Time::from_nanos(shown.nanos().saturating_add(self.0))
    }
}

impl fmt::Display for Shift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        self.length().fmt(f)
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
        let most = Shift::from_nanos(i64::MAX);
        assert_eq!(most.plus(most), most);
        assert_eq!(Shift::between(Time::from_nanos(i64::MIN), Time::NEVER), most);
        assert_eq!(most.applied_to(Time::from_nanos(1)), Time::NEVER);
        assert_eq!(Shift::from_nanos(i64::MIN).length().nanos(), 1 << 63);
    }
}
