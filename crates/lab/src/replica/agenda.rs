//! Future actions of clients. The agenda sets an alarm for the time of each action.

use quorate_core::{NodeId, Time};
use quorate_journal::workload::Plan;
use std::collections::BTreeMap;

/// Actions by time, and by insertion order at one instant.
pub(super) struct Agenda<T> {
    actions: BTreeMap<(Time, u64), T>,
    /// Number of actions scheduled so far.
    insertions: u64,
}

impl<T> Agenda<T> {
    pub(super) fn new() -> Self {
        Self { actions: BTreeMap::new(), insertions: 0 }
    }

    /// Schedules an action. Alarms go off even if their node is down, so any node will do.
    pub(super) fn schedule<C>(&mut self, at: Time, action: T, plan: &mut Plan<C>) {
        self.insertions += 1;
        self.actions.insert((at, self.insertions), action);
        plan.set_alarm(at, NodeId::from_index(0));
    }

    /// Removes and returns the next action that is scheduled for `now` or earlier.
    pub(super) fn take_next(&mut self, now: Time) -> Option<T> {
        let first = self.actions.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}
