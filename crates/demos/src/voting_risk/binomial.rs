//! The tail of a binomial distribution, in logarithms, because the values themselves may be too
//! small for floating point.

use super::likelihood::Likelihood;

/// The probabilities of an event and of its complement. Both are kept, because near 1 one cannot be
/// computed from the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Odds {
    happens: f64,
    fails: f64,
}

impl Odds {
    pub(super) fn new(cases: u64, all: u64) -> Self {
        let share = |part: u64| part as f64 / all as f64;
        Self { happens: share(cases), fails: share(all - cases) }
    }

    pub(super) const fn happens(self) -> f64 {
        self.happens
    }
}

/// The probability that an event happens at least `least` times in `draws` draws, for 0 < `least` ≤
/// `draws`.
///
/// Of the two tails, this sums the one whose terms decrease from its first, largest term on, to
/// avoid small differences of large numbers. The other is its complement, which is about a half or
/// more.
pub(super) fn at_least(least: u64, draws: u64, odds: Odds) -> Likelihood {
    let Odds { happens, fails } = odds;
    if happens == 0.0 {
        return Likelihood::NEVER;
    }
    if fails == 0.0 {
        return Likelihood::ALWAYS;
    }
    if least as f64 > (draws + 1) as f64 * happens {
        let more = |count: u64| ratio(draws - count, count + 1) * (happens / fails);
        let sum = falling((least..draws).map(more));
        Likelihood::from_ln(ln_exactly(least, draws, odds) + sum.ln())
    } else {
        let last = least - 1;
        let fewer = |count: u64| ratio(count, draws - count + 1) * (fails / happens);
        let sum = falling((1..=last).rev().map(fewer));
        let below = ln_exactly(last, draws, odds) + sum.ln();
        Likelihood::from_ln((-below.exp()).ln_1p())
    }
}

/// The sum of a tail whose first term is 1, from the ratios of successive terms. It ends when
/// further terms would change nothing.
fn falling(ratios: impl Iterator<Item = f64>) -> f64 {
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
fn ln_exactly(count: u64, draws: u64, odds: Odds) -> f64 {
    let mut sum = Sum::default();
    // C(draws, count) as a product of ratios.
    let fewer = count.min(draws - count);
    for place in 1..=fewer {
        sum.add(ratio(draws - fewer + place, place).ln());
    }
    sum.add(count as f64 * ln_of(odds.happens, odds.fails));
    sum.add((draws - count) as f64 * ln_of(odds.fails, odds.happens));
    sum.total()
}

/// The logarithm of a share, computed from its complement if that is smaller.
fn ln_of(share: f64, rest: f64) -> f64 {
    if share <= 0.5 { share.ln() } else { (-rest).ln_1p() }
}

fn ratio(of: u64, to: u64) -> f64 {
    of as f64 / to as f64
}

/// A compensated sum, which keeps the rounding error.
#[derive(Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (large, small) = if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        self.sum + self.lost
    }
}
