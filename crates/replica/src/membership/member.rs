//! A member of a group with views, whose membership the group itself replicates.
//!
//! Every node of the group has two parts: a replica of the log that records the membership, and the
//! inner protocol, which runs in views with leases. The replica applies views and renewals in the
//! order of the log, and passes them to the inner protocol. So no node sends views, and no node has
//! to trust a single other one for them: a majority decides each view.
//!
//! ```text
//! ME-1  we lead, and no group exists   → propose the founding with the members and the lease
//!                                        terms; only the first counts
//! ME-2  a keepalive or a new leader    → ask the leader to renew our lease, or to admit this
//!                                        incarnation; the request carries its time on our clock. A
//!                                        node whose replica applies nothing for the length of a
//!                                        lease does not ask, so that it is removed. An incarnation
//!                                        other than the first does not ask until it has learnt of
//!                                        a view
//! ME-3  a request arrives at a leader  → propose it if the sender is a founder and asks in its own
//!                                        name, and no similar request is pending; the sender
//!                                        repeats it
//! ME-4  a view is applied              → pass it to the inner protocol; if we are not a member or
//!                                        have no lease, ask at once
//! ME-5  our request is applied         → we have a lease, which counts from the time of the
//!                                        request
//! ME-6  log time reaches a lease's end → the lease expires, at the same entry on every replica; if
//!                                        no other entry comes, the leader proposes an empty one
//! ME-7  a peer's process has ended     → suspect the incarnation from which we received messages,
//!                                        until it is removed or trusted again
//! ME-8  a peer's process has ended     → tell our replica, which replaces a leader that has ended
//! ME-9  the inner protocol acts        → use reliable links, and do not wait for the replica's
//!                                        disk
//! ME-10 the inner protocol is done     → ask for our removal until we are removed, and never for
//!                                        admission
//! ```
//!
//! Why a lease is safe: it expires in log time, which runs no faster than the leaders' clocks. The
//! full length of the lease passes in log time between the entry that renewed it and the one that
//! ends it. The request was made before the first of them. So from the request until the lease ends
//! the member's clock advances by at least this length, less the drift, and the member acts for no
//! longer.
//!
//! Why the inner protocol does not wait for the disk: it has no durable state. A restarted node
//! joins as a new incarnation, and every view and lease that the node learnt of was on the disks of
//! a majority before.
//!
//! Cost: in addition to the inner protocol, a keepalive costs one request and one log entry. These
//! count as control messages, as do the leader's heartbeats and acknowledgements.
//!
//! Assumes: a majority of the founders is up and connected from time to time, and keeps its disks;
//! clocks drift no more than the terms say; a process that is reported to have ended has ended.
//!
//! When it fails: a minority stops when its leases expire, and loses nothing. A node that restarts
//! with its disk is admitted as a new incarnation. A node that lost its disk stays out, as its
//! replica does.

use super::pending::PendingProposals;
use super::{Change, GroupMembership, Message, Plan, TimedRequest, Timer};
use crate::command::{Command, Event};
use crate::durable::Durable;
use crate::machine::LogTime;
use crate::replica::Replica;
use quorate_core::about::About;
use quorate_core::membership::{OnClose, Request, Suspicion};
use quorate_core::wrap::{InViews, Reliable, Viewed};
use quorate_core::{
    Duration, Effect, Effects, Incarnation, Input, MembershipNote, NodeId, Note, Order, Protocol, Sink, Span, Stay,
    Time, View,
};
use std::collections::BTreeMap;

/// The explanation of a member and its rules: the header of this file.
pub fn about() -> About {
    About::from_source(include_str!("member.rs"))
}

/// A node of a group: a replica of the log that records the membership, and the inner protocol.
pub struct Member<P: InViews> {
    me: NodeId,
    plan: Plan,
    incarnation: Incarnation,
    replica: Replica<GroupMembership>,
    inner: Reliable<Viewed<P>>,
    leader: Option<NodeId>,
    pending: PendingProposals,
    view: Option<View>,
    /// The stay in which we have a lease, and the time of the request for it, as our replica has
    /// applied it.
    lease: Option<(Stay, Time)>,
    /// The log time of the last change that our replica applied.
    last_applied: LogTime,
    /// When our replica applied that change, by our clock.
    last_applied_at: Time,
    /// The latest incarnation of each peer that sent us a message other than a request.
    met_incarnations: BTreeMap<NodeId, Incarnation>,
    /// Members whose process has ended, with the stay that we suspect.
    suspected: BTreeMap<NodeId, Stay>,
    /// Whether the inner protocol has nothing more to do in the group.
    is_departing: bool,
    /// Whether a part had an input since the last end of its turn.
    is_turn_open: bool,
}

