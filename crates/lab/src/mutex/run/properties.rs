//! The properties that every mutual-exclusion algorithm promises, and those that some promise.

use super::overtaking::{Overtaking, OvertakingBound};
use super::{Change, LockPhase, observed_change};
use quorate_core::mutex::{Access, Command, Event, Patience};
use quorate_core::{Fence, NodeId, Time, VectorClock};
use quorate_journal::causality::Causality;
use quorate_journal::clocks::Clocks;
use quorate_journal::moment::{Moment, ObservedInput, Observer};
use quorate_journal::property::{PropertyKind, Verdict, Violation};

/// The promises of an algorithm beyond exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectations {
    /// Whether every entry has a larger fence than all earlier entries that conflict with it.
    pub has_fences: bool,
    pub order: OrderCheck,
    pub overtaking: Option<OvertakingBound>,
    /// Whether every request is granted eventually.
    pub serves_all: bool,
    /// Whether readers can hold the lock together.
    pub readers_share: bool,
    /// Whether entries end at the latest when their leases expire, on the clocks of their nodes.
    pub has_leases: bool,
    /// Whether several nodes send requests, so that contention should occur.
    pub expects_contention: bool,
}

impl Default for Expectations {
    /// Entries are exclusive and every request is granted; nothing else is promised.
    fn default() -> Self {
        Self {
            has_fences: false,
            order: OrderCheck::Ignored,
            overtaking: None,
            serves_all: true,
            readers_share: false,
            has_leases: false,
            expects_contention: false,
        }
    }
}

/// How to treat the happened-before order of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderCheck {
    /// Not observed: vector clocks cost time and memory quadratic in the group's size.
    Ignored,
    /// Counted: an entry out of order is not a violation.
    Counted,
    /// Promised: an entry out of order is a violation.
    Promised,
}

/// Judges the properties of mutual exclusion.
#[derive(Default)]
pub struct Properties {
    expectations: Expectations,
    nodes: Vec<NodeState>,
    waiter_count: usize,
    holder_count: usize,
    /// The largest fence of an exclusive entry so far.
    largest_exclusive_fence: Option<Fence>,
    /// The largest fence of any entry so far.
    largest_fence: Option<Fence>,
    overtaking: Option<Overtaking>,
    causality: Option<Causality>,
    /// The nodes' clocks, if entries have leases.
    clocks: Option<Clocks>,
    out_of_order_entries: u64,
    is_contended: bool,
    /// Time of the latest moment; finally the end of the run.
    end: Time,
    /// Number of trace lines so far, one per step and world event. Violations refer to them.
    lines: u64,
    exclusion_violation: Option<Violation>,
    request_violation: Option<Violation>,
    fence_violation: Option<Violation>,
    order_violation: Option<Violation>,
    overtaking_violation: Option<Violation>,
}

#[derive(Clone, Debug)]
struct NodeState {
    phase: LockPhase,
    access: Access,
    requested_at: Time,
    /// When the entry expires, on the node's clock.
    until: Time,
    /// A node with a conflicting later entry, which is correct only if this entry had expired.
    succeeded_by: Option<NodeId>,
    /// The node's vector clock at its latest request.
    request_clock: VectorClock,
}

impl Default for NodeState {
    fn default() -> Self {
        Self {
            phase: LockPhase::Idle,
            access: Access::Exclusive,
            requested_at: Time::ZERO,
            until: Time::NEVER,
            succeeded_by: None,
            request_clock: VectorClock::default(),
        }
    }
}

impl Properties {
    pub fn new(nodes: usize, expectations: Expectations) -> Self {
        Self {
            expectations,
            nodes: vec![NodeState::default(); nodes],
            overtaking: expectations.overtaking.map(|bound| Overtaking::new(nodes, bound)),
            causality: (expectations.order != OrderCheck::Ignored).then(|| Causality::new(nodes)),
            clocks: expectations.has_leases.then(|| Clocks::new(nodes)),
            ..Self::default()
        }
    }

    /// Number of entries ahead of a conflicting request that had happened before their own request;
    /// `None` if not counted.
    pub fn out_of_order(&self) -> Option<u64> {
        self.causality.as_ref().map(|_| self.out_of_order_entries)
    }

    pub fn end(&self) -> Time {
        self.end
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let always = |name, violation: &Option<Violation>| {
            Verdict::from_violation(name, PropertyKind::Always, violation.clone())
        };
        let mut verdicts =
            vec![always("exclusion", &self.exclusion_violation), always("asked-first", &self.request_violation)];
        if self.expectations.has_fences {
            verdicts.push(always("fences-grow", &self.fence_violation));
        }
        if self.expectations.order == OrderCheck::Promised {
            verdicts.push(always("happened-before-order", &self.order_violation));
        }
        if self.expectations.overtaking.is_some() {
            verdicts.push(always("overtaking-bounded", &self.overtaking_violation));
        }
        if self.expectations.serves_all {
            verdicts.push(Verdict::from_violation("served", PropertyKind::Eventually, self.find_unserved()));
        }
        if self.expectations.expects_contention {
            verdicts.push(Verdict::sometimes("contention", self.is_contended));
        }
        verdicts
    }

