//! Tracks the views and leases of a group as its members receive them.
//!
//! Everything is derived from the inputs of members and from the notes of the view rules (VW-1 to
//! VW-5), so it works for every family and algorithm.

use crate::scene::{InactiveReason, InactiveSpan, Lease, Scene, Span, TimePosition, ViewSpan};
use quorate_core::{Epoch, Incarnation, MembershipNote, NodeId, Time, View};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, WorldEvent};
use quorate_journal::role::Role;
use std::collections::{BTreeMap, BTreeSet};

/// The rule by which a member freezes.
const FREEZE_RULE: &str = "VW-1";
/// The rule by which a member stops acting in one view, or is admitted to its first.
pub(super) const ADMIT_RULE: &str = "VW-2";
/// The rule by which a member begins to act in a view.
pub(super) const BEGIN_RULE: &str = "VW-3";
/// The rule by which a member's stay ends.
pub(super) const REMOVED_RULE: &str = "VW-5";

/// State of views and leases so far.
pub(super) struct ViewTracker {
    /// The nodes that have a lane.
    shown: Vec<NodeId>,
    members: BTreeMap<NodeId, Member>,
    /// Views in which some member acts; the last one is current.
    view_spans: Vec<ViewSpan>,
    /// Ends of leases, the earliest first.
    lease_ends: BTreeSet<(Time, NodeId)>,
    /// Whether the window has begun. Leases and views that ended before it are dropped.
    has_window_begun: bool,
    /// Whether the run is too large for a scene.
    is_too_large: bool,
    /// Local clock of the node that takes the current step.
    now: Time,
}

/// State of one node.
#[derive(Default)]
struct Member {
    incarnation: Incarnation,
    is_down: bool,
    view: Option<View>,
    /// Whether it acts in that view.
    is_acting: bool,
    lease: Option<HeldLease>,
    leases: Vec<Lease>,
    /// Changes of activity: `None` if the node acts from there on, else why it does not.
    changes: Vec<(TimePosition, Option<InactiveReason>)>,
}

/// A lease that has not expired.
struct HeldLease {
    from: TimePosition,
    /// Expiry on its node's clock.
    until: Time,
    /// Expiry in real time, estimated from the latest clock reading.
    end: Time,
    incarnation: Incarnation,
    is_holder_up: bool,
}

impl Member {
    fn is_in(&self, node: NodeId, view: &View) -> bool {
        view.stay(node).is_some_and(|stay| stay.incarnation == self.incarnation)
    }

    /// Returns why the node does not act while others act in this view; `None` if it acts or is
    /// down.
    fn inactive_reason(&self, node: NodeId, view: &View) -> Option<InactiveReason> {
        let has_lease = self.lease.as_ref().is_some_and(|lease| lease.is_holder_up);
        if !self.is_in(node, view) {
            Some(InactiveReason::Outside)
        } else if self.is_down || (self.is_acting && has_lease) {
            None
        } else {
            Some(InactiveReason::Frozen)
        }
    }
}

impl ViewTracker {
    pub(super) fn new(shown: &[NodeId]) -> Self {
        let (members, view_spans, lease_ends) = Default::default();
        Self {
            shown: shown.to_vec(),
            members,
            view_spans,
            lease_ends,
            has_window_begun: false,
            is_too_large: false,
            now: Time::ZERO,
        }
    }

    pub(super) fn view_of(&self, node: NodeId) -> Option<Epoch> {
        self.members.get(&node)?.view.as_ref().map(View::epoch)
    }

    /// Whether the node's view is the first view of its group.
    pub(super) fn is_founding(&self, node: NodeId) -> bool {
        let view = self.members.get(&node).and_then(|member| member.view.as_ref());
        view.is_none_or(|view| view.epoch() == View::FIRST)
    }

    pub(super) fn begin(&mut self) {
        self.has_window_begun = true;
    }

    /// Stops recording, because no scene will be drawn.
    pub(super) fn stop_recording(&mut self) {
        self.is_too_large = true;
        for member in self.members.values_mut() {
            member.leases.clear();
            member.changes.clear();
        }
    }

    /// Ends the leases that expire up to this position. No journal line marks an expiry.
    pub(super) fn expire_leases(&mut self, position: TimePosition) {
        while let Some((end, node)) = self.lease_ends.first().copied().filter(|(end, _)| *end <= position.time) {
            self.lease_ends.remove(&(end, node));
            self.end_lease(node, TimePosition { time: end, ..position });
        }
    }

