//! Tracks the views and leases of a group as its members receive them.
//!
//! Everything is derived from the inputs of members and from the notes of the view rules (VW-1 to
//! VW-5), so it works for every family and algorithm.

use crate::scene::{InactiveReason, InactiveSpan, Lease, Place, Scene, Span, ViewSpan};
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
    shown: Vec<NodeId>,
    members: BTreeMap<NodeId, Member>,
    /// Views in which some member acts; the last one is current.
    view_spans: Vec<ViewSpan>,
    /// Ends of leases, the earliest first.
    ends: BTreeSet<(Time, NodeId)>,
    /// Whether the window has begun. Leases and views that ended before it are dropped.
    begun: bool,
    /// Whether the run is too large for a scene.
    full: bool,
    /// Local clock of the node that takes the current step.
    now: Time,
}

/// State of one node.
#[derive(Default)]
struct Member {
    life: Incarnation,
    down: bool,
    view: Option<View>,
    /// Whether it acts in that view.
    is_acting: bool,
    lease: Option<HeldLease>,
    leases: Vec<Lease>,
    /// Changes of activity: `None` if the node acts from there on, else why it does not.
    changes: Vec<(Place, Option<InactiveReason>)>,
}

/// A lease that has not expired.
struct HeldLease {
    from: Place,
    /// Expiry on its node's clock.
    until: Time,
    /// Expiry in real time, estimated from the latest clock reading.
    end: Time,
    /// Incarnation that holds it.
    life: Incarnation,
    used: bool,
}

impl Member {
    fn is_in(&self, node: NodeId, view: &View) -> bool {
        view.stay(node).is_some_and(|stay| stay.incarnation == self.life)
    }

    /// Returns why the node does not act while others act in this view; `None` if it acts or is
    /// down.
    fn inactive_reason(&self, node: NodeId, view: &View) -> Option<InactiveReason> {
        let has_lease = self.lease.as_ref().is_some_and(|lease| lease.used);
        if !self.is_in(node, view) {
            Some(InactiveReason::Outside)
        } else if self.down || (self.is_acting && has_lease) {
            None
        } else {
            Some(InactiveReason::Frozen)
        }
    }
}

impl ViewTracker {
    pub(super) fn new(shown: &[NodeId]) -> Self {
        let (members, view_spans, ends) = Default::default();
        Self { shown: shown.to_vec(), members, view_spans, ends, begun: false, full: false, now: Time::ZERO }
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
        self.begun = true;
    }

    /// Stops recording, because no scene will be drawn.
    pub(super) fn stop_recording(&mut self) {
        self.full = true;
        for member in self.members.values_mut() {
            member.leases.clear();
            member.changes.clear();
        }
    }

    /// Ends the leases that expire up to this position. No journal line marks an expiry.
    pub(super) fn expire_leases(&mut self, place: Place) {
        while let Some((end, node)) = self.ends.first().copied().filter(|(end, _)| *end <= place.time) {
            self.ends.remove(&(end, node));
            self.end_lease(node, Place { time: end, ..place });
        }
    }

