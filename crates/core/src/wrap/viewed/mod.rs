//! Views with leases: how a protocol for a fixed group runs in a group whose members change.
//!
//! A membership service numbers the views of a group, lists the members of each, and grants leases
//! to members. Within a view the protocol runs unchanged, and silence is never evidence of a crash:
//! only a later view removes a member. This is safe because no node acts in an old view while
//! others act in a new one. A member's stay lasts from the view that admits it to the one that
//! removes it.
//!
//! ```text
//! VW-1  the lease has ended      → freeze: keep commands, messages and timers until the lease is
//!                                  renewed
//! VW-2  a view has our stay      → stop acting in the previous view, and send our report to its other
//!                                  members
//! VW-3  the reports are in       → all members that were in an earlier view have sent theirs:
//!                                  start anew from them, and act; a later view starts this over,
//!                                  and views may be skipped
//! VW-4  a message arrives        → drop it if its view is older; hold it if its view is a later one,
//!                                  or one that we do not act in yet
//! VW-5  a view lacks our stay    → we are out: an entry ends; a pending request is made again in our
//!                                  next stay
//! VW-6  the lease is renewed     → act again; emit the new validity of what the client holds
//! VW-7  we restart               → take no part until a view has this very incarnation
//! VW-8  a command while frozen   → queue it, and handle it before anything else once we act
//! ```
//!
//! Why it is safe: the service commits a view without a member only after that member left or died,
//! or its lease has expired by the service's clock, which is later than by the member's own.
//! Suppose that a node still acts in an older view than the latest one in use. Then it is a member
//! of the latest one too, which began only with the node's report; but a node that has sent a
//! report no longer acts in any earlier view. So there is no such node, and the reports describe
//! the final state of the earlier views: at most one of them says that its node is in the critical
//! section (or several, all with shared access), and every member starts from the same reports.
//!
//! Cost: no message within a view. A view change costs n−1 reports from every member of an earlier
//! view, counted as control.
//!
//! Assumes: every node that receives a view receives the same list of members; leases are as above,
//! and a member receives one only after the view in which its stay began; a message names its true
//! sender. Members of a view can reach each other, or else a later view follows: until then a
//! member that lacks a report waits. The wrapper does not request that view.
//!
//! When it fails: if clocks drift beyond the bound, or the service does not wait for the end of a
//! lease, two nodes may be in the critical section; the resource still rejects the one in the older
//! view by its fence, since the epoch is part of it.

mod envelope;
#[cfg(test)]
mod tests;

pub use envelope::{Content, Envelope, ViewedTimer};

use crate::about::About;
use crate::view::Stay;
use crate::wrap::prelude::*;

/// Parses the header of this file: what views do, and by which rules.
pub fn about() -> About {
    About::from_source(include_str!("mod.rs"))
}

/// How a lease affects the events of a family's algorithms.
pub trait Leased<C>: Sized {
    /// Returns the same event, valid no longer than until the end of the lease.
    #[must_use]
    fn limit_to(self, until: Time) -> Self;

    /// Returns the event that tells a client that what it holds is now valid until this time;
    /// `None` if the family has no such event.
    fn extension_event(until: Time) -> Option<Self>;

    /// Returns whether this command gives up what the client holds. If the client loses what it
    /// holds while the command is queued, the node drops the command, and the event of the loss
    /// answers it.
    fn is_release(command: &C) -> bool;
}

/// A protocol that can continue when its group changes.
pub trait InViews: Protocol<Durable = (), Event: Leased<<Self as Protocol>::Command>> {
    /// A member's report to the others when a view ends.
    type Report: Clone;

    /// Returns the report on the view that ends.
    fn report(&self) -> Self::Report;

    /// Starts anew as member `me` of a view. `reports` has the report of every member that was in
    /// an earlier view, and is the same at every member. Pending requests of the client stay
    /// pending.
    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, Self::Report>,
        out: &mut Effects<'_, Self>,
    );

    /// Returns whether the client holds something that is valid only as long as the lease.
    fn is_holder(&self) -> bool;

    /// Forgets what the client holds, because the stay has ended. Pending requests of the client
    /// stay pending. `is_released` is whether the client had already asked to release what it held,
    /// or the node to leave its group.
    fn forget(&mut self, me: NodeId, is_released: bool);

    /// Returns the event that tells the client that it lost what it held, because a view removed
    /// the node.
    fn lost_event(&self) -> Self::Event;

    /// Returns whether the node has nothing left to do in its group, and therefore asks to leave it
    /// for good.
    fn wants_to_leave(&self) -> bool {
        false
    }

    /// Called when the lease is renewed after it had ended, and the node acts again.
    fn handle_renewal(&mut self, _now: Time, _out: &mut Effects<'_, Self>) {}

    /// Returns the maximum number of commands that are queued until the node acts.
    fn max_queued_commands(&self) -> usize {
        usize::MAX
    }

    /// Returns the event that refuses a command beyond [`max_queued_commands`]; `None` to queue the
    /// command all the same.
    ///
    /// [`max_queued_commands`]: Self::max_queued_commands
    fn refusal_event(&mut self, _command: &Self::Command) -> Option<Self::Event> {
        None
    }
}

