//! Tracks the views and leases of a group as its nodes receive them.
//!
//! Everything is derived from the starts, crashes, views and leases of nodes and from the notes of
//! the view rules below, so it works for every family and algorithm.

use crate::scene::{InactiveReason, InactiveSpan, Lease, RoleSpan, Scene, TimePosition, ViewSpan};
use quorate_core::{Epoch, Incarnation, MembershipNote, NodeId, Time, View};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, WorldEvent};
use quorate_journal::role::Role;
use std::collections::{BTreeMap, BTreeSet};

/// The rule by which a member freezes: its lease has expired, so it stops acting.
const FREEZE_RULE: &str = "VW-1";
/// The rule by which a member accepts a new view: it stops acting in the previous view, if any.
pub(super) const ADMIT_RULE: &str = "VW-2";
/// The rule by which a member begins to act in a view.
pub(super) const BEGIN_RULE: &str = "VW-3";
/// The rule by which a member's stay ends.
pub(super) const REMOVED_RULE: &str = "VW-5";

/// The views and leases so far.
pub(super) struct ViewTracker {
    /// The nodes that have a lane.
    shown_nodes: Vec<NodeId>,
    nodes: BTreeMap<NodeId, TrackedNode>,
    /// Views in which some member acts or acted; the last one is current.
    view_spans: Vec<ViewSpan>,
    /// Expiries of leases in real time, the earliest first.
    lease_ends: BTreeSet<(Time, NodeId)>,
    /// Whether the window has begun. Leases and views that ended before it are dropped.
    has_window_begun: bool,
    /// Whether the run is too large for a scene.
    is_too_large: bool,
    /// Local clock of the node that takes the current step.
    local_now: Time,
}

/// The view, lease and activity of one node.
#[derive(Default)]
struct TrackedNode {
    incarnation: Incarnation,
    is_down: bool,
    view: Option<View>,
    /// Whether the node acts in `view`.
    is_acting: bool,
    lease: Option<HeldLease>,
    /// The leases that ended in the window, and the parts of leases that a crash of the holder
    /// ended there.
    ended_leases: Vec<Lease>,
    /// Changes of activity: `None` if the node acts from there on, else why it does not.
    activity_changes: Vec<(TimePosition, Option<InactiveReason>)>,
}

/// A lease that has not expired.
struct HeldLease {
    from: TimePosition,
    /// Expiry on the clock of the node that holds the lease.
    local_expiry: Time,
    /// Expiry in real time, estimated from the latest clock reading.
    real_expiry: Time,
    incarnation: Incarnation,
    is_holder_up: bool,
}

impl TrackedNode {
    fn is_member_of(&self, node: NodeId, view: &View) -> bool {
        view.stay(node).is_some_and(|stay| stay.incarnation == self.incarnation)
    }

    /// Returns why the node does not act while others act in this view; `None` if it acts, or if it
    /// is a member that is down.
    fn inactive_reason(&self, node: NodeId, view: &View) -> Option<InactiveReason> {
        let has_lease = self.lease.as_ref().is_some_and(|lease| lease.is_holder_up);
        if !self.is_member_of(node, view) {
            Some(InactiveReason::Outside)
        } else if self.is_down || (self.is_acting && has_lease) {
            None
        } else {
            Some(InactiveReason::Frozen)
        }
    }
}

impl ViewTracker {
    pub(super) fn new(shown_nodes: &[NodeId]) -> Self {
        let (nodes, view_spans, lease_ends) = Default::default();
        Self {
            shown_nodes: shown_nodes.to_vec(),
            nodes,
            view_spans,
            lease_ends,
            has_window_begun: false,
            is_too_large: false,
            local_now: Time::ZERO,
        }
    }

    pub(super) fn view_of(&self, node: NodeId) -> Option<Epoch> {
        self.nodes.get(&node)?.view.as_ref().map(View::epoch)
    }

    /// Whether the node has no view, or its view is the first one of the group.
    pub(super) fn is_in_first_view(&self, node: NodeId) -> bool {
        let view = self.nodes.get(&node).and_then(|tracked| tracked.view.as_ref());
        view.is_none_or(|view| view.epoch() == View::FIRST)
    }

