//! Durations with units: `10ms`, and `-3ms` for the offset of a clock.

use super::decimal::{DecimalError, read_parts, write_parts};
use super::error::SettingError;
use super::nearest::nearest;
use quorate_core::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The units, each with its nanoseconds. For `us`, both code points of the micro sign are accepted
/// as well.
const UNITS: [(&str, u64); 6] =
    [("ns", 1), ("us", MICROSECOND), ("ms", MILLISECOND), ("s", SECOND), ("m", MINUTE), ("h", HOUR)];

/// A length of time with its unit: `10ms`, `0.1ms`, `250us`, `3s`, `7ns`, `2m`, `1h`.
///
/// It prints the exact value in ASCII, whereas a [`Duration`] prints at most three decimal places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Length(pub Duration);

impl FromStr for Length {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        if text.starts_with(['-', '−']) {
            return Err(SettingError::out_of_range(text, "a duration must be zero or more"));
        }
        let not_a_length = || SettingError::not_a(text, "a duration", "10ms");
        let end = text.find(|character: char| !character.is_ascii_digit() && character != '.').unwrap_or(text.len());
        let (number, unit) = (&text[..end], text[end..].trim_start());
        if number.is_empty() || !unit.chars().all(char::is_alphabetic) {
            return Err(not_a_length());
        }
        let nanos = read_parts(number, nanos_of_unit(text, unit)?);
        nanos.map(|nanos| Self(Duration::from_nanos(nanos))).map_err(|error| match error {
            DecimalError::Malformed => not_a_length(),
            DecimalError::TooFine => {
                SettingError::out_of_range(text, "a duration must be a whole number of nanoseconds")
            }
            DecimalError::TooLarge => {
                SettingError::out_of_range(text, "a duration must be at most 18446744073709551615ns, about 584 years")
            }
        })
    }
}

/// Returns the nanoseconds of a unit. Errors quote `text`.
fn nanos_of_unit(text: &str, unit: &str) -> Result<u64, SettingError> {
    if unit.is_empty() {
        return Err(SettingError::NoUnit { text: text.into() });
    }
    let ascii_unit = unit.replace(['µ', 'μ'], "u");
    UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&ascii_unit)).map(|&(_, nanos)| nanos).ok_or_else(|| {
        SettingError::Unknown {
            word: unit.into(),
            expected: "a unit of time",
            nearest: nearest(unit, UNITS.map(|(name, _)| name)).map(String::from),
            known_words: "Units are ns, us, ms, s, m, h.".into(),
        }
    })
}

/// Prints whole hours or minutes if possible, else the largest unit, at most seconds, of which the
/// value has one or more: `1h`, `90s`, `1.5ms`. Zero is `0ms`.
impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.nanos();
        let (nanos_per_unit, unit) = match nanos {
            0 => (MILLISECOND, "ms"),
            _ if nanos.is_multiple_of(HOUR) => return f.pad(&format!("{}h", nanos / HOUR)),
            _ if nanos.is_multiple_of(MINUTE) => return f.pad(&format!("{}m", nanos / MINUTE)),
            SECOND.. => (SECOND, "s"),
            MILLISECOND.. => (MILLISECOND, "ms"),
            MICROSECOND.. => (MICROSECOND, "us"),
            _ => (1, "ns"),
        };
        f.pad(&format!("{}{unit}", write_parts(nanos, nanos_per_unit)))
    }
}

impl From<Length> for Duration {
    fn from(length: Length) -> Self {
        length.0
    }
}

/// The offset by which a clock jumps: forward (`3ms`, `+3ms`) or backward (`-3ms`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Offset(i64);

impl Offset {
    /// Creates an offset in nanoseconds, negative for a jump backward.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds, negative for a jump backward.
    pub const fn nanos(self) -> i64 {
        self.0
    }
}

