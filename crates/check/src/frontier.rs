//! States that wait to be expanded.

use crate::visited::StateId;

/// States stored one after the other, each as its words.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) words: Vec<u32>,
    /// The end of each state's words.
    pub(crate) ends: Vec<u32>,
    pub(crate) fingerprints: Vec<u64>,
    /// The shards that the states belong to, with their indices there.
    pub(crate) runs: Vec<Run>,
}

/// Consecutive states of one shard.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) shard: u8,
    /// The index of the first one in its shard.
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
        self.runs = vec![Run { shard, first: len - count, count }];
        self
    }

    pub(crate) fn append(&mut self, other: Self) {
        let offset = self.words.len() as u32;
        self.words.extend_from_slice(&other.words);
        self.ends.extend(other.ends.iter().map(|end| end + offset));
        self.fingerprints.extend_from_slice(&other.fingerprints);
        self.runs.extend_from_slice(&other.runs);
    }
}

/// Returns the state at this index of a batch with these runs.
pub(crate) fn id_at(runs: &[Run], index: usize) -> Option<StateId> {
    let mut index = index as u32;
    for run in runs {
        if index < run.count {
            return Some(StateId::new(usize::from(run.shard), run.first + index));
        }
        index -= run.count;
    }
    None
}