    /// The oldest request that was not granted by the end.
    fn find_unserved(&self) -> Option<Violation> {
        let waiting = self.nodes.iter().enumerate().filter(|(_, node)| node.phase == LockPhase::Waiting);
        let (index, first) = waiting.min_by_key(|(_, node)| node.requested_at)?;
        let others = match self.waiter_count {
            0 | 1 => String::new(),
            more => format!("; other waiting requests: {}", more - 1),
        };
        let text = format!(
            "node {} has still not entered, although it requested entry at {}{others}",
            NodeId::from_index(index),
            first.requested_at
        );
        Some(Violation { time: self.end, line: self.lines, relevant_from: first.requested_at, text })
    }

    fn record_request(&mut self, time: Time, node: NodeId, patience: Patience, access: Access) {
        let access = if self.expectations.readers_share { access } else { Access::Exclusive };
        // A try cannot be overtaken: it does not wait, not even while its denial is in flight.
        if let Some(overtaking) = self.overtaking.as_mut().filter(|_| patience == Patience::Wait) {
            overtaking.record_request(node, access);
        }
        self.waiter_count += 1;
        self.is_contended |= self.waiter_count + self.holder_count > 1;
        let request_clock = self.causality.as_ref().and_then(|causality| causality.clock(node)).cloned();
        if let Some(state) = self.nodes.get_mut(node.index()) {
            state.requested_at = time;
            state.access = access;
            state.request_clock = request_clock.unwrap_or_default();
        }
    }

    fn record_entry(&mut self, time: Time, node: NodeId, before: LockPhase, fence: Fence) {
        self.holder_count += usize::from(before != LockPhase::Holding);
        match before {
            LockPhase::Waiting => self.waiter_count -= 1,
            LockPhase::Idle | LockPhase::Holding => {
                let text = format!("node {node} entered without a request");
                self.request_violation.get_or_insert(Violation { time, line: self.lines, relevant_from: time, text });
            }
        }
        self.check_exclusion(time, node, "entered");
        self.mark_succeeded(node);
        self.check_fence(time, node, fence);
        self.check_order(time, node);
        self.check_overtaking(time, node);
    }

    fn access(&self, node: NodeId) -> Access {
        self.nodes.get(node.index()).map_or(Access::Exclusive, |state| state.access)
    }

    /// Records a violation if another node holds the lock in a conflicting way. An entry counts
    /// until it expires on its node's clock. `action` says in the text what `node` did.
    fn check_exclusion(&mut self, time: Time, node: NodeId, action: &str) {
        if self.holder_count < 2 || self.exclusion_violation.is_some() {
            return;
        }
        let others = self.nodes.iter().enumerate().filter(|(index, _)| *index != node.index());
        let access = self.access(node);
        let clock_of = |index| self.clocks.as_ref().map(|clocks| clocks.at(NodeId::from_index(index), time));
        let has_not_expired = |index, state: &NodeState| clock_of(index).is_none_or(|now| now < state.until);
        let other_holders = others.filter(|(index, state)| {
            state.phase == LockPhase::Holding && access.conflicts_with(state.access) && has_not_expired(*index, state)
        });
        let Some((index, earliest)) = other_holders.min_by_key(|(_, state)| state.requested_at) else { return };
        let relevant_from =
            self.nodes.get(node.index()).map_or(time, |state| state.requested_at.min(earliest.requested_at));
        let text = format!("node {node} {action} while node {} was in the critical section", NodeId::from_index(index));
        self.exclusion_violation = Some(Violation { time, line: self.lines, relevant_from, text });
    }

    /// Marks every entry that conflicts with the entry of `node` as succeeded by it. The marked
    /// entry must have expired, and must not be extended.
    fn mark_succeeded(&mut self, node: NodeId) {
        let access = self.access(node);
        for (index, state) in self.nodes.iter_mut().enumerate() {
            let is_other_holder = index != node.index() && state.phase == LockPhase::Holding;
            if is_other_holder && access.conflicts_with(state.access) {
                state.succeeded_by = Some(node);
            }
        }
    }

    /// An entry must not be extended once another node has entered in conflict with it, even if
    /// that node has released again.
    fn check_succession(&mut self, time: Time, node: NodeId) {
        let Some(state) = self.nodes.get(node.index()).filter(|_| self.exclusion_violation.is_none()) else { return };
        let Some(successor) = state.succeeded_by else { return };
        let text = format!("node {node} extended its entry after node {successor} had entered");
        self.exclusion_violation = Some(Violation { time, line: self.lines, relevant_from: state.requested_at, text });
    }

