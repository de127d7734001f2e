//! Fewer events: postpones timers that need not fire, and lets nodes that need not do anything
//! crash at the start.
//!
//! Each change adds a line to the script, but may remove many events.

use super::saturating_difference;
use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::{Duration, NodeId};
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Direction, Fault, TimedFault, UnsyncedSaves};

const SECOND: Duration = Duration::from_secs(1);
/// Maximum number of timers of each node, from its first one on, that the search tries to postpone.
const MAX_TIMERS: u64 = 60;

impl<F: FamilyLab> Search<'_, F> {
    /// Tries to crash nodes at the start and to postpone timers, if this removes events. Does
    /// nothing if a liveness property fails: postponed timers would only delay the failure.
    pub(super) fn try_fewer_events(&mut self) {
        if self.failure.kind != PropertyKind::Always || self.best.script.is_none() {
            return;
        }
        let mut index = 0;
        while index < self.best.nodes && !self.should_stop() {
            let node = NodeId::from_index(index);
            self.try_crash_at_start(node);
            self.try_to_postpone_timers(node);
            index += 1;
        }
    }

    /// Tries a script that crashes a node at the start, without the node's other faults, commands
    /// and directions.
    fn try_crash_at_start(&mut self, node: NodeId) {
        let mut script = self.script();
        let fault = Fault::Crash { node, unsynced: UnsyncedSaves::Lost };
        script.faults.retain(|timed| timed.fault.node() != Some(node));
        script.commands.retain(|command| command.node != node);
        script.directions.retain(|direction| !direction.nodes().contains(&Some(node)));
        script.faults.insert(0, TimedFault { at: Duration::ZERO, fault, duration: None });
        self.try_script(script);
    }

    /// Tries to postpone the timers of a node beyond the violation.
    fn try_to_postpone_timers(&mut self, node: NodeId) {
        let violation_nanos = self.failure.violation.time.nanos().unsigned_abs();
        let delay = SECOND.times(1 + violation_nanos / SECOND.nanos());
        let mut number = 1;
        while number <= (self.failure.timer_set_times(node).len() as u64).min(MAX_TIMERS) && !self.should_stop() {
            let mut script = self.script();
            let is_same_timer = |direction: &Direction| match *direction {
                Direction::Timer { node: other_node, number: other_number, .. } => {
                    (other_node, other_number) == (node, number)
                }
                Direction::Message { .. } | Direction::Sync { .. } => false,
            };
            // Skip a timer that is already postponed as far.
            if !script.directions.iter().any(|direction| {
                is_same_timer(direction) && saturating_difference(delay, duration_of(direction)) == Duration::ZERO
            }) {
                script.directions.retain(|direction| !is_same_timer(direction));
                script.directions.push(Direction::Timer { node, number, delay });
                script.directions.sort();
                self.try_script(script);
            }
            number += 1;
        }
    }
}

fn duration_of(direction: &Direction) -> Duration {
    match direction {
        Direction::Timer { delay: duration, .. } | Direction::Sync { duration, .. } => *duration,
        Direction::Message { .. } => Duration::ZERO,
    }
}
