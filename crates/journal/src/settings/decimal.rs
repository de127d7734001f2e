//! Exact decimal numbers, without the rounding of floating-point numbers. They are counted in
//! parts, such as the nanoseconds of a millisecond.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalError {
    Malformed,
    /// The number is not a whole number of parts.
    TooFine,
    TooLarge,
}

/// Parses a decimal number such as `2`, `0.25` or `.5` and multiplies it by `parts`. Fails if the
/// product is not a whole number.
pub(super) fn read_parts(text: &str, parts: u64) -> Result<u64, DecimalError> {
    let (whole, places) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if text.is_empty() || places.is_empty() || !is_number(whole) || !is_number(places) {
        return Err(DecimalError::Malformed);
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    let whole: u64 = whole.parse().map_err(|_| DecimalError::TooLarge)?;
    let fraction = read_fraction(places.trim_end_matches('0'), parts)?;
    whole.checked_mul(parts).and_then(|sum| sum.checked_add(fraction)).ok_or(DecimalError::TooLarge)
}

/// Parses the digits after the decimal point, which have no trailing zeros, and multiplies the
/// fraction by `parts`.
fn read_fraction(places: &str, parts: u64) -> Result<u64, DecimalError> {
    if places.is_empty() {
        return Ok(0);
    }
    // A number whose last digit is not 0 is not divisible by 10, so a fraction with n places is a
    // whole number of parts only if `parts` is divisible by 2^n or 5^n. The nanoseconds of an hour
    // are divisible by 2^13 at most. The limit also keeps the product below from overflowing.
    const MAX_PLACES: usize = 18;
    if places.len() > MAX_PLACES {
        return Err(DecimalError::TooFine);
    }
    let digits: u64 = places.parse().map_err(|_| DecimalError::TooFine)?;
    let scale = 10_u128.pow(places.len() as u32);
    let product = u128::from(digits) * u128::from(parts);
    if product.is_multiple_of(scale) {
        u64::try_from(product / scale).map_err(|_| DecimalError::TooLarge)
    } else {
        Err(DecimalError::TooFine)
    }
}

/// Formats `count` / `parts` as a decimal number with as many places as needed: `0.25`. `parts` is
/// a power of ten.
pub(super) fn write_parts(count: u64, parts: u64) -> String {
    let (whole, rest) = (count / parts, count % parts);
    if rest == 0 {
        return whole.to_string();
    }
    let places = parts.ilog10() as usize;
    let digits = format!("{rest:0places$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::{DecimalError, read_parts, write_parts};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn numbers_are_read_exactly() {
        let read = ["0", "1", "0.1", ".5", "2.000000001", "1.50000000000000000000000", "007"];
        let counts = read.map(|text| read_parts(text, 1_000_000_000));
        let expected = [0, 1_000_000_000, 100_000_000, 500_000_000, 2_000_000_001, 1_500_000_000, 7_000_000_000];
        assert_eq!(counts, expected.map(Ok));
    }

    #[test]
    fn too_many_decimal_places_are_rejected() {
        assert_eq!(read_parts("0.0000000001", 1_000_000_000), Err(DecimalError::TooFine));
        assert_eq!(read_parts(&format!("0.{}", "1".repeat(9_000)), 1_000), Err(DecimalError::TooFine));
    }

    #[test]
    fn too_large_numbers_are_rejected() {
        for text in ["18446744073709551616", "99999999999999999999999", &"9".repeat(9_000)] {
            assert_eq!(read_parts(text, 1), Err(DecimalError::TooLarge));
        }
        assert_eq!(read_parts("18446744073709551615", 1), Ok(u64::MAX));
        assert_eq!(read_parts("18446744073709551.616", 1_000), Err(DecimalError::TooLarge));
    }

    #[test]
    fn malformed_numbers_are_rejected() {
        for text in ["", ".", "1.", "1.2.3", "+1", "-1", "1e3", "١", "1 2", "1_000"] {
            assert_eq!(read_parts(text, 1_000), Err(DecimalError::Malformed), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_number_reads_back_as_written(count in any::<u64>(), places in 0_u32..=9) {
            let parts = 10_u64.pow(places);
            prop_assert_eq!(read_parts(&write_parts(count, parts), parts), Ok(count));
        }
    }
}
