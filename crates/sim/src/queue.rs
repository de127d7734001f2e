//! The queue of pending events: a radix heap in hexadecimal digits.
//!
//! Time never decreases, so an entry is filed by the highest digit in which its key differs from
//! the key popped last, and by the value of that digit. The next entries are then all in one slot:
//! the lowest non-empty slot of the lowest non-empty level. A small slot is sorted and popped entry
//! by entry; a large one is redistributed to lower levels. With a million pending entries this is
//! several times faster than a binary heap, because slots are read sequentially. Entries with equal
//! keys are popped in the order in which they were pushed: they always share a slot, and neither
//! filing nor sorting changes their order.

use std::collections::VecDeque;

/// A priority queue whose keys never fall below the last key popped.
pub(crate) struct Queue<T> {
    /// No key is below this one. Keys at level `l` have the same digits above `l`, and a larger
    /// digit at `l`.
    floor: u64,
    /// The next entries, sorted.
    run: VecDeque<(u64, T)>,
    /// Keys up to this one belong in the run.
    run_end: u64,
    /// `LEVELS` times `SLOTS` slots.
    slots: Vec<Vec<(u64, T)>>,
    /// For each level, a bit set of its non-empty slots.
    occupied_slots: [u16; LEVELS],
    /// A bit set of the non-empty levels.
    occupied_levels: u16,
}

