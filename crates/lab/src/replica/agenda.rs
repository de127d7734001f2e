//! What users mean to do later: each item rings an alarm at its time.

use quorate_core::{NodeId, Time};
use quorate_journal::workload::Plan;
use std::collections::BTreeMap;

/// Items by time; those of one instant in the order in which they were put down.
pub(super) struct Agenda<T> {
    items: BTreeMap<(Time, u64), T>,
    number: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { items: BTreeMap::new(), number: 0 }
    }

    /// Puts something down. Alarms ring at nodes whether they are up or down, so any will do.
    pub(super) fn put<C>(&mut self, at: Time, item: T, plan: &mut Plan<C>) {
        self.number += 1;
        self.items.insert((at, self.number), item);
        plan.wake(at, NodeId::from_index(0));
    }

    pub(super) fn due(&mut self, now: Time) -> Option<T> {
        let first = self.items.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
