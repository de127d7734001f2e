//! States that wait to be expanded.

use crate::visited::StateId;

/// States stored one after the other, each as its words.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) words: Vec<u32>,
    pub(crate) ends: Vec<u32>,
    pub(crate) fingerprints: Vec<u64>,
    /// The shards that the states belong to, with their indices there.
    pub(crate) runs: Vec<Run>,
}

/// Consecutive states of one shard.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) shard: u8,
    pub(crate) first: u32,
    pub(crate) count: u32,
}

impl Block {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn state(&self, place: usize) -> &[u32] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] as usize };
        &self.words[start..self.ends[place] as usize]
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.words.capacity() as u64 * 4 + self.ends.capacity() as u64 * 4 + self.fingerprints.capacity() as u64 * 8
    }

    /// Marks the states as the last ones of a shard with `len` states.
    pub(crate) fn of_shard(mut self, shard: u8, len: u32) -> Self {
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
pub(crate) fn id_at(runs: &[Run], place: usize) -> Option<StateId> {
    let mut place = place as u32;
    for run in runs {
        if place < run.count {
            return Some(StateId::new(usize::from(run.shard), run.first + place));
        }
        place -= run.count;
    }
    None
}
