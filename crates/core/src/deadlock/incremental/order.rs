//! A total order of owner slots, which stand for the parties that wait or are waited for, in which
//! moving a few slots costs little.
//!
//! It is a list whose members have increasing labels, so that comparing two of them takes one
//! comparison of labels. A member that moves gets a label between those of its new neighbours. If
//! no label is free there, the members around get new labels: of the label ranges around the
//! position, each twice as large as the one before, the first that is not too full is chosen, and
//! its members are spread evenly. A larger range must be less dense, so that the number of moves
//! until it must be spread again grows with the number of its members: a move costs O(log n) new
//! labels on average (Dietz and Sleator 1987; Bender and others 2002).

use super::arena::OwnerSlot;
use alloc::vec::Vec;

/// Stands for the missing neighbour before the first and after the last member.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Order {
    /// The list entry of each slot, by slot index. The entries of removed slots are unused.
    entries: Vec<ListEntry>,
    /// The slot index of the first member; `NONE` if there is none.
    first: u32,
    /// The slot index of the last member; `NONE` if there is none.
    last: u32,
    /// Labels are below 2^label_bits.
    label_bits: u32,
}

#[derive(Clone, Copy, Debug)]
struct ListEntry {
    label: u64,
    previous: u32,
    next: u32,
}

impl Default for Order {
    fn default() -> Self {
        // Sums of two labels must fit into 64 bits.
        Self::with_label_bits(62)
    }
}

impl Order {
    /// Creates an empty order with labels of this many bits, which must suffice for one label per
    /// slot. Moves stay cheap up to at least (3/2)^bits slots.
    pub(super) const fn with_label_bits(label_bits: u32) -> Self {
        Self { entries: Vec::new(), first: NONE, last: NONE, label_bits }
    }

    /// Returns the label of a slot: of two slots, the one with the smaller label comes first.
    pub(super) fn label(&self, slot: OwnerSlot) -> u64 {
        self.entries.get(slot.index()).map_or(0, |entry| entry.label)
    }

    pub(super) fn is_before(&self, one: OwnerSlot, other: OwnerSlot) -> bool {
        self.label(one) < self.label(other)
    }

    /// Adds a slot, which must not be in the order yet, at the front.
    pub(super) fn push_first(&mut self, slot: OwnerSlot) {
        let next = self.first;
        // In an empty order, labels are counted from the middle one.
        let next_label = self.entry(next).map_or(1 << (self.label_bits - 1), |entry| entry.label);
        let stride = self.stride().min(next_label.div_ceil(2));
        self.link_between(NONE, next, &[slot]);
        if stride > 0 && stride <= next_label {
            self.set_label(slot.0, next_label - stride);
        } else {
            self.make_room(slot.0, next, next);
        }
    }

    /// Adds a slot, which must not be in the order yet, at the end.
    pub(super) fn push_last(&mut self, slot: OwnerSlot) {
        let previous = self.last;
        // In an empty order, labels are counted from the middle one.
        let previous_label = self.entry(previous).map_or(1 << (self.label_bits - 1), |entry| entry.label);
        let space = (1 << self.label_bits) - 1 - previous_label;
        let stride = self.stride().min(space.div_ceil(2));
        self.link_between(previous, NONE, &[slot]);
        if stride > 0 {
            self.set_label(slot.0, previous_label + stride);
        } else {
            self.make_room(previous, slot.0, previous);
        }
    }

    /// Removes a slot, which must be in the order.
    pub(super) fn remove(&mut self, slot: OwnerSlot) {
        let Some(entry) = self.entry(slot.0).copied() else { return };
        self.join(entry.previous, entry.next);
    }

    pub(super) fn move_first(&mut self, slot: OwnerSlot) {
        self.remove(slot);
        self.push_first(slot);
    }

    pub(super) fn move_last(&mut self, slot: OwnerSlot) {
        self.remove(slot);
        self.push_last(slot);
    }

    /// Moves slots right before `anchor`, which is not one of them, in the given order.
    pub(super) fn move_before(&mut self, anchor: OwnerSlot, slots: &[OwnerSlot]) {
        slots.iter().for_each(|slot| self.remove(*slot));
        let before = self.entry(anchor.0).map_or(NONE, |entry| entry.previous);
        self.insert(before, anchor.0, slots);
    }

    /// Moves slots right after `anchor`, which is not one of them, in the given order.
    pub(super) fn move_after(&mut self, anchor: OwnerSlot, slots: &[OwnerSlot]) {
        slots.iter().for_each(|slot| self.remove(*slot));
        let after = self.entry(anchor.0).map_or(NONE, |entry| entry.next);
        self.insert(anchor.0, after, slots);
    }

