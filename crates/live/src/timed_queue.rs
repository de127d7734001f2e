//! A queue of items ordered by time.

use quorate_core::Time;
use std::collections::BTreeMap;

/// Items ordered by time; items of the same time in the order of their insertion.
pub(crate) struct TimedQueue<T> {
    items: BTreeMap<(Time, u64), T>,
    /// Number of insertions so far; orders items of the same time.
    insertions: u64,
}

impl<T> TimedQueue<T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), insertions: 0 }
    }

    pub(crate) fn insert(&mut self, at: Time, item: T) {
        self.insertions += 1;
        self.items.insert((at, self.insertions), item);
    }

    /// Removes and returns the first item whose time is not after `now`.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<T> {
        let first = self.items.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    pub(crate) fn next_time(&self) -> Option<Time> {
        self.items.first_key_value().map(|((at, _), _)| *at)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::TimedQueue;
    use quorate_core::Time;

    #[test]
    fn items_are_ordered_by_time_and_then_by_insertion() {
        let at = Time::from_nanos;
        let mut queue = TimedQueue::new();
        for (time, item) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            queue.insert(at(time), item);
        }
        let due: String = std::iter::from_fn(|| queue.pop_due(at(5))).collect();
        assert_eq!((due.as_str(), queue.next_time(), queue.len()), ("abcd", Some(at(9)), 1));
        assert!(queue.pop_due(at(8)).is_none() && queue.pop_due(at(9)) == Some('e') && queue.is_empty());
    }
}
