//! A range of durations.

use super::{Length, SettingError};
use quorate_core::{Duration, Span};
use std::fmt;
use std::str::FromStr;

/// Two durations, the shorter one first: `1ms..5ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DurationRange(pub Span);

const FORM: &str = "1ms..5ms";

impl FromStr for DurationRange {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        match read_bounds(text, text, FORM)? {
            (min, max) if min <= max => Ok(Self(Span::between(min, max))),
            // `Span::between` puts the bounds in the right order, for the correction in the error.
            (min, max) => Err(SettingError::reversed_bounds(text, Self(Span::between(min, max)).to_string())),
        }
    }
}

/// Parses two durations separated by `..`, in the order in which they are written. `part` is the
/// part of `text` that contains them; `form` is the expected form of all of `text`.
pub(super) fn read_bounds(text: &str, part: &str, form: &'static str) -> Result<(Duration, Duration), SettingError> {
    let Some((min, max)) = part.split_once("..") else {
        return Err(SettingError::missing(text, "a second duration", form));
    };
    if min.trim().is_empty() || max.trim().is_empty() {
        return Err(SettingError::missing(text, "a duration on one side of '..'", form));
    }
    let (Length(min), Length(max)) = (min.parse()?, max.parse()?);
    Ok((min, max))
}

impl fmt::Display for DurationRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { earliest, latest } = self.0;
        f.pad(&format!("{}..{}", Length(earliest), Length(latest)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{duration, parse_and_describe};
    use super::DurationRange;
    use expect_test::expect;
    use proptest::prelude::{prop_assert_eq, proptest};
    use quorate_core::Span;

    proptest! {
        #[test]
        fn a_range_reads_back_as_printed(one in duration(), other in duration()) {
            let range = DurationRange(Span::between(one, other));
            prop_assert_eq!(range.to_string().parse(), Ok(range));
        }
    }

    #[test]
    fn mistakes_in_a_range_are_explained() {
        let messages: String = ["1ms..5ms", " 2ms .. 2ms ", "5ms..1ms", "5ms", "..1s", "1s..", "1..2", ""]
            .map(parse_and_describe::<DurationRange>)
            .concat();
        expect![[r#"
            "1ms..5ms" reads as 1ms..5ms
            " 2ms .. 2ms " reads as 2ms..2ms
            '5ms..1ms' has its bounds in the wrong order; write 1ms..5ms.
            '5ms' lacks a second duration; write 1ms..5ms.
            '..1s' lacks a duration on one side of '..'; write 1ms..5ms.
            '1s..' lacks a duration on one side of '..'; write 1ms..5ms.
            '1' has no unit; add one, such as '1ms'. Units are ns, us, ms, s, m, h.
            '' lacks a second duration; write 1ms..5ms.
        "#]]
        .assert_eq(&messages);
    }
}
