//! Drift rates of clocks.

use super::error::SettingError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The drift of a clock in parts per million: `200ppm` runs fast, `-50ppm` runs slow.
///
/// A clock with a drift of -1 000 000 ppm would stop, so the minimum is -999 999 ppm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ppm(i32);

impl Ppm {
    const MIN: i32 = -999_999;
    /// Twice as fast as true time.
    const MAX: i32 = 1_000_000;

    /// Creates a drift in parts per million. Returns `None` if the clock would stop or run more
    /// than twice as fast as true time.
    pub const fn new(parts: i32) -> Option<Self> {
        if parts >= Self::MIN && parts <= Self::MAX { Some(Self(parts)) } else { None }
    }

    /// Returns the drift in parts per million, negative if the clock runs slow.
    pub const fn parts(self) -> i32 {
        self.0
    }
}

impl FromStr for Ppm {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        // The last three bytes are the unit.
        let number_and_unit =
            text.len().checked_sub(3).filter(|&start| text.is_char_boundary(start)).map(|start| text.split_at(start));
        let Some((number, _)) = number_and_unit.filter(|(_, unit)| unit.eq_ignore_ascii_case("ppm")) else {
            return Err(SettingError::not_a(text, "a drift", "200ppm"));
        };
        let number = number.trim_end();
        let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(SettingError::not_a(text, "a drift in whole parts per million", "200ppm"));
        }
        number.parse().ok().and_then(Self::new).ok_or_else(|| {
            SettingError::out_of_range(
                text,
                "a drift must be between -999999ppm (almost stopped) and 1000000ppm (twice as fast)",
            )
        })
    }
}

impl fmt::Display for Ppm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}ppm", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::Ppm;
    use expect_test::expect;
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn a_drift_reads_its_sign() {
        let parts = ["200ppm", "+200 PPM", "-50ppm", "0ppm"].map(|text| text.parse::<Ppm>().unwrap().parts());
        assert_eq!(parts, [200, 200, -50, 0]);
    }

    #[test]
    fn mistakes_in_a_drift_are_explained() {
        let texts = ["200", "", "ppm", "☃", "1.5ppm", "-1000000ppm", "99999999999999999999ppm", "3ms"];
        expect![[r#"
            '200' is not a drift; write for example 200ppm.
            '' is not a drift; write for example 200ppm.
            'ppm' is not a drift in whole parts per million; write for example 200ppm.
            '☃' is not a drift; write for example 200ppm.
            '1.5ppm' is not a drift in whole parts per million; write for example 200ppm.
            '-1000000ppm' is invalid: a drift must be between -999999ppm (almost stopped) and 1000000ppm (twice as fast).
            '99999999999999999999ppm' is invalid: a drift must be between -999999ppm (almost stopped) and 1000000ppm (twice as fast).
            '3ms' is not a drift; write for example 200ppm.
        "#]].assert_eq(&texts.map(parse_and_describe::<Ppm>).concat());
    }

    proptest! {
        #[test]
        fn a_drift_reads_back_as_printed(parts in Ppm::MIN..=Ppm::MAX) {
            let drift = Ppm::new(parts).unwrap();
            prop_assert_eq!(drift.to_string().parse(), Ok(drift));
        }
    }
}