/// A member of a group with views.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Viewed<P: InViews> {
    me: Fixed<NodeId>,
    inner: P,
    incarnation: Incarnation,
    /// Our stay in the latest view; `None` while we are out.
    stay: Option<Stay>,
    /// The instant of our own clock until which we may act.
    lease_end: Option<Time>,
    view: Option<View>,
    phase: ViewPhase<P::Report>,
    /// Messages and timers of the current view or a later one that were not handled yet.
    held_inputs: Vec<HeldInput<P::Message, P::Report, P::Timer>>,
    /// Commands that wait until we act.
    queued_commands: VecDeque<P::Command>,
}

/// Our progress with the latest view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ViewPhase<R> {
    /// We are no member.
    Out,
    /// We lack reports, or a lease. The reports so far include our own, unless we have just joined.
    Gathering(BTreeMap<NodeId, R>),
    /// We act in the view whenever we have a lease.
    Acting,
}

/// An input that is kept for later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum HeldInput<M, R, T> {
    Message { from: NodeId, envelope: Envelope<M, R> },
    Timer { epoch: Epoch, timer: T },
}

impl<M, R, T> HeldInput<M, R, T> {
    const fn epoch(&self) -> Epoch {
        match self {
            Self::Message { envelope, .. } => envelope.epoch,
            Self::Timer { epoch, .. } => *epoch,
        }
    }
}

impl<P: InViews> Protocol for Viewed<P> {
    type Command = P::Command;
    type Message = Envelope<P::Message, P::Report>;
    type Timer = ViewedTimer<P::Timer>;
    type Event = P::Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            // VW-7. The inner protocol starts with our first view.
            Input::Start { durable: (), incarnation } => self.incarnation = incarnation,
            Input::View(view) => self.change_view(view, out),
            Input::Lease(until) => self.receive_lease(now, until, out),
            Input::Timer(ViewedTimer::Lease) => self.note_freeze(now, out),
            Input::Message { from, message } => self.hold(HeldInput::Message { from, envelope: message }, out),
            Input::Timer(ViewedTimer::Inner(epoch, timer)) => self.hold(HeldInput::Timer { epoch, timer }, out),
            Input::Command(command) => self.enqueue(now, command, out),
            Input::EndOfTurn => self.end_turn(now, out),
            // Nothing is saved, and within a view no node is suspected.
            Input::Saved(_) | Input::Suspect(_) | Input::Trust(_) | Input::DiskFull | Input::DiskFree => {}
        }
        self.proceed(now, out);
    }

    fn uses_end_of_turn(&self) -> bool {
        self.inner.uses_end_of_turn()
    }
}

impl<P: InViews> Viewed<P> {
    /// Creates the node `me`, which is in no view yet, around a fresh protocol.
    pub fn new(me: NodeId, inner: P) -> Self {
        Self {
            me: Fixed::new(me),
            inner,
            incarnation: Incarnation::FIRST,
            stay: None,
            lease_end: None,
            view: None,
            phase: ViewPhase::Out,
            held_inputs: Vec::new(),
            queued_commands: VecDeque::new(),
        }
    }

    /// Returns the protocol that runs in the views.
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// Returns the latest view that the node received.
    pub const fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Returns whether the node acts in the latest view at this instant of its clock.
    pub fn acts(&self, now: Time) -> bool {
        matches!(self.phase, ViewPhase::Acting) && self.has_lease(now)
    }

    /// VW-2, VW-5, VW-7. Ignores a view that is not later than the latest one.
    fn change_view(&mut self, view: View, out: &mut Effects<'_, Self>) {
        if self.view.as_ref().is_some_and(|known| view.epoch() <= known.epoch()) {
            return;
        }
        let stay = view.stay(*self.me).filter(|stay| stay.incarnation == self.incarnation);
        if self.stay.is_some() && self.stay != stay {
            self.end_stay(&view, out);
        }
        self.stay = stay;
        self.held_inputs.retain(|held| held.epoch() >= view.epoch());
        self.phase = match stay {
            Some(stay) => self.start_gathering(&view, stay, out),
            None => {
                out.note("VW-5", format_args!("takes no part in {view}"));
                ViewPhase::Out
            }
        };
        self.view = Some(view);
    }

