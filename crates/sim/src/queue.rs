//! The queue of pending events: a radix heap in hexadecimal digits.
//!
//! No key in the queue is below the key popped last. So the queue puts an entry into a slot by the
//! highest digit in which its key differs from the key popped last (the *level*), and by the value
//! of that digit. The next entries are then all in one slot: the lowest non-empty slot of the
//! lowest non-empty level. The queue sorts a small slot and pops its entries one by one; it
//! redistributes a large one to lower levels. With a million pending entries this is several times
//! faster than a binary heap, because slots are read sequentially. Entries with equal keys are
//! popped in the order in which they were pushed: they always share a slot, and neither
//! redistribution nor sorting changes their order.

use std::collections::VecDeque;

/// A priority queue whose keys never fall below the last key popped.
pub(crate) struct Queue<T> {
    /// No key in the queue is below this one. A key of level `l` has the same digits as this one
    /// above `l`, and a larger digit at `l`.
    min_key: u64,
    /// The next entries, sorted by their keys.
    front: VecDeque<(u64, T)>,
    /// Entries with keys up to this one belong in `front`.
    front_end: u64,
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
/// Maximum number of entries of a slot above level 0 that is sorted instead of redistributed.
const MAX_SORTED_SLOT: usize = 64;
/// Maximum length of `front` for an insertion into its middle, which is slow. A longer `front` is
/// redistributed to slots instead.
const MAX_FRONT: usize = 1024;
/// An emptied slot keeps its memory up to this capacity; larger slots are rarely needed again.
const MAX_KEPT_CAPACITY: usize = 1 << 10;

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            min_key: 0,
            front: VecDeque::new(),
            front_end: 0,
            slots: (0..LEVELS * SLOTS).map(|_| Vec::new()).collect(),
            occupied_slots: [0; LEVELS],
            occupied_levels: 0,
        }
    }

    /// Adds an entry. A key below the last key popped is raised to it.
    #[inline]
    pub(crate) fn push(&mut self, key: u64, entry: T) {
        let key = key.max(self.min_key);
        if key <= self.front_end { self.push_into_front(key, entry) } else { self.put_into_slot(key, entry) }
    }

    /// Removes and returns the entry with the smallest key, the oldest among equal keys.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        while self.front.is_empty() {
            if self.occupied_levels == 0 {
                return None;
            }
            self.take_lowest_slot();
        }
        let (key, entry) = self.front.pop_front()?;
        self.min_key = key;
        if self.front.is_empty() {
            self.front_end = key;
        }
        Some((key, entry))
    }

    /// Returns the entry after the next one; `None` if a search would be needed to find it.
    #[inline]
    pub(crate) fn peek_ahead(&self) -> Option<&T> {
        self.front.get(1).map(|(_, entry)| entry)
    }

    /// Returns the smallest key, or `None` if the queue is empty. Entries pushed later may still
    /// have smaller keys.
    pub(crate) fn next_key(&self) -> Option<u64> {
        self.peek().map(|(key, _)| *key)
    }

    /// Returns the entry with the smallest key, the oldest among equal keys, and its key.
    pub(crate) fn peek(&self) -> Option<&(u64, T)> {
        if let Some(next) = self.front.front() {
            return Some(next);
        }
        let level = self.occupied_levels.trailing_zeros() as usize;
        let digit = self.occupied_slots.get(level)?.trailing_zeros() as usize;
        self.slots.get(level * SLOTS + digit)?.iter().min_by_key(|(key, _)| *key)
    }

    fn push_into_front(&mut self, key: u64, entry: T) {
        if self.front.len() < MAX_FRONT || self.front.back().is_none_or(|(latest, _)| *latest <= key) {
            let index = self.front.partition_point(|(earlier, _)| *earlier <= key);
            self.front.insert(index, (key, entry));
            return;
        }
        // Only entries with `min_key` go to `front` again; the others go to slots.
        self.front_end = self.min_key;
        for (key, entry) in std::mem::take(&mut self.front) {
            self.push(key, entry);
        }
        self.push(key, entry);
    }

    /// Puts an entry whose key is greater than `min_key` into its slot.
    #[inline]
    fn put_into_slot(&mut self, key: u64, entry: T) {
        let level = ((u64::BITS - 1 - (key ^ self.min_key).leading_zeros()) / DIGIT_BITS) as usize;
        let digit = (key >> (level as u32 * DIGIT_BITS)) as usize % SLOTS;
        if let (Some(slot), Some(occupied)) =
            (self.slots.get_mut(level * SLOTS + digit), self.occupied_slots.get_mut(level))
        {
            slot.push((key, entry));
            *occupied |= 1 << digit;
            self.occupied_levels |= 1 << level;
        }
    }

    /// Moves the entries of the lowest slot into `front` if they are few or, at level 0, have equal
    /// keys. Otherwise redistributes them to lower levels.
    fn take_lowest_slot(&mut self) {
        let level = self.occupied_levels.trailing_zeros();
        let Some(occupied) = self.occupied_slots.get_mut(level as usize) else { return };
        let digit = occupied.trailing_zeros();
        *occupied &= !(1 << digit);
        if *occupied == 0 {
            self.occupied_levels &= !(1 << level);
        }
        let shift = level * DIGIT_BITS;
        // The highest level has no higher digits, and shifts by 64 bits yield `None`.
        let higher_digits =
            self.min_key.checked_shr(shift + DIGIT_BITS).unwrap_or(0).checked_shl(shift + DIGIT_BITS).unwrap_or(0);
        let slot_start = higher_digits | (u64::from(digit) << shift);
        let index = level as usize * SLOTS + digit as usize;
        let Some(mut entries) = self.slots.get_mut(index).map(std::mem::take) else { return };
        self.min_key = slot_start;
        if level == 0 || entries.len() <= MAX_SORTED_SLOT {
            entries.sort_by_key(|(key, _)| *key);
            self.front_end = slot_start | ((1 << shift) - 1);
            self.front.extend(entries.drain(..));
        } else {
            self.front_end = slot_start;
            for (key, entry) in entries.drain(..) {
                if key == slot_start { self.front.push_back((key, entry)) } else { self.put_into_slot(key, entry) }
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
        /// Compares the queue with an ordered map under random pushes and pops with delays of many
        /// magnitudes.
        #[test]
        fn entries_are_popped_by_key_and_equal_keys_in_the_order_pushed(
            steps in prop::collection::vec(prop::option::of((0u32..60, 0u64..4)), 1..400),
        ) {
            let mut queue = Queue::new();
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (serial, step) in steps.into_iter().enumerate() {
                if let Some((magnitude, offset)) = step {
                    // Zero to three quarters of a power of two after now.
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

    /// Pushes more entries into `front` than it may hold, each before those already in it.
    #[test]
    fn a_front_that_grows_too_long_is_redistributed() {
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
