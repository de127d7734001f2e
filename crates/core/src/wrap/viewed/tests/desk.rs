//! A desk with one member on it: whatever is said to it, its answer is a list of short sentences.

use crate::Clock;
use crate::fence::Fence;
use crate::mutex::central::{self, Ticket};
use crate::mutex::{Access, Central, Command, Event, Floor, Patience, Report, Standing};
use crate::view::Stay;
use crate::wrap::prelude::*;
use crate::wrap::{Content, Envelope, InViews, Viewed, ViewedTimer};
use core::fmt::Debug;
use std::format;
use std::string::{String, ToString};

/// A member, and what time it is on its clock.
pub(super) struct Desk<P: InViews> {
    pub(super) member: Viewed<P>,
    now: Time,
}

/// What a step did, and by which of the rules of views.
struct Clerk<P: InViews> {
    effects: Vec<Effect<Viewed<P>>>,
    rules: Vec<&'static str>,
}

impl<P: InViews> Sink<Viewed<P>> for Clerk<P> {
    fn effect(&mut self, effect: Effect<Viewed<P>>) {
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, .. } = note {
            self.rules.push(rule);
        }
    }
}

impl<P> Desk<P>
where
    P: InViews<Command = Command, Event = Event, Report = Report>,
    P::Message: Describe,
    P::Timer: Debug,
{
    /// The node of this number in its first life, in no view so far.
    pub(super) fn new(number: u32, make: impl Fn(NodeId, Group) -> P) -> Self {
        Self::in_life(number, 0, make)
    }

    pub(super) fn in_life(number: u32, life: u64, make: impl Fn(NodeId, Group) -> P) -> Self {
        let me = node(number);
        let mut desk = Self { member: Viewed::new(me, make(me, Group::from_iter([me]))), now: Time::ZERO };
        assert_eq!(desk.take(Input::Start { durable: (), incarnation: Incarnation(life) }), NOTHING);
        desk
    }

    /// The node of this number, with a lease up to 10 ms in the first view of so many.
    pub(super) fn acting(number: u32, nodes: usize, make: impl Fn(NodeId, Group) -> P) -> Self {
        let mut desk = Self::new(number, make);
        desk.view(&View::founding(Group::of_size(nodes)));
        desk.lease(10);
        assert!(desk.acts());
        desk
    }

    pub(super) fn at(&mut self, ms: u64) -> &mut Self {
        self.now = instant(ms);
        self
    }

    pub(super) fn at_nanos(&mut self, nanos: i64) -> &mut Self {
        self.now = Time::from_nanos(nanos);
        self
    }

    pub(super) fn acts(&self) -> bool {
        self.member.acts(self.now)
    }

    pub(super) fn ask(&mut self, command: Command) -> Vec<String> {
        self.take(Input::Command(command))
    }

    pub(super) fn view(&mut self, view: &View) -> Vec<String> {
        self.take(Input::View(view.clone()))
    }

    pub(super) fn lease(&mut self, ms: u64) -> Vec<String> {
        self.take(Input::Lease(instant(ms)))
    }

    pub(super) fn hear(&mut self, from: u32, epoch: u64, message: P::Message) -> Vec<String> {
        self.letter(from, epoch, Content::Inner(message))
    }

    pub(super) fn report(&mut self, from: u32, epoch: u64, standing: Standing) -> Vec<String> {
        let floor = Floor { clock: Clock(5), fence: Fence { epoch: Epoch(epoch - 1), counter: 7 } };
        self.letter(from, epoch, Content::Report(Report { standing, floor, queue: Vec::new() }))
    }

    fn letter(&mut self, from: u32, epoch: u64, content: Content<P::Message, Report>) -> Vec<String> {
        self.take(Input::Message { from: node(from), message: Envelope { epoch: Epoch(epoch), content } })
    }

    pub(super) fn fire(&mut self, timer: ViewedTimer<P::Timer>) -> Vec<String> {
        self.take(Input::Timer(timer))
    }

    /// By which rules of views it took an input.
    pub(super) fn rules(&mut self, input: Input<Viewed<P>>) -> Vec<&'static str> {
        self.step(input).rules.into_iter().filter(|rule| rule.starts_with("VW")).collect()
    }

    fn take(&mut self, input: Input<Viewed<P>>) -> Vec<String> {
        self.step(input).effects.iter().map(sentence).collect()
    }

    fn step(&mut self, input: Input<Viewed<P>>) -> Clerk<P> {
        let mut clerk = Clerk { effects: Vec::new(), rules: Vec::new() };
        self.member.step(self.now, input, &mut Effects::new(&mut clerk));
        clerk
    }
}

pub(super) const NOTHING: [&str; 0] = [];

fn sentence<P>(effect: &Effect<Viewed<P>>) -> String
where
    P: InViews<Event = Event>,
    P::Message: Describe,
    P::Timer: Debug,
{
    match effect {
        Effect::Send { to, message, .. } => format!("{} of view {} to {to}", message.kind(), message.epoch),
        Effect::Multicast { to, message, .. } => format!("{} of view {} to all of {to}", message.kind(), message.epoch),
        Effect::Emit { event, .. } => event.to_string(),
        Effect::SetTimer { timer: ViewedTimer::Lease, span } => format!("has a lease for {span}"),
        Effect::CancelTimer(ViewedTimer::Lease) => "has no lease".into(),
        Effect::SetTimer { timer: ViewedTimer::Inner(epoch, timer), .. } => format!("sets {timer:?} of view {epoch}"),
        Effect::CancelTimer(ViewedTimer::Inner(epoch, timer)) => format!("cancels {timer:?} of view {epoch}"),
        Effect::Save(never) => match *never {},
    }
}

pub(super) fn node(number: u32) -> NodeId {
    NodeId::new(number).expect("a node's number")
}

fn instant(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// The view of this number, of nodes in their first life and since when they are in.
pub(super) fn view<const N: usize>(epoch: u64, members: [(u32, u64); N]) -> View {
    View::new(Epoch(epoch), members.map(|(number, since)| (node(number), stay(0, since))))
}

pub(super) const fn stay(life: u64, since: u64) -> Stay {
    Stay { incarnation: Incarnation(life), since: Epoch(since) }
}

pub(super) const WAITING: Standing = Standing::waiting(Patience::Wait, Access::Exclusive);

pub(super) const INSIDE: Standing = Standing::Inside(Access::Exclusive);

pub(super) fn request(number: u32, ticket: u64) -> central::Message {
    let ticket = Ticket { node: node(number), number: Clock(ticket) };
    central::Message::Request { ticket, patience: Patience::Wait }
}

/// The coordinator's answer in this view, with the fence of that count.
pub(super) fn grant(number: u32, ticket: u64, epoch: u64, counter: u64) -> central::Message {
    let ticket = Ticket { node: node(number), number: Clock(ticket) };
    central::Message::Grant { ticket, fence: Fence { epoch: Epoch(epoch), counter } }
}

pub(super) fn release(number: u32, ticket: u64) -> central::Message {
    let ticket = Ticket { node: node(number), number: Clock(ticket) };
    central::Message::Release { ticket, fence: Fence::default() }
}

/// Node 2 of three, inside in the first view with a lease up to 10 ms. Node 1 coordinates.
pub(super) fn holder() -> Desk<Central> {
    let mut desk = Desk::acting(2, 3, Central::new);
    assert_eq!(desk.ask(Command::Acquire), ["request of view 1 to 1"]);
    assert_eq!(desk.hear(1, 1, grant(2, 1, 1, 1)), ["ENTERS (fence 1.1, until 10ms of its clock)"]);
    desk
}