    pub(super) fn begin_window(&mut self) {
        self.has_window_begun = true;
    }

    /// Stops recording, because no scene will be drawn.
    pub(super) fn stop_recording(&mut self) {
        self.is_too_large = true;
        for tracked in self.nodes.values_mut() {
            tracked.ended_leases.clear();
            tracked.activity_changes.clear();
        }
    }

    /// Ends the leases that expire up to this position: the journal may have no line about an
    /// expiry.
    pub(super) fn expire_leases(&mut self, position: TimePosition) {
        while let Some((end, node)) = self.lease_ends.first().copied().filter(|(end, _)| *end <= position.time) {
            self.lease_ends.remove(&(end, node));
            self.end_lease(node, TimePosition { time: end, ..position });
        }
    }

    pub(super) fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>, position: TimePosition) {
        match moment {
            Moment::Input { time, now, node, input } => {
                self.local_now = *now;
                self.update_lease_end(*node, *time, *now, position);
                match input {
                    ObservedInput::Start { incarnation, .. } => self.record_start(*node, *incarnation, position),
                    ObservedInput::View(view) => self.install_view(*node, view, position),
                    ObservedInput::Lease(until) => self.record_lease_grant(*node, *until, *now, position),
                    ObservedInput::Command(_)
                    | ObservedInput::Message { .. }
                    | ObservedInput::Timer(_)
                    | ObservedInput::Saved(_)
                    | ObservedInput::Suspect(_)
                    | ObservedInput::Trust(_)
                    | ObservedInput::DiskFull
                    | ObservedInput::DiskFree
                    | ObservedInput::EndOfTurn => {}
                }
            }
            // A node that runs the membership service itself receives views and leases as notes of
            // its own steps.
            Moment::Effect { node, effect: ObservedEffect::Membership(MembershipNote::View(view)), .. } => {
                self.install_view(*node, view, position);
            }
            Moment::Effect { node, effect: ObservedEffect::Membership(MembershipNote::Lease(until)), .. } => {
                self.record_lease_grant(*node, *until, self.local_now, position);
            }
            Moment::Effect { node, effect: ObservedEffect::Rule { rule: BEGIN_RULE, .. }, .. } => {
                self.begin_acting(*node, position);
            }
            Moment::Effect { node, effect: ObservedEffect::Rule { rule: FREEZE_RULE, .. }, .. } => {
                self.end_lease(*node, position);
            }
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                self.record_crash(*node, position);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    /// Updates the real expiry of a node's lease after the node's clock was set or has drifted.
    fn update_lease_end(&mut self, node: NodeId, time: Time, now: Time, position: TimePosition) {
        let lease = self.nodes.get(&node).and_then(|tracked| tracked.lease.as_ref());
        let Some((local_expiry, previous_end)) =
            lease.filter(|lease| lease.is_holder_up).map(|lease| (lease.local_expiry, lease.real_expiry))
        else {
            return;
        };
        let end = real_time(local_expiry, time, now);
        if end == previous_end {
            return;
        }
        self.lease_ends.remove(&(previous_end, node));
        self.lease_ends.insert((end, node));
        if let Some(lease) = self.nodes.get_mut(&node).and_then(|tracked| tracked.lease.as_mut()) {
            lease.real_expiry = end;
        }
        self.expire_leases(position);
    }

    fn record_start(&mut self, node: NodeId, incarnation: Incarnation, position: TimePosition) {
        // The first start of an unknown node needs no record: the group may have no views.
        if incarnation == Incarnation::FIRST && !self.nodes.contains_key(&node) {
            return;
        }
        // The journal may lack the crash before a restart.
        self.record_crash(node, position);
        let tracked = self.nodes.entry(node).or_default();
        tracked.incarnation = incarnation;
        tracked.is_down = false;
        self.record_activity(node, position);
    }

    /// Records that a node is down. Its lease continues, because the group waits for it to expire.
    fn record_crash(&mut self, node: NodeId, position: TimePosition) {
        let Some(tracked) = self.nodes.get_mut(&node) else { return };
        tracked.is_down = true;
        tracked.is_acting = false;
        tracked.view = None;
        if let Some(lease) = tracked.lease.as_mut().filter(|lease| lease.is_holder_up) {
            let ended = Lease { from: lease.from, to: position, is_holder_up: true };
            (lease.from, lease.is_holder_up) = (position, false);
            self.record_ended_lease(node, ended);
        }
        self.record_activity(node, position);
    }

    /// Records that a node receives a view and stops acting in the one before. A view that is not
    /// newer is ignored.
    fn install_view(&mut self, node: NodeId, view: &View, position: TimePosition) {
        let tracked = self.nodes.entry(node).or_default();
        let current = tracked.view.as_ref();
        if current.is_some_and(|current| view.epoch() <= current.epoch()) {
            return;
        }
        let previous_stay =
            current.filter(|current| tracked.is_member_of(node, current)).and_then(|current| current.stay(node));
        let next_stay = Some(view).filter(|view| tracked.is_member_of(node, view)).and_then(|view| view.stay(node));
        tracked.view = Some(view.clone());
        tracked.is_acting = false;
        if previous_stay.is_some() && previous_stay != next_stay {
            self.end_lease(node, position);
        }
        self.record_activity(node, position);
    }

    /// Starts or changes the lease of a member. A renewal extends the same lease. A grant until
    /// `now` or earlier ends the current lease; any other that does not extend it is ignored.
    fn record_lease_grant(&mut self, node: NodeId, until: Time, now: Time, position: TimePosition) {
        let Some(tracked) = self.nodes.get_mut(&node) else { return };
        if !tracked.view.as_ref().is_some_and(|view| tracked.is_member_of(node, view)) {
            return;
        }
        let (incarnation, end) = (tracked.incarnation, real_time(until, position.time, now));
        match tracked.lease.as_mut().filter(|lease| lease.is_holder_up) {
            Some(lease) if until > now && until <= lease.local_expiry => return,
            Some(lease) => {
                self.lease_ends.remove(&(lease.real_expiry, node));
                (lease.local_expiry, lease.real_expiry) = (until, end);
            }
            None => {
                // An earlier incarnation may still have a lease.
                self.end_lease(node, position);
                if let Some(tracked) = self.nodes.get_mut(&node).filter(|_| until > now) {
                    tracked.lease = Some(HeldLease {
                        from: position,
                        local_expiry: until,
                        real_expiry: end,
                        incarnation,
                        is_holder_up: true,
                    });
                }
            }
        }
        self.lease_ends.insert((end, node));
        self.expire_leases(position);
        self.record_activity(node, position);
    }

    fn end_lease(&mut self, node: NodeId, position: TimePosition) {
        let Some(lease) = self.nodes.get_mut(&node).and_then(|tracked| tracked.lease.take()) else { return };
        self.lease_ends.remove(&(lease.real_expiry, node));
        let HeldLease { from, is_holder_up, .. } = lease;
        self.record_ended_lease(node, Lease { from, to: position.max(from), is_holder_up });
        self.record_activity(node, position);
    }

    fn record_ended_lease(&mut self, node: NodeId, lease: Lease) {
        if let Some(tracked) = self.nodes.get_mut(&node).filter(|_| self.has_window_begun && !self.is_too_large) {
            tracked.ended_leases.push(lease);
        }
    }

    /// Records that a member begins to act in its view. The first one to do so begins the view's
    /// span.
    fn begin_acting(&mut self, node: NodeId, position: TimePosition) {
        let Some(tracked) = self.nodes.get_mut(&node) else { return };
        tracked.is_acting = true;
        let Some(view) = tracked.view.clone() else { return };
        if self.view_spans.last().is_none_or(|view_span| view_span.view.epoch() < view.epoch()) {
            self.begin_view(view, position);
        }
        self.record_activity(node, position);
    }

    fn begin_view(&mut self, view: View, position: TimePosition) {
        // Before the window, only the current view is kept.
        match self.view_spans.last_mut() {
            Some(last) if self.has_window_begun && !self.is_too_large => last.to = Some(position),
            Some(_) | None => self.view_spans.clear(),
        }
        // Once the group acts in a new view, it no longer waits for leases of incarnations that are
        // not in it.
        let replaced = self.nodes.iter().filter(|(node, tracked)| {
            let abandoned = tracked.lease.as_ref().filter(|lease| !lease.is_holder_up);
            abandoned.is_some_and(|lease| view.stay(**node).is_none_or(|stay| stay.incarnation != lease.incarnation))
        });
        for node in replaced.map(|(node, _)| *node).collect::<Vec<_>>() {
            self.end_lease(node, position);
        }
        self.view_spans.push(ViewSpan { view, from: position, to: None });
        for node in self.shown_nodes.clone() {
            self.nodes.entry(node).or_default();
            self.record_activity(node, position);
        }
    }

    /// Records whether a node acts from here on, and if not, why.
    fn record_activity(&mut self, node: NodeId, position: TimePosition) {
        let (Some(view_span), Some(tracked)) = (self.view_spans.last(), self.nodes.get_mut(&node)) else { return };
        let reason = tracked.inactive_reason(node, &view_span.view);
        if tracked.activity_changes.last().is_some_and(|(_, last)| *last == reason) {
            return;
        }
        if !self.has_window_begun || self.is_too_large {
            tracked.activity_changes.clear();
        }
        tracked.activity_changes.push((position, reason));
    }

    /// Adds views, leases and activity to the scene, whose lanes exist already.
    pub(super) fn finish(mut self, scene: &mut Scene) {
        let end = TimePosition { time: scene.to, order: scene.steps.len() + scene.marks.len() };
        self.expire_leases(end);
        for lane in &mut scene.lanes {
            let Some(tracked) = self.nodes.get_mut(&lane.node) else { continue };
            lane.inactive_spans = inactive_spans(&tracked.activity_changes, end);
            lane.leases = std::mem::take(&mut tracked.ended_leases);
            if let Some(HeldLease { from, real_expiry: to, is_holder_up, .. }) = tracked.lease.take() {
                lane.leases.push(Lease { from, to: TimePosition { time: to, ..end }, is_holder_up });
            }
            if !self.view_spans.is_empty() {
                lane.spans = lane.spans.iter().flat_map(|span| split_by_lease(span, &lane.leases)).collect();
            }
        }
        scene.view_spans = self.view_spans;
    }
}

/// Converts an instant on a node's clock to real time, assuming the clock runs at the right rate
/// from now on. The clock shows `local_now` at the real time `time`.
fn real_time(local_instant: Time, time: Time, local_now: Time) -> Time {
    Time::from_nanos(time.nanos().saturating_add(local_instant.nanos().saturating_sub(local_now.nanos())))
}

fn inactive_spans(changes: &[(TimePosition, Option<InactiveReason>)], end: TimePosition) -> Vec<InactiveSpan> {
    let ends = changes.iter().skip(1).map(|(position, _)| *position).chain([end]);
    let inactive_spans = changes
        .iter()
        .zip(ends)
        .filter_map(|((from, reason), to)| Some(InactiveSpan { reason: (*reason)?, from: *from, to }));
    inactive_spans.filter(|span| span.from < span.to).collect()
}

/// Splits the span of a chosen node (in the critical section or leader) where its lease begins or
/// ends.
fn split_by_lease(span: &RoleSpan, leases: &[Lease]) -> Vec<RoleSpan> {
    let role = if span.role == Role::Paused { span.family_role } else { span.role };
    if role != Role::Chosen {
        return vec![*span];
    }
    let mut parts = Vec::new();
    let mut from = span.from;
    let mut add = |from: &mut TimePosition, to: TimePosition, is_lease_expired: bool| {
        if *from < to {
            parts.push(RoleSpan { is_lease_expired, from: *from, to, ..*span });
            *from = to;
        }
    };
    for lease in leases.iter().filter(|lease| lease.is_holder_up && lease.to > span.from && lease.from < span.to) {
        add(&mut from, lease.from.min(span.to), true);
        add(&mut from, lease.to.min(span.to), false);
    }
    add(&mut from, span.to, true);
    if parts.is_empty() { vec![*span] } else { parts }
}
