//! Views with leases: a protocol for a group that never changes, made fit for one whose members crash, pause and are cut off.
//!
//! Somebody (a membership service) numbers the views of a group and says who is in each, and lets members have leases. Inside a view the
//! protocol runs as in the book, and silence is never evidence: only the next view removes anyone. What makes it safe is that nobody acts
//! in an old view while others act in a new one.
//!
//! ```text
//! VW-1  the lease is over        → freeze: nothing is acted on until it is renewed, and nothing is lost meanwhile
//! VW-2  a view has our stay      → stop acting in the one before, and send our report to its other members
//! VW-3  the reports are in       → of all members who were in a view before: begin anew from them, and act; a later view
//!                                  starts this over, and views may be skipped
//! VW-4  a message comes          → of an older view, drop it; of one to come, or that we do not act in yet, hold it
//! VW-5  a view lacks our stay    → we are out: an entry is over; a request that waits is made again in our next stay
//! VW-6  the lease is renewed     → act again; tell the user how much longer what it has is valid
//! VW-7  we restart               → take no part until a view has this very life
//! VW-8  asked while we are still → keep the command, and take it before anything else once we act
//! ```
//!
//! Why it is safe: the service commits a view without a member only after that member left or died, or its lease has run out by the
//! service's clock, which is later than by the member's own. So whoever acts in an older view than the latest one that is acted in is a member of that
//! one too, and has sent it a report; and who has sent a report acts in no view before it any more. What the reports say is therefore
//! all that is left of the views before: at most one of them says *inside* (or several who only read), and every member begins from the
//! same reports.
//!
//! Cost: no message in a view. A change of the view costs n−1 reports of every member who was in before, which count as control.
//!
//! Assumes: each view has one list of members, whoever is told of it; leases are as above, and a member is told of one only after the
//! view in which its stay began; what a message names as its sender is true. Members of a view can reach each other, or else a later view
//! comes: until then whoever lacks a report waits, and nothing here asks for that view.
//!
//! When it fails: with clocks that drift beyond the bound, or a service that does not wait, two may be inside; the fence at the resource
//! then still refuses the older one, since the view's number is part of it.

mod envelope;
#[cfg(test)]
mod tests;

pub use envelope::{Content, Envelope, ViewedTimer};

use crate::about::About;
use crate::view::Stay;
use crate::wrap::prelude::*;

/// What views do and by which rules: the header of this file.
pub fn about() -> About {
    About::of_source(include_str!("mod.rs"))
}

/// What a lease means to the user of a family's algorithms.
pub trait Leased<C>: Sized {
    /// The same event, valid no longer than the lease.
    #[must_use]
    fn within(self, until: Time) -> Self;

    /// What the user is told when what it has is valid for longer, if that is anything to it.
    fn extended(until: Time) -> Option<Self>;

    /// Whether this asks for the end of what the user has, so that its loss is an answer.
    fn ends(command: &C) -> bool;
}

/// A protocol that can go on when its group changes.
pub trait InViews: Protocol<Durable = (), Event: Leased<<Self as Protocol>::Command>> {
    /// What a member tells the others when a view ends.
    type Report: Clone;

    /// What is to be told of the view that ends.
    fn report(&self) -> Self::Report;

    /// Begins anew as this member of a view. All members of it who were in one before have reported this, and every member
    /// is given the same. What the protocol's user waits for is still waited for.
    fn resume(
        &mut self,
        now: Time,
        me: NodeId,
        view: &View,
        reports: &BTreeMap<NodeId, Self::Report>,
        out: &mut Effects<'_, Self>,
    );

    /// Whether its user has something that is valid only as long as the lease.
    fn holds(&self) -> bool;

    /// Its stay is over: forgets what its user has. What its user waits for is still waited for. `ends` says that its user had asked for
    /// the end of what it had.
    fn forget(&mut self, me: NodeId, ends: bool);

    /// What the user is told when what it had is over, because the group went on without it.
    fn lost(&self) -> Self::Event;

    /// Whether the node has nothing more to do in its group, so that it asks to be let out, and never to be let in again.
    fn departs(&self) -> bool {
        false
    }

    /// Its lease was renewed after it had run out: it acts again.
    fn thaw(&mut self, _now: Time, _out: &mut Effects<'_, Self>) {}

    /// How many commands are kept until it acts.
    fn keeps(&self) -> usize {
        usize::MAX
    }

    /// What the user is told of a command that is one too many to be kept. If that is nothing, it is kept after all.
    fn refused(&mut self, _command: &Self::Command) -> Option<Self::Event> {
        None
    }
}

/// A member of a group with views.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Viewed<P: InViews> {
    place: Fixed<NodeId>,
    inner: P,
    life: Incarnation,
    /// Our stay in the group, while we are in.
    stay: Option<Stay>,
    /// Up to when we may act, on our own clock.
    until: Option<Time>,
    view: Option<View>,
    work: Work<P::Report>,
    /// What came for the present view or a later one and was not acted on yet.
    held: Vec<Held<P::Message, P::Report, P::Timer>>,
    /// What our user asked meanwhile.
    asked: VecDeque<P::Command>,
}