    pub(super) fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>, position: TimePosition) {
        match moment {
            Moment::Input { time, now, node, input } => {
                self.now = *now;
                self.update_lease_end(*node, *time, *now, position);
                match input {
                    ObservedInput::Start { incarnation, .. } => self.start(*node, *incarnation, position),
                    ObservedInput::View(view) => self.install_view(*node, view, position),
                    ObservedInput::Lease(until) => self.renew(*node, *until, *now, position),
                    ObservedInput::Command(_)
                    | ObservedInput::Message { .. }
                    | ObservedInput::Timer(_)
                    | ObservedInput::Saved(_)
                    | ObservedInput::Suspect(_)
                    | ObservedInput::Trust(_)
                    | ObservedInput::DiskFull
                    | ObservedInput::DiskFree => {}
                }
            }
            // A node that is part of the membership service notifies itself.
            Moment::Effect { node, effect: ObservedEffect::Membership(MembershipNote::View(view)), .. } => {
                self.install_view(*node, view, position);
            }
            Moment::Effect { node, effect: ObservedEffect::Membership(MembershipNote::Lease(until)), .. } => {
                self.renew(*node, *until, self.now, position);
            }
            Moment::Effect { node, effect: ObservedEffect::Rule { rule: BEGIN_RULE, .. }, .. } => {
                self.begin_acting(*node, position);
            }
            Moment::Effect { node, effect: ObservedEffect::Rule { rule: FREEZE_RULE, .. }, .. } => {
                self.end_lease(*node, position);
            }
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                self.crash(*node, position);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    /// Moves the expiry of a lease after its node's clock was set or has drifted.
    fn update_lease_end(&mut self, node: NodeId, time: Time, now: Time, position: TimePosition) {
        let lease = self.members.get(&node).and_then(|member| member.lease.as_ref());
        let Some((until, before)) = lease.filter(|lease| lease.is_holder_up).map(|lease| (lease.until, lease.end))
        else {
            return;
        };
        let end = real_time(until, time, now);
        if end == before {
            return;
        }
        self.lease_ends.remove(&(before, node));
        self.lease_ends.insert((end, node));
        if let Some(lease) = self.members.get_mut(&node).and_then(|member| member.lease.as_mut()) {
            lease.end = end;
        }
        self.expire_leases(position);
    }

    fn start(&mut self, node: NodeId, incarnation: Incarnation, position: TimePosition) {
        // A first start says nothing about views, and the group may have none.
        if incarnation == Incarnation::FIRST && !self.members.contains_key(&node) {
            return;
        }
        self.crash(node, position);
        let member = self.members.entry(node).or_default();
        member.incarnation = incarnation;
        member.is_down = false;
        self.record_activity(node, position);
    }

    /// Records that a node is down. The group still waits for its lease to expire.
    fn crash(&mut self, node: NodeId, position: TimePosition) {
        let Some(member) = self.members.get_mut(&node) else { return };
        member.is_down = true;
        member.is_acting = false;
        member.view = None;
        if let Some(lease) = member.lease.as_mut().filter(|lease| lease.is_holder_up) {
            let ended = Lease { from: lease.from, to: position, is_holder_up: true };
            (lease.from, lease.is_holder_up) = (position, false);
            self.record_lease(node, ended);
        }
        self.record_activity(node, position);
    }

    /// Records that a member receives a view and stops acting in the one before.
    fn install_view(&mut self, node: NodeId, view: &View, position: TimePosition) {
        let member = self.members.entry(node).or_default();
        let known = member.view.as_ref();
        if known.is_some_and(|known| view.epoch() <= known.epoch()) {
            return;
        }
        let before = known.filter(|known| member.is_in(node, known)).and_then(|known| known.stay(node));
        let after = Some(view).filter(|view| member.is_in(node, view)).and_then(|view| view.stay(node));
        member.view = Some(view.clone());
        member.is_acting = false;
        if before.is_some() && before != after {
            self.end_lease(node, position);
        }
        self.record_activity(node, position);
    }

    /// Starts or extends a lease. A renewed lease stays one lease.
    fn renew(&mut self, node: NodeId, until: Time, now: Time, position: TimePosition) {
        let Some(member) = self.members.get_mut(&node) else { return };
        if !member.view.as_ref().is_some_and(|view| member.is_in(node, view)) {
            return;
        }
        let (incarnation, end) = (member.incarnation, real_time(until, position.time, now));
        match member.lease.as_mut().filter(|lease| lease.is_holder_up) {
            Some(lease) if until > now && until <= lease.until => return,
            Some(lease) => {
                self.lease_ends.remove(&(lease.end, node));
                (lease.until, lease.end) = (until, end);
            }
            None => {
                self.end_lease(node, position);
                if let Some(member) = self.members.get_mut(&node).filter(|_| until > now) {
                    member.lease = Some(HeldLease { from: position, until, end, incarnation, is_holder_up: true });
                }
            }
        }
        self.lease_ends.insert((end, node));
        self.expire_leases(position);
        self.record_activity(node, position);
    }

    fn end_lease(&mut self, node: NodeId, position: TimePosition) {
        let Some(lease) = self.members.get_mut(&node).and_then(|member| member.lease.take()) else { return };
        self.lease_ends.remove(&(lease.end, node));
        let HeldLease { from, is_holder_up, .. } = lease;
        self.record_lease(node, Lease { from, to: position.max(from), is_holder_up });
        self.record_activity(node, position);
    }

    fn record_lease(&mut self, node: NodeId, lease: Lease) {
        if let Some(member) = self.members.get_mut(&node).filter(|_| self.has_window_begun && !self.is_too_large) {
            member.leases.push(lease);
        }
    }

    /// Records that a member begins to act in its view, and whether it is the first to do so.
    fn begin_acting(&mut self, node: NodeId, position: TimePosition) {
        let Some(member) = self.members.get_mut(&node) else { return };
        member.is_acting = true;
        let Some(view) = member.view.clone() else { return };
        if self.view_spans.last().is_none_or(|view_span| view_span.view.epoch() < view.epoch()) {
            self.begin_view(view, position);
        }
        self.record_activity(node, position);
    }

    fn begin_view(&mut self, view: View, position: TimePosition) {
        match self.view_spans.last_mut() {
            Some(last) if self.has_window_begun && !self.is_too_large => last.to = Some(position),
            Some(_) | None => self.view_spans.clear(),
        }
        // Once the group acts in a new view, it no longer waits for leases of incarnations that are
        // not in it.
        let replaced = self.members.iter().filter(|(node, member)| {
            let abandoned = member.lease.as_ref().filter(|lease| !lease.is_holder_up);
            abandoned.is_some_and(|lease| view.stay(**node).is_none_or(|stay| stay.incarnation != lease.incarnation))
        });
        for node in replaced.map(|(node, _)| *node).collect::<Vec<_>>() {
            self.end_lease(node, position);
        }
        self.view_spans.push(ViewSpan { view, from: position, to: None });
        for node in self.shown.clone() {
            self.members.entry(node).or_default();
            self.record_activity(node, position);
        }
    }

    /// Records whether a node acts from here on, and if not, why.
    fn record_activity(&mut self, node: NodeId, position: TimePosition) {
        let (Some(view_span), Some(member)) = (self.view_spans.last(), self.members.get_mut(&node)) else { return };
        let now = member.inactive_reason(node, &view_span.view);
        if member.changes.last().is_some_and(|(_, last)| *last == now) {
            return;
        }
        if !self.has_window_begun || self.is_too_large {
            member.changes.clear();
        }
        member.changes.push((position, now));
    }

    /// Adds everything to the scene, whose lanes exist already.
    pub(super) fn finish(mut self, scene: &mut Scene) {
        let end = TimePosition { time: scene.to, order: scene.steps.len() + scene.marks.len() };
        self.expire_leases(end);
        for lane in &mut scene.lanes {
            let Some(member) = self.members.get_mut(&lane.node) else { continue };
            if let Some(HeldLease { from, end: to, is_holder_up, .. }) = member.lease.take() {
                member.leases.push(Lease { from, to: TimePosition { time: to, ..end }, is_holder_up });
            }
            lane.inactive_spans = inactive_spans(&member.changes, end);
            lane.leases = std::mem::take(&mut member.leases);
            if !self.view_spans.is_empty() {
                lane.spans = lane.spans.iter().flat_map(|span| split_by_lease(span, &lane.leases)).collect();
            }
        }
        scene.view_spans = self.view_spans;
    }
}

/// Converts an instant on a node's clock to real time, assuming the clock runs at the right rate
/// from now on. It shows `local_now` at the real time `time`.
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

/// Splits the span of a chosen node where its lease is not in force.
fn split_by_lease(span: &Span, leases: &[Lease]) -> Vec<Span> {
    let held = if span.role == Role::Paused { span.underlying } else { span.role };
    if held != Role::Chosen {
        return vec![*span];
    }
    let mut parts = Vec::new();
    let mut from = span.from;
    let mut add = |from: &mut TimePosition, to: TimePosition, lease_expired: bool| {
        if *from < to {
            parts.push(Span { lease_expired, from: *from, to, ..*span });
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
