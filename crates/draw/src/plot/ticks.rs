//! Positions of ticks, and the format of numbers.
//!
//! A tick is a decimal number, not a floating-point one, so that the label at 0.3 is exactly 0.3.

use std::fmt::Write;

/// A decimal number: digits times a power of ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tick {
    digits: i64,
    exponent: i32,
}

/// Number of significant digits to which fractions and very large numbers are rounded.
const SIGNIFICANT_DIGITS: usize = 5;
/// Whole numbers with an absolute value below this are not rounded.
const MAX_WHOLE: f64 = 1e15;

impl Tick {
    fn new(digits: i64, exponent: i32) -> Self {
        let (mut digits, mut exponent) = (digits, exponent);
        while digits != 0 && digits % 10 == 0 {
            (digits, exponent) = (digits / 10, exponent + 1);
        }
        if digits == 0 { Self { digits: 0, exponent: 0 } } else { Self { digits, exponent } }
    }

    /// Rounds a value to the significant digits. A whole number below `MAX_WHOLE` stays exact.
    pub(super) fn from_f64(value: f64) -> Self {
        if value.fract() == 0.0 && value.abs() < MAX_WHOLE {
            return Self::new(value as i64, 0);
        }
        let text = format!("{value:.*e}", SIGNIFICANT_DIGITS - 1);
        let parts = text.split_once('e').and_then(|(digits, exponent)| {
            let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
            Some((digits.replace('.', "").parse().ok()?, exponent.parse::<i32>().ok()? - i32::try_from(places).ok()?))
        });
        // Infinities and NaN have no digits; callers do not pass them.
        parts.map_or(Self { digits: 0, exponent: 0 }, |(digits, exponent)| Self::new(digits, exponent))
    }

    pub(super) fn value(self) -> f64 {
        format!("{}e{}", self.digits, self.exponent).parse().unwrap_or_default()
    }

    /// Formats the number: `0.25`, `20 000`, `2·10⁹`.
    pub(super) fn text(self) -> String {
        let sign = if self.digits < 0 { "−" } else { "" };
        let digits = self.digits.unsigned_abs().to_string();
        // 0 or negative if the absolute value is below 1.
        let digits_before_point = digits.len() as i32 + self.exponent;
        let number = match digits_before_point {
            _ if self.digits == 0 => "0".into(),
            1..=6 => format_plain(&digits, digits_before_point as usize),
            -2..=0 => format!("0.{}{digits}", "0".repeat(digits_before_point.unsigned_abs() as usize)),
            _ => format_scientific(&digits, digits_before_point - 1),
        };
        format!("{sign}{number}")
    }
}

pub(super) fn format_number(value: f64) -> String {
    Tick::from_f64(value).text()
}

/// Formats a number with `before` digits before the point, and a narrow space before the last three
/// of them if there are five or more.
fn format_plain(digits: &str, before: usize) -> String {
    let (whole, rest) = digits.split_at_checked(before).unwrap_or((digits, ""));
    let mut whole = format!("{whole:0<before$}");
    if whole.len() > 4 {
        whole.insert(whole.len() - 3, '\u{202f}');
    }
    if rest.is_empty() { whole } else { format!("{whole}.{rest}") }
}

fn format_scientific(digits: &str, power: i32) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let mut text = match (first, rest) {
        ("1", "") => String::new(),
        (first, "") => format!("{first}·"),
        (first, rest) => format!("{first}.{rest}·"),
    };
    let _ = write!(text, "10{}", superscript(power));
    text
}

fn superscript(power: i32) -> String {
    let raise = |character| match character {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '4' => '⁴',
        '5' => '⁵',
        '6' => '⁶',
        '7' => '⁷',
        '8' => '⁸',
        '9' => '⁹',
        _ => '⁰',
    };
    power.to_string().chars().map(raise).collect()
}

/// Relative tolerance at the ends of a range.
const TOLERANCE: f64 = 1e-9;

