//! A test harness around one member: it returns the effects of each input as short texts.

use crate::Clock;
use crate::fence::Fence;
use crate::mutex::central::{self, Ticket};
use crate::mutex::{Access, Central, ClientState, Command, Event, Floor, Patience, Report};
use crate::view::Stay;
use crate::wrap::prelude::*;
use crate::wrap::{Content, Envelope, InViews, Viewed, ViewedTimer};
use core::fmt::Debug;
use std::format;
use std::string::{String, ToString};

/// A member, and the time on its clock.
pub(super) struct Harness<P: InViews> {
    pub(super) member: Viewed<P>,
    now: Time,
}

/// The effects of a step, and all rules that it applied, those of the inner protocol included.
struct StepRecorder<P: InViews> {
    effects: Vec<Effect<Viewed<P>>>,
    rules: Vec<&'static str>,
}

impl<P: InViews> Sink<Viewed<P>> for StepRecorder<P> {
    fn effect(&mut self, effect: Effect<Viewed<P>>) {
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, .. } = note {
            self.rules.push(rule);
        }
    }
}

impl<P> Harness<P>
where
    P: InViews<Command = Command, Event = Event, Report = Report>,
    P::Message: Describe,
    P::Timer: Debug,
{
    /// The node with this number in its first incarnation, in no view so far.
    pub(super) fn new(number: u32, new_inner: impl Fn(NodeId, Group) -> P) -> Self {
        Self::in_incarnation(number, 0, new_inner)
    }

    pub(super) fn in_incarnation(number: u32, incarnation: u64, new_inner: impl Fn(NodeId, Group) -> P) -> Self {
        let me = node(number);
        let mut harness = Self { member: Viewed::new(me, new_inner(me, Group::from_iter([me]))), now: Time::ZERO };
        assert_eq!(harness.apply(Input::Start { durable: (), incarnation: Incarnation(incarnation) }), NO_EFFECTS);
        harness
    }

    /// The node with this number, in a first view (epoch 1) of `nodes` nodes, with a lease until
    /// 10 ms.
    pub(super) fn acting(number: u32, nodes: usize, new_inner: impl Fn(NodeId, Group) -> P) -> Self {
        let mut harness = Self::new(number, new_inner);
        harness.receive_view(&View::founding(Group::of_size(nodes)));
        harness.receive_lease(10);
        assert!(harness.acts());
        harness
    }

    /// Sets the member's clock.
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

    pub(super) fn command(&mut self, command: Command) -> Vec<String> {
        self.apply(Input::Command(command))
    }

    pub(super) fn receive_view(&mut self, view: &View) -> Vec<String> {
        self.apply(Input::View(view.clone()))
    }

    /// Grants a lease that ends at this instant of the member's clock.
    pub(super) fn receive_lease(&mut self, ms: u64) -> Vec<String> {
        self.apply(Input::Lease(instant(ms)))
    }

    pub(super) fn receive(&mut self, from: u32, epoch: u64, message: P::Message) -> Vec<String> {
        self.receive_envelope(from, epoch, Content::Inner(message))
    }

    /// Delivers a report on the sender's client, with clock reading 5 and a fence of the previous
    /// epoch with counter 7.
    pub(super) fn receive_report(&mut self, from: u32, epoch: u64, client_state: ClientState) -> Vec<String> {
        let floor = Floor { clock: Clock(5), fence: Fence { epoch: Epoch(epoch - 1), counter: 7 } };
        self.receive_envelope(from, epoch, Content::Report(Report { client_state, floor, queue: Vec::new() }))
    }

    fn receive_envelope(&mut self, from: u32, epoch: u64, content: Content<P::Message, Report>) -> Vec<String> {
        self.apply(Input::Message { from: node(from), message: Envelope { epoch: Epoch(epoch), content } })
    }

    pub(super) fn fire(&mut self, timer: ViewedTimer<P::Timer>) -> Vec<String> {
        self.apply(Input::Timer(timer))
    }

    /// Returns the rules of views (`VW-…`) that the member applied to an input.
    pub(super) fn applied_rules(&mut self, input: Input<Viewed<P>>) -> Vec<&'static str> {
        self.step(input).rules.into_iter().filter(|rule| rule.starts_with("VW")).collect()
    }

    fn apply(&mut self, input: Input<Viewed<P>>) -> Vec<String> {
        self.step(input).effects.iter().map(effect_text).collect()
    }

    fn step(&mut self, input: Input<Viewed<P>>) -> StepRecorder<P> {
        let mut recorder = StepRecorder { effects: Vec::new(), rules: Vec::new() };
        self.member.step(self.now, input, &mut Effects::new(&mut recorder));
        recorder
    }
}

pub(super) const NO_EFFECTS: [&str; 0] = [];

/// The lease timer is set as long as the member has a lease, so the texts speak of the lease.
fn effect_text<P>(effect: &Effect<Viewed<P>>) -> String
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

/// The view with this epoch, of nodes in their first incarnation, each given by its number and the
/// epoch in which its stay began.
pub(super) fn view<const N: usize>(epoch: u64, members: [(u32, u64); N]) -> View {
    View::new(Epoch(epoch), members.map(|(number, since)| (node(number), stay(0, since))))
}

pub(super) const fn stay(incarnation: u64, since: u64) -> Stay {
    Stay { incarnation: Incarnation(incarnation), since: Epoch(since) }
}

pub(super) const WAITING: ClientState = ClientState::waiting(Patience::Wait, Access::Exclusive);

pub(super) const HOLDING: ClientState = ClientState::Inside(Access::Exclusive);

/// The request of the node with this number, with this ticket number.
pub(super) fn request(number: u32, ticket_number: u64) -> central::Message {
    let ticket = Ticket { node: node(number), number: Clock(ticket_number) };
    central::Message::Request { ticket, patience: Patience::Wait }
}

/// The coordinator's grant to the node with this number, with the fence `epoch.fence_counter`.
pub(super) fn grant(number: u32, ticket_number: u64, epoch: u64, fence_counter: u64) -> central::Message {
    let ticket = Ticket { node: node(number), number: Clock(ticket_number) };
    central::Message::Grant { ticket, fence: Fence { epoch: Epoch(epoch), counter: fence_counter } }
}

pub(super) fn release(number: u32, ticket_number: u64) -> central::Message {
    let ticket = Ticket { node: node(number), number: Clock(ticket_number) };
    central::Message::Release { ticket, fence: Fence::default() }
}

/// Node 2 of three, a holder in the first view with a lease until 10 ms. Node 1 is the coordinator.
pub(super) fn holder() -> Harness<Central> {
    let mut harness = Harness::acting(2, 3, Central::new);
    assert_eq!(harness.command(Command::Acquire), ["request of view 1 to 1"]);
    // In view 1, node 1 grants ticket 1 of node 2 with the fence 1.1.
    assert_eq!(harness.receive(1, 1, grant(2, 1, 1, 1)), ["ENTERS (fence 1.1, until 10ms of its clock)"]);
    harness
}
