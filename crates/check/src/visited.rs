//! The set of visited states, by fingerprint, with the transition that first reached each.
//!
//! A shard holds the states whose fingerprints end in its number. So threads can fill different
//! shards at once, and the result does not depend on the number of threads. A state takes about
//! sixteen bytes in the table, and four in the list of origins that leads back to the initial
//! state.

use crate::table::FingerprintTable;

/// Number of shards, whatever the number of threads.
pub(crate) const SHARDS: usize = 16;

/// A state, identified by its shard and its index in that shard (its ordinal).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StateId(pub(crate) u32);

impl StateId {
    pub(crate) fn new(shard: usize, ordinal: u32) -> Self {
        Self(ordinal * SHARDS as u32 + shard as u32)
    }

    pub(crate) fn shard(self) -> usize {
        self.0 as usize % SHARDS
    }

    pub(crate) fn ordinal(self) -> u32 {
        self.0 / SHARDS as u32
    }
}

/// Maximum number of states in a shard. The search notices the limit only after a batch, so some
/// numbers are reserved.
pub(crate) const MAX_ORDINALS: u32 = u32::MAX / SHARDS as u32 - (1 << 20);

#[inline]
pub(crate) fn shard_of(fingerprint: u64) -> usize {
    fingerprint as usize % SHARDS
}

pub(crate) struct Shard {
    table: FingerprintTable,
    /// For each state, the index of its parent in the parent's batch, and the action that leads
    /// from the parent to the state. Meaningless for initial states.
    origins: Vec<(u16, u16)>,
    /// For each batch, the number of states in the shard when the batch began.
    batch_starts: Vec<u32>,
}

/// Whether a state was new, and its ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    New(u32),
    Old(u32),
}

impl Shard {
    pub(crate) fn new() -> Self {
        Self { table: FingerprintTable::new(), origins: Vec::new(), batch_starts: Vec::new() }
    }

    pub(crate) fn len(&self) -> u32 {
        self.table.len() as u32
    }

    /// Reads the home slot of a fingerprint, so that it is in the cache when the look-up follows.
    /// The caller must use the result, or the compiler removes the read.
    #[inline]
    pub(crate) fn prefetch(&self, fingerprint: u64) -> u32 {
        self.table.prefetch(fingerprint)
    }

    pub(crate) fn find(&self, fingerprint: u64) -> Option<u32> {
        self.table.find(fingerprint)
    }

    #[inline]
    pub(crate) fn add(&mut self, fingerprint: u64, parent: u16, action: u16) -> Added {
        let ordinal = self.len();
        if let Some(known_ordinal) = self.table.add(fingerprint, ordinal) {
            return Added::Old(known_ordinal);
        }
        if self.origins.len() == self.origins.capacity() {
            self.origins.reserve_exact((self.origins.len() / 8).max(64));
        }
        self.origins.push((parent, action));
        Added::New(ordinal)
    }

    /// Records that the next batch of states is about to be expanded.
    pub(crate) fn begin_batch(&mut self) {
        self.batch_starts.push(self.len());
    }

    /// Returns how a state was first reached: the batch in which its parent was expanded, the
    /// parent's index in it, and the action. `None` for an initial state.
    pub(crate) fn origin(&self, ordinal: u32) -> Option<(usize, u16, u16)> {
        let batch = self.batch_starts.partition_point(|start| *start <= ordinal).checked_sub(1)?;
        let (parent, action) = *self.origins.get(ordinal as usize)?;
        Some((batch, parent, action))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.table.bytes() + self.origins.capacity() as u64 * 4 + self.batch_starts.capacity() as u64 * 4
    }
}

#[cfg(test)]
mod tests {
    use super::{Added, SHARDS, Shard, StateId};
    use crate::content::mix;

    #[test]
    fn a_state_is_new_only_at_its_first_visit() {
        let mut shard = Shard::new();
        assert_eq!(shard.add(mix(1), 1, 2), Added::New(0));
        assert_eq!(shard.add(mix(2), 1, 2), Added::New(1));
        assert_eq!(shard.add(mix(1), 3, 4), Added::Old(0));
        assert_eq!((shard.len(), shard.find(mix(2)), shard.find(mix(3))), (2, Some(1), None));
    }

    #[test]
    fn a_state_takes_at_most_twenty_four_bytes() {
        // Just after the table has grown, a state takes nineteen bytes in it. Its origin takes
        // four, and up to an eighth more for spare capacity.
        let mut shard = Shard::new();
        for number in 0..3_000_000_u64 {
            shard.add(mix(number), 0, 0);
            if number > 10_000 && number % 1_000 == 0 {
                assert!(shard.bytes() <= 24 * number, "{} bytes for {number} states", shard.bytes());
            }
        }
    }

    #[test]
    fn the_origin_of_a_state_names_the_batch_of_its_parent() {
        let mut shard = Shard::new();
        shard.add(10, 0, 0);
        shard.begin_batch();
        shard.add(20, 5, 6);
        shard.begin_batch();
        shard.begin_batch();
        shard.add(30, 7, 8);
        assert_eq!(shard.origin(0), None);
        assert_eq!(shard.origin(1), Some((0, 5, 6)));
        assert_eq!(shard.origin(2), Some((2, 7, 8)));
    }

    #[test]
    fn an_id_holds_its_shard_and_ordinal() {
        let id = StateId::new(SHARDS - 1, 77);
        assert_eq!((id.shard(), id.ordinal()), (SHARDS - 1, 77));
    }
}