/// Returns round numbers between `low` and `high`, at equal distances; with `only_whole`, no
/// fractions. There are at most `max_count`, or one more if the ends happen to be round.
pub(super) fn linear(low: f64, high: f64, max_count: usize, only_whole: bool) -> Vec<Tick> {
    let min_step = (high - low) / max_count.max(1) as f64;
    if !(min_step.is_finite() && min_step > 0.0) {
        return Vec::new();
    }
    let min_exponent = min_step.log10().floor() as i32;
    let steps =
        (min_exponent..=min_exponent + 1).flat_map(|exponent| [1, 2, 5].map(|digits| Tick { digits, exponent }));
    let fits = |step: &Tick| step.value() >= min_step * (1.0 - TOLERANCE) && !(only_whole && step.exponent < 0);
    let one = Tick { digits: 1, exponent: 0 };
    let step = steps.into_iter().find(fits).unwrap_or(one);
    let step_count = |value: f64| value / step.value();
    let from = (step_count(low) - TOLERANCE).ceil() as i64;
    let to = (step_count(high) + TOLERANCE).floor() as i64;
    // Counts above 2⁵³ are inexact, which can make the range too long.
    (from..=to)
        .take(2 * max_count + 2)
        .map(|count| Tick::new(count.saturating_mul(step.digits), step.exponent))
        .collect()
}

