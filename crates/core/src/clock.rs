//! Logical clocks: Lamport's counter, stamps that order requests totally, and vector clocks.

use crate::node::NodeId;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;

/// Lamport's clock: if one event happened before another, the reading of the earlier event is
/// smaller. The converse does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Clock(pub u64);

impl Clock {
    /// Advances the clock for a local event, and returns the reading.
    pub fn tick(&mut self) -> Self {
        self.0 = self.0.saturating_add(1);
        *self
    }

    /// Raises the clock to a reading that arrived with a message, if that is larger.
    pub fn witness(&mut self, other: Self) {
        *self = (*self).max(other);
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A clock reading with the node that took it. Stamps are totally ordered: the node breaks ties
/// between equal readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stamp {
    /// The reading, which is compared first.
    pub clock: Clock,
    /// The node, which breaks ties.
    pub node: NodeId,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.clock, self.node)
    }
}

/// A vector clock of an event: for each node, the number of its events that happened before this
/// event, including the event itself. The clocks of two events show exactly whether one happened
/// before the other.
///
/// Trailing zeroes are not stored, so that equal clocks compare and hash alike. The size depends on
/// the highest node with an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct VectorClock(Vec<u64>);

impl VectorClock {
    /// A clock that knows no event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of known events of this node.
    pub fn get(&self, node: NodeId) -> u64 {
        self.0.get(node.index()).copied().unwrap_or(0)
    }

    /// Counts one more event of this node.
    pub fn tick(&mut self, node: NodeId) {
        let index = node.index();
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        if let Some(count) = self.0.get_mut(index) {
            *count = count.saturating_add(1);
        }
    }

    /// Raises the number of known events of this node to `count`, unless it is larger already.
    pub fn raise(&mut self, node: NodeId, count: u64) {
        let index = node.index();
        if count > 0 && self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        if let Some(known) = self.0.get_mut(index) {
            *known = (*known).max(count);
        }
    }

    /// Raises every count to that of the other clock, where that is larger.
    pub fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Whether the event with this clock happened before the event with the other one.
    pub fn happened_before(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Less)
    }

    /// Whether the events are different and neither happened before the other.
    pub fn is_concurrent_with(&self, other: &Self) -> bool {
        self.partial_cmp(other).is_none()
    }

    /// The counts in node order, without trailing zeroes.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// Happened-before is a partial order: less is before, greater is after, equal is the same event,
/// `None` is concurrent.
impl PartialOrd for VectorClock {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let longest = self.0.len().max(other.0.len());
        let mut ordering = Ordering::Equal;
        for index in 0..longest {
            let mine = self.0.get(index).copied().unwrap_or(0);
            let theirs = other.0.get(index).copied().unwrap_or(0);
            match (ordering, mine.cmp(&theirs)) {
                (_, Ordering::Equal) => {}
                (Ordering::Equal, difference) => ordering = difference,
                (previous, difference) if previous == difference => {}
                (_, _) => return None,
            }
        }
        Some(ordering)
    }
}

impl fmt::Display for VectorClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, count) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            count.fmt(f)?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::{Clock, Stamp, VectorClock};
    use crate::node::NodeId;
    use proptest::prelude::{Strategy, prop, prop_assert_eq, proptest};

    #[test]
    fn a_witnessed_reading_pushes_the_next_one_beyond_it() {
        let mut clock = Clock::default();
        clock.tick();
        clock.witness(Clock(7));
        assert_eq!(clock.tick(), Clock(8));
        clock.witness(Clock(3));
        assert_eq!(clock, Clock(8));
    }

    #[test]
    fn the_node_breaks_ties_between_equal_readings() {
        let [one, two] = [0, 1].map(NodeId::from_index);
        assert!(Stamp { clock: Clock(4), node: one } < Stamp { clock: Clock(4), node: two });
        assert!(Stamp { clock: Clock(3), node: two } < Stamp { clock: Clock(4), node: one });
    }

    /// The standard example: a send happens before its receipt, and events that no message links
    /// are concurrent.
    #[test]
    fn happened_before_follows_messages() {
        let [one, two, three] = [0, 1, 2].map(NodeId::from_index);
        let mut sent = VectorClock::new();
        sent.tick(one);
        let mut received = VectorClock::new();
        received.tick(two);
        received.merge(&sent);
        let mut elsewhere = VectorClock::new();
        elsewhere.tick(three);
        assert!(sent.happened_before(&received));
        assert!(!received.happened_before(&sent));
        assert!(elsewhere.is_concurrent_with(&received));
        assert!(!sent.happened_before(&sent));
    }

    #[test]
    fn a_raised_count_never_falls_and_trailing_zeroes_are_not_stored() {
        let [one, three] = [0, 2].map(NodeId::from_index);
        let mut clock = VectorClock::new();
        clock.raise(three, 0);
        assert_eq!(clock, VectorClock::new());
        clock.raise(three, 5);
        clock.raise(three, 4);
        clock.raise(one, 1);
        assert_eq!(clock.counts(), [1, 0, 5]);
    }

    /// Any counts. Some end in zeroes, which must not matter for comparisons.
    fn clocks() -> impl Strategy<Value = VectorClock> {
        prop::collection::vec(0u64..4, 0..4).prop_map(VectorClock)
    }

    proptest! {
        #[test]
        fn merging_gives_the_least_clock_that_knows_both(a in clocks(), b in clocks()) {
            let mut both = a.clone();
            both.merge(&b);
            prop_assert_eq!(a <= both && b <= both, true);
            for node in (0..4).map(NodeId::from_index) {
                prop_assert_eq!(both.get(node), a.get(node).max(b.get(node)));
            }
        }

        #[test]
        fn before_and_after_are_mirror_images(a in clocks(), b in clocks()) {
            prop_assert_eq!(a.happened_before(&b), b.partial_cmp(&a) == Some(core::cmp::Ordering::Greater));
        }

        #[test]
        fn happened_before_is_transitive(a in clocks(), b in clocks(), c in clocks()) {
            if a.happened_before(&b) && b.happened_before(&c) {
                prop_assert_eq!(a.happened_before(&c), true);
            }
        }
    }
}
