//! Marks for owner slots that are cleared in constant time, so that a search pays for what it
//! visits and not for the whole graph.

use super::arena::OwnerSlot;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    notes: Vec<(u64, u32)>,
    round: u64,
}

/// The round of slots that were never marked.
const NEVER: u64 = u64::MAX;

impl Marks {
    pub(super) fn clear(&mut self) {
        self.round += 1;
    }

    pub(super) fn set(&mut self, slot: OwnerSlot, value: u32) {
        if self.notes.len() <= slot.index() {
            self.notes.resize(slot.index() + 1, (NEVER, 0));
        }
        if let Some(note) = self.notes.get_mut(slot.index()) {
            *note = (self.round, value);
        }
    }

    pub(super) fn get(&self, slot: OwnerSlot) -> Option<u32> {
        let (round, value) = *self.notes.get(slot.index())?;
        (round == self.round).then_some(value)
    }

    pub(super) fn has(&self, slot: OwnerSlot) -> bool {
        self.get(slot).is_some()
    }
}
