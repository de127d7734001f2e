//! A member of a group with views, whose membership the group keeps itself.
//!
//! Every node of the group has two parts: a replica of the log that says who is in, and the protocol inside, in views with leases. The
//! replica applies views and renewals in the order of the log, and what it has applied the other part is told. So nobody sends views, and
//! nobody trusts a single node for them: a majority of the nodes decides each one.
//!
//! ```text
//! ME-1  it leads, without a group   → found it: its members and the terms of their leases go into the log, and only the first time counts
//! ME-2  a keepalive, another leader → ask the leader to renew our lease, or to let this life of ours in; the request carries the instant
//!                                     of asking on our clock. Who learns nothing from its own replica for a lease's length keeps
//!                                     silent, so that it is removed, and a life other than the first until it has learnt of a view
//! ME-3  asked while it leads        → put the request of its sender into the log, unless a like one is under way; it is made again
//! ME-4  a view is applied           → tell the protocol inside; if we are not in, or have no lease in it, ask at once
//! ME-5  our request is applied      → we have a lease, which counts from the instant we asked
//! ME-6  a lease is overdue          → the leader puts the time into the log, so that the lease runs out
//! ME-7  a process is gone           → suspect the life of it that we have met, and no other, until it is out or back
//! ME-8  it was the leader's         → owe it nothing any more, and stand for election in the order of the numbers, a moment apart
//! ME-9  the protocol inside acts    → on reliable links, and without waiting for the disk of the replica
//! ME-10 it has nothing more to do   → ask to be let out, again and again until we are, and never to be let in
//! ```
//!
//! Why a lease is safe: it runs out in log time, which passes no faster than the leaders' clocks. Between the entry that renewed it
//! and the one that ends it all of it passes, so that it passes after the instant of asking, less the drift.
//!
//! Why nothing inside waits for the disk: it keeps nothing there. A life that ends takes its part in the group along, and what it was told
//! was on the disks of a majority before.
//!
//! Cost: beside what the protocol inside costs, a keepalive is one request and one entry in the log. All of that counts as control, as
//! do heartbeats of the leader and acknowledgements.
//!
//! Assumes: a majority of the founders is up and can talk now and then, and keeps its disks; clocks drift no more than the terms say;
//! a process that is said to be gone is gone.
//!
//! When it fails: a minority freezes when its leases are over, and loses nothing. A node that comes back with its disk is let in as a new
//! life. One that lost its disk stays out, as its replica does.

use super::desk::Desk;
use super::{Ask, Change, GroupMembership, Message, Plan, Timer};
use crate::command::{Command, Event};
use crate::durable::Durable;
use crate::machine::LogTime;
use crate::replica::Replica;
use quorate_core::about::About;
use quorate_core::membership::{OnClose, Request, Suspicion};
use quorate_core::wrap::{InViews, Reliable, Viewed};
use quorate_core::{
    Duration, Effect, Effects, Incarnation, Input, NodeId, Note, Order, Protocol, Sink, Span, Stay, Time, Told, View,
};
use std::collections::BTreeMap;

/// What a member does and by which rules: the header of this file.
pub fn about() -> About {
    About::of_source(include_str!("member.rs"))
}

/// A node of a group: a replica of the log that keeps the membership, and a member.
pub struct Member<P: InViews> {
    me: NodeId,
    plan: Plan,
    life: Incarnation,
    replica: Replica<GroupMembership>,
    inner: Reliable<Viewed<P>>,
    leader: Option<NodeId>,
    desk: Desk,
    view: Option<View>,
    /// The request that gave us our lease, as our replica has applied it.
    lease: Option<(Stay, Time)>,
    /// The log time of what our replica applied last, and when that was.
    heard: (LogTime, Time),
    /// The latest life of each peer that spoke to us itself.
    met: BTreeMap<NodeId, Incarnation>,
    /// Whose process is gone, and which stay that ends.
    suspected: BTreeMap<NodeId, Stay>,
    /// Whether the protocol inside has nothing more to do in the group.
    departs: bool,
}

