//! Numbers on a circle of 2n−1, and the order of two of them.

use crate::group::Group;
use crate::node::NodeId;
use core::fmt;

/// A number on the circle of a group. Readings have no order of their own: each is later than some
/// and earlier than others, and only the circle decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Reading(u64);

#[cfg(test)]
impl Reading {
    /// A reading that no correct node sends.
    pub(super) const INVALID: Self = Self(u64::MAX);
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A reading with the node of the request. The node breaks ties between equal readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) reading: Reading,
    pub(super) node: NodeId,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.reading, self.node)
    }
}

/// The circle of 2n−1 readings of a group of n nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circle {
    nodes: u64,
}

impl Circle {
    pub(super) fn for_group(group: &Group) -> Self {
        Self { nodes: (group.len() as u64).max(1) }
    }

    fn size(self) -> u64 {
        2 * self.nodes - 1
    }

    pub(super) fn next(self, reading: Reading) -> Reading {
        Reading((reading.0 + 1) % self.size())
    }

    /// Maps a received reading, valid or not, to a reading on the circle.
    pub(super) fn normalize(self, received: Reading) -> Reading {
        Reading(received.0 % self.size())
    }

    /// Returns whether `reading` is later than `other`. Readings less than n apart compare as
    /// numbers; otherwise the smaller one has wrapped around once more, so the paper adds 2n−1 to
    /// it.
    pub(super) fn is_later(self, reading: Reading, other: Reading) -> bool {
        if reading.0.abs_diff(other.0) < self.nodes { reading.0 > other.0 } else { reading.0 < other.0 }
    }

    pub(super) fn is_older(self, stamp: Stamp, other: Stamp) -> bool {
        if stamp.reading == other.reading {
            stamp.node < other.node
        } else {
            self.is_later(other.reading, stamp.reading)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Circle, Reading, Stamp};
    use crate::group::Group;
    use crate::node::NodeId;
    use core::iter::successors;
    use std::vec::Vec;

    fn circles() -> impl Iterator<Item = Circle> {
        (1..=12).map(|size| Circle::for_group(&Group::of_size(size)))
    }

    /// Returns all readings of the circle, beginning with this one.
    fn round_from(circle: Circle, first: Reading) -> impl Iterator<Item = Reading> {
        successors(Some(first), move |reading| Some(circle.next(*reading))).take(circle.size() as usize)
    }

    #[test]
    fn the_circle_has_one_reading_less_than_twice_the_group() {
        for circle in circles() {
            let mut round: Vec<_> = round_from(circle, Reading::default()).map(|reading| reading.0).collect();
            assert_eq!(circle.next(Reading(round[round.len() - 1])), Reading::default());
            round.sort_unstable();
            round.dedup();
            assert_eq!(round.len() as u64, 2 * circle.nodes - 1);
        }
    }

    /// This is why n concurrent requests, whose readings are less than n apart, have the same order
    /// at all nodes.
    #[test]
    fn a_reading_is_later_than_another_that_reaches_it_in_less_than_n_steps() {
        for circle in circles() {
            for first in round_from(circle, Reading::default()) {
                for (steps, reading) in round_from(circle, first).enumerate() {
                    let is_later = (1..circle.nodes).contains(&(steps as u64));
                    assert_eq!(circle.is_later(reading, first), is_later, "{reading} is {steps} steps after {first}");
                    assert_eq!(circle.is_later(first, reading), !is_later && steps > 0, "is {first} after {reading}?");
                }
            }
        }
    }

    #[test]
    fn each_of_three_readings_can_be_later_than_the_one_before() {
        let circle = Circle::for_group(&Group::of_size(2));
        let [zero, one, two] = [0, 1, 2].map(Reading);
        assert!(circle.is_later(one, zero) && circle.is_later(two, one) && circle.is_later(zero, two));
    }

    #[test]
    fn the_node_breaks_ties_between_equal_readings() {
        let circle = Circle::for_group(&Group::of_size(3));
        let stamp = |reading, index| Stamp { reading: Reading(reading), node: NodeId::from_index(index) };
        assert!(circle.is_older(stamp(4, 0), stamp(4, 1)));
        assert!(!circle.is_older(stamp(4, 1), stamp(4, 0)));
        assert!(circle.is_older(stamp(4, 1), stamp(0, 0)), "0 comes after 4 on a circle of 5");
    }

    #[test]
    fn neither_a_large_group_nor_an_invalid_reading_overflows() {
        let largest = Circle { nodes: u64::from(u32::MAX) };
        assert!(largest.is_later(Reading::default(), Reading(largest.size() - 1)));
        for circle in circles().chain([largest, Circle::for_group(&Group::of_size(0))]) {
            let normalized = circle.normalize(Reading::INVALID);
            assert!(normalized.0 < circle.size());
            assert!(circle.next(normalized).0 < circle.size());
        }
    }
}
