//! Arbitrary-precision natural numbers, with which the tests compute the probability of a violation
//! exactly, without any code of the computation under test.

/// A natural number in base 2^32, least significant digit first, with a nonzero last digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Natural(Vec<u32>);

impl Natural {
    pub(super) fn one() -> Self {
        Self(vec![1])
    }

    pub(super) fn multiply(&mut self, factor: u64) {
        let mut carry = 0_u128;
        for digit in &mut self.0 {
            carry += u128::from(*digit) * u128::from(factor);
            *digit = carry as u32;
            carry >>= 32;
        }
        while carry > 0 {
            self.0.push(carry as u32);
            carry >>= 32;
        }
        self.trim();
    }

    /// Divides without a remainder; panics if there is one.
    pub(super) fn divide(&mut self, divisor: u64) {
        let mut remainder = 0_u128;
        for digit in self.0.iter_mut().rev() {
            remainder = (remainder << 32) | u128::from(*digit);
            *digit = u32::try_from(remainder / u128::from(divisor)).expect("the quotient fits a digit");
            remainder %= u128::from(divisor);
        }
        assert_eq!(remainder, 0, "{divisor} does not divide the number");
        self.trim();
    }

    pub(super) fn add(&mut self, other: &Self) {
        let mut carry = 0_u64;
        self.0.resize(self.0.len().max(other.0.len()) + 1, 0);
        for (index, digit) in self.0.iter_mut().enumerate() {
            carry += u64::from(*digit) + other.0.get(index).map_or(0, |digit| u64::from(*digit));
            *digit = carry as u32;
            carry >>= 32;
        }
        self.trim();
    }

    /// The natural logarithm, computed from the three most significant digits.
    pub(super) fn ln(&self) -> f64 {
        let skipped = self.0.len().saturating_sub(3);
        let top = self.0[skipped..].iter().rev().fold(0_u128, |top, digit| (top << 32) | u128::from(*digit));
        (top as f64).ln() + (32 * skipped) as f64 * std::f64::consts::LN_2
    }

    /// Removes zeros from the most significant end.
    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

#[test]
fn naturals_multiply_divide_and_add() {
    let mut factorial = Natural::one();
    (1..=60).for_each(|factor| factorial.multiply(factor));
    // 60! by its Stirling series: ln 60! = 188.628173423671591…
    assert!((factorial.ln() - 188.628_173_423_671_6).abs() < 1e-12);
    (1..=60).for_each(|factor| factorial.divide(factor));
    assert_eq!(factorial, Natural::one());
    let mut sum = Natural(vec![u32::MAX, u32::MAX]);
    sum.add(&Natural::one());
    assert_eq!(sum, Natural(vec![0, 0, 1]));
}