    /// The distance between the labels of members added at the ends, as long as enough labels are
    /// free there. With 62 bits it is 2^20, which leaves room for 2^41 members at each end.
    const fn stride(&self) -> u64 {
        1 << (self.label_bits / 3)
    }

    /// The entry of the slot with this index; `None` for `NONE`.
    fn entry(&self, index: u32) -> Option<&ListEntry> {
        self.entries.get(index as usize)
    }

    fn set_label(&mut self, index: u32, label: u64) {
        if let Some(entry) = self.entries.get_mut(index as usize) {
            entry.label = label;
        }
    }

    /// Makes two members neighbours; `NONE` stands for either end of the list.
    fn join(&mut self, before: u32, after: u32) {
        match self.entries.get_mut(before as usize) {
            Some(entry) => entry.next = after,
            None => self.first = after,
        }
        match self.entries.get_mut(after as usize) {
            Some(entry) => entry.previous = before,
            None => self.last = before,
        }
    }

    /// Links slots between two neighbours, but gives them no labels.
    fn link_between(&mut self, before: u32, after: u32, slots: &[OwnerSlot]) {
        let mut last = before;
        for slot in slots {
            if self.entries.len() <= slot.index() {
                self.entries.resize(slot.index() + 1, ListEntry { label: 0, previous: NONE, next: NONE });
            }
            self.join(last, slot.0);
            last = slot.0;
        }
        self.join(last, after);
    }

    /// Inserts slots between two neighbours and gives them labels.
    fn insert(&mut self, before: u32, after: u32, slots: &[OwnerSlot]) {
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return };
        self.link_between(before, after, slots);
        let low = self.entry(before).map(|entry| entry.label);
        let high = self.entry(after).map_or(1 << self.label_bits, |entry| entry.label);
        let begin = low.map_or(0, |label| label + 1);
        let step = high.saturating_sub(begin) / (slots.len() as u64 + 1);
        if step > 0 {
            for (label, slot) in (0..).map(|index| begin + (index + 1) * step - 1).zip(slots) {
                self.set_label(slot.0, label);
            }
        } else if low.is_some() {
            self.make_room(before, last.0, before);
        } else {
            self.make_room(first.0, after, after);
        }
    }

    /// Assigns new labels to all members from `left` to `right`, and to as many around them as
    /// necessary. From `left` to `right` only `anchor`, which is one of these two, has a label yet.
    fn make_room(&mut self, mut left: u32, mut right: u32, anchor: u32) {
        let label = self.entry(anchor).map_or(0, |entry| entry.label);
        let mut count = 1;
        let mut current = left;
        while current != right {
            count += 1;
            current = self.entry(current).map_or(right, |entry| entry.next);
        }
        // A range of 2^bits labels may have `capacity` members, which is at least (3/2)^bits; the
        // range of all labels may have one member for each label.
        let mut capacity = 1;
        for bits in 1..=self.label_bits {
            capacity = capacity * 3 / 2 + 1;
            let (low, size) = (label >> bits << bits, 1 << bits);
            let before = |order: &Self, index: u32| order.entry(index).map_or(NONE, |entry| entry.previous);
            let after = |order: &Self, index: u32| order.entry(index).map_or(NONE, |entry| entry.next);
            while self.entry(before(self, left)).is_some_and(|entry| entry.label >= low) {
                left = before(self, left);
                count += 1;
            }
            while self.entry(after(self, right)).is_some_and(|entry| entry.label < low + size) {
                right = after(self, right);
                count += 1;
            }
            if count <= size && (count <= capacity || bits == self.label_bits) {
                self.spread(left, low, size / count, count);
                return;
            }
        }
    }

    /// Gives labels to `count` members, beginning with `left`: `step` apart, from `low` upwards.
    fn spread(&mut self, left: u32, low: u64, step: u64, count: u64) {
        let mut current = left;
        for index in 0..count {
            self.set_label(current, low + index * step + step / 2);
            current = self.entry(current).map_or(NONE, |entry| entry.next);
        }
    }

    #[cfg(test)]
    pub(super) fn slots(&self) -> Vec<OwnerSlot> {
        let mut slots = Vec::new();
        let mut current = self.first;
        while let Some(entry) = self.entry(current) {
            slots.push(OwnerSlot(current));
            current = entry.next;
        }
        slots
    }
}
