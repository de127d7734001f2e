//! The suspicion level at which an accrual failure detector suspects a node.

use super::decimal::read_parts;
use super::error::SettingError;
use quorate_core::wrap::Threshold;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The level φ at which an accrual failure detector suspects a node: `8`, or `2.5`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Level(pub Threshold);

impl FromStr for Level {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        let thousandths = read_parts(text, 1_000).map_err(|_| {
            SettingError::not_a(text, "a suspicion level with at most three decimal places", "8 or 2.5")
        })?;
        let threshold = u32::try_from(thousandths).ok().and_then(Threshold::from_thousandths);
        threshold
            .map(Self)
            .ok_or_else(|| SettingError::out_of_range(text, "a suspicion level must be between 0.5 and 20"))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::Level;
    use expect_test::expect;
    use proptest::prelude::{prop_assert_eq, proptest};
    use quorate_core::wrap::Threshold;

    #[test]
    fn mistakes_in_a_level_are_explained() {
        let texts = ["", "φ8", "-1", "0.4", "20.001", "1.2345", "99999999999999999999"];
        expect![[r#"
            '' is not a suspicion level with at most three decimal places; write for example 8 or 2.5.
            'φ8' is not a suspicion level with at most three decimal places; write for example 8 or 2.5.
            '-1' is not a suspicion level with at most three decimal places; write for example 8 or 2.5.
            '0.4' is invalid: a suspicion level must be between 0.5 and 20.
            '20.001' is invalid: a suspicion level must be between 0.5 and 20.
            '1.2345' is not a suspicion level with at most three decimal places; write for example 8 or 2.5.
            '99999999999999999999' is not a suspicion level with at most three decimal places; write for example 8 or 2.5.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Level>).concat());
    }

    proptest! {
        #[test]
        fn a_level_reads_back_as_printed(thousandths in 500_u32..=20_000) {
            let level = Level(Threshold::from_thousandths(thousandths).unwrap());
            prop_assert_eq!(level.to_string().parse(), Ok(level));
        }
    }
}
