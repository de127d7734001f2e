//! Future actions of clients. Each action sets an alarm for its time.

use quorate_core::{NodeId, Time};
use quorate_journal::workload::Plan;
use std::collections::BTreeMap;

/// Actions by time, and by insertion order at one instant.
pub(super) struct Agenda<T> {
    items: BTreeMap<(Time, u64), T>,
    number: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { items: BTreeMap::new(), number: 0 }
    }

    /// Schedules an action. Alarms go off even if their node is down, so any node will do.
    pub(super) fn put<C>(&mut self, at: Time, item: T, plan: &mut Plan<C>) {
        self.number += 1;
        self.items.insert((at, self.number), item);
        plan.set_alarm(at, NodeId::from_index(0));
    }

    /// Removes and returns the next action that is due.
    pub(super) fn due(&mut self, now: Time) -> Option<T> {
        let first = self.items.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
