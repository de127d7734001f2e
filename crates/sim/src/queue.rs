//! The queue of what is to come: a radix heap in hexadecimal digits.
//!
//! Time never goes back, so an entry can be filed by the highest digit in which its key differs from the key taken
//! last, and by the value of that digit. The next entries are then all in one place: the lowest level that is not
//! empty, and there the lowest slot. A small slot is sorted and taken entry by entry; a large one is filed anew, one
//! level down. With a million entries pending that is several times faster than a binary heap, because slots are
//! read from front to back. Equal keys come out in the order they went in: they always share a slot, and neither
//! filing nor sorting changes their order.

use std::collections::VecDeque;

/// Entries with keys that never fall below the last key taken.
pub(crate) struct Queue<T> {
    /// No key is below it. What is filed at level `l` has the same digits above `l`, and a larger one at `l`.
    last: u64,
    /// The entries that come next, in order.
    run: VecDeque<(u64, T)>,
    /// Keys up to this one belong into the run.
    run_end: u64,
    /// `LEVELS` times `SLOTS` slots.
    slots: Vec<Vec<(u64, T)>>,
    /// For each level, which of its slots are not empty.
    occupied: [u16; LEVELS],
    /// Which levels are not empty.
    levels: u16,
}

const DIGIT: u32 = 4;
const SLOTS: usize = 1 << DIGIT;
const LEVELS: usize = (u64::BITS / DIGIT) as usize;
/// A slot of at most so many entries is sorted rather than filed anew.
const SORTED: usize = 64;
/// A run that has grown beyond this by entries that came late is filed anew: inserting would become slow.
const LONG_RUN: usize = 1024;
/// An emptied slot keeps its memory only if it is small; a large one is needed again too rarely.
const KEPT_CAPACITY: usize = 1 << 10;

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self {
            last: 0,
            run: VecDeque::new(),
            run_end: 0,
            slots: (0..LEVELS * SLOTS).map(|_| Vec::new()).collect(),
            occupied: [0; LEVELS],
            levels: 0,
        }
    }

    /// Files an entry. A key in the past is taken for the present.
    #[inline]
    pub(crate) fn push(&mut self, key: u64, entry: T) {
        let key = key.max(self.last);
        if key <= self.run_end { self.push_into_run(key, entry) } else { self.file(key, entry) }
    }

    /// Takes the entry with the smallest key, the first of those that share it.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(u64, T)> {
        while self.run.is_empty() {
            if self.levels == 0 {
                return None;
            }
            self.open_slot();
        }
        let (key, entry) = self.run.pop_front()?;
        self.last = key;
        if self.run.is_empty() {
            self.run_end = key;
        }
        Some((key, entry))
    }

    /// An entry that comes soon, if one is known without a search.
    #[inline]
    pub(crate) fn soon(&self) -> Option<&T> {
        self.run.get(1).map(|(_, entry)| entry)
    }

    /// The smallest key. It is looked up, not taken out, so that what is filed next may still come before it.
    pub(crate) fn next_key(&self) -> Option<u64> {
        if let Some((key, _)) = self.run.front() {
            return Some(*key);
        }
        let level = self.levels.trailing_zeros() as usize;
        let digit = self.occupied.get(level)?.trailing_zeros() as usize;
        self.slots.get(level * SLOTS + digit)?.iter().map(|(key, _)| *key).min()
    }

    fn push_into_run(&mut self, key: u64, entry: T) {
        if self.run.len() < LONG_RUN || self.run.back().is_none_or(|(latest, _)| *latest <= key) {
            let place = self.run.partition_point(|(earlier, _)| *earlier <= key);
            self.run.insert(place, (key, entry));
            return;
        }
        self.run_end = self.last;
        for (key, entry) in std::mem::take(&mut self.run) {
            self.push(key, entry);
        }
        self.push(key, entry);
    }

    /// Files an entry whose key is beyond `last`.
    #[inline]
    fn file(&mut self, key: u64, entry: T) {
        let level = ((u64::BITS - 1 - (key ^ self.last).leading_zeros()) / DIGIT) as usize;
        let digit = (key >> (level as u32 * DIGIT)) as usize % SLOTS;
        if let (Some(slot), Some(occupied)) = (self.slots.get_mut(level * SLOTS + digit), self.occupied.get_mut(level))
        {
            slot.push((key, entry));
            *occupied |= 1 << digit;
            self.levels |= 1 << level;
        }
    }

    /// Makes the lowest slot the run if it is small; else files it anew, lower down.
    fn open_slot(&mut self) {
        let level = self.levels.trailing_zeros();
        let Some(occupied) = self.occupied.get_mut(level as usize) else { return };
        let digit = occupied.trailing_zeros();
        *occupied &= !(1 << digit);
        if *occupied == 0 {
            self.levels &= !(1 << level);
        }
        let shift = level * DIGIT;
        let above = self.last.checked_shr(shift + DIGIT).unwrap_or(0).checked_shl(shift + DIGIT).unwrap_or(0);
        let first = above | (u64::from(digit) << shift);
        let place = level as usize * SLOTS + digit as usize;
        let Some(mut entries) = self.slots.get_mut(place).map(std::mem::take) else { return };
        self.last = first;
        if level == 0 || entries.len() <= SORTED {
            entries.sort_by_key(|(key, _)| *key);
            self.run_end = first | ((1 << shift) - 1);
            self.run.extend(entries.drain(..));
        } else {
            self.run_end = first;
            for (key, entry) in entries.drain(..) {
                if key == first { self.run.push_back((key, entry)) } else { self.file(key, entry) }
            }
        }
        if entries.capacity() <= KEPT_CAPACITY
            && let Some(slot) = self.slots.get_mut(place)
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

    /// Entries that come late, each before those already in the run, and more of them than a run may hold.
    #[test]
    fn a_run_that_grows_too_long_is_filed_anew() {
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
    fn the_past_is_taken_for_the_present() {
        let mut queue = Queue::new();
        queue.push(10, "ten");
        assert_eq!(queue.pop(), Some((10, "ten")));
        queue.push(3, "late");
        assert_eq!(queue.pop(), Some((10, "late")));
        assert_eq!(queue.pop(), None);
    }
}