/// How far we are with the latest view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Work<R> {
    /// We are not in it.
    Out,
    /// We lack reports, or a lease.
    Gathering(BTreeMap<NodeId, R>),
    /// We act in it.
    Acting,
}

/// What is kept for later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Held<M, R, T> {
    Letter { from: NodeId, envelope: Envelope<M, R> },
    Alarm { epoch: Epoch, timer: T },
}

impl<M, R, T> Held<M, R, T> {
    const fn epoch(&self) -> Epoch {
        match self {
            Self::Letter { envelope, .. } => envelope.epoch,
            Self::Alarm { epoch, .. } => *epoch,
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
            // VW-7. The protocol inside begins with our first view.
            Input::Start { durable: (), incarnation } => self.life = incarnation,
            Input::View(view) => self.change(view, out),
            Input::Lease(until) => self.renew(now, until, out),
            Input::Timer(ViewedTimer::Lease) => self.freeze(now, out),
            Input::Message { from, message } => self.hold(Held::Letter { from, envelope: message }, out),
            Input::Timer(ViewedTimer::Inner(epoch, timer)) => self.hold(Held::Alarm { epoch, timer }, out),
            Input::Command(command) => self.ask(now, command, out),
            // Nothing is saved, and in a view nobody is suspected.
            Input::Saved(_) | Input::Suspect(_) | Input::Trust(_) | Input::DiskFull | Input::DiskFree => {}
        }
        self.act(now, out);
    }
}

impl<P: InViews> Viewed<P> {
    /// The node `me`, which is in no view yet, around a protocol that nobody has used.
    pub fn new(me: NodeId, inner: P) -> Self {
        Self {
            place: Fixed::new(me),
            inner,
            life: Incarnation::FIRST,
            stay: None,
            until: None,
            view: None,
            work: Work::Out,
            held: Vec::new(),
            asked: VecDeque::new(),
        }
    }

    /// The protocol inside.
    pub const fn inner(&self) -> &P {
        &self.inner
    }

    /// The latest view that it knows of.
    pub const fn view(&self) -> Option<&View> {
        self.view.as_ref()
    }

    /// Whether it acts in that view, at this instant of its clock.
    pub fn acts(&self, now: Time) -> bool {
        matches!(self.work, Work::Acting) && self.has_lease(now)
    }

    /// VW-2, VW-5, VW-7. An older view than the one we know is news of the past.
    fn change(&mut self, view: View, out: &mut Effects<'_, Self>) {
        if self.view.as_ref().is_some_and(|known| view.epoch() <= known.epoch()) {
            return;
        }
        let stay = view.stay(*self.place).filter(|stay| stay.incarnation == self.life);
        if self.stay.is_some() && self.stay != stay {
            self.leave(&view, out);
        }
        self.stay = stay;
        self.held.retain(|held| held.epoch() >= view.epoch());
        self.work = match stay {
            Some(stay) => self.report(&view, stay, out),
            None => {
                out.note("VW-5", format_args!("takes no part in {view}"));
                Work::Out
            }
        };
        self.view = Some(view);
    }

    /// VW-2. Who has just come in has nothing to report.
    fn report(&self, view: &View, stay: Stay, out: &mut Effects<'_, Self>) -> Work<P::Report> {
        let mut reports = BTreeMap::new();
        if stay.since < view.epoch() {
            let report = self.inner.report();
            out.note("VW-2", format_args!("stops, and reports to the members of {view}"));
            if view.members().len() > 1 {
                let content = Content::Report(report.clone());
                out.multicast(view.members(), Envelope { epoch: view.epoch(), content });
            }
            reports.insert(*self.place, report);
        } else {
            out.note("VW-2", format_args!("is let into {view}"));
        }
        Work::Gathering(reports)
    }

    /// VW-5. Our stay ended when our lease did, whenever we learn of it. Who has asked to leave an entry that is over has left.
    fn leave(&mut self, view: &View, out: &mut Effects<'_, Self>) {
        out.note("VW-5", format_args!("is out: {view} goes on without it"));
        if self.inner.holds() {
            out.emit(self.inner.lost());
            let end = self.asked.iter().position(P::Event::ends);
            end.map(|place| self.asked.remove(place));
            self.inner.forget(*self.place, end.is_some());
        } else if self.inner.departs() {
            self.inner.forget(*self.place, true);
        }
        self.until = None;
        out.cancel_timer(ViewedTimer::Lease);
    }

    /// VW-6. A lease that was renewed late may be over already, and one that is over ends what it ended.
    fn renew(&mut self, now: Time, until: Time, out: &mut Effects<'_, Self>) {
        let is_older = until > now && self.until.is_some_and(|before| until <= before);
        if self.stay.is_none() || is_older {
            return;
        }
        let froze = self.until.is_some_and(|before| before <= now);
        self.until = Some(until);
        if until <= now {
            return self.freeze(now, out);
        }
        out.set_timer(ViewedTimer::Lease, Span::exactly(until.since(now)));
        if froze {
            out.note("VW-6", format_args!("has a lease again"));
            if self.acts(now) {
                let epoch = self.view.as_ref().map(View::epoch).unwrap_or_default();
                let mut desk = Desk { epoch, until: self.until, out };
                self.inner.thaw(now, &mut Effects::new(&mut desk));
            }
        }
        if let Some(event) = P::Event::extended(until).filter(|_| self.inner.holds()) {
            out.emit(event);
        }
    }

