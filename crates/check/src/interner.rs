//! Interning: each distinct value is stored once and has a small number.

use crate::content::content_fingerprint;
use std::hash::Hash;

/// Distinct values, numbered in order of insertion.
pub(crate) struct Interner<T> {
    values: Vec<T>,
    fingerprints: Vec<u64>,
    /// Numbers of values by fingerprint, at most half full; `EMPTY_SLOT` in unused slots.
    slots: Vec<u32>,
}

const EMPTY_SLOT: u32 = u32::MAX;

impl<T: Hash + Eq> Interner<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), fingerprints: Vec::new(), slots: vec![EMPTY_SLOT; 64] }
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// Returns the number of a value, its fingerprint, and whether the value is new.
    pub(crate) fn intern(&mut self, value: T) -> (u32, u64, bool) {
        let fingerprint = content_fingerprint(&value);
        let mut slot = self.home_slot(fingerprint);
        while self.slots[slot] != EMPTY_SLOT {
            let number = self.slots[slot];
            if self.fingerprints[number as usize] == fingerprint && self.values[number as usize] == value {
                return (number, fingerprint, false);
            }
            slot = (slot + 1) % self.slots.len();
        }
        let number = self.values.len() as u32;
        self.slots[slot] = number;
        self.values.push(value);
        self.fingerprints.push(fingerprint);
        if self.values.len() * 2 > self.slots.len() {
            self.grow();
        }
        (number, fingerprint, true)
    }

    fn home_slot(&self, fingerprint: u64) -> usize {
        fingerprint as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![EMPTY_SLOT; self.slots.len() * 2];
        for number in 0..self.values.len() {
            let mut slot = self.home_slot(self.fingerprints[number]);
            while self.slots[slot] != EMPTY_SLOT {
                slot = (slot + 1) % self.slots.len();
            }
            self.slots[slot] = number as u32;
        }
    }
}

/// A map from 64-bit words to small numbers, for the most frequent look-up of the search: a key and
/// its number are adjacent in memory.
pub(crate) struct WordMap {
    /// At most about two thirds full.
    slots: Vec<(u64, u32)>,
    len: usize,
}

/// Marks a free slot; no key has this value.
const EMPTY_KEY: u64 = u64::MAX;

impl WordMap {
    pub(crate) fn new() -> Self {
        Self { slots: vec![(EMPTY_KEY, 0); 1024], len: 0 }
    }

    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) & mask;
        loop {
            let (found, number) = self.slots[slot];
            if found == key {
                return Some(number);
            }
            if found == EMPTY_KEY {
                return None;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a key that is not in the map yet.
    pub(crate) fn insert(&mut self, key: u64, number: u32) {
        if self.len * 3 >= self.slots.len() * 2 {
            let larger = vec![(EMPTY_KEY, 0); self.slots.len() * 2];
            for (key, number) in std::mem::replace(&mut self.slots, larger) {
                if key != EMPTY_KEY {
                    self.insert_without_growing(key, number);
                }
            }
        }
        self.len += 1;
        self.insert_without_growing(key, number);
    }

    fn insert_without_growing(&mut self, key: u64, number: u32) {
        let mask = self.slots.len() - 1;
        let mut slot = hash(key) & mask;
        while self.slots[slot].0 != EMPTY_KEY {
            slot = (slot + 1) & mask;
        }
        self.slots[slot] = (key, number);
    }

    pub(crate) fn bytes(&self) -> u64 {
        (self.slots.len() * size_of::<(u64, u32)>()) as u64
    }
}

/// Returns the hash of a key. The shift drops the bits of the product that depend only on low bits
/// of the key.
#[inline]
fn hash(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29) as usize
}

#[cfg(test)]
mod tests {
    use super::{Interner, WordMap};

    #[test]
    fn equal_values_share_a_number() {
        let mut interner = Interner::new();
        let numbers: Vec<_> = (0..1_000_u32).map(|value| interner.intern(value % 300).0).collect();
        assert!(numbers.iter().enumerate().all(|(index, number)| index % 300 == *number as usize));
        assert_eq!(*interner.get(7), 7);
    }

    #[test]
    fn a_word_map_finds_every_stored_key() {
        let mut map = WordMap::new();
        for key in 0..10_000_u64 {
            assert_eq!(map.get(key << 16), None);
            map.insert(key << 16, key as u32);
        }
        assert!((0..10_000_u64).all(|key| map.get(key << 16) == Some(key as u32)));
    }
}
