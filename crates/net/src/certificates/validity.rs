//! Validity periods of certificates.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Number of days for which a node's certificate is valid: 1 to 3650.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Days(u32);

/// A text is not a valid number of days.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the number of days must be between 1 and {MAX_DAYS}, such as 365; got '{}'.", .0.escape_debug())]
pub struct InvalidDays(String);

/// The period in which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub from: SystemTime,
    pub until: SystemTime,
}

/// A calendar date in UTC: `2031-05-09`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u64,
    month: u64,
    day: u64,
}

const MAX_DAYS: u32 = 3_650;
const DAY: Duration = Duration::from_secs(86_400);

/// Number of days for which a CA is valid. A CA outlives a certificate of [`MAX_DAYS`] that is made
/// with it on the same day or the next.
const AUTHORITY_DAYS: u32 = MAX_DAYS + 3;

/// The validity of a new certificate begins this long before it is made, so that a node whose clock
/// is behind accepts it.
const CLOCK_SKEW: Duration = Duration::from_secs(3_600);

impl Days {
    /// Returns `None` unless `days` is between 1 and 3650.
    pub fn new(days: u32) -> Option<Self> {
        (1..=MAX_DAYS).contains(&days).then_some(Self(days))
    }

    /// The number of days.
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl Default for Days {
    fn default() -> Self {
        Self(365)
    }
}

impl FromStr for Days {
    type Err = InvalidDays;
    fn from_str(text: &str) -> Result<Self, InvalidDays> {
        let days: Result<u32, ParseIntError> = text.parse();
        days.ok().and_then(Self::new).ok_or_else(|| InvalidDays(text.to_owned()))
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Validity {
    /// The validity of a node's certificate made now.
    pub fn of_node(now: SystemTime, days: Days) -> Self {
        Self::from_now(now, days.0)
    }

    /// The validity of a CA made now: ten years.
    pub fn of_authority(now: SystemTime) -> Self {
        Self::from_now(now, AUTHORITY_DAYS)
    }

    fn from_now(now: SystemTime, days: u32) -> Self {
        Self {
            from: now.checked_sub(CLOCK_SKEW).unwrap_or(UNIX_EPOCH),
            until: now.checked_add(DAY * days).unwrap_or(now),
        }
    }
}

/// Howard Hinnant's `civil_from_days`, for times from 1970 on. Earlier times give the first day of
/// 1970.
impl From<SystemTime> for Date {
    fn from(time: SystemTime) -> Self {
        let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        // An era is 400 years or 146,097 days. Years begin in March, so that a leap day is the last
        // day of its year. 719,468 days passed from 0000-03-01 to 1970-01-01.
        let days = since_epoch.as_secs() / DAY.as_secs() + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let (month, next_year) =
            if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
        Self { year: era * 400 + year_of_era + next_year, month, day }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

#[cfg(test)]
mod tests {
    use super::{Date, Days, Validity};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn dates_match_the_calendar() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_785_542_399, "2026-07-31"),
            (4_107_542_399, "2100-02-28"),
            (4_107_542_400, "2100-03-01"),
            (253_402_300_799, "9999-12-31"),
        ];
        for (seconds, date) in cases {
            assert_eq!(Date::from(UNIX_EPOCH + Duration::from_secs(seconds)).to_string(), date);
        }
    }

    #[test]
    fn days_are_between_1_and_3650() {
        for good in ["1", "365", "3650"] {
            assert_eq!(good.parse::<Days>().unwrap().to_string(), good);
        }
        for bad in ["0", "-1", "3651", "4294967296", "1.5", "a year", ""] {
            assert!(bad.parse::<Days>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_ca_outlives_the_longest_certificate_made_on_the_next_day() {
        let now = UNIX_EPOCH + Duration::from_secs(1_785_542_399);
        let longest = Validity::of_node(now + Duration::from_secs(86_400), Days::new(3_650).unwrap());
        assert!(longest.until < Validity::of_authority(now).until);
    }
}
