//! Probabilities: `0.1`, `10%`.

use super::decimal::{DecimalError, read_parts, write_parts};
use super::error::SettingError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A probability from 0 to 1, exact to a billionth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Chance(u32);

impl Chance {
    const BILLION: u32 = 1_000_000_000;

    /// Probability 0: never happens.
    pub const NEVER: Self = Self(0);
    /// Probability 1: always happens.
    pub const ALWAYS: Self = Self(Self::BILLION);

    /// Returns the probability `parts` / 1 000 000 000, or `None` if that is more than 1.
    pub const fn from_parts_per_billion(parts: u32) -> Option<Self> {
        if parts <= Self::BILLION { Some(Self(parts)) } else { None }
    }

    /// Returns the probability in billionths. The event happens if a random number from 0 to
    /// 999 999 999 is below it.
    pub const fn parts_per_billion(self) -> u32 {
        self.0
    }

    /// Returns whether the probability is 0, so that no random number is needed.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl FromStr for Chance {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        let outside = || SettingError::out_of_range(text, "a chance must be between 0 and 1, or between 0% and 100%");
        if text.starts_with('-') {
            return Err(outside());
        }
        let (number, parts) = match text.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), Self::BILLION / 100),
            None => (text, Self::BILLION),
        };
        let parts = read_parts(number, parts.into()).map_err(|error| match error {
            DecimalError::Malformed => SettingError::not_a(text, "a chance", "0.1 or 10%"),
            DecimalError::TooFine => SettingError::out_of_range(text, "a chance must be a whole number of billionths"),
            DecimalError::TooLarge => outside(),
        })?;
        u32::try_from(parts).ok().and_then(Self::from_parts_per_billion).ok_or_else(outside)
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&write_parts(self.0.into(), Self::BILLION.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::Chance;
    use expect_test::expect;

    #[test]
    fn a_chance_reads_as_a_number_or_in_percent() {
        let parts = ["0", "1", "0.1", ".5", "10%", "0.5 %", "100%", "0.000000001", "0.0000001%"]
            .map(|text| text.parse::<Chance>().unwrap().parts_per_billion());
        let expected = [0, 1_000_000_000, 100_000_000, 500_000_000, 100_000_000, 5_000_000, 1_000_000_000, 1, 1];
        assert_eq!(parts, expected);
        assert!(Chance::NEVER.is_zero() && !Chance::ALWAYS.is_zero());
    }

    #[test]
    fn a_chance_prints_without_needless_zeros() {
        let printed = ["0%", "10%", "100%", "0.250", "12.345%"].map(|text| text.parse::<Chance>().unwrap().to_string());
        assert_eq!(printed, ["0", "0.1", "1", "0.25", "0.12345"]);
    }

    #[test]
    fn mistakes_in_a_chance_are_explained() {
        let texts = ["", "%", "often", "1.5", "50", "101%", "-0.1", "0.0000000001", "1e-3", "99999999999999999999"];
        expect![[r#"
            '' is not a chance; write for example 0.1 or 10%.
            '%' is not a chance; write for example 0.1 or 10%.
            'often' is not a chance; write for example 0.1 or 10%.
            '1.5' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            '50' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            '101%' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            '-0.1' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
            '0.0000000001' is invalid: a chance must be a whole number of billionths.
            '1e-3' is not a chance; write for example 0.1 or 10%.
            '99999999999999999999' is invalid: a chance must be between 0 and 1, or between 0% and 100%.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Chance>).concat());
    }
}
