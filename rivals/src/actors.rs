//! Quorate's own nodes of Ricart–Agrawala (1981), whose replies name no request, as actors, the
//! usual form of stateright's models.
//!
//! Messages arrive in any order, each exactly once. A client's request and release are timers,
//! because stateright fires a set timer at any time. Which timers are set follows from the clients'
//! states, so that this model has the same states and steps as those of `nodes` and `packed`.

use crate::nodes::{ClientState, Member};
use quorate_core::fixtures::{Flaw, Message, RicartAgrawala1981};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Effect, Effects, Group, Input, NodeId, Note, Protocol, Sink, Stamp, Time};
use stateright::Expectation;
use stateright::actor::{Actor, ActorModel, Id, Network, Out, model_timeout};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A group of `nodes` nodes, each of which enters `rounds` times.
pub fn ricart_agrawala(nodes: usize, rounds: u8) -> ActorModel<NodeActor> {
    let group = Group::of_size(nodes);
    ActorModel::new((), ())
        .actors((0..nodes).map(|_| NodeActor { group: group.clone(), rounds }))
        .init_network(Network::new_unordered_nonduplicating([]))
        // This property must hold: a search ends early once all properties are violated.
        .property(Expectation::Always, "exclusion", |_, state| {
            state.actor_states.iter().filter(|member| member.client == ClientState::InCriticalSection).count() <= 1
        })
}

/// The constants of one node.
#[derive(Clone, Debug)]
pub struct NodeActor {
    group: Group,
    rounds: u8,
}

/// The next action of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientTimer {
    Acquire,
    Release,
}

/// A message with an order, which stateright needs to sort the possible steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderedMessage(pub Message);

impl Actor for NodeActor {
    type Msg = OrderedMessage;
    type Timer = ClientTimer;
    type State = Member;
    type Storage = ();
    type Random = ();

    fn on_start(&self, id: Id, _storage: &Option<()>, out: &mut Out<Self>) -> Member {
        let node = RicartAgrawala1981::new(node_id(id), self.group.clone(), Flaw::BareReplies);
        let member = Member { node, client: ClientState::Idle, rounds_left: self.rounds };
        set_acquire_timer(member.rounds_left, out);
        member
    }

    fn on_msg(
        &self,
        id: Id,
        member: &mut Cow<'_, Member>,
        from: Id,
        OrderedMessage(message): OrderedMessage,
        out: &mut Out<Self>,
    ) {
        // Every message changes the node: a request its clock, a reply the set of missing replies.
        step(id, member.to_mut(), Input::Message { from: node_id(from), message }, out);
    }

    fn on_timeout(&self, id: Id, member: &mut Cow<'_, Member>, timer: &ClientTimer, out: &mut Out<Self>) {
        let member = member.to_mut();
        match timer {
            ClientTimer::Acquire => {
                member.client = ClientState::Waiting;
                member.rounds_left -= 1;
                step(id, member, Input::Command(Command::Acquire), out);
            }
            ClientTimer::Release => step(id, member, Input::Command(Command::Release), out),
        }
    }
}

fn step(id: Id, member: &mut Member, input: Input<RicartAgrawala1981>, out: &mut Out<NodeActor>) {
    let mut sink = EffectSink { me: node_id(id), client: &mut member.client, rounds_left: member.rounds_left, out };
    member.node.step(Time::ZERO, input, &mut Effects::new(&mut sink));
}

/// Passes the effects of a step to stateright.
struct EffectSink<'a> {
    me: NodeId,
    client: &'a mut ClientState,
    rounds_left: u8,
    out: &'a mut Out<NodeActor>,
}

impl Sink<RicartAgrawala1981> for EffectSink<'_> {
    fn effect(&mut self, effect: Effect<RicartAgrawala1981>) {
        match effect {
            Effect::Send { to, message, .. } => self.out.send(actor_id(to), OrderedMessage(message)),
            Effect::Multicast { to, message, .. } => {
                to.others(self.me).for_each(|to| self.out.send(actor_id(to), OrderedMessage(message)));
            }
            Effect::Emit { event: Event::Entered { .. }, .. } => {
                *self.client = ClientState::InCriticalSection;
                self.out.set_timer(ClientTimer::Release, model_timeout());
            }
            Effect::Emit { event: Event::Left | Event::Denied | Event::Cancelled, .. } => {
                *self.client = ClientState::Idle;
                set_acquire_timer(self.rounds_left, self.out);
            }
            Effect::Emit { event: Event::Extended { .. } | Event::Lost | Event::Refused(_), .. } => {}
            Effect::Save(never) | Effect::SetTimer { timer: never, .. } | Effect::CancelTimer(never) => match never {},
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

/// Lets an idle client request entry while it has rounds left.
fn set_acquire_timer(rounds_left: u8, out: &mut Out<NodeActor>) {
    if rounds_left > 0 {
        out.set_timer(ClientTimer::Acquire, model_timeout());
    }
}

impl OrderedMessage {
    fn key(self) -> Option<Stamp> {
        match self.0 {
            Message::Request(stamp) => Some(stamp),
            Message::Reply => None,
        }
    }
}

impl Ord for OrderedMessage {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for OrderedMessage {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn node_id(id: Id) -> NodeId {
    NodeId::from_index(id.into())
}

fn actor_id(node: NodeId) -> Id {
    Id::from(node.index())
}
