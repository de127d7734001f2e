//! Fewer events: postpones timers that need not fire, and crashes nodes at the start that need not
//! do anything.
//!
//! This adds a line to the script, but may remove many events.

use super::saturating_difference;
use super::search::Search;
use crate::family::FamilyLab;
use quorate_core::{Duration, NodeId};
use quorate_journal::property::Kind;
use quorate_journal::settings::{Direction, Fault, TimedFault, Unsynced};

const SECOND: Duration = Duration::from_secs(1);
/// Later timers than this many are left unchanged.
const MAX_TIMERS: u64 = 60;

impl<F: FamilyLab> Search<'_, F> {
    /// Postpones timers and takes nodes down, if this removes events. Not for liveness properties,
    /// which would be postponed as well.
    pub(super) fn remove_events(&mut self) {
        if self.failure.kind != Kind::Always || self.best.script.is_none() {
            return;
        }
        let mut index = 0;
        while index < self.best.nodes && !self.should_stop() {
            let node = NodeId::from_index(index);
            self.take_down(node);
            self.postpone_timers(node);
            index += 1;
        }
    }

    /// Tries to crash a node at the start.
    fn take_down(&mut self, node: NodeId) {
        let mut script = self.script();
        let fault = Fault::Crash { node, unsynced: Unsynced::Lost };
        script.faults.retain(|timed| timed.fault.node() != Some(node));
        script.commands.retain(|command| command.node != node);
        script.directions.retain(|direction| !direction.nodes().contains(&Some(node)));
        script.faults.insert(0, TimedFault { at: Duration::ZERO, fault, lasts: None });
        self.try_script(script);
    }

    /// Tries to postpone the timers of a node beyond the violation.
    fn postpone_timers(&mut self, node: NodeId) {
        let violation_nanos = self.failure.violation.time.nanos().unsigned_abs();
        let takes = SECOND.times(1 + violation_nanos / SECOND.nanos());
        let mut number = 1;
        while number <= (self.failure.timers(node).len() as u64).min(MAX_TIMERS) && !self.should_stop() {
            let mut script = self.script();
            let is_same_timer = |direction: &Direction| matches!(*direction, Direction::Timer { node: other_node, number: other_number, .. } if (other_node, other_number) == (node, number));
            if !script.directions.iter().any(|direction| {
                is_same_timer(direction) && saturating_difference(takes, duration_of(direction)) == Duration::ZERO
            }) {
                script.directions.retain(|direction| !is_same_timer(direction));
                script.directions.push(Direction::Timer { node, number, takes });
                script.directions.sort();
                self.try_script(script);
            }
            number += 1;
        }
    }
}

fn duration_of(direction: &Direction) -> Duration {
    match direction {
        Direction::Timer { takes, .. } | Direction::Sync { takes, .. } => *takes,
        Direction::Message { .. } => Duration::ZERO,
    }
}
