//! A hash table from fingerprints to small numbers, for sets that only grow.
//!
//! Entries are sorted by fingerprint, each as near to its home slot as the entries before it allow,
//! with free slots between them. The home slot of a fingerprint is in proportion to its value. So a
//! look-up ends at the first larger fingerprint or free slot, and growing is a sweep through
//! memory. An entry takes twelve bytes, and a large table is 60 to 85 per cent full.

/// Fingerprints of states, each with a number that the caller chooses, such as a depth.
pub(crate) struct FingerprintTable {
    /// The two halves of a fingerprint and its number; all zero in a free slot.
    entries: Vec<[u32; 3]>,
    /// Number of home slots. The `MARGIN` slots behind the last home slot hold entries that were
    /// pushed aside.
    home_slots: usize,
    len: usize,
}

/// Marks a free slot. A state with this fingerprint is stored under the fingerprint 1 instead.
const FREE: u64 = 0;
/// Number of slots behind the last home slot. It bounds how many entries may cluster at the upper
/// end of the table; fingerprints are hashes, so they do not cluster.
const MARGIN: usize = 64;

#[inline]
fn fingerprint_of(entry: [u32; 3]) -> u64 {
    u64::from(entry[1]) << 32 | u64::from(entry[0])
}

fn entry(fingerprint: u64, number: u32) -> [u32; 3] {
    [fingerprint as u32, (fingerprint >> 32) as u32, number]
}

impl FingerprintTable {
    pub(crate) fn new() -> Self {
        const INITIAL_HOME_SLOTS: usize = 192;
        Self { entries: vec![[0; 3]; INITIAL_HOME_SLOTS + MARGIN], home_slots: INITIAL_HOME_SLOTS, len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    fn home_slot(&self, fingerprint: u64) -> usize {
        ((u128::from(fingerprint) * self.home_slots as u128) >> 64) as usize
    }

    /// Reads the home slot of a fingerprint, so that it is in the cache when the look-up follows.
    /// The caller must use the result, or the compiler removes the read.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprint: u64) -> u32 {
        self.entries[self.home_slot(fingerprint)][0]
    }

    /// Returns the slot of a fingerprint and its number. If the fingerprint is absent, returns the
    /// slot where it belongs, which may lie just past the last slot.
    #[inline]
    fn find_slot(&self, fingerprint: u64) -> (usize, Option<u32>) {
        let start = self.home_slot(fingerprint);
        for (distance, entry) in self.entries[start..].iter().enumerate() {
            let found = fingerprint_of(*entry);
            if found >= fingerprint {
                return (start + distance, (found == fingerprint).then_some(entry[2]));
            }
            if found == FREE {
                return (start + distance, None);
            }
        }
        (self.entries.len(), None)
    }

    pub(crate) fn find(&self, fingerprint: u64) -> Option<u32> {
        self.find_slot(fingerprint.max(FREE + 1)).1
    }

    /// Adds a fingerprint and returns `None`; if it is present, returns its number instead.
    #[inline]
    pub(crate) fn add(&mut self, fingerprint: u64, number: u32) -> Option<u32> {
        let fingerprint = fingerprint.max(FREE + 1);
        let (mut index, found) = self.find_slot(fingerprint);
        if found.is_some() {
            return found;
        }
        let mut displaced = entry(fingerprint, number);
        while let Some(slot) = self.entries.get_mut(index) {
            displaced = std::mem::replace(slot, displaced);
            if fingerprint_of(displaced) == FREE {
                break;
            }
            index += 1;
        }
        self.len += 1;
        // 17/20 is 85 per cent.
        let is_too_full = self.len * 20 > self.home_slots * 17;
        if fingerprint_of(displaced) != FREE {
            self.grow(Some(displaced));
        } else if is_too_full {
            self.grow(None);
        }
        None
    }

    /// Enlarges the table by 35 per cent, or more if entries still find no slot. `displaced` is an
    /// entry that was pushed past the last slot, so it is larger than all others and goes last.
    fn grow(&mut self, displaced: Option<[u32; 3]>) {
        let mut home_slots = self.home_slots;
        let entries = std::mem::take(&mut self.entries);
        'larger: loop {
            home_slots = home_slots * 27 / 20 + 1;
            self.home_slots = home_slots;
            self.entries = vec![[0; 3]; home_slots + MARGIN];
            let mut next = 0;
            let occupied = entries.iter().filter(|entry| fingerprint_of(**entry) != FREE);
            for entry in occupied.chain(&displaced) {
                let index = self.home_slot(fingerprint_of(*entry)).max(next);
                let Some(free) = self.entries.get_mut(index) else { continue 'larger };
                *free = *entry;
                next = index + 1;
            }
            return;
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.entries.len() as u64 * size_of::<[u32; 3]>() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::FingerprintTable;
    use crate::content::mix;
    use std::collections::HashMap;

    #[test]
    fn a_table_finds_every_stored_fingerprint() {
        let mut table = FingerprintTable::new();
        for number in 0..50_000_u32 {
            assert_eq!(table.add(mix(u64::from(number)), number), None);
        }
        let ignored_number = 7;
        for number in 0..50_000_u32 {
            assert_eq!(table.add(mix(u64::from(number)), ignored_number), Some(number));
            assert_eq!(table.find(mix(u64::from(number))), Some(number));
        }
        assert_eq!(table.find(mix(50_000)), None);
        assert_eq!(table.len(), 50_000);
    }

    /// Fingerprints that cluster at the lower end or in the middle are stored too. The sums wrap
    /// around, so the test has only one fingerprint at the upper end.
    #[test]
    fn skewed_fingerprints_are_stored_too() {
        let bases = [0, 1, u64::MAX, u64::MAX / 2, 1 << 63];
        for base in bases {
            let mut table = FingerprintTable::new();
            let mut known = HashMap::new();
            for number in 0..3_000_u32 {
                // Knuth's multiplicative hash: the offsets come in no order, and some repeat.
                let offset = u64::from(number.wrapping_mul(2_654_435_761) % 2_000);
                let fingerprint = base.wrapping_add(offset).max(1);
                assert_eq!(table.add(fingerprint, number), known.get(&fingerprint).copied(), "{base} {number}");
                known.entry(fingerprint).or_insert(number);
            }
            assert!(known.iter().all(|(fingerprint, number)| table.find(*fingerprint) == Some(*number)));
            assert_eq!(table.len(), known.len());
        }
    }

    #[test]
    fn fingerprints_zero_and_one_share_an_entry() {
        let mut table = FingerprintTable::new();
        assert_eq!(table.add(0, 5), None);
        assert_eq!(table.find(0), Some(5));
        assert_eq!(table.add(1, 6), Some(5), "0 and 1 share an entry, like two states with the same fingerprint");
    }

    #[test]
    fn an_entry_of_a_large_table_takes_at_most_twenty_bytes() {
        let mut table = FingerprintTable::new();
        for number in 0..2_000_000_u64 {
            table.add(mix(number), 0);
            if number > 10_000 && number % 1_000 == 0 {
                // At 60 per cent full, the twelve bytes of an entry need twenty.
                assert!(table.bytes() <= 20 * number, "{} bytes for {number} entries", table.bytes());
            }
        }
    }
}
