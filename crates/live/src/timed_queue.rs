//! A queue of items ordered by time.

use quorate_core::Time;
use std::collections::BTreeMap;

/// Items ordered by time; items of the same time in the order of their insertion.
pub(crate) struct TimedQueue<T> {
    items: BTreeMap<(Time, u64), T>,
    number: u64,
}

impl<T> TimedQueue<T> {
    pub(crate) fn new() -> Self {
        Self { items: BTreeMap::new(), number: 0 }
    }

    pub(crate) fn put(&mut self, at: Time, item: T) {
        self.number += 1;
        self.items.insert((at, self.number), item);
    }

    pub(crate) fn due(&mut self, now: Time) -> Option<T> {
        let first = self.items.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }

    pub(crate) fn next(&self) -> Option<Time> {
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
        let mut agenda = TimedQueue::new();
        for (time, item) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            agenda.put(at(time), item);
        }
        let due: String = std::iter::from_fn(|| agenda.due(at(5))).collect();
        assert_eq!((due.as_str(), agenda.next(), agenda.len()), ("abcd", Some(at(9)), 1));
        assert!(agenda.due(at(8)).is_none() && agenda.due(at(9)) == Some('e') && agenda.is_empty());
    }
}