impl<P: InViews> Member<P> {
    /// The node `me` of a group with this plan, around a protocol that nobody has used.
    pub fn new(me: NodeId, inner: P, plan: Plan) -> Self {
        Self {
            me,
            life: Incarnation::FIRST,
            replica: Replica::new(me, plan.replica.clone()),
            inner: Reliable::new(me, Viewed::new(me, inner), plan.retransmission),
            leader: None,
            desk: Desk::default(),
            view: None,
            lease: None,
            heard: (LogTime::ZERO, Time::ZERO),
            met: BTreeMap::new(),
            suspected: BTreeMap::new(),
            departs: false,
            plan,
        }
    }

    /// The replica of the log that keeps the membership.
    pub const fn replica(&self) -> &Replica<GroupMembership> {
        &self.replica
    }

    /// The protocol inside, in its view.
    pub fn viewed(&self) -> &Viewed<P> {
        self.inner.inner()
    }

    fn start(&mut self, now: Time, durable: Durable, incarnation: Incarnation, out: &mut Effects<'_, Self>) {
        self.life = incarnation;
        out.set_timer(Timer::Keepalive, Span::exactly(self.plan.terms.keepalive));
        out.set_timer(Timer::Round, Span::exactly(self.round()));
        self.pass(now, Input::Start { durable: (), incarnation }, out);
        self.replicate(now, Input::Start { durable, incarnation }, out);
    }

    /// How long after one look at what is overdue the next one comes.
    fn round(&self) -> Duration {
        Duration::from_nanos(self.plan.terms.keepalive.nanos() / 2)
    }

    /// ME-1. The replica may have the founding in its log and not know it yet; then this one does not count.
    fn found(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if !self.replica.leads() || self.replica.machine().is_none_or(|machine| machine.epoch().is_some()) {
            return;
        }
        let members = self.plan.founders();
        out.note("ME-1", format_args!("founds the group of {members}"));
        self.propose(now, Change::Found { members, terms: self.plan.terms }, out);
    }

