//! Marks (numbers) for owner slots. Clearing them takes constant time, so a search costs only what
//! it visits, however large the graph is.

use super::arena::OwnerSlot;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// The generation in which each slot was marked, and the mark.
    entries: Vec<(u64, u32)>,
    /// The current generation. Marks of earlier ones count as cleared.
    generation: u64,
}

/// The generation of slots that were never marked.
const NEVER: u64 = u64::MAX;

impl Marks {
    pub(super) fn clear(&mut self) {
        self.generation += 1;
    }

    pub(super) fn set(&mut self, slot: OwnerSlot, value: u32) {
        if self.entries.len() <= slot.index() {
            self.entries.resize(slot.index() + 1, (NEVER, 0));
        }
        if let Some(entry) = self.entries.get_mut(slot.index()) {
            *entry = (self.generation, value);
        }
    }

    pub(super) fn get(&self, slot: OwnerSlot) -> Option<u32> {
        let (generation, value) = *self.entries.get(slot.index())?;
        (generation == self.generation).then_some(value)
    }

    pub(super) fn has(&self, slot: OwnerSlot) -> bool {
        self.get(slot).is_some()
    }
}
