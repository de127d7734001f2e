//! A probability that may be far too small for a floating-point number.

use std::f64::consts::LN_10;
use std::fmt;

/// A probability, kept as its natural logarithm.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Likelihood {
    /// From negative infinity to 0.
    ln: f64,
}

impl Likelihood {
    pub const NEVER: Self = Self { ln: f64::NEG_INFINITY };
    pub const ALWAYS: Self = Self { ln: 0.0 };

    pub fn from_value(value: f64) -> Self {
        Self::from_ln(value.ln())
    }

    /// The probability with this natural logarithm. A logarithm that rounding made positive counts
    /// as 0.
    pub const fn from_ln(ln: f64) -> Self {
        // Avoids a negative zero, whose sign would be printed.
        Self { ln: ln.min(0.0) + 0.0 }
    }

    /// The natural logarithm; negative infinity if the probability is 0.
    pub const fn ln(self) -> f64 {
        self.ln
    }

    /// The decimal logarithm; `None` if the probability is 0.
    pub fn log10(self) -> Option<f64> {
        (self != Self::NEVER).then(|| self.ln / LN_10)
    }

    /// The probability as a number: 0 if it is below about 5e-324.
    pub fn value(self) -> f64 {
        self.ln.exp()
    }
}

/// A little above −708, the natural logarithm of the smallest floating-point number with full
/// precision.
const MIN_NORMAL_LN: f64 = -700.0;

/// Printed with four significant digits, such as `0.3086`, `2.132e-43` or `1.022e-15170`.
impl fmt::Display for Likelihood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value();
        let text = if *self == Self::NEVER {
            "0".into()
        } else if *self == Self::ALWAYS {
            "1".into()
        } else if value >= 0.99995 {
            // Four digits would round to 1.
            format!("1 − {:.3e}", -self.ln.exp_m1())
        } else if value >= 0.1 {
            format!("{value:.4}")
        } else if value >= 0.01 {
            format!("{value:.5}")
        } else if self.ln > MIN_NORMAL_LN {
            format!("{value:.3e}")
        } else {
            format_tiny(self.ln / LN_10)
        };
        f.pad(&text)
    }
}

/// Formats a number that is too small for floating point, from its decimal logarithm.
fn format_tiny(log10: f64) -> String {
    let exponent = log10.floor();
    let thousandths = (1_000.0 * 10_f64.powf(log10 - exponent)).round();
    // 9.9996 would be printed as 10.000.
    let (thousandths, exponent) =
        if thousandths < 10_000.0 { (thousandths, exponent) } else { (1_000.0, exponent + 1.0) };
    format!("{:.3}e{exponent:.0}", thousandths / 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::Likelihood;
    use std::f64::consts::LN_10;

    #[test]
    fn a_likelihood_prints_four_significant_digits_however_small_it_is() {
        let print_value = |value: f64| Likelihood::from_value(value).to_string();
        let texts = [1.0, 0.5, 0.99994, 0.1, 0.0123456, 0.001, 2.132e-43, 1e-300, 0.0].map(print_value);
        assert_eq!(texts, ["1", "0.5000", "0.9999", "0.1000", "0.01235", "1.000e-3", "2.132e-43", "1.000e-300", "0"]);
        let print_log10 = |log10: f64| Likelihood::from_ln(log10 * LN_10).to_string();
        assert_eq!(print_log10(-15_170.0 + 0.009_45), "1.022e-15170");
        assert_eq!(print_log10(-400.0 - 1e-6), "1.000e-400", "9.99998e-401 rounds up");
        assert_eq!(Likelihood::from_ln(-1e-12).to_string(), "1 − 1.000e-12");
        assert_eq!(Likelihood::from_ln(1e-12), Likelihood::ALWAYS, "rounding must not exceed 1");
    }

    #[test]
    fn a_likelihood_of_zero_has_no_logarithm() {
        assert_eq!((Likelihood::NEVER.log10(), Likelihood::NEVER.value()), (None, 0.0));
        assert_eq!((Likelihood::ALWAYS.log10(), Likelihood::ALWAYS.value()), (Some(0.0), 1.0));
        let tiny = Likelihood::from_ln(-40_000.0);
        assert_eq!(tiny.value(), 0.0, "too small for floating point");
        assert!(tiny.log10().is_some_and(|log10| (log10 + 17_371.779).abs() < 1e-3));
    }
}
