//! The tail of a binomial distribution, in logarithms, because the values themselves may be too
//! small for floating point.

use super::likelihood::Likelihood;

/// The probabilities of an event and of its complement. Both are kept: if one is near 1, its
/// rounding error is too large to compute the other from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EventProbability {
    probability: f64,
    complement: f64,
}

impl EventProbability {
    /// An event that happens in `cases` of `all` equally likely cases.
    pub(super) fn new(cases: u64, all: u64) -> Self {
        Self { probability: ratio(cases, all), complement: ratio(all - cases, all) }
    }

    pub(super) const fn probability(self) -> f64 {
        self.probability
    }
}

/// The probability that an event happens at least `min_count` times in `draws` draws, for 0 <
/// `min_count` ≤ `draws`.
///
/// Of the two tails, this sums the one whose terms decrease from its first term on, to avoid small
/// differences of large numbers. The other tail is its complement.
pub(super) fn probability_of_at_least(min_count: u64, draws: u64, event: EventProbability) -> Likelihood {
    let EventProbability { probability, complement } = event;
    if probability == 0.0 {
        return Likelihood::NEVER;
    }
    if complement == 0.0 {
        return Likelihood::ALWAYS;
    }
    if min_count as f64 > (draws + 1) as f64 * probability {
        let ratio_to_next = |count: u64| ratio(draws - count, count + 1) * (probability / complement);
        let sum = sum_decreasing_tail((min_count..draws).map(ratio_to_next));
        Likelihood::from_ln(ln_probability_of(min_count, draws, event) + sum.ln())
    } else {
        let max_below = min_count - 1;
        let ratio_to_previous = |count: u64| ratio(count, draws - count + 1) * (complement / probability);
        let sum = sum_decreasing_tail((1..=max_below).rev().map(ratio_to_previous));
        let ln_below = ln_probability_of(max_below, draws, event) + sum.ln();
        Likelihood::from_ln((-ln_below.exp()).ln_1p())
    }
}

/// The sum of a tail whose first term is 1, from the ratios of successive terms. It stops when
/// further terms would change nothing.
fn sum_decreasing_tail(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut term, mut sum) = (1.0, 1.0);
    for ratio in ratios {
        term *= ratio;
        if term < sum * (f64::EPSILON / 64.0) {
            break;
        }
        sum += term;
    }
    sum
}

/// The logarithm of the probability of exactly `count` events.
fn ln_probability_of(count: u64, draws: u64, event: EventProbability) -> f64 {
    let mut sum = CompensatedSum::default();
    // C(draws, count) as a product of ratios.
    let fewer = count.min(draws - count);
    for factor in 1..=fewer {
        sum.add(ratio(draws - fewer + factor, factor).ln());
    }
    sum.add(count as f64 * accurate_ln(event.probability, event.complement));
    sum.add((draws - count) as f64 * accurate_ln(event.complement, event.probability));
    sum.total()
}

/// The logarithm of a probability, computed from its complement if that is smaller.
fn accurate_ln(probability: f64, complement: f64) -> f64 {
    if probability <= 0.5 { probability.ln() } else { (-complement).ln_1p() }
}

fn ratio(numerator: u64, denominator: u64) -> f64 {
    numerator as f64 / denominator as f64
}

/// A sum that also keeps what rounding loses (compensated summation).
#[derive(Default)]
struct CompensatedSum {
    sum: f64,
    lost_digits: f64,
}

impl CompensatedSum {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (large, small) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost_digits += (large - sum) + small;
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        self.sum + self.lost_digits
    }
}
