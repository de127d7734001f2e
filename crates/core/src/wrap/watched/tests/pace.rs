//! The integer arithmetic of the pace and of thresholds: compared with the paper's formula in
//! floating point, and at its limits.

use crate::time::{Duration, Time};
use crate::wrap::Threshold;
use crate::wrap::watched::pace::{MAX_GAPS, Pace};
use proptest::prelude::*;
use std::string::ToString;
use std::vec::Vec;

/// The deviation of a pace is at least a tenth of the period: 10 ms.
const PERIOD: Duration = Duration::from_millis(100);

/// A pace whose window contains exactly these gaps, of which there are at least two.
fn pace_after(gaps_nanos: &[u64]) -> Pace {
    let mut pace = Pace::new(Time::ZERO, PERIOD);
    let mut now = Time::ZERO;
    pace.learn(now, 0, Duration::from_nanos(u64::MAX), gaps_nanos.len());
    for (number, gap) in (1..).zip(gaps_nanos) {
        now += Duration::from_nanos(*gap);
        pace.learn(now, number, Duration::from_nanos(u64::MAX), gaps_nanos.len());
    }
    pace
}

/// Returns −log₁₀ of the normal tail, by a series up to three deviations and by a continued
/// fraction beyond: independent of the table.
fn phi(deviations: f64) -> f64 {
    let density = (-deviations * deviations / 2.0).exp() / (2.0 * core::f64::consts::PI).sqrt();
    let tail = if deviations < 3.0 {
        let (mut term, mut sum) = (deviations, deviations);
        // More terms would not change the sum.
        for step in 1..200 {
            term *= deviations * deviations / f64::from(2 * step + 1);
            sum += term;
        }
        0.5 - density * sum
    } else {
        // More levels would not change the fraction.
        let fraction = (1..400).rev().fold(deviations, |denominator, step| deviations + f64::from(step) / denominator);
        density / fraction
    };
    -tail.log10()
}

#[test]
fn the_reference_formula_is_the_normal_tail() {
    // From a table of the normal distribution.
    for (deviations, tail) in [(1.0, 0.158_655_25), (2.0, 0.022_750_13), (4.0, 3.167_124e-5), (6.0, 9.865_876e-10)] {
        assert!((phi(deviations) + f64::log10(tail)).abs() < 1e-6, "{deviations}");
    }
}

#[test]
fn the_table_matches_the_normal_tail() {
    let mut thousandths = Threshold::MIN.thousandths();
    while let Some(threshold) = Threshold::from_thousandths(thousandths) {
        let actual = phi(threshold.deviation_thousandths() as f64 / 1_000.0);
        let expected = f64::from(thousandths) / 1_000.0;
        // Linear interpolation between the table's entries costs less than this.
        assert!((actual - expected).abs() < 0.02, "{threshold}: {actual}");
        thousandths += 1;
    }
    assert_eq!(Threshold::MAX.to_string(), "20");
}

#[test]
fn phi_and_deviations_are_each_others_inverse() {
    for thousandths in Threshold::MIN.thousandths()..Threshold::MAX.thousandths() {
        let threshold = Threshold::from_thousandths(thousandths).expect("a threshold");
        let level = Threshold::phi_after(threshold.deviation_thousandths());
        // Deviations are rounded to thousandths. Each is worth less than 5 thousandths of φ.
        assert!(level.abs_diff(thousandths) <= 10, "{threshold}: {level}");
    }
    assert_eq!(Threshold::phi_after(0), 0);
    assert_eq!(Threshold::phi_after(u64::MAX), Threshold::MAX.thousandths());
}

#[test]
fn thresholds_print_without_trailing_zeroes() {
    let printed =
        [500, 8_000, 12_250].map(|thousandths| Threshold::from_thousandths(thousandths).expect("one").to_string());
    assert_eq!(printed, ["0.5", "8", "12.25"]);
    assert_eq!(Threshold::from_thousandths(499), None);
    assert_eq!(Threshold::from_thousandths(20_001), None);
}

/// The deviation is 10,000,001 ns, so the silence for a threshold is not a whole number of
/// nanoseconds.
#[test]
fn the_lowest_threshold_is_reached_after_the_silence_it_allows() {
    let pace = pace_after(&[1_000_015, 21_000_017]);
    let allowed = pace.allowed_silence(Threshold::MIN, PERIOD);
    assert_eq!(pace.phi(allowed, PERIOD), Threshold::MIN.thousandths());
    // 20,000 ns are two thousandths of the deviation. The table counts in thousandths.
    assert_eq!(pace.phi(Duration::from_nanos(allowed.nanos() - 20_000), PERIOD), 0);
}

