//! States that wait to be expanded. A shard is a part of the set of visited states.

use crate::visited::StateId;

/// States stored one after the other, each as the 32-bit words that encode it. A search appends
/// blocks to form a batch, whose states it expands together.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) words: Vec<u32>,
    /// The end of each state's words.
    pub(crate) ends: Vec<u32>,
    pub(crate) fingerprints: Vec<u64>,
    /// Where the states are in the shards, in the same order.
    pub(crate) shard_ranges: Vec<ShardRange>,
}

/// Consecutive states of one shard.
#[derive(Clone, Copy)]
pub(crate) struct ShardRange {
    pub(crate) shard: u8,
    /// The index of the first of these states in the shard.
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Block {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn state(&self, index: usize) -> &[u32] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.words[start..self.ends[index] as usize]
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.words.capacity() as u64 * 4 + self.ends.capacity() as u64 * 4 + self.fingerprints.capacity() as u64 * 8
    }

    /// Marks the states as the last ones of a shard with `len` states.
    pub(crate) fn mark_as_end_of_shard(mut self, shard: u8, len: u32) -> Self {
        let count = self.len() as u32;
        self.shard_ranges = vec![ShardRange { shard, first: len - count, count }];
        self
    }

    pub(crate) fn append(&mut self, other: Self) {
        let offset = self.words.len() as u32;
        self.words.extend_from_slice(&other.words);
        self.ends.extend(other.ends.iter().map(|end| end + offset));
        self.fingerprints.extend_from_slice(&other.fingerprints);
        self.shard_ranges.extend_from_slice(&other.shard_ranges);
    }
}

/// Returns the id of the state at this index of a batch whose states are in these ranges.
pub(crate) fn state_id_at(ranges: &[ShardRange], index: usize) -> Option<StateId> {
    let mut index = index as u32;
    for range in ranges {
        if index < range.count {
            return Some(StateId::new(usize::from(range.shard), range.first + index));
        }
        index -= range.count;
    }
    None
}
