//! The queue of what is to come: a radix heap.
//!
//! Time never goes back, so an entry can be filed by the highest bit in which its key differs from the key taken
//! last. Taking the next one re-files a single bucket now and then; with a million entries pending that is
//! several times faster than a binary heap, because buckets are read from front to back. Equal keys come out in
//! the order they went in: they always share a bucket, and re-filing keeps their order.

use std::collections::VecDeque;

/// Entries with keys that never fall below the last key taken.
pub(crate) struct Queue<T> {
    /// The key taken last. Bucket `b` holds keys that differ from it in bit `b − 1` and in none above.
    last: u64,
    /// Entries whose key equals `last`.
    due: VecDeque<T>,
    buckets: [Vec<(u64, T)>; BUCKETS],
    /// Bit `b` is set if bucket `b` is not empty.
    occupied: u64,
    len: usize,
}

const BUCKETS: usize = 64;
/// An emptied bucket keeps its memory only if it is small; a large one would be needed again too rarely.
const KEPT_CAPACITY: usize = 1 << 12;

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self { last: 0, due: VecDeque::new(), buckets: std::array::from_fn(|_| Vec::new()), occupied: 0, len: 0 }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Files an entry. A key in the past is taken for the present.
    #[inline]
    pub(crate) fn push(&mut self, key: u64, entry: T) {
        self.len += 1;
        self.file(key.max(self.last), entry);
    }

    /// Takes the entry with the smallest key, the first of those that share it.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        if self.due.is_empty() {
            self.refile();
        }
        let entry = self.due.pop_front()?;
        self.len -= 1;
        Some((self.last, entry))
    }

    #[inline]
    fn file(&mut self, key: u64, entry: T) {
        let bucket = (u64::BITS - (key ^ self.last).leading_zeros()) as usize;
        match bucket {
            0 => self.due.push_back(entry),
            _ => {
                // Keys stay below 2^63, so the bucket is always one of the 64.
                if let Some(entries) = self.buckets.get_mut(bucket) {
                    entries.push((key, entry));
                    self.occupied |= 1 << bucket;
                }
            }
        }
    }

    /// Moves on to the smallest key and files its bucket anew, relative to that key.
    fn refile(&mut self) {
        if self.occupied == 0 {
            return;
        }
        let bucket = self.occupied.trailing_zeros() as usize;
        self.occupied &= !(1 << bucket);
        let Some(place) = self.buckets.get_mut(bucket) else { return };
        let mut entries = std::mem::take(place);
        let Some(smallest) = entries.iter().map(|(key, _)| *key).min() else { return };
        self.last = smallest;
        for (key, entry) in entries.drain(..) {
            self.file(key, entry);
        }
        if entries.capacity() <= KEPT_CAPACITY
            && let Some(place) = self.buckets.get_mut(bucket)
        {
            *place = entries;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use proptest::prelude::{prop, prop_assert_eq, proptest};
    use std::collections::BTreeMap;

    proptest! {
        /// Against a plain ordered map: pushes and pops in any mixture, delays of every magnitude.
        #[test]
        fn it_behaves_like_a_sorted_list_that_keeps_ties_in_order(
            steps in prop::collection::vec(prop::option::of((0u32..60, 0u64..4)), 1..400),
        ) {
            let mut queue = Queue::new();
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (serial, step) in steps.into_iter().enumerate() {
                if let Some((magnitude, offset)) = step {
                    let key = now + (offset << magnitude >> 2);
                    queue.push(key, serial);
                    model.insert((key, serial), ());
                } else {
                    let expected = model.pop_first().map(|((key, serial), ())| (key, serial));
                    prop_assert_eq!(queue.pop(), expected);
                    now = expected.map_or(now, |(key, _)| key);
                }
                prop_assert_eq!(queue.len(), model.len());
            }
        }
    }

    #[test]
    fn the_past_is_taken_for_the_present() {
        let mut queue = Queue::new();
        queue.push(10, "ten");
        assert_eq!(queue.pop(), Some((10, "ten")));
        queue.push(3, "late");
        assert_eq!(queue.pop(), Some((10, "late")));
        assert_eq!(queue.pop(), None);
    }
}
