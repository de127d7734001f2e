//! The state graph as two long rows of numbers.
//!
//! A list of edges for each state would cost an allocation and 24 bytes a state before its first edge. Compressed
//! rows cost 8 bytes a state and 4 an edge, and a state's edges lie side by side.

use std::ops::Range;

/// The edges between states, grouped by their source, in order of states.
///
/// States are numbered from 0, and there are fewer of them than [`u32::MAX`]. Two states may have several edges
/// between them. A target whose own row was never pushed, such as a state that a bounded search did not come to,
/// counts as a state without edges.
pub(crate) struct Graph {
    /// Where the edges of each state begin among the targets, and after the last state, where they end.
    offsets: Vec<u64>,
    targets: Vec<u32>,
}

impl Graph {
    pub(crate) fn new() -> Self {
        Self { offsets: vec![0], targets: Vec::new() }
    }

    /// Adds the next state with all its edges: where each of them leads, in the order of their positions.
    pub(crate) fn push_row(&mut self, targets: impl IntoIterator<Item = u32>) {
        self.targets.extend(targets);
        self.offsets.push(self.targets.len() as u64);
    }

    /// Where the edges of a state lead. An edge is known by its source and its position here.
    #[inline]
    pub(crate) fn edges(&self, state: u32) -> &[u32] {
        let numbers = self.edge_numbers(state);
        self.targets.get(numbers.start as usize..numbers.end as usize).unwrap_or_default()
    }

    /// The numbers of a state's edges among those of all states, for whoever keeps something beside each edge.
    #[inline]
    pub(crate) fn edge_numbers(&self, state: u32) -> Range<u64> {
        let row = state as usize;
        match (self.offsets.get(row), self.offsets.get(row + 1)) {
            (Some(start), Some(end)) => *start..*end,
            (_, None) | (None, _) => 0..0,
        }
    }

    /// How many states there are; they are the numbers below it.
    pub(crate) fn states(&self) -> u32 {
        (self.offsets.len() - 1) as u32
    }

    /// The memory that the graph holds, with what it has set aside to grow.
    pub(crate) fn bytes(&self) -> usize {
        self.offsets.capacity() * size_of::<u64>() + self.targets.capacity() * size_of::<u32>()
    }
}