    fn keep_alive(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Keepalive, Span::exactly(self.plan.terms.keepalive));
        if !self.is_behind(now) {
            self.attend(now, out);
        }
    }

    /// ME-2. A replica whose disk is full, say, cannot tell us of the leases that its peers see renewed: in the view we would be frozen, and
    /// everyone would wait for us. When nobody led for so long, we ask the next leader as soon as there is one.
    fn is_behind(&self, now: Time) -> bool {
        now.since(self.heard.1) > self.plan.terms.lease
    }

    /// ME-2, ME-10. Whoever lost its disk never learns of a view, and if it were let in, everyone would wait for it in vain.
    fn attend(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.view.is_none() && self.life != Incarnation::FIRST {
            return;
        }
        let node = self.me;
        let request = match self.stay() {
            Some(stay) if self.departs => Request::Leave { node, stay },
            Some(stay) => Request::Renew { node, stay },
            None if self.departs => return,
            None => Request::Join { node, incarnation: self.life },
        };
        self.ask(now, request, out);
    }

    fn stay(&self) -> Option<Stay> {
        let stay = self.view.as_ref()?.stay(self.me)?;
        (stay.incarnation == self.life).then_some(stay)
    }

    /// Asks whoever leads. If nobody does, or the request is lost, it is made again later.
    fn ask(&mut self, now: Time, request: Request, out: &mut Effects<'_, Self>) {
        let ask = Ask { request, asked: now };
        match self.leader {
            Some(leader) if leader == self.me => self.propose(now, Change::Ask(ask), out),
            Some(leader) => out.send_ahead(leader, Message::Ask(ask)),
            None => {}
        }
    }

    /// ME-3. Nobody asks for another.
    fn hear(&mut self, now: Time, from: NodeId, ask: Ask, out: &mut Effects<'_, Self>) {
        let is_own = ask.asker() == Some(from) && self.plan.replica.founders.voters.contains(&from);
        if !is_own {
            out.note("ME-3", format_args!("ignores what {from} asks for another"));
        } else if self.replica.leads() {
            self.propose(now, Change::Ask(ask), out);
        }
    }

    fn propose(&mut self, now: Time, change: Change, out: &mut Effects<'_, Self>) {
        if let Some(proposal) = self.desk.take(change) {
            self.replicate(now, Input::Command(Command::Propose(vec![proposal])), out);
        }
    }

    /// ME-4 and ME-5, after every step of the replica. Who is told of a lease knows of its view.
    fn follow(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let Some(machine) = self.replica.machine() else { return };
        if machine.latest() != self.heard.0 {
            self.heard = (machine.latest(), now);
        }
        let is_new = machine.epoch() > self.view.as_ref().map(View::epoch);
        let view = if is_new { machine.view() } else { None };
        let lease = machine.asked(self.me).filter(|(stay, _)| stay.incarnation == self.life);
        let trusted = machine.membership().map(|membership| membership.terms().trusted());
        if let Some(view) = view {
            self.change(now, view, out);
        }
        if lease != self.lease {
            self.lease = lease;
            if let (Some((_, asked)), Some(trusted)) = (lease, trusted) {
                out.note("ME-5", format_args!("has a lease until {} of its clock", asked + trusted));
                out.note_told(Told::Lease(asked + trusted));
                self.pass(now, Input::Lease(asked + trusted), out);
            }
        }
        if is_new && lease.is_none() {
            self.attend(now, out);
        }
    }

    /// ME-4.
    fn change(&mut self, now: Time, view: View, out: &mut Effects<'_, Self>) {
        out.note("ME-4", format_args!("learns of {view}"));
        self.suspected.retain(|node, stay| view.stay(*node) == Some(*stay));
        self.view = Some(view.clone());
        out.note_told(Told::View(&view));
        self.pass(now, Input::View(view), out);
    }

    fn look_around(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        out.set_timer(Timer::Round, Span::exactly(self.round()));
        self.found(now, out);
        self.let_time_pass(now, out);
        if self.plan.terms.on_close == OnClose::Evict {
            self.accuse(now, out);
        }
    }

    /// ME-6. How late it is in the log can only be guessed from here; the log knows.
    fn let_time_pass(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (log_time, since) = self.heard;
        let expiry = self.replica.machine().and_then(GroupMembership::next_expiry);
        if self.replica.leads() && expiry.is_some_and(|expiry| log_time.after(now.since(since)) >= expiry) {
            out.note("ME-6", format_args!("lets time pass in the log: a lease is overdue"));
            self.propose(now, Change::Ask(Ask { request: Request::Tick, asked: now }), out);
        }
    }

    /// ME-7. What is known of a process that was here before says nothing about the one that took its place; and where nobody
    /// listens, somebody may just be about to begin.
    fn suspect(&mut self, now: Time, node: NodeId, out: &mut Effects<'_, Self>) {
        let met = self.met.get(&node);
        let stay = self.view.as_ref().and_then(|view| view.stay(node)).filter(|stay| Some(&stay.incarnation) == met);
        if let Some(stay) = stay.filter(|_| node != self.me) {
            out.note("ME-7", format_args!("suspects {node}, whose process is gone"));
            self.suspected.insert(node, stay);
            self.accuse(now, out);
        }
        if self.leader == Some(node) {
            self.miss(now, node, out);
        }
    }

    fn meet(&mut self, peer: NodeId, life: Incarnation) {
        let met = self.met.entry(peer).or_insert(life);
        *met = life.max(*met);
    }

    fn accuse(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        for (node, stay) in self.suspected.clone() {
            self.ask(now, Request::Suspect { node, stay, by: self.me, why: Suspicion::Closed }, out);
        }
    }

    /// ME-8. Others learn of it within moments of us; who stands too early is not voted for.
    fn miss(&mut self, now: Time, leader: NodeId, out: &mut Effects<'_, Self>) {
        self.replicate(now, Input::Suspect(leader), out);
        let founders = &self.plan.replica.founders.voters;
        let before_us = founders.iter().filter(|node| **node < self.me && !self.suspected.contains_key(node));
        let ticks = 1 + 2 * before_us.count() as u64;
        out.set_timer(Timer::Stand, Span::exactly(self.plan.replica.tick.times(ticks)));
    }

    /// ME-8. Unless somebody leads by now.
    fn stand(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.leader.is_none() {
            out.note("ME-8", format_args!("stands for election, for the leader is gone"));
            self.replicate(now, Input::Command(Command::Campaign), out);
        }
    }

    /// The replica takes an input; what it tells is for us alone.
    fn replicate(&mut self, now: Time, input: Input<Replica<GroupMembership>>, out: &mut Effects<'_, Self>) {
        let mut told = Vec::new();
        let mut wings = Wings { life: self.life, told: &mut told, out };
        self.replica.step(now, input, &mut Effects::new(&mut wings));
        for event in told {
            self.learn(now, event, out);
        }
        self.follow(now, out);
    }

    fn learn(&mut self, now: Time, event: Event<GroupMembership>, out: &mut Effects<'_, Self>) {
        match event {
            Event::Answered { ticket, .. } | Event::Refused { ticket, .. } | Event::Unknown { ticket } => {
                self.desk.settle(ticket);
            }
            Event::Leads { .. } => self.turn_to(now, Some(self.me), out),
            Event::Follows { leader, .. } => self.turn_to(now, leader, out),
            Event::Halted { reason } => out.note("ME-4", format_args!("learns of no further view: {reason}")),
            // Nobody asks for these here.
            Event::Changed { .. } | Event::Applied(_) | Event::Restored(_) => {}
        }
    }

    /// ME-2. What the last leader was asked may be lost with it.
    fn turn_to(&mut self, now: Time, leader: Option<NodeId>, out: &mut Effects<'_, Self>) {
        self.leader = leader;
        if leader.is_some() {
            self.found(now, out);
            self.accuse(now, out);
            self.attend(now, out);
        }
    }

    /// ME-9. The protocol inside takes an input.
    fn pass(&mut self, now: Time, input: Input<Reliable<Viewed<P>>>, out: &mut Effects<'_, Self>) {
        let mut stage = Stage { out };
        self.inner.step(now, input, &mut Effects::new(&mut stage));
        if self.viewed().inner().departs() && !self.departs {
            out.note("ME-10", format_args!("asks to be let out"));
            self.departs = true;
            self.attend(now, out);
        }
    }
}

