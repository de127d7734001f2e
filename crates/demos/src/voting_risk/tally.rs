//! Counts of violations, and the confidence interval of their probability.

use serde::Serialize;

/// The confidence level of the interval of a [`Tally`].
pub const LEVEL: f64 = 0.99;

/// Number of standard deviations to either side that contain 99 % of a normal distribution.
const DEVIATIONS: f64 = 2.575_829_303_548_900_4;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub trials: u64,
    pub violations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Tally {
    pub fn count(&mut self, is_violation: bool) {
        self.trials += 1;
        self.violations += u64::from(is_violation);
    }

    /// The share of the trials with a violation; 0 if there were no trials.
    pub fn frequency(self) -> f64 {
        if self.trials == 0 { 0.0 } else { self.violations as f64 / self.trials as f64 }
    }

    /// The confidence interval of the probability, by Wilson's formula: it is valid even if there
    /// was no violation, and its ends are probabilities. Neither holds for the frequency plus or
    /// minus its deviation.
    pub fn interval(self) -> Interval {
        let Self { trials, violations } = self;
        if trials == 0 {
            return Interval { low: 0.0, high: 1.0 };
        }
        let (count, share, square) = (trials as f64, self.frequency(), DEVIATIONS * DEVIATIONS);
        let middle = share + square / (2.0 * count);
        let spread = DEVIATIONS * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
        let whole = 1.0 + square / count;
        // At either end the two terms are equal, and rounding must not hide that.
        let low = if violations == 0 { 0.0 } else { ((middle - spread) / whole).max(0.0) };
        let high = if violations == trials { 1.0 } else { ((middle + spread) / whole).min(1.0) };
        Interval { low, high }
    }
}

impl Interval {
    pub fn holds(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_interval_is_wilsons() {
        for (violations, trials, low, high) in [
            (0, 100, 0.0, 0.062_220_687_715_823),
            (1, 10, 0.011_851_503_411_033, 0.507_231_771_232_894),
            (50, 100, 0.375_279_625_044_840, 0.624_720_374_955_160),
            (100, 100, 0.937_779_312_284_177, 1.0),
        ] {
            let interval = Tally { trials, violations }.interval();
            let close = |ours: f64, theirs: f64| (ours - theirs).abs() < 1e-13;
            assert!(close(interval.low, low) && close(interval.high, high), "{violations} of {trials}: {interval:?}");
            assert!(interval.holds(violations as f64 / trials as f64), "{violations} of {trials}");
        }
    }

    #[test]
    fn without_trials_the_interval_is_everything() {
        let none = Tally::default();
        assert_eq!((none.frequency(), none.interval().low, none.interval().high), (0.0, 0.0, 1.0));
    }
}