impl<P: InViews> Member<P> {
    /// The node `me` of a group with this plan, around a protocol in its initial state.
    pub fn new(me: NodeId, inner: P, plan: Plan) -> Self {
        Self {
            me,
            incarnation: Incarnation::FIRST,
            replica: Replica::new(me, plan.replica.clone()),
            inner: Reliable::new(me, Viewed::new(me, inner), plan.retransmission),
            leader: None,
            pending: PendingProposals::default(),
            view: None,
            lease: None,
            last_applied: LogTime::ZERO,
            last_applied_at: Time::ZERO,
            met_incarnations: BTreeMap::new(),
            suspected: BTreeMap::new(),
            is_departing: false,
            is_turn_open: false,
            plan,
        }
    }

    /// The replica of the log that records the membership.
    pub const fn replica(&self) -> &Replica<GroupMembership> {
        &self.replica
    }

    /// The inner protocol, in its view.
    pub fn viewed(&self) -> &Viewed<P> {
        self.inner.inner()
    }

    fn start(&mut self, now: Time, durable: Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.incarnation = incarnation;
        out.set_timer(Timer::Keepalive, Span::exactly(self.plan.terms.keepalive));
        out.set_timer(Timer::Repetition, Span::exactly(self.repetition_interval()));
        self.step_inner(now, Input::Start { durable: (), incarnation }, out);
        self.step_replica(now, Input::Start { durable, incarnation }, out);
    }

    /// The interval at which reports are repeated: short against a lease, which lasts for several
    /// keepalives.
    fn repetition_interval(&self) -> Duration {
        Duration::from_nanos(self.plan.terms.keepalive.nanos() / 2)
    }

    /// ME-1. The log may already contain a founding that is not applied yet; then this one has no
    /// effect.
    fn propose_founding(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if !self.replica.leads() || self.replica.machine().is_none_or(|machine| machine.epoch().is_some()) {
            return;
        }
        let members = self.plan.founders();
        out.note("ME-1", format_args!("founds the group of {members}"));
        self.propose(now, Change::Found { members, terms: self.plan.terms }, out);
    }