impl<P: InViews> Protocol for Member<P> {
    type Command = P::Command;
    type Message = Message<P::Message, P::Report>;
    type Timer = Timer<P::Timer>;
    type Event = P::Event;
    type Durable = Durable;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable, incarnation } => self.start(now, durable, incarnation, out),
            Input::Command(command) => self.pass(now, Input::Command(command), out),
            Input::Message { from, message: Message::Replica { life, message } } => {
                self.meet(from, life);
                self.replicate(now, Input::Message { from, message }, out);
            }
            Input::Message { from, message: Message::Ask(ask) } => self.hear(now, from, ask, out),
            Input::Message { from, message: Message::Inner(message) } => {
                self.meet(from, message.pair().mine);
                self.pass(now, Input::Message { from, message }, out);
            }
            Input::Timer(Timer::Replica(timer)) => self.replicate(now, Input::Timer(timer), out),
            Input::Timer(Timer::Keepalive) => self.keep_alive(now, out),
            Input::Timer(Timer::Round) => self.look_around(now, out),
            Input::Timer(Timer::Stand) => self.stand(now, out),
            Input::Timer(Timer::Inner(timer)) => self.pass(now, Input::Timer(timer), out),
            // The replica alone saves.
            Input::Saved(count) => self.replicate(now, Input::Saved(count), out),
            Input::DiskFull => self.replicate(now, Input::DiskFull, out),
            Input::DiskFree => self.replicate(now, Input::DiskFree, out),
            Input::Suspect(node) => self.suspect(now, node, out),
            Input::Trust(node) => {
                self.suspected.remove(&node);
            }
            // Who is in is what our own replica says.
            Input::View(_) | Input::Lease(_) => {}
        }
    }
}

/// Where the effects of the replica go.
struct Wings<'a, 'b, P: InViews> {
    life: Incarnation,
    told: &'a mut Vec<Event<GroupMembership>>,
    out: &'a mut Effects<'b, Member<P>>,
}

impl<P: InViews> Sink<Replica<GroupMembership>> for Wings<'_, '_, P> {
    fn effect(&mut self, effect: Effect<Replica<GroupMembership>>) {
        let life = self.life;
        self.out.put(match effect {
            Effect::Send { to, message, order } => {
                Effect::Send { to, message: Message::Replica { life, message }, order }
            }
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: Message::Replica { life, message }, order }
            }
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: Timer::Replica(timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(Timer::Replica(timer)),
            Effect::Emit { event, .. } => return self.told.push(event),
        });
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}

/// Where the effects of the protocol inside go.
struct Stage<'a, 'b, P: InViews> {
    out: &'a mut Effects<'b, Member<P>>,
}

impl<P: InViews> Sink<Reliable<Viewed<P>>> for Stage<'_, '_, P> {
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