impl FromStr for Offset {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        let too_far = || {
            SettingError::out_of_range(text, "a clock offset must be at most 9223372036854775807ns, about 292 years")
        };
        let (is_backward, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if !digits.starts_with(|character: char| character.is_ascii_digit() || character == '.') {
            return Err(SettingError::not_a(text, "a clock offset", "3ms or -3ms"));
        }
        // The error for a missing unit suggests a correction, which must keep the sign.
        let length: Length = digits.parse().map_err(|mistake| match mistake {
            SettingError::NoUnit { .. } => SettingError::NoUnit { text: text.into() },
            other => other,
        })?;
        let nanos = length.0.nanos();
        let nanos = if is_backward { 0_i64.checked_sub_unsigned(nanos) } else { 0_i64.checked_add_unsigned(nanos) };
        nanos.map(Self).ok_or_else(too_far)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        f.pad(&format!("{sign}{}", Length(Duration::from_nanos(self.0.unsigned_abs()))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::{Length, Offset};
    use expect_test::expect;
    use proptest::prelude::{any, prop_assert_eq, proptest};
    use quorate_core::Duration;

    #[test]
    fn a_length_reads_in_every_unit() {
        let read = ["7ns", "250us", "250µs", "250μs", "10ms", "0.1ms", "3s", "2m", "1h", "0s", "1.5h", " 10 MS "];
        let nanos = read.map(|text| text.parse::<Length>().unwrap().0.nanos());
        let expected = [
            7,
            250_000,
            250_000,
            250_000,
            10_000_000,
            100_000,
            3_000_000_000,
            120_000_000_000,
            3_600_000_000_000,
            0,
            5_400_000_000_000,
            10_000_000,
        ];
        assert_eq!(nanos, expected);
    }

    #[test]
    fn a_length_prints_in_the_unit_that_fits() {
        let nanos =
            [0, 7, 1_500, 250_000, 1_500_001, 2_000_000_000, 90_000_000_000, 120_000_000_000, 3_600_000_000_000];
        let printed = nanos.map(|nanos| Length(Duration::from_nanos(nanos)).to_string());
        assert_eq!(printed, ["0ms", "7ns", "1.5us", "250us", "1.500001ms", "2s", "90s", "2m", "1h"]);
    }

    #[test]
    fn an_offset_reads_its_sign() {
        let nanos = ["3ms", "+3ms", "-3ms", "-0ms", "-9223372036854775808ns"]
            .map(|text| text.parse::<Offset>().unwrap().nanos());
        assert_eq!(nanos, [3_000_000, 3_000_000, -3_000_000, 0, i64::MIN]);
    }

    #[test]
    fn mistakes_in_a_length_are_explained() {
        let texts = [
            "10",
            "0",
            "",
            "ms",
            "banana",
            "1.2.3ms",
            "10sec",
            "3µ",
            "-3ms",
            "0.1ns",
            "99999999h",
            "1 2ms",
            "1\u{7}ms",
        ];
        expect![[r#"
            '10' has no unit; add one, such as '10ms'. Units are ns, us, ms, s, m, h.
            '0' has no unit; add one, such as '0ms'. Units are ns, us, ms, s, m, h.
            '' is not a duration; write for example 10ms.
            'ms' is not a duration; write for example 10ms.
            'banana' is not a duration; write for example 10ms.
            '1.2.3ms' is not a duration; write for example 10ms.
            'sec' is not a unit of time. Units are ns, us, ms, s, m, h.
            'µ' is not a unit of time. Units are ns, us, ms, s, m, h.
            '-3ms' is invalid: a duration must be zero or more.
            '0.1ns' is invalid: a duration must be a whole number of nanoseconds.
            '99999999h' is invalid: a duration must be at most 18446744073709551615ns, about 584 years.
            '1 2ms' is not a duration; write for example 10ms.
            '1\u{7}ms' is not a duration; write for example 10ms.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Length>).concat());
    }

    #[test]
    fn mistakes_in_an_offset_are_explained() {
        let texts = ["-3", "--3ms", "+-3ms", "banana", "9223372036854775808ns", "-5000000h"];
        expect![[r#"
            '-3' has no unit; add one, such as '-3ms'. Units are ns, us, ms, s, m, h.
            '--3ms' is not a clock offset; write for example 3ms or -3ms.
            '+-3ms' is not a clock offset; write for example 3ms or -3ms.
            'banana' is not a clock offset; write for example 3ms or -3ms.
            '9223372036854775808ns' is invalid: a clock offset must be at most 9223372036854775807ns, about 292 years.
            '-5000000h' is invalid: a clock offset must be at most 9223372036854775807ns, about 292 years.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Offset>).concat());
    }

    proptest! {
        #[test]
        fn a_length_reads_back_as_printed(nanos in any::<u64>(), shift in 0_u32..64) {
            let length = Length(Duration::from_nanos(nanos >> shift));
            prop_assert_eq!(length.to_string().parse(), Ok(length));
        }

        #[test]
        fn an_offset_reads_back_as_printed(nanos in any::<i64>(), shift in 0_u32..64) {
            let offset = Offset::from_nanos(nanos >> shift);
            prop_assert_eq!(offset.to_string().parse(), Ok(offset));
        }
    }
}
