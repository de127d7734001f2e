//! Reconstructs the timers that nodes set, and their durations.

use super::saturating_difference;
use quorate_core::{Duration, NodeId, Span, Time};
use quorate_journal::moment::Body;
use quorate_journal::settings::Direction;
use std::collections::BTreeMap;

/// The pending timers and clocks of all nodes.
#[derive(Default)]
pub(super) struct Timers {
    /// Number of timers that each node has set.
    set_counts: BTreeMap<NodeId, u64>,
    /// By node and timer name.
    pending: BTreeMap<(NodeId, String), PendingTimer>,
    clocks: BTreeMap<NodeId, ClockState>,
}

/// The clock of a node: its time at the last step, the sum of its jumps, and whether it ever jumped
/// or drifted.
#[derive(Clone, Copy, Default)]
struct ClockState {
    now: Time,
    jumped_nanos: i64,
    is_wrong: bool,
}

pub(super) struct PendingTimer {
    number: u64,
    span: Span,
    /// True time since the start of the run, like all parameters `at`.
    set_at: Duration,
    pub(super) queue_position: u64,
    clock_when_set: ClockState,
    /// The node's clock at its latest step.
    latest_clock: ClockState,
}

impl PendingTimer {
    /// The direction for a timer that fired at `at`, when the node's clock showed `now`; `None` if
    /// its duration was fixed.
    pub(super) fn direction(&self, node: NodeId, at: Duration, now: Time) -> Option<Direction> {
        // Directions measure by the node's own clock, but without its jumps: those are faults of
        // the script, and leave the remaining time of a timer unchanged.
        let delay = if self.latest_clock.is_wrong {
            let jumped_since = self.latest_clock.jumped_nanos - self.clock_when_set.jumped_nanos;
            Time::from_nanos(now.nanos().saturating_sub(jumped_since)).since(self.clock_when_set.now)
        } else {
            saturating_difference(at, self.set_at)
        };
        let Span { earliest, latest } = self.span;
        let is_fixed = earliest == latest && delay == earliest;
        (!is_fixed).then_some(Direction::Timer { node, number: self.number, delay })
    }

    /// The direction that keeps a timer from firing up to this instant; `None` if the timer cannot
    /// fire by then anyway. A wrong clock runs at most twice as fast as true time.
    fn hold_until(&self, node: NodeId, until: Duration, has_wrong_clock: bool) -> Option<Direction> {
        let elapsed = saturating_difference(until, self.set_at).times(if has_wrong_clock { 2 } else { 1 });
        let delay = elapsed + Duration::from_millis(1);
        (self.span.earliest <= elapsed).then_some(Direction::Timer { node, number: self.number, delay })
    }
}

impl Timers {
    pub(super) fn record_clock(&mut self, node: NodeId, now: Time) {
        self.clocks.entry(node).or_default().now = now;
    }

    /// Records a change of a clock: a jump, or a drift if `by_nanos` is 0.
    pub(super) fn record_jump(&mut self, node: NodeId, by_nanos: i64) {
        let clock = self.clocks.entry(node).or_default();
        clock.jumped_nanos = clock.jumped_nanos.saturating_add(by_nanos);
        clock.is_wrong = true;
    }

    /// Records that a timer is set. It replaces a pending one of the same name. A direction keeps a
    /// timer that is replaced, cancelled or lost in a crash from firing in the repeated run.
    pub(super) fn record_set(
        &mut self,
        node: NodeId,
        timer: Body<'_>,
        span: Span,
        at: Duration,
        queue_position: u64,
        directions: &mut Vec<Direction>,
    ) {
        self.record_cancel(node, timer, at, directions);
        let count = self.set_counts.entry(node).or_default();
        *count += 1;
        let clock_when_set = self.clocks.get(&node).copied().unwrap_or_default();
        let pending = PendingTimer {
            number: *count,
            span,
            set_at: at,
            queue_position,
            clock_when_set,
            latest_clock: clock_when_set,
        };
        self.pending.insert((node, timer_name(timer)), pending);
    }

    pub(super) fn record_cancel(
        &mut self,
        node: NodeId,
        timer: Body<'_>,
        at: Duration,
        directions: &mut Vec<Direction>,
    ) {
        if let Some(pending) = self.pending.remove(&(node, timer_name(timer))) {
            directions.extend(pending.hold_until(node, at, self.has_wrong_clock(node)));
        }
    }

    fn has_wrong_clock(&self, node: NodeId) -> bool {
        self.clocks.get(&node).is_some_and(|clock| clock.is_wrong)
    }

    /// Removes and returns the timer that fires.
    pub(super) fn take_fired(&mut self, node: NodeId, timer: Body<'_>) -> Option<PendingTimer> {
        let latest_clock = self.clocks.get(&node).copied().unwrap_or_default();
        let pending = self.pending.remove(&(node, timer_name(timer)))?;
        Some(PendingTimer { latest_clock, ..pending })
    }

    pub(super) fn record_crash(&mut self, node: NodeId, at: Duration, directions: &mut Vec<Direction>) {
        let keys: Vec<_> = self.pending.keys().filter(|(owner, _)| *owner == node).cloned().collect();
        for key in keys {
            directions.extend(
                self.pending.remove(&key).and_then(|timer| timer.hold_until(node, at, self.has_wrong_clock(node))),
            );
        }
    }

    pub(super) fn finish(&mut self, at: Duration, directions: &mut Vec<Direction>) {
        for ((node, _), timer) in std::mem::take(&mut self.pending) {
            directions.extend(timer.hold_until(node, at, self.has_wrong_clock(node)));
        }
    }
}

/// The identity of a timer: its journal form.
fn timer_name(timer: Body<'_>) -> String {
    serde_json::to_string(&timer).unwrap_or_default()
}