    /// VW-2. Sends our report, and returns the next phase with it. A joiner has nothing to report.
    fn start_gathering(&self, view: &View, stay: Stay, out: &mut Effects<'_, Self>) -> ViewPhase<P::Report> {
        let mut reports = BTreeMap::new();
        if stay.since < view.epoch() {
            let report = self.inner.report();
            out.note("VW-2", format_args!("stops, and reports to the members of {view}"));
            if view.members().len() > 1 {
                let content = Content::Report(report.clone());
                out.multicast(view.members(), Envelope { epoch: view.epoch(), content });
            }
            reports.insert(*self.me, report);
        } else {
            out.note("VW-2", format_args!("joins {view}"));
        }
        ViewPhase::Gathering(reports)
    }

    /// VW-5. Informs the client that it lost what it held, if anything. A queued release counts as
    /// done, and so does the node's own request to leave.
    fn end_stay(&mut self, view: &View, out: &mut Effects<'_, Self>) {
        out.note("VW-5", format_args!("is out: {view} does not contain its stay"));
        if self.inner.is_holder() {
            out.emit(self.inner.lost_event());
            let release = self.queued_commands.iter().position(P::Event::is_release);
            release.map(|index| self.queued_commands.remove(index));
            self.inner.forget(*self.me, release.is_some());
        } else if self.inner.wants_to_leave() {
            let is_released = true;
            self.inner.forget(*self.me, is_released);
        }
        self.lease_end = None;
        out.cancel_timer(ViewedTimer::Lease);
    }

    /// VW-6. An input with an instant in the past ends the lease, so it freezes the node at once. A
    /// lease that ends no later than the known one has no effect: it was granted earlier, and the
    /// known one overtook it.
    fn receive_lease(&mut self, now: Time, until: Time, out: &mut Effects<'_, Self>) {
        let is_outdated = until > now && self.lease_end.is_some_and(|known_end| until <= known_end);
        if self.stay.is_none() || is_outdated {
            return;
        }
        let was_frozen = self.lease_end.is_some_and(|known_end| known_end <= now);
        self.lease_end = Some(until);
        if until <= now {
            return self.note_freeze(now, out);
        }
        out.set_timer(ViewedTimer::Lease, Span::exactly(until.since(now)));
        if was_frozen {
            out.note("VW-6", format_args!("has a lease again"));
            if self.acts(now) {
                let epoch = self.view.as_ref().map(View::epoch).unwrap_or_default();
                let mut sink = ViewedSink { epoch, lease_end: self.lease_end, out };
                self.inner.handle_renewal(now, &mut Effects::new(&mut sink));
            }
        }
        if let Some(event) = P::Event::extension_event(until).filter(|_| self.inner.is_holder()) {
            out.emit(event);
        }
    }

    /// VW-1. Notes that the lease has ended. Nothing else is needed: every step checks the lease.
    fn note_freeze(&self, now: Time, out: &mut Effects<'_, Self>) {
        if !self.has_lease(now) && self.stay.is_some() {
            out.note("VW-1", format_args!("freezes: its lease has ended"));
        }
    }

    /// VW-4. Keeps an input until the node acts in its view, or drops it if that view has ended.
    fn hold(&mut self, held: HeldInput<P::Message, P::Report, P::Timer>, out: &mut Effects<'_, Self>) {
        // Without a view, the node keeps every input.
        if self.view.as_ref().is_none_or(|view| held.epoch() >= view.epoch()) {
            return self.held_inputs.push(held);
        }
        if let HeldInput::Message { from, envelope } = held {
            out.note("VW-4", format_args!("drops a message from {from} of view {}, which has ended", envelope.epoch));
        }
    }

    /// Does everything that is possible now: gathers reports, starts the view, and handles queued
    /// commands and held inputs.
    fn proceed(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.gather_reports();
        self.start_view(now, out);
        if !self.acts(now) {
            return;
        }
        self.handle_queued_commands(now, out);
        let Some(current_epoch) = self.view.as_ref().map(View::epoch) else { return };
        let (of_this_view, of_later_views) =
            core::mem::take(&mut self.held_inputs).into_iter().partition(|held| held.epoch() == current_epoch);
        self.held_inputs = of_later_views;
        for held in of_this_view {
            match held {
                HeldInput::Message { from, envelope: Envelope { content: Content::Inner(message), .. } } => {
                    self.step_inner(now, Input::Message { from, message }, out);
                }
                // A node that acts has every report, and needs none from joiners.
                HeldInput::Message { envelope: Envelope { content: Content::Report(_), .. }, .. } => {}
                HeldInput::Timer { timer, .. } => self.step_inner(now, Input::Timer(timer), out),
            }
        }
    }