    /// ME-2. Requests a new lease at every keepalive.
    fn keep_alive(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Keepalive, Span::exactly(self.plan.terms.keepalive));
        if !self.is_behind(now) {
            self.request_lease_or_removal(now, out);
        }
    }

    /// ME-2. Whether our replica has applied no change for the length of a lease, for example
    /// because its disk is full. If such a node renewed its lease, it would stay in a view that it
    /// cannot follow, and the other members would wait for it. A request to a new leader skips this
    /// check, because without a leader no replica could apply a change.
    fn is_behind(&self, now: Time) -> bool {
        now.since(self.last_applied_at) > self.plan.terms.lease
    }

    /// ME-2, ME-10. Requests our lease, admission or removal. A node that lost its disk never
    /// learns of a view; it must not be admitted, because the other members would wait for it
    /// forever.
    fn request_lease_or_removal(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.view.is_none() && self.incarnation != Incarnation::FIRST {
            return;
        }
        let node = self.me;
        let request = match self.current_stay() {
            Some(stay) if self.is_departing => Request::Leave { node, stay },
            Some(stay) => Request::Renew { node, stay },
            None if self.is_departing => return,
            None => Request::Join { node, incarnation: self.incarnation },
        };
        self.send_request(now, request, out);
    }

    /// The stay of this incarnation in the current view, if it is a member.
    fn current_stay(&self) -> Option<Stay> {
        let stay = self.view.as_ref()?.stay(self.me)?;
        (stay.incarnation == self.incarnation).then_some(stay)
    }

    /// Sends a request to the leader. If there is none, or the request is lost, the caller repeats
    /// it later.
    fn send_request(&mut self, now: Time, request: Request, out: &mut Effects<'_, Self>) {
        let request = TimedRequest { request, requested_at: now };
        match self.leader {
            Some(leader) if leader == self.me => self.propose(now, Change::Request(request), out),
            Some(leader) => out.send_ahead(leader, Message::Request(request)),
            None => {}
        }
    }

    /// ME-3. Only founders may make requests, and only in their own name.
    fn receive_request(&mut self, now: Time, from: NodeId, request: TimedRequest, out: &mut Effects<'_, Self>) {
        let is_permitted = request.requester() == Some(from) && self.plan.replica.founders.voters.contains(&from);
        if !is_permitted {
            out.note("ME-3", format_args!("ignores a request that {from} may not make"));
        } else if self.replica.leads() {
            self.propose(now, Change::Request(request), out);
        }
    }

    /// Proposes a change, unless a similar proposal is pending.
    fn propose(&mut self, now: Time, change: Change, out: &mut Effects<'_, Self>) {
        if let Some(proposal) = self.pending.add(change) {
            self.step_replica(now, Input::Command(Command::Propose(vec![proposal])), out);
        }
    }

    /// ME-4 and ME-5, after every step of the replica. Passes a view on before a lease in it.
    fn follow_log(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Some(machine) = self.replica.machine() else { return };
        if machine.last_change() != self.last_applied {
            (self.last_applied, self.last_applied_at) = (machine.last_change(), now);
        }
        let is_new_view = machine.epoch() > self.view.as_ref().map(View::epoch);
        let view = if is_new_view { machine.view() } else { None };
        let lease = machine.lease_request(self.me).filter(|(stay, _)| stay.incarnation == self.incarnation);
        let trusted_for = machine.membership().map(|membership| membership.terms().trusted_for());
        if let Some(view) = view {
            self.change_view(now, view, out);
        }
        if lease != self.lease {
            self.lease = lease;
            if let (Some((_, requested_at)), Some(trusted_for)) = (lease, trusted_for) {
                let end = requested_at + trusted_for;
                out.note("ME-5", format_args!("has a lease until {end} of its clock"));
                out.note_membership(MembershipNote::Lease(end));
                self.step_inner(now, Input::Lease(end), out);
            }
        }
        if is_new_view && lease.is_none() {
            self.request_lease_or_removal(now, out);
        }
    }

    /// ME-4.
    fn change_view(&mut self, now: Time, view: View, out: &mut Effects<'_, Self>) {
        out.note("ME-4", format_args!("learns of {view}"));
        self.suspected.retain(|node, stay| view.stay(*node) == Some(*stay));
        self.view = Some(view.clone());
        out.note_membership(MembershipNote::View(&view));
        self.step_inner(now, Input::View(view), out);
    }

    /// ME-1 and ME-7. Repeats the founding and the suspicions, which may have been lost.
    fn repeat_reports(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Repetition, Span::exactly(self.repetition_interval()));
        self.propose_founding(now, out);
        // With `OnClose::Lease` a suspicion removes no member, so a lost report is not repeated.
        if self.plan.terms.on_close == OnClose::Evict {
            self.report_suspicions(now, out);
        }
    }

    /// ME-7. Suspects a member if a message from its present incarnation has arrived. Otherwise the
    /// process that ended may be an earlier one, or one that does not listen yet and refused a
    /// connection.
    fn suspect(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        let met_incarnation = self.met_incarnations.get(&node);
        let stay = self
            .view
            .as_ref()
            .and_then(|view| view.stay(node))
            .filter(|stay| Some(&stay.incarnation) == met_incarnation);
        if let Some(stay) = stay {
            out.note("ME-7", format_args!("suspects {node}, whose process is gone"));
            self.suspected.insert(node, stay);
            self.report_suspicions(now, out);
        }
        // ME-8.
        self.step_replica(now, Input::Suspect(node), out);
    }

    /// Records that a message from this incarnation of a peer arrived.
    fn record_incarnation(&mut self, peer: NodeId, incarnation: Incarnation) {
        let latest = self.met_incarnations.entry(peer).or_insert(incarnation);
        *latest = incarnation.max(*latest);
    }

    /// ME-7. Reports all suspected members to the leader.
    fn report_suspicions(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        for (node, stay) in self.suspected.clone() {
            self.send_request(now, Request::Suspect { node, stay, by: self.me, suspicion: Suspicion::Closed }, out);
        }
    }

    /// Steps the replica and handles its events.
    fn step_replica(&mut self, now: Time, input: Input<Replica<GroupMembership>>, out: &mut Effects<'_, Self>) {
        self.is_turn_open |= !matches!(input, Input::EndOfTurn);
        let mut events = Vec::new();
        let mut sink = ReplicaSink { incarnation: self.incarnation, events: &mut events, out };
        self.replica.step(now, input, &mut Effects::new(&mut sink));
        for event in events {
            self.handle_event(now, event, out);
        }
        self.follow_log(now, out);
    }

    /// Ends the turns of both parts. Each of them may then give the other one an input, which
    /// begins another turn.
    fn end_turn(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        while std::mem::take(&mut self.is_turn_open) {
            self.step_replica(now, Input::EndOfTurn, out);
            self.step_inner(now, Input::EndOfTurn, out);
        }
    }

    fn handle_event(&mut self, now: Time, event: Event<GroupMembership>, out: &mut Effects<'_, Self>) {
        match event {
            Event::Answered { ticket, .. } | Event::Refused { ticket, .. } | Event::Unknown { ticket } => {
                self.pending.remove(ticket);
            }
            Event::Leads { .. } => self.set_leader(now, Some(self.me), out),
            Event::Follows { leader, .. } => self.set_leader(now, leader, out),
            Event::Halted { reason } => out.note("ME-4", format_args!("learns of no further view: {reason}")),
            // A member does not change the replicas of the log, has no sessions, and enables no
            // audits.
            Event::Changed { .. }
            | Event::Attached { .. }
            | Event::Detached { .. }
            | Event::Configured { .. }
            | Event::Retired
            | Event::Applied { .. }
            | Event::Restored(_) => {}
            Event::Outcome { outcome, .. } => match outcome {},
        }
    }

    /// ME-2. Requests to the previous leader may be lost, so this repeats them.
    fn set_leader(&mut self, now: Time, leader: Option<NodeId>, out: &mut Effects<'_, Self>) {
        self.leader = leader;
        if leader.is_some() {
            self.propose_founding(now, out);
            self.report_suspicions(now, out);
            self.request_lease_or_removal(now, out);
        }
    }

    /// ME-9. Steps the inner protocol.
    fn step_inner(&mut self, now: Time, input: Input<Reliable<Viewed<P>>>, out: &mut Effects<'_, Self>) {
        self.is_turn_open |= !matches!(input, Input::EndOfTurn);
        let mut sink = InnerSink { out };
        self.inner.step(now, input, &mut Effects::new(&mut sink));
        if self.viewed().inner().wants_to_leave() && !self.is_departing {
            out.note("ME-10", format_args!("requests to leave the group"));
            self.is_departing = true;
            self.request_lease_or_removal(now, out);
        }
    }
}

