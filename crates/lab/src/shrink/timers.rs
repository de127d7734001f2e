//! Reconstructs the timers that nodes set, and their durations.

use super::saturating_difference;
use quorate_core::{Duration, NodeId, Span, Time};
use quorate_journal::moment::Body;
use quorate_journal::settings::Direction;
use std::collections::BTreeMap;

/// The pending timers and clocks of all nodes.
#[derive(Default)]
pub(super) struct Timers {
    count: BTreeMap<NodeId, u64>,
    set: BTreeMap<(NodeId, String), PendingTimer>,
    /// For each node: its clock at the last step, the sum of its jumps, and whether it was ever
    /// wrong.
    clocks: BTreeMap<NodeId, ClockState>,
}

/// The clock of a node.
#[derive(Clone, Copy, Default)]
struct ClockState {
    now: Time,
    jumped: i64,
    is_wrong: bool,
}

/// A timer that was set.
pub(super) struct PendingTimer {
    number: u64,
    span: Span,
    at: Duration,
    pub(super) position: u64,
    /// The node's clock when the timer was set, and the jumps until then.
    own: ClockState,
    /// The node's clock now.
    latest: ClockState,
}

impl PendingTimer {
    /// The direction for a timer that fired; `None` if its duration was fixed.
    pub(super) fn direction(&self, node: NodeId, at: Duration, now: Time) -> Option<Direction> {
        let takes = if self.latest.is_wrong {
            let moved = self.latest.jumped - self.own.jumped;
            Time::from_nanos(now.nanos().saturating_sub(moved)).since(self.own.now)
        } else {
            saturating_difference(at, self.at)
        };
        let Span { earliest, latest } = self.span;
        let fixed = earliest == latest && takes == earliest;
        (!fixed).then_some(Direction::Timer { node, number: self.number, takes })
    }

    /// The direction that keeps a timer from firing before this instant. A wrong clock runs at most
    /// twice as fast.
    fn hold_until(&self, node: NodeId, until: Duration, is_wrong: bool) -> Option<Direction> {
        let elapsed = saturating_difference(until, self.at).times(if is_wrong { 2 } else { 1 });
        let takes = elapsed + Duration::from_millis(1);
        (self.span.earliest <= elapsed).then_some(Direction::Timer { node, number: self.number, takes })
    }
}

impl Timers {
    pub(super) fn clock(&mut self, node: NodeId, now: Time) {
        self.clocks.entry(node).or_default().now = now;
    }

    pub(super) fn record_jump(&mut self, node: NodeId, by: i64) {
        let clock = self.clocks.entry(node).or_default();
        clock.jumped = clock.jumped.saturating_add(by);
        clock.is_wrong = true;
    }

    pub(super) fn set(
        &mut self,
        node: NodeId,
        timer: Body<'_>,
        span: Span,
        at: Duration,
        position: u64,
        directions: &mut Vec<Direction>,
    ) {
        self.cancel(node, timer, at, directions);
        let count = self.count.entry(node).or_default();
        *count += 1;
        let own = self.clocks.get(&node).copied().unwrap_or_default();
        let set = PendingTimer { number: *count, span, at, position, own, latest: own };
        self.set.insert((node, name(timer)), set);
    }

    pub(super) fn cancel(&mut self, node: NodeId, timer: Body<'_>, at: Duration, directions: &mut Vec<Direction>) {
        if let Some(set) = self.set.remove(&(node, name(timer))) {
            directions.extend(set.hold_until(node, at, self.is_wrong(node)));
        }
    }

    fn is_wrong(&self, node: NodeId) -> bool {
        self.clocks.get(&node).is_some_and(|clock| clock.is_wrong)
    }

    /// Removes and returns the timer that fires.
    pub(super) fn take_fired(&mut self, node: NodeId, timer: Body<'_>) -> Option<PendingTimer> {
        let latest = self.clocks.get(&node).copied().unwrap_or_default();
        let set = self.set.remove(&(node, name(timer)))?;
        Some(PendingTimer { latest, ..set })
    }

    pub(super) fn crash(&mut self, node: NodeId, at: Duration, directions: &mut Vec<Direction>) {
        let names: Vec<_> = self.set.keys().filter(|(whose, _)| *whose == node).cloned().collect();
        for name in names {
            directions.extend(self.set.remove(&name).and_then(|set| set.hold_until(node, at, self.is_wrong(node))));
        }
    }

    pub(super) fn end(&mut self, at: Duration, directions: &mut Vec<Direction>) {
        for ((node, _), set) in std::mem::take(&mut self.set) {
            directions.extend(set.hold_until(node, at, self.is_wrong(node)));
        }
    }
}

/// The identity of a timer: its journal form.
fn name(timer: Body<'_>) -> String {
    serde_json::to_string(&timer).unwrap_or_default()
}