    pub(super) fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>, place: Place) {
        match moment {
            Moment::Input { time, now, node, input } => {
                self.now = *now;
                self.update_lease_end(*node, *time, *now, place);
                match input {
                    ObservedInput::Start { incarnation, .. } => self.start(*node, *incarnation, place),
                    ObservedInput::View(view) => self.install_view(*node, view, place),
                    ObservedInput::Lease(until) => self.renew(*node, *until, *now, place),
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
                self.install_view(*node, view, place)
            }
            Moment::Effect { node, effect: ObservedEffect::Membership(MembershipNote::Lease(until)), .. } => {
                self.renew(*node, *until, self.now, place);
            }
            Moment::Effect { node, effect: ObservedEffect::Rule { rule: BEGIN_RULE, .. }, .. } => {
                self.begin_acting(*node, place)
            }
            Moment::Effect { node, effect: ObservedEffect::Rule { rule: FREEZE_RULE, .. }, .. } => {
                self.end_lease(*node, place)
            }
            Moment::World { event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node }, .. } => {
                self.crash(*node, place);
            }
            Moment::Effect { .. } | Moment::World { .. } => {}
        }
    }

    /// Moves the expiry of a lease after its node's clock was set or has drifted.
    fn update_lease_end(&mut self, node: NodeId, time: Time, now: Time, place: Place) {
        let lease = self.members.get(&node).and_then(|member| member.lease.as_ref());
        let Some((until, before)) = lease.filter(|lease| lease.used).map(|lease| (lease.until, lease.end)) else {
            return;
        };
        let end = real_time(until, time, now);
        if end == before {
            return;
        }
        self.ends.remove(&(before, node));
        self.ends.insert((end, node));
        if let Some(lease) = self.members.get_mut(&node).and_then(|member| member.lease.as_mut()) {
            lease.end = end;
        }
        self.expire_leases(place);
    }

    fn start(&mut self, node: NodeId, life: Incarnation, place: Place) {
        // A first start says nothing about views, and the group may have none.
        if life == Incarnation::FIRST && !self.members.contains_key(&node) {
            return;
        }
        self.crash(node, place);
        let member = self.members.entry(node).or_default();
        member.life = life;
        member.down = false;
        self.record_activity(node, place);
    }

    /// Records that a node is down. The group still waits for its lease to expire.
    fn crash(&mut self, node: NodeId, place: Place) {
        let Some(member) = self.members.get_mut(&node) else { return };
        member.down = true;
        member.is_acting = false;
        member.view = None;
        if let Some(lease) = member.lease.as_mut().filter(|lease| lease.used) {
            let used = Lease { from: lease.from, to: place, used: true };
            (lease.from, lease.used) = (place, false);
            self.record_lease(node, used);
        }
        self.record_activity(node, place);
    }

    /// Records that a member receives a view and stops acting in the one before.
    fn install_view(&mut self, node: NodeId, view: &View, place: Place) {
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
            self.end_lease(node, place);
        }
        self.record_activity(node, place);
    }

    /// Starts or extends a lease. A renewed lease stays one lease.
    fn renew(&mut self, node: NodeId, until: Time, now: Time, place: Place) {
        let Some(member) = self.members.get_mut(&node) else { return };
        if !member.view.as_ref().is_some_and(|view| member.is_in(node, view)) {
            return;
        }
        let (life, end) = (member.life, real_time(until, place.time, now));
        match member.lease.as_mut().filter(|lease| lease.used) {
            Some(lease) if until > now && until <= lease.until => return,
            Some(lease) => {
                self.ends.remove(&(lease.end, node));
                (lease.until, lease.end) = (until, end);
            }
            None => {
                self.end_lease(node, place);
                if let Some(member) = self.members.get_mut(&node).filter(|_| until > now) {
                    member.lease = Some(HeldLease { from: place, until, end, life, used: true });
                }
            }
        }
        self.ends.insert((end, node));
        self.expire_leases(place);
        self.record_activity(node, place);
    }

    fn end_lease(&mut self, node: NodeId, place: Place) {
        let Some(lease) = self.members.get_mut(&node).and_then(|member| member.lease.take()) else { return };
        self.ends.remove(&(lease.end, node));
        let HeldLease { from, used, .. } = lease;
        self.record_lease(node, Lease { from, to: place.max(from), used });
        self.record_activity(node, place);
    }

    fn record_lease(&mut self, node: NodeId, lease: Lease) {
        if let Some(member) = self.members.get_mut(&node).filter(|_| self.begun && !self.full) {
            member.leases.push(lease);
        }
    }

    /// Records that a member begins to act in its view, and whether it is the first to do so.
    fn begin_acting(&mut self, node: NodeId, place: Place) {
        let Some(member) = self.members.get_mut(&node) else { return };
        member.is_acting = true;
        let Some(view) = member.view.clone() else { return };
        if self.view_spans.last().is_none_or(|view_span| view_span.view.epoch() < view.epoch()) {
            self.begin_view(view, place);
        }
        self.record_activity(node, place);
    }

    fn begin_view(&mut self, view: View, place: Place) {
        match self.view_spans.last_mut() {
            Some(last) if self.begun && !self.full => last.to = Some(place),
            Some(_) | None => self.view_spans.clear(),
        }
        // Once the group acts in a new view, it no longer waits for leases of incarnations that are
        // not in it.
        let replaced = self.members.iter().filter(|(node, member)| {
            let unused = member.lease.as_ref().filter(|lease| !lease.used);
            unused.is_some_and(|lease| view.stay(**node).is_none_or(|stay| stay.incarnation != lease.life))
        });
        for node in replaced.map(|(node, _)| *node).collect::<Vec<_>>() {
            self.end_lease(node, place);
        }
        self.view_spans.push(ViewSpan { view, from: place, to: None });
        for node in self.shown.clone() {
            self.members.entry(node).or_default();
            self.record_activity(node, place);
        }
    }

    /// Records whether a node acts from here on, and if not, why.
    fn record_activity(&mut self, node: NodeId, place: Place) {
        let (Some(view_span), Some(member)) = (self.view_spans.last(), self.members.get_mut(&node)) else { return };
        let now = member.inactive_reason(node, &view_span.view);
        if member.changes.last().is_some_and(|(_, last)| *last == now) {
            return;
        }
        if !self.begun || self.full {
            member.changes.clear();
        }
        member.changes.push((place, now));
    }

    /// Adds everything to the scene, whose lanes exist already.
    pub(super) fn finish(mut self, scene: &mut Scene) {
        let end = Place { time: scene.to, order: scene.steps.len() + scene.marks.len() };
        self.expire_leases(end);
        for lane in &mut scene.lanes {
            let Some(member) = self.members.get_mut(&lane.node) else { continue };
            if let Some(HeldLease { from, end: to, used, .. }) = member.lease.take() {
                member.leases.push(Lease { from, to: Place { time: to, ..end }, used });
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
/// from now on.
fn real_time(until: Time, time: Time, now: Time) -> Time {
    Time::from_nanos(time.nanos().saturating_add(until.nanos().saturating_sub(now.nanos())))
}

fn inactive_spans(changes: &[(Place, Option<InactiveReason>)], end: Place) -> Vec<InactiveSpan> {
    let ends = changes.iter().skip(1).map(|(place, _)| *place).chain([end]);
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
    let mut add = |from: &mut Place, to: Place, lease_expired: bool| {
        if *from < to {
            parts.push(Span { lease_expired, from: *from, to, ..*span });
            *from = to;
        }
    };
    for lease in leases.iter().filter(|lease| lease.used && lease.to > span.from && lease.from < span.to) {
        add(&mut from, lease.from.min(span.to), true);
        add(&mut from, lease.to.min(span.to), false);
    }
    add(&mut from, span.to, true);
    if parts.is_empty() { vec![*span] } else { parts }
}