impl<P: InViews> Protocol for Member<P> {
    type Command = P::Command;
    type Message = Message<P::Message, P::Report>;
    type Timer = Timer<P::Timer>;
    type Event = P::Event;
    type Durable = Durable;

    fn uses_end_of_turn(&self) -> bool {
        self.replica.uses_end_of_turn() || self.inner.uses_end_of_turn()
    }

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => self.start(now, durable, incarnation, out),
            Input::Command(command) => self.step_inner(now, Input::Command(command), out),
            Input::Message { from, message: Message::Replica { sender_incarnation, message } } => {
                self.record_incarnation(from, sender_incarnation);
                self.step_replica(now, Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Request(request) } => {
                self.receive_request(now, from, request, out);
            }
            Input::Message { from, message: Message::Inner(message) } => {
                self.record_incarnation(from, message.pair().sender);
                self.step_inner(now, Input::Message { from, message }, out);
            }
            Input::Timer(Timer::Replica(timer)) => self.step_replica(now, Input::Timer(timer), out),
            Input::Timer(Timer::Keepalive) => self.keep_alive(now, out),
            Input::Timer(Timer::Repetition) => self.repeat_reports(now, out),
            Input::Timer(Timer::Inner(timer)) => self.step_inner(now, Input::Timer(timer), out),
            // Only the replica saves.
            Input::Saved(count) => self.step_replica(now, Input::Saved(count), out),
            Input::DiskFull => self.step_replica(now, Input::DiskFull, out),
            Input::DiskFree => self.step_replica(now, Input::DiskFree, out),
            Input::Suspect(node) => self.suspect(now, node, out),
            Input::Trust(node) => {
                self.suspected.remove(&node);
                self.step_replica(now, Input::Trust(node), out);
            }
            Input::EndOfTurn => self.end_turn(now, out),
            // Our own replica provides views and leases.
            Input::View(_) | Input::Lease(_) => {}
        }
    }
}

/// Passes the replica's effects on and collects its events.
struct ReplicaSink<'a, 'b, P: InViews> {
    incarnation: Incarnation,
    events: &'a mut Vec<Event<GroupMembership>>,
    out: &'a mut Effects<'b, Member<P>>,
}

impl<P: InViews> Sink<Replica<GroupMembership>> for ReplicaSink<'_, '_, P> {
    fn effect(&mut self, effect: Effect<Replica<GroupMembership>>) {
        let sender_incarnation = self.incarnation;
        self.out.put(match effect {
            Effect::Send { to, message, order } => {
                Effect::Send { to, message: Message::Replica { sender_incarnation, message }, order }
            }
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: Message::Replica { sender_incarnation, message }, order }
            }
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: Timer::Replica(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(Timer::Replica(timer)),
            Effect::Emit { event, .. } => return self.events.push(event),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}

/// Passes the effects of the inner protocol on, ahead of the replica's saves.
struct InnerSink<'a, 'b, P: InViews> {
    out: &'a mut Effects<'b, Member<P>>,
}

impl<P: InViews> Sink<Reliable<Viewed<P>>> for InnerSink<'_, '_, P> {
    fn effect(&mut self, effect: Effect<Reliable<Viewed<P>>>) {
        let order = Order::Ahead;
        self.out.put(match effect {
            Effect::Send { to, message, .. } => Effect::Send { to, message: Message::Inner(message), order },
            Effect::Multicast { to, message, .. } => Effect::Multicast { to, message: Message::Inner(message), order },
            Effect::Save(never) => match never {},
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: Timer::Inner(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(Timer::Inner(timer)),
            Effect::Emit { event, .. } => Effect::Emit { event, order },
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
