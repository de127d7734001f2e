//! Counts of violations, and the confidence interval of their probability.

use serde::Serialize;

/// The confidence level of the interval of a [`Tally`].
pub const CONFIDENCE_LEVEL: f64 = 0.99;

/// Number of standard deviations to either side that contain 99 % of a normal distribution.
const DEVIATIONS: f64 = 2.575_829_303_548_900_4;

/// The number of trials, and of those that violated mutual exclusion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub trials: u64,
    pub violations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ConfidenceInterval {
    pub low: f64,
    pub high: f64,
}

impl Tally {
    pub fn add_trial(&mut self, is_violation: bool) {
        self.trials += 1;
        self.violations += u64::from(is_violation);
    }

    /// The share of the trials with a violation; 0 if there were no trials.
    pub fn frequency(self) -> f64 {
        if self.trials == 0 { 0.0 } else { self.violations as f64 / self.trials as f64 }
    }

    /// The confidence interval of the probability, by Wilson's formula: it is valid even if there
    /// was no violation, and stays within 0 and 1. The simpler interval, a number of standard
    /// deviations to either side of the frequency, has neither property.
    pub fn confidence_interval(self) -> ConfidenceInterval {
        let Self { trials, violations } = self;
        if trials == 0 {
            return ConfidenceInterval { low: 0.0, high: 1.0 };
        }
        let (count, share, square) = (trials as f64, self.frequency(), DEVIATIONS * DEVIATIONS);
        let center = share + square / (2.0 * count);
        let half_width = DEVIATIONS * (share * (1.0 - share) / count + square / (4.0 * count * count)).sqrt();
        let scale = 1.0 + square / count;
        // With no violations, or only violations, an end is exactly 0 or 1; rounding must not hide
        // that.
        let low = if violations == 0 { 0.0 } else { ((center - half_width) / scale).max(0.0) };
        let high = if violations == trials { 1.0 } else { ((center + half_width) / scale).min(1.0) };
        ConfidenceInterval { low, high }
    }
}

impl ConfidenceInterval {
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn the_interval_follows_wilsons_formula() {
        // Computed with 40 decimal digits in Python, from the same number of deviations.
        for (violations, trials, low, high) in [
            (0, 100, 0.0, 0.062_220_687_715_823),
            (1, 10, 0.011_851_503_411_033, 0.507_231_771_232_894),
            (50, 100, 0.375_279_625_044_840, 0.624_720_374_955_160),
            (100, 100, 0.937_779_312_284_177, 1.0),
        ] {
            let interval = Tally { trials, violations }.confidence_interval();
            let is_close = |computed: f64, expected: f64| (computed - expected).abs() < 1e-13;
            assert!(
                is_close(interval.low, low) && is_close(interval.high, high),
                "{violations} of {trials}: {interval:?}"
            );
            assert!(interval.contains(violations as f64 / trials as f64), "{violations} of {trials}");
        }
    }

    #[test]
    fn without_trials_the_interval_is_from_0_to_1() {
        let no_trials = Tally::default();
        assert_eq!(
            (no_trials.frequency(), no_trials.confidence_interval().low, no_trials.confidence_interval().high),
            (0.0, 0.0, 1.0)
        );
    }
}
