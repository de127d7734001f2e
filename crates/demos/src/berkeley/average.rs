//! An average that a few wrong clocks do not move.

use super::Shift;
use quorate_core::{Duration, Group, NodeId};
use std::collections::BTreeMap;

/// BK-4. Returns the mean of the differences within the tolerance of the median, and their nodes.
/// Of two middle values, the later clock is the median. The median is always within its own
/// tolerance, so at least one clock counts unless there is none.
pub(super) fn average(ahead: &BTreeMap<NodeId, Shift>, tolerance: Duration) -> (Shift, Group) {
    let mut sorted: Vec<_> = ahead.values().copied().collect();
    sorted.sort_unstable();
    let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(Shift::ZERO);
    let is_close = |shift: Shift| shift.minus(middle).length() <= tolerance;
    let close = || ahead.iter().filter(|(_, shift)| is_close(**shift));
    let sum: i128 = close().map(|(_, shift)| i128::from(shift.nanos())).sum();
    let count = close().count().max(1) as i128;
    (Shift::saturated(sum / count), close().map(|(node, _)| *node).collect())
}

#[cfg(test)]
mod tests {
    use super::{Shift, average};
    use quorate_core::{Duration, Group, NodeId};

    fn average_of(nanos: &[i64], tolerance: u64) -> (i64, usize) {
        let nodes = Group::of_size(nanos.len());
        let ahead = nodes.iter().zip(nanos.iter().map(|nanos| Shift::from_nanos(*nanos))).collect();
        let (mean, counted) = average(&ahead, Duration::from_nanos(tolerance));
        (mean.nanos(), counted.len())
    }

    #[test]
    fn an_average_is_of_those_near_the_middle() {
        assert_eq!(average_of(&[0, 10, 20], 10), (10, 3));
        assert_eq!(average_of(&[0, 10, 20], 9), (10, 1));
        assert_eq!(average_of(&[0, 10, 1_000_000], 10), (5, 2));
        assert_eq!(average_of(&[0, -10, -1_000_000], 10), (-5, 2));
    }

    #[test]
    fn the_later_of_two_distant_clocks_counts() {
        assert_eq!(average_of(&[0, 100], 10), (100, 1));
        assert_eq!(average_of(&[0, -100], 10), (0, 1));
        assert_eq!(average_of(&[0], 0), (0, 1));
    }

    #[test]
    fn a_minority_moves_an_average_by_no_more_than_the_tolerance() {
        for liar in [i64::MIN, -1_000, 0, 1_000, i64::MAX] {
            let (mean, _) = average_of(&[0, 3, 5, liar, liar], 5);
            assert!((-5..=10).contains(&mean), "with {liar} the mean is {mean}");
        }
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        assert_eq!(average_of(&[i64::MAX; 9], 0), (i64::MAX, 9));
        assert_eq!(average_of(&[i64::MIN; 9], 0), (i64::MIN, 9));
        assert_eq!(average_of(&[i64::MIN, 0, i64::MAX], u64::MAX), (0, 3));
    }

    #[test]
    fn the_average_of_no_clocks_is_zero() {
        let (mean, counted) =
            average(&[].into_iter().collect::<std::collections::BTreeMap<NodeId, Shift>>(), Duration::ZERO);
        assert!(mean == Shift::ZERO && counted.is_empty());
    }
}