    /// A lease that has expired when the node receives it ends the entry.
    fn end_with_lease(&mut self, moment: &Moment<'_, Command, Event>) {
        if let Moment::Input { now, node, input: ObservedInput::Lease(until), .. } = moment
            && until <= now
            && let Some(state) = self.nodes.get_mut(node.index())
        {
            state.until = *until;
        }
    }

    fn check_fence(&mut self, time: Time, node: NodeId, fence: Fence) {
        let is_exclusive = self.access(node) == Access::Exclusive;
        if let Some(largest) = if is_exclusive { self.largest_fence } else { self.largest_exclusive_fence }
            && fence <= largest
            && self.fence_violation.is_none()
        {
            let relevant_from = self.nodes.get(node.index()).map_or(time, |state| state.requested_at);
            let text = format!("node {node} entered with fence {fence}, but an earlier entry had {largest}");
            self.fence_violation = Some(Violation { time, line: self.lines, relevant_from, text });
        }
        self.largest_fence = self.largest_fence.max(Some(fence));
        if is_exclusive {
            self.largest_exclusive_fence = self.largest_exclusive_fence.max(Some(fence));
        }
    }

    /// No conflicting request that waits may have happened before the one that is granted.
    fn check_order(&mut self, time: Time, node: NodeId) {
        if self.causality.is_none() {
            return;
        }
        let Some(entering) = self.nodes.get(node.index()) else { return };
        let overtaken = self.nodes.iter().enumerate().find(|(index, waiter)| {
            let waiter_id = NodeId::from_index(*index);
            waiter_id != node
                && waiter.phase == LockPhase::Waiting
                && waiter.access.conflicts_with(entering.access)
                && entering.request_clock.get(waiter_id) >= waiter.request_clock.get(waiter_id)
        });
        let Some((index, waiter)) = overtaken else { return };
        self.out_of_order_entries += 1;
        if self.order_violation.is_some() {
            return;
        }
        let text = format!(
            "node {node} entered first, but the request of node {} happened before that of node {node}",
            NodeId::from_index(index)
        );
        self.order_violation = Some(Violation { time, line: self.lines, relevant_from: waiter.requested_at, text });
    }

    fn check_overtaking(&mut self, time: Time, node: NodeId) {
        let access = self.access(node);
        let Some((waiter, overtakings)) =
            self.overtaking.as_mut().and_then(|overtaking| overtaking.record_entry(node, access))
        else {
            return;
        };
        if self.overtaking_violation.is_some() {
            return;
        }
        let relevant_from = self.nodes.get(waiter.index()).map_or(time, |state| state.requested_at);
        let maximum = self.expectations.overtaking.map_or(0, |bound| bound.max_entries);
        let text = format!(
            "node {node} entered ahead of node {waiter}, which was overtaken {overtakings} times; the maximum is {maximum}"
        );
        self.overtaking_violation = Some(Violation { time, line: self.lines, relevant_from, text });
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.end = moment.time();
        self.lines += u64::from(!matches!(moment, Moment::Effect { .. }));
        if let Some(clocks) = &mut self.clocks {
            clocks.observe(moment);
        }
        if let Some(causality) = &mut self.causality {
            causality.observe(moment);
        }
        if let Some(overtaking) = &mut self.overtaking {
            overtaking.observe(moment);
        }
        self.end_with_lease(moment);
        let Some((time, node, change)) = observed_change(moment) else { return };
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        let before = state.phase;
        state.phase = before.after(change);
        match (before, change) {
            (LockPhase::Idle, Change::Requests(patience, access)) => self.record_request(time, node, patience, access),
            (before, Change::Enters { fence, until }) => {
                (state.until, state.succeeded_by) = (until, None);
                self.record_entry(time, node, before, fence);
            }
            (LockPhase::Holding, Change::Extends { until }) => {
                state.until = until;
                self.check_exclusion(time, node, "extended its entry");
                self.check_succession(time, node);
            }
            (LockPhase::Holding, Change::Leaves | Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => {
                self.holder_count -= 1;
            }
            (LockPhase::Waiting, Change::Leaves | Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => {
                self.waiter_count -= 1;
                if let Some(overtaking) = &mut self.overtaking {
                    overtaking.end_request(node);
                }
            }
            (LockPhase::Waiting | LockPhase::Holding, Change::Requests(..))
            | (LockPhase::Idle | LockPhase::Waiting, Change::Extends { .. })
            | (LockPhase::Idle, Change::Leaves | Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => {}
        }
    }
}
