//! Notes about seats that are wiped in one go, so that a search pays for what it sees and not for the whole graph.

use super::arena::Seat;
use alloc::vec::Vec;

#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    notes: Vec<(u64, u32)>,
    round: u64,
}

/// The round of those who were never marked.
const NEVER: u64 = u64::MAX;

impl Marks {
    pub(super) fn wipe(&mut self) {
        self.round += 1;
    }

    pub(super) fn set(&mut self, seat: Seat, value: u32) {
        if self.notes.len() <= seat.index() {
            self.notes.resize(seat.index() + 1, (NEVER, 0));
        }
        if let Some(note) = self.notes.get_mut(seat.index()) {
            *note = (self.round, value);
        }
    }

    pub(super) fn get(&self, seat: Seat) -> Option<u32> {
        let (round, value) = *self.notes.get(seat.index())?;
        (round == self.round).then_some(value)
    }

    pub(super) fn has(&self, seat: Seat) -> bool {
        self.get(seat).is_some()
    }
}