const DIGIT_BITS: u32 = 4;
const SLOTS: usize = 1 << DIGIT_BITS;
const LEVELS: usize = (u64::BITS / DIGIT_BITS) as usize;
/// Maximum number of entries of a slot that is sorted instead of redistributed.
const MAX_SORTED: usize = 64;
/// A run longer than this is redistributed before an entry is inserted in its middle, which would
/// be slow.
const MAX_RUN: usize = 1024;
/// An emptied slot keeps its memory up to this capacity; larger slots are rarely needed again.
const MAX_KEPT_CAPACITY: usize = 1 << 10;

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            floor: 0,
            run: VecDeque::new(),
            run_end: 0,
            slots: (0..LEVELS * SLOTS).map(|_| Vec::new()).collect(),
            occupied_slots: [0; LEVELS],
            occupied_levels: 0,
        }
    }

    /// Adds an entry. A key below the last key popped is raised to it.
    #[inline]
    pub(crate) fn push(&mut self, key: u64, entry: T) {
        let key = key.max(self.floor);
        if key <= self.run_end { self.push_into_run(key, entry) } else { self.file_into_slot(key, entry) }
    }

    /// Removes and returns the entry with the smallest key, the oldest among equal keys.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        while self.run.is_empty() {
            if self.occupied_levels == 0 {
                return None;
            }
            self.open_slot();
        }
        let (key, entry) = self.run.pop_front()?;
        self.floor = key;
        if self.run.is_empty() {
            self.run_end = key;
        }
        Some((key, entry))
    }

    /// Returns the entry after the next one, if it is known without a search.
    #[inline]
    pub(crate) fn peek_ahead(&self) -> Option<&T> {
        self.run.get(1).map(|(_, entry)| entry)
    }

    /// Returns the smallest key. Entries pushed later may still have smaller keys.
    pub(crate) fn next_key(&self) -> Option<u64> {
        if let Some((key, _)) = self.run.front() {
            return Some(*key);
        }
        let level = self.occupied_levels.trailing_zeros() as usize;
        let digit = self.occupied_slots.get(level)?.trailing_zeros() as usize;
        self.slots.get(level * SLOTS + digit)?.iter().map(|(key, _)| *key).min()
    }

    fn push_into_run(&mut self, key: u64, entry: T) {
        if self.run.len() < MAX_RUN || self.run.back().is_none_or(|(latest, _)| *latest <= key) {
            let index = self.run.partition_point(|(earlier, _)| *earlier <= key);
            self.run.insert(index, (key, entry));
            return;
        }
        self.run_end = self.floor;
        for (key, entry) in std::mem::take(&mut self.run) {
            self.push(key, entry);
        }
        self.push(key, entry);
    }

    /// Puts an entry whose key is greater than `floor` into its slot.
    #[inline]
    fn file_into_slot(&mut self, key: u64, entry: T) {
        let level = ((u64::BITS - 1 - (key ^ self.floor).leading_zeros()) / DIGIT_BITS) as usize;
        let digit = (key >> (level as u32 * DIGIT_BITS)) as usize % SLOTS;
        if let (Some(slot), Some(occupied)) =
            (self.slots.get_mut(level * SLOTS + digit), self.occupied_slots.get_mut(level))
        {
            slot.push((key, entry));
            *occupied |= 1 << digit;
            self.occupied_levels |= 1 << level;
        }
    }

    /// Makes the lowest slot the run if it is small; otherwise redistributes it to lower levels.
    fn open_slot(&mut self) {
        let level = self.occupied_levels.trailing_zeros();
        let Some(occupied) = self.occupied_slots.get_mut(level as usize) else { return };
        let digit = occupied.trailing_zeros();
        *occupied &= !(1 << digit);
        if *occupied == 0 {
            self.occupied_levels &= !(1 << level);
        }
        let shift = level * DIGIT_BITS;
        let higher_digits =
            self.floor.checked_shr(shift + DIGIT_BITS).unwrap_or(0).checked_shl(shift + DIGIT_BITS).unwrap_or(0);
        let slot_start = higher_digits | (u64::from(digit) << shift);
        let index = level as usize * SLOTS + digit as usize;
        let Some(mut entries) = self.slots.get_mut(index).map(std::mem::take) else { return };
        self.floor = slot_start;
        if level == 0 || entries.len() <= MAX_SORTED {
            entries.sort_by_key(|(key, _)| *key);
            self.run_end = slot_start | ((1 << shift) - 1);
            self.run.extend(entries.drain(..));
        } else {
            self.run_end = slot_start;
            for (key, entry) in entries.drain(..) {
                if key == slot_start { self.run.push_back((key, entry)) } else { self.file_into_slot(key, entry) }
            }
        }
        if entries.capacity() <= MAX_KEPT_CAPACITY
            && let Some(slot) = self.slots.get_mut(index)
        {
            *slot = entries;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Queue;
    use proptest::prelude::{prop, prop_assert_eq, proptest};
    use std::collections::BTreeMap;

    proptest! {
        /// Compares the queue with an ordered map under random pushes and pops with delays of every
        /// magnitude.
        #[test]
        fn it_behaves_like_a_stable_sorted_list(
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
                    prop_assert_eq!(queue.next_key(), expected.map(|(key, _)| key));
                    prop_assert_eq!(queue.pop(), expected);
                    now = expected.map_or(now, |(key, _)| key);
                }
            }
            while let Some(((key, serial), ())) = model.pop_first() {
                prop_assert_eq!(queue.pop(), Some((key, serial)));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }

    /// Pushes more entries into a run than it may hold, each before those already in it.
    #[test]
    fn a_run_that_grows_too_long_is_redistributed() {
        let mut queue = Queue::new();
        queue.push(1 << 20, 0);
        queue.push((1 << 20) + 5_000, 0);
        assert_eq!(queue.pop(), Some((1 << 20, 0)));
        for key in (1..4_000).rev() {
            queue.push((1 << 20) + key, key);
        }
        let popped: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(key, _)| key - (1 << 20)).collect();
        assert_eq!(popped, (1..4_000).chain([5_000]).collect::<Vec<_>>());
    }

    #[test]
    fn a_key_in_the_past_is_raised_to_the_last_key_popped() {
        let mut queue = Queue::new();
        queue.push(10, "ten");
        assert_eq!(queue.pop(), Some((10, "ten")));
        queue.push(3, "late");
        assert_eq!(queue.pop(), Some((10, "late")));
        assert_eq!(queue.pop(), None);
    }
}