    /// VW-8. The inner protocol limits the queue. A node that acts empties the queue at once, so it
    /// refuses nothing.
    fn enqueue(&mut self, now: Time, command: P::Command, out: &mut Effects<'_, Self>) {
        let is_full = !self.acts(now) && self.queued_commands.len() >= self.inner.max_queued_commands();
        match is_full.then(|| self.inner.refusal_event(&command)).flatten() {
            Some(event) => out.emit(event),
            None => self.queued_commands.push_back(command),
        }
    }

    /// VW-8. The client issued these commands before the view or the lease arrived, so the node
    /// handles them before the held inputs.
    fn handle_queued_commands(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        while let Some(command) = self.queued_commands.pop_front() {
            self.step_inner(now, Input::Command(command), out);
        }
    }

    /// The inner protocol takes no input while the node is frozen; its turn then continues once the
    /// node acts again.
    fn end_turn(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        if self.acts(now) {
            self.step_inner(now, Input::EndOfTurn, out);
        }
    }

    /// VW-3. Moves held reports for this view into the phase. Reports that arrived before the view
    /// itself count too.
    fn gather_reports(&mut self) {
        let (ViewPhase::Gathering(reports), Some(view)) = (&mut self.phase, &self.view) else { return };
        self.held_inputs.retain(|held| match held {
            HeldInput::Message { from, envelope: Envelope { epoch, content: Content::Report(report) } }
                if *epoch == view.epoch() =>
            {
                reports.insert(*from, report.clone());
                false
            }
            HeldInput::Message { .. } | HeldInput::Timer { .. } => true,
        });
    }

    /// VW-3. Acts in the view if all reports are in and the node has a lease.
    fn start_view(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (ViewPhase::Gathering(reports), Some(view)) = (&self.phase, &self.view) else { return };
        if !self.has_lease(now) || !view.continuing_members().all(|node| reports.contains_key(&node)) {
            return;
        }
        let reports: BTreeMap<_, _> = view
            .continuing_members()
            .filter_map(|node| reports.get(&node).map(|report| (node, report.clone())))
            .collect();
        let view = view.clone();
        out.note("VW-3", format_args!("begins in {view}, with {} reports", reports.len()));
        self.phase = ViewPhase::Acting;
        let mut sink = ViewedSink { epoch: view.epoch(), lease_end: self.lease_end, out };
        self.inner.resume(now, *self.me, &view, &reports, &mut Effects::new(&mut sink));
    }

    fn has_lease(&self, now: Time) -> bool {
        self.lease_end.is_some_and(|end| now < end)
    }

    /// Steps the inner protocol; its effects belong to the current view.
    fn step_inner(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        let epoch = self.view.as_ref().map(View::epoch).unwrap_or_default();
        let mut sink = ViewedSink { epoch, lease_end: self.lease_end, out };
        self.inner.step(now, input, &mut Effects::new(&mut sink));
    }
}

/// Receives the inner protocol's effects, and adds the view and the lease to them.
struct ViewedSink<'a, 'b, P: InViews> {
    epoch: Epoch,
    lease_end: Option<Time>,
    out: &'a mut Effects<'b, Viewed<P>>,
}

impl<P: InViews> ViewedSink<'_, '_, P> {
    const fn envelope(&self, message: P::Message) -> Envelope<P::Message, P::Report> {
        Envelope { epoch: self.epoch, content: Content::Inner(message) }
    }
}

impl<P: InViews> Sink<P> for ViewedSink<'_, '_, P> {
    fn effect(&mut self, effect: Effect<P>) {
        let effect = match effect {
            Effect::Send { to, message, order } => Effect::Send { to, message: self.envelope(message), order },
            Effect::Multicast { to, message, order } => {
                Effect::Multicast { to, message: self.envelope(message), order }
            }
            Effect::Save(write) => Effect::Save(write),
            Effect::SetTimer { timer, span } => Effect::SetTimer { timer: ViewedTimer::Inner(self.epoch, timer), span },
            Effect::CancelTimer(timer) => Effect::CancelTimer(ViewedTimer::Inner(self.epoch, timer)),
            Effect::Emit { event, order } => {
                let event = match self.lease_end {
                    Some(until) => event.limit_to(until),
                    None => event,
                };
                Effect::Emit { event, order }
            }
        };
        self.out.put(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.pass_note(note);
    }
}
