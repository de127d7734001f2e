//! Distributions of delays: of messages, of processing, of disk writes.

use super::duration_range::read_bounds;
use super::error::SettingError;
use super::length::Length;
use super::nearest::nearest;
use quorate_core::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The distribution from which a driver draws each delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Latency {
    /// `fixed:1ms`: the same every time.
    Fixed(Duration),
    /// `uniform:1ms..5ms`: uniformly distributed between two bounds.
    Uniform {
        min: Duration,
        /// The upper bound, never less than `min`.
        max: Duration,
    },
    /// `long-tail:2ms`: half of the delays are shorter than the median; a few are much longer,
    /// without an upper bound.
    LongTail { median: Duration },
}

const DISTRIBUTIONS: [&str; 3] = ["fixed", "uniform", "long-tail"];
const FORM: &str = "fixed:1ms, uniform:1ms..5ms or long-tail:2ms";

impl Latency {
    /// Returns a delay by which pictures and timeouts are scaled: the upper bound, or the median if
    /// there is no bound.
    pub const fn reference_delay(&self) -> Duration {
        match *self {
            Self::Fixed(length) | Self::Uniform { max: length, .. } | Self::LongTail { median: length } => length,
        }
    }

    /// Returns the upper bound, on which an algorithm for a synchronous network may rely. `None` if
    /// there is none.
    pub const fn upper_bound(&self) -> Option<Duration> {
        match *self {
            Self::Fixed(length) | Self::Uniform { max: length, .. } => Some(length),
            Self::LongTail { .. } => None,
        }
    }
}

impl FromStr for Latency {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let text = text.trim();
        let (distribution, value) = text.split_once(':').unwrap_or((text, ""));
        let (distribution, value) = (distribution.trim_end(), value.trim_start());
        let is_named = |name: &str| distribution.eq_ignore_ascii_case(name);
        let is_known = DISTRIBUTIONS.into_iter().any(is_named);
        if is_known && value.is_empty() {
            return Err(SettingError::missing(text, "a duration", FORM));
        }
        if is_named("fixed") {
            Ok(Self::Fixed(value.parse::<Length>()?.0))
        } else if is_named("uniform") {
            read_uniform(text, value)
        } else if is_named("long-tail") {
            Ok(Self::LongTail { median: value.parse::<Length>()?.0 })
        } else {
            Err(unknown_distribution(text, distribution))
        }
    }
}

fn read_uniform(text: &str, value: &str) -> Result<Latency, SettingError> {
    let (min, max) = read_bounds(text, value, "uniform:1ms..5ms")?;
    if min <= max {
        Ok(Latency::Uniform { min, max })
    } else {
        Err(SettingError::reversed_bounds(text, Latency::Uniform { min: max, max: min }.to_string()))
    }
}

/// Returns the error for a text that starts with no known distribution.
fn unknown_distribution(text: &str, distribution: &str) -> SettingError {
    // The most likely mistake is to leave out the distribution.
    let without_name = text.parse().map(|Length(length)| Latency::Fixed(length)).or_else(|_| read_uniform(text, text));
    match without_name {
        Ok(latency) => SettingError::Miswritten {
            text: text.into(),
            mistake: "does not name a distribution",
            correction: latency.to_string(),
        },
        Err(_) if distribution.is_empty() => SettingError::not_a(text, "a latency", FORM),
        Err(_) => SettingError::Unknown {
            word: distribution.into(),
            expected: "a latency",
            nearest: nearest(distribution, DISTRIBUTIONS).map(String::from),
            known_words: format!("Write {FORM}."),
        },
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&match *self {
            Self::Fixed(length) => format!("fixed:{}", Length(length)),
            Self::Uniform { min, max } => format!("uniform:{}..{}", Length(min), Length(max)),
            Self::LongTail { median } => format!("long-tail:{}", Length(median)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::parse_and_describe;
    use super::Latency;
    use expect_test::expect;
    use quorate_core::Duration;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_latency_reads_in_every_form() {
        let read = ["fixed:1ms", "uniform:1ms..5ms", "long-tail:2ms", "FIXED : 0ms", "uniform: 1ms .. 1ms"];
        let expected = [
            Latency::Fixed(ms(1)),
            Latency::Uniform { min: ms(1), max: ms(5) },
            Latency::LongTail { median: ms(2) },
            Latency::Fixed(ms(0)),
            Latency::Uniform { min: ms(1), max: ms(1) },
        ];
        assert_eq!(read.map(str::parse), expected.map(Ok));
    }

    #[test]
    fn only_a_long_tail_has_no_bound() {
        let distributions =
            ["fixed:1ms", "uniform:1ms..5ms", "long-tail:2ms"].map(|text| text.parse::<Latency>().unwrap());
        assert_eq!(distributions.map(|distribution| distribution.reference_delay()), [ms(1), ms(5), ms(2)]);
        assert_eq!(distributions.map(|distribution| distribution.upper_bound()), [Some(ms(1)), Some(ms(5)), None]);
    }

    #[test]
    fn mistakes_in_a_latency_are_explained() {
        let texts = [
            "",
            "1ms",
            "1ms..5ms",
            "fixed",
            "fixed:",
            "fixed:1",
            "fixd:1ms",
            "normal:1ms",
            "uniform:1ms",
            "uniform:1ms..",
            "uniform:1..5ms",
            "uniform:5ms..1ms",
            "long-tail:2ms..3ms",
            ":",
            "fixed:99999999h",
        ];
        expect![[r#"
            '' is not a latency; write for example fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            '1ms' does not name a distribution; write fixed:1ms.
            '1ms..5ms' does not name a distribution; write uniform:1ms..5ms.
            'fixed' lacks a duration; write fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            'fixed:' lacks a duration; write fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            '1' has no unit; add one, such as '1ms'. Units are ns, us, ms, s, m, h.
            'fixd' is not a latency; did you mean 'fixed'? Write fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            'normal' is not a latency. Write fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            'uniform:1ms' lacks a second duration; write uniform:1ms..5ms.
            'uniform:1ms..' lacks a duration on one side of '..'; write uniform:1ms..5ms.
            '1' has no unit; add one, such as '1ms'. Units are ns, us, ms, s, m, h.
            'uniform:5ms..1ms' has its bounds in the wrong order; write uniform:1ms..5ms.
            '2ms..3ms' is not a duration; write for example 10ms.
            ':' is not a latency; write for example fixed:1ms, uniform:1ms..5ms or long-tail:2ms.
            '99999999h' is invalid: a duration must be at most 18446744073709551615ns, about 584 years.
        "#]]
        .assert_eq(&texts.map(parse_and_describe::<Latency>).concat());
    }
}
