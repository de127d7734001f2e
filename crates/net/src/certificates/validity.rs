//! How long a certificate is good for.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// For how many days a node's certificate is valid: 1 to 3650.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Days(u32);

/// Why a number of days is none that a certificate can have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("'{}' is not how long a certificate can be valid: write 1 to {MOST_DAYS} days, such as 365.", .0.escape_debug())]
pub struct NotDays(String);

/// From when to when a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub from: SystemTime,
    pub until: SystemTime,
}

/// A day of the calendar, in Greenwich: `2031-05-09`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u64,
    month: u64,
    day: u64,
}

const MOST_DAYS: u32 = 3_650;
const DAY: Duration = Duration::from_secs(86_400);

/// A CA outlives the longest certificate that is made along with it.
const AUTHORITY_DAYS: u32 = MOST_DAYS + 3;

/// A node whose clock is behind accepts a new certificate all the same.
const CLOCKS_BEHIND: Duration = Duration::from_secs(3_600);

impl Days {
    /// So many days, if a certificate can have them.
    pub fn new(days: u32) -> Option<Self> {
        (1..=MOST_DAYS).contains(&days).then_some(Self(days))
    }

    /// How many they are.
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
    type Err = NotDays;
    fn from_str(text: &str) -> Result<Self, NotDays> {
        let days: Result<u32, ParseIntError> = text.parse();
        days.ok().and_then(Self::new).ok_or_else(|| NotDays(text.to_owned()))
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Validity {
    /// From now on for so many days.
    pub fn of_node(now: SystemTime, days: Days) -> Self {
        Self::days(now, days.0)
    }

    /// From now on for ten years.
    pub fn of_authority(now: SystemTime) -> Self {
        Self::days(now, AUTHORITY_DAYS)
    }

    fn days(now: SystemTime, days: u32) -> Self {
        Self {
            from: now.checked_sub(CLOCKS_BEHIND).unwrap_or(UNIX_EPOCH),
            until: now.checked_add(DAY * days).unwrap_or(now),
        }
    }
}

/// After Howard Hinnant's `civil_from_days`, for days from 1970 on; moments before that count as its first day.
impl From<SystemTime> for Date {
    fn from(moment: SystemTime) -> Self {
        let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
        // Eras have 400 years, and years begin in March, so that a leap day is the last of its year.
        let days = since.as_secs() / DAY.as_secs() + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let (month, is_next_year) =
            if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
        Self { year: era * 400 + year_of_era + is_next_year, month, day }
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
    fn dates_are_those_of_the_calendar() {
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
    fn days_are_one_to_ten_years() {
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