#[test]
fn a_window_forgets_older_gaps() {
    let mut gaps: Vec<_> = core::iter::repeat_n(900_000_000, 50).collect();
    gaps.extend(core::iter::repeat_n(100_000_000, 8));
    let mut pace = Pace::new(Time::ZERO, PERIOD);
    let mut now = Time::ZERO;
    for (number, gap) in (0..).zip(gaps) {
        now += Duration::from_nanos(gap);
        pace.learn(now, number, Duration::from_secs(9), 8);
        assert!(pace.gap_count() <= 8);
    }
    assert_eq!((pace.gap_count(), pace.mean_nanos(), pace.deviation_nanos(PERIOD)), (8, 100_000_000, 10_000_000));
}

#[test]
fn memory_is_bounded_for_any_window() {
    let mut pace = Pace::new(Time::ZERO, PERIOD);
    for number in 0..5_000_u64 {
        pace.learn(Time::ZERO + PERIOD.times(number), number, PERIOD.times(9), usize::MAX);
    }
    assert_eq!(pace.gap_count(), MAX_GAPS);
}

/// A single outage counts as twice the silence that was allowed. If the network stays slow, the
/// detector learns its pace in the end.
#[test]
fn one_outage_does_not_blind_the_detector_and_a_slow_network_is_learnt() {
    let mut pace = pace_after(&[100_000_000; 20]);
    let hour = Duration::from_secs(3_600);
    let allowed = pace.allowed_silence(Threshold::DEFAULT, PERIOD);
    let mut now = Time::ZERO + PERIOD.times(20) + hour;
    pace.learn(now, 21, allowed, 20);
    let after_outage = pace.allowed_silence(Threshold::DEFAULT, PERIOD);
    // If the hour counted in full, more than an hour would be allowed.
    assert!(after_outage < allowed.times(4), "{allowed} became {after_outage}");
    let slow_gap = PERIOD.times(50);
    for number in 22..200 {
        let allowed = pace.allowed_silence(Threshold::DEFAULT, PERIOD);
        now += slow_gap;
        pace.learn(now, number, allowed, 20);
    }
    assert!(pace.allowed_silence(Threshold::DEFAULT, PERIOD) > slow_gap);
}

proptest! {
    /// Compares the mean, the deviation, the allowed silence and φ with the same in floating point.
    #[test]
    fn integer_results_match_the_papers_formula(
        gaps in prop::collection::vec(1_000_000_u64..1_000_000_000, 2..60),
        thousandths in 500_u32..20_000,
    ) {
        let pace = pace_after(&gaps);
        let count = gaps.len() as f64;
        let mean = gaps.iter().map(|gap| *gap as f64).sum::<f64>() / count;
        let variance = gaps.iter().map(|gap| (*gap as f64 - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt().max(10_000_000.0);
        prop_assert!((pace.mean_nanos() as f64 - mean).abs() <= 1.0);
        prop_assert!((pace.deviation_nanos(PERIOD) as f64 - deviation).abs() <= 2.0);
        let threshold = Threshold::from_thousandths(thousandths).expect("a threshold");
        let allowed = pace.allowed_silence(threshold, PERIOD);
        let reached_phi = phi((allowed.nanos() as f64 - mean) / deviation);
        prop_assert!((reached_phi - f64::from(thousandths) / 1_000.0).abs() < 0.02, "{reached_phi} for {threshold}");
        prop_assert!(pace.phi(allowed, PERIOD).abs_diff(thousandths) <= 10);
    }

    /// No behavior of a peer makes a sum overflow, which would panic in a test.
    #[test]
    fn extreme_gaps_do_not_overflow(gaps in prop::collection::vec(0_u64..=u64::MAX, 1..200), window in 0_usize..3_000, period in 0_u64..=u64::MAX) {
        let mut pace = Pace::new(Time::ZERO, Duration::from_nanos(period));
        let mut now = Time::from_nanos(i64::MIN);
        for (number, gap) in (0..).zip(gaps) {
            now += Duration::from_nanos(gap);
            pace.learn(now, number, Duration::from_nanos(u64::MAX), window);
            pace.allowed_silence(Threshold::MAX, Duration::from_nanos(period));
            pace.phi(Duration::from_nanos(gap), Duration::from_nanos(period));
        }
    }
}