/// Returns round numbers from `low` to `high`, which are positive: 1, 2, 5, 10 and so on, or only
/// powers of ten, or every n-th power. There are at most `max_count`, unless fewer than two would
/// remain otherwise. If `low` and `high` are close together, returns what `linear` returns for
/// these arguments.
pub(super) fn log(low: f64, high: f64, max_count: usize, only_whole: bool) -> Vec<Tick> {
    let (min_exponent, max_exponent) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let is_within = |tick: &Tick| tick.value() >= low * (1.0 - TOLERANCE) && tick.value() <= high * (1.0 + TOLERANCE);
    let candidates = |digits: &'static [i64], interval: i32| -> Vec<Tick> {
        let powers = (min_exponent..=max_exponent).filter(|power| power.rem_euclid(interval) == 0);
        powers.flat_map(|power| digits.iter().map(move |digit| Tick::new(*digit, power))).filter(is_within).collect()
    };
    let dense = candidates(&[1, 2, 5], 1);
    if dense.len() < 3 {
        return linear(low, high, max_count, only_whole);
    }
    let sparse = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500].into_iter().map(|interval| candidates(&[1], interval));
    let mut best = dense;
    for next in sparse {
        // One tick shows no scale.
        if best.len() <= max_count.max(2) || next.len() < 2 {
            break;
        }
        best = next;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::{Tick, format_number, linear, log};

    const WITH_FRACTIONS: bool = false;
    const ONLY_WHOLE: bool = true;

    fn texts(ticks: &[Tick]) -> String {
        ticks.iter().map(|tick| tick.text()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn numbers_are_formatted_for_readers() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-12.5, "−12.5"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.33333"),
            (2.0 / 3.0, "0.66667"),
            (0.001, "0.001"),
            (0.000_25, "2.5·10⁻⁴"),
            (1234.0, "1234"),
            (12_345.0, "12\u{202f}345"),
            (123_456.7, "123\u{202f}460"),
            (999_999.0, "999\u{202f}999"),
            (1e6, "10⁶"),
            (2e9, "2·10⁹"),
            (-1.25e12, "−1.25·10¹²"),
            (999_999.99, "10⁶"),
            (f64::MAX, "1.7977·10³⁰⁸"),
            (5e-324, "4.9407·10⁻³²⁴"),
        ] {
            assert_eq!(format_number(value), expected, "{value:e}");
        }
    }

    #[test]
    fn linear_ticks_are_round() {
        for (low, high, max_count, expected) in [
            (0.0, 2.0, 5, "0 0.5 1 1.5 2"),
            (0.0, 106.0, 6, "0 20 40 60 80 100"),
            (-3.0, 3.0, 4, "−2 0 2"),
            (0.0, 1e-5, 3, "0 5·10⁻⁶ 10⁻⁵"),
            (3.1, 3.9, 5, "3.2 3.4 3.6 3.8"),
            (
                1e12,
                1e12 + 4.0,
                4,
                "10¹² 1.000000000001·10¹² 1.000000000002·10¹² 1.000000000003·10¹² 1.000000000004·10¹²",
            ),
        ] {
            assert_eq!(texts(&linear(low, high, max_count, WITH_FRACTIONS)), expected, "{low}..{high}");
        }
        assert_eq!(texts(&linear(0.0, 2.1, 6, ONLY_WHOLE)), "0 1 2");
        assert_eq!(texts(&linear(0.2, 0.4, 6, ONLY_WHOLE)), "");
        assert!(linear(1.0, 1.0, 5, WITH_FRACTIONS).is_empty());
        assert!(linear(2.0, 1.0, 5, WITH_FRACTIONS).is_empty());
        assert!(linear(f64::NAN, 1.0, 5, WITH_FRACTIONS).is_empty());
        assert!(linear(-1e308, 1e308, 5, WITH_FRACTIONS).is_empty());
    }

    #[test]
    fn log_ticks_are_one_two_five_or_powers_or_linear_in_a_narrow_range() {
        for (low, high, max_count, expected) in [
            (1.0, 60.0, 8, "1 2 5 10 20 50"),
            (1.9, 17.0, 8, "2 5 10"),
            (1.0, 100_000.0, 8, "1 10 100 1000 10\u{202f}000 100\u{202f}000"),
            (0.01, 3.0, 8, "0.01 0.02 0.05 0.1 0.2 0.5 1 2"),
            (2.9, 4.2, 5, "3 3.5 4"),
            (1.5, 60.0, 4, "2 5 10 20 50"),
            (1e-300, 1e300, 7, "10⁻³⁰⁰ 10⁻²⁰⁰ 10⁻¹⁰⁰ 1 10¹⁰⁰ 10²⁰⁰ 10³⁰⁰"),
        ] {
            assert_eq!(texts(&log(low, high, max_count, WITH_FRACTIONS)), expected, "{low}..{high}");
        }
    }

    /// For every range, the ticks are within it, in ascending order and limited in number. There is
    /// at least one tick if `max_count` is three or more.
    #[test]
    fn ticks_of_many_ranges_are_within_the_range_and_in_order() {
        let edges =
            [1e-300, 3.7e-90, 1e-9, 0.004, 0.1, 0.99, 1.0, 2.0, 7.3, 10.0, 64.0, 999.0, 12_345.6, 1e9, 4e77, 1e300];
        for (index, low) in edges.iter().enumerate() {
            for high in edges.iter().skip(index + 1).chain([&(low * 1.3), &(low * 2.0)]) {
                for max_count in 1..12 {
                    for (ticks, bound) in [
                        (linear(*low, *high, max_count, WITH_FRACTIONS), max_count + 1),
                        // A log axis may exceed a small maximum.
                        (log(*low, *high, max_count, WITH_FRACTIONS), max_count.max(12)),
                    ] {
                        assert!(!ticks.is_empty() || max_count < 3, "{low:e}..{high:e} with {max_count}");
                        assert!(ticks.len() <= bound, "{low:e}..{high:e} with {max_count}: {}", texts(&ticks));
                        assert!(ticks.windows(2).all(|pair| pair[0].value() < pair[1].value()));
                        let slack = 1e-6 * (high - low);
                        let is_within = |tick: &Tick| tick.value() >= low - slack && tick.value() <= high + slack;
                        assert!(ticks.iter().all(is_within), "{low:e}..{high:e}: {}", texts(&ticks));
                    }
                }
            }
        }
    }
}
