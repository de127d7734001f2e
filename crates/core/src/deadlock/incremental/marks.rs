//! Marks for owner slots that are cleared in constant time, so that a search pays for what it
//! visits and not for the whole graph.

use super::arena::OwnerSlot;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// The generation in which each slot was marked, and the mark.
    entries: Vec<(u64, u32)>,
    /// Marks of earlier generations are cleared.
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
