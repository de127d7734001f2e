//! An average that a minority of wrong clocks cannot move far.

use super::Shift;
use quorate_core::{Duration, Group, NodeId};
use std::collections::BTreeMap;

/// BK-4. `ahead` holds how far each node's clock is ahead of the leader's. Returns the mean of the
/// values within the tolerance of the median, and their nodes; zero if there are no clocks. Of two
/// middle values, the greater one is the median.
pub(super) fn average_clocks(ahead: &BTreeMap<NodeId, Shift>, tolerance: Duration) -> (Shift, Group) {
    let mut sorted: Vec<_> = ahead.values().copied().collect();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).copied().unwrap_or(Shift::ZERO);
    let is_close = |shift: Shift| shift.minus(median).magnitude() <= tolerance;
    let close_clocks = || ahead.iter().filter(|(_, shift)| is_close(**shift));
    let sum: i128 = close_clocks().map(|(_, shift)| i128::from(shift.nanos())).sum();
    let count = close_clocks().count().max(1) as i128;
    (Shift::from_nanos_saturating(sum / count), close_clocks().map(|(node, _)| *node).collect())
}

#[cfg(test)]
mod tests {
    use super::{Shift, average_clocks};
    use quorate_core::{Duration, Group, NodeId};

    /// The mean in nanoseconds of clocks that are `nanos` ahead, and the number of clocks that
    /// count.
    fn mean_and_count(nanos: &[i64], tolerance_nanos: u64) -> (i64, usize) {
        let nodes = Group::of_size(nanos.len());
        let ahead = nodes.iter().zip(nanos.iter().map(|nanos| Shift::from_nanos(*nanos))).collect();
        let (mean, counted) = average_clocks(&ahead, Duration::from_nanos(tolerance_nanos));
        (mean.nanos(), counted.len())
    }

    #[test]
    fn only_clocks_near_the_median_are_averaged() {
        assert_eq!(mean_and_count(&[0, 10, 20], 10), (10, 3));
        assert_eq!(mean_and_count(&[0, 10, 20], 9), (10, 1));
        assert_eq!(mean_and_count(&[0, 10, 1_000_000], 10), (5, 2));
        assert_eq!(mean_and_count(&[0, -10, -1_000_000], 10), (-5, 2));
    }

    #[test]
    fn of_two_distant_clocks_only_the_one_further_ahead_counts() {
        assert_eq!(mean_and_count(&[0, 100], 10), (100, 1));
        assert_eq!(mean_and_count(&[0, -100], 10), (0, 1));
        assert_eq!(mean_and_count(&[0], 0), (0, 1));
    }

    #[test]
    fn a_minority_moves_an_average_by_no_more_than_the_tolerance() {
        for liar in [i64::MIN, -1_000, 0, 1_000, i64::MAX] {
            let (mean, _) = mean_and_count(&[0, 3, 5, liar, liar], 5);
            // The median is between 0 and 5, and every clock that counts is within 5 of it.
            assert!((-5..=10).contains(&mean), "with {liar} the mean is {mean}");
        }
    }

    #[test]
    fn an_average_of_extreme_clocks_does_not_overflow() {
        assert_eq!(mean_and_count(&[i64::MAX; 9], 0), (i64::MAX, 9));
        assert_eq!(mean_and_count(&[i64::MIN; 9], 0), (i64::MIN, 9));
        assert_eq!(mean_and_count(&[i64::MIN, 0, i64::MAX], u64::MAX), (0, 3));
    }

    #[test]
    fn the_average_of_no_clocks_is_zero() {
        let (mean, counted) =
            average_clocks(&[].into_iter().collect::<std::collections::BTreeMap<NodeId, Shift>>(), Duration::ZERO);
        assert!(mean == Shift::ZERO && counted.is_empty());
    }
}
