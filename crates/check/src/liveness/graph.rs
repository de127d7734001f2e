//! The state graph in compressed sparse rows.
//!
//! A vector of edges for each state would cost 24 bytes per state, and an allocation for its edges.
//! Compressed rows cost 8 bytes per state and 4 per edge, and a state's edges are adjacent in
//! memory.

use std::ops::Range;

/// The edges between states, grouped by source, in order of states.
///
/// States are numbered from 0, and there are fewer of them than [`u32::MAX`]. Two states may have
/// several edges between them. A target whose own row was never pushed has no edges, and
/// [`Graph::state_count`] does not count it.
pub(crate) struct Graph {
    /// Index of each state's first edge in `targets`; after the last state, the number of edges.
    offsets: Vec<u64>,
    targets: Vec<u32>,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Self { offsets: vec![0], targets: Vec::new() }
    }

    /// Adds the next state with the targets of all its edges. A target's index is the position of
    /// its edge.
    pub(crate) fn push_row(&mut self, targets: impl IntoIterator<Item = u32>) {
        self.targets.extend(targets);
        self.offsets.push(self.targets.len() as u64);
    }

    /// Returns the targets of a state's edges. An edge is identified by its source and its position
    /// here.
    #[inline]
    pub(crate) fn edges(&self, state: u32) -> &[u32] {
        let numbers = self.edge_numbers(state);
        self.targets.get(numbers.start as usize..numbers.end as usize).unwrap_or_default()
    }

    /// Returns the range of a state's edges in the list of all edges.
    #[inline]
    pub(crate) fn edge_numbers(&self, state: u32) -> Range<u64> {
        let row = state as usize;
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(start), Some(end)) => *start..*end,
            (_, None) | (None, _) => 0..0,
        }
    }

    /// Returns the number of states that have a row.
    pub(crate) fn state_count(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// Memory use of the graph in bytes, including reserved capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.offsets.capacity() * size_of::<u64>() + self.targets.capacity() * size_of::<u32>()
    }
}