    /// VW-1. Whether the lease is over is asked at every step; this only tells when it came about.
    fn freeze(&self, now: Time, out: &mut Effects<'_, Self>) {
        if !self.has_lease(now) && self.stay.is_some() {
            out.note("VW-1", format_args!("freezes: its lease is over"));
        }
    }

    /// VW-4.
    fn hold(&mut self, held: Held<P::Message, P::Report, P::Timer>, out: &mut Effects<'_, Self>) {
        let present = self.view.as_ref().map(View::epoch);
        if Some(held.epoch()) >= present {
            return self.held.push(held);
        }
        if let Held::Letter { from, envelope } = held {
            out.note("VW-4", format_args!("drops a message of {from} from view {}, which is over", envelope.epoch));
        }
    }

    /// Does what can be done now: gathers reports, begins, and takes what was held and asked.
    fn act(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        self.gather();
        self.begin(now, out);
        if !self.acts(now) {
            return;
        }
        self.answer(now, out);
        let Some(present) = self.view.as_ref().map(View::epoch) else { return };
        let (due, later) = core::mem::take(&mut self.held).into_iter().partition(|held| held.epoch() == present);
        self.held = later;
        for held in due {
            match held {
                Held::Letter { from, envelope: Envelope { content: Content::Inner(message), .. } } => {
                    self.pass(now, Input::Message { from, message }, out);
                }
                // Who acts has every report, and needs none of those who have just come in.
                Held::Letter { envelope: Envelope { content: Content::Report(_), .. }, .. } => {}
                Held::Alarm { timer, .. } => self.pass(now, Input::Timer(timer), out),
            }
        }
    }

    /// VW-8. No more is kept than the protocol inside has room for; who acts takes it at once.
    fn ask(&mut self, now: Time, command: P::Command, out: &mut Effects<'_, Self>) {
        let is_full = !self.acts(now) && self.asked.len() >= self.inner.keeps();
        match is_full.then(|| self.inner.refused(&command)).flatten() {
            Some(event) => out.emit(event),
            None => self.asked.push_back(command),
        }
    }

    /// VW-8. Nobody may learn of anything later from us before they learn of this.
    fn answer(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        while let Some(command) = self.asked.pop_front() {
            self.pass(now, Input::Command(command), out);
        }
    }

    /// VW-3. Reports on the present view that came before we knew of it are in as well.
    fn gather(&mut self) {
        let (Work::Gathering(reports), Some(view)) = (&mut self.work, &self.view) else { return };
        self.held.retain(|held| match held {
            Held::Letter { from, envelope: Envelope { epoch, content: Content::Report(report) } }
                if *epoch == view.epoch() =>
            {
                reports.insert(*from, report.clone());
                false
            }
            Held::Letter { .. } | Held::Alarm { .. } => true,
        });
    }

    /// VW-3. Nobody begins without a lease.
    fn begin(&mut self, now: Time, out: &mut Effects<'_, Self>) {
        let (Work::Gathering(reports), Some(view)) = (&self.work, &self.view) else { return };
        if !self.has_lease(now) || !view.veterans().all(|node| reports.contains_key(&node)) {
            return;
        }
        let reports: BTreeMap<_, _> =
            view.veterans().filter_map(|node| reports.get(&node).map(|report| (node, report.clone()))).collect();
        let view = view.clone();
        out.note("VW-3", format_args!("begins in {view}, with {} reports", reports.len()));
        self.work = Work::Acting;
        let mut desk = Desk { epoch: view.epoch(), until: self.until, out };
        self.inner.resume(now, *self.place, &view, &reports, &mut Effects::new(&mut desk));
    }

    fn has_lease(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    /// The protocol inside takes an input; what it does belongs to the present view.
    fn pass(&mut self, now: Time, input: Input<P>, out: &mut Effects<'_, Self>) {
        let epoch = self.view.as_ref().map(View::epoch).unwrap_or_default();
        let mut desk = Desk { epoch, until: self.until, out };
        self.inner.step(now, input, &mut Effects::new(&mut desk));
    }
}

struct Desk<'a, 'b, P: InViews> {
    epoch: Epoch,
    until: Option<Time>,
    out: &'a mut Effects<'b, Viewed<P>>,
}

impl<P: InViews> Desk<'_, '_, P> {
    const fn envelope(&self, message: P::Message) -> Envelope<P::Message, P::Report> {
        Envelope { epoch: self.epoch, content: Content::Inner(message) }
    }
}

impl<P: InViews> Sink<P> for Desk<'_, '_, P> {
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
                let event = match self.until {
                    Some(until) => event.within(until),
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
