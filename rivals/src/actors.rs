//! Quorate's own nodes of Ricart–Agrawala with bare replies (1981) as stateright's users write protocols: as actors.
//!
//! Messages arrive in any order, each exactly once. When a user asks or leaves is a timer, since stateright lets
//! a timer that is set go off at any time. Which ones are set follows from where the users stand, so that this model
//! has the states and the steps of the other two.

use crate::nodes::{Member, Standing};
use quorate_core::fixtures::{Flaw, Message, RicartAgrawala1981};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Effect, Effects, Group, Input, NodeId, Note, Protocol, Sink, Stamp, Time};
use stateright::Expectation;
use stateright::actor::{Actor, ActorModel, Id, Network, Out, model_timeout};
use std::borrow::Cow;
use std::cmp::Ordering;

/// A group of so many nodes. Each of them enters so often.
pub fn ricart_agrawala(nodes: usize, rounds: u8) -> ActorModel<Contender> {
    let group = Group::of_size(nodes);
    ActorModel::new((), ())
        .actors((0..nodes).map(|_| Contender { group: group.clone(), rounds }))
        .init_network(Network::new_unordered_nonduplicating([]))
        // Only what holds: a search ends as soon as no property is left to break.
        .property(Expectation::Always, "exclusion", |_, state| {
            state.actor_states.iter().filter(|member| member.standing == Standing::Inside).count() <= 1
        })
}

/// What is fixed about one member.
#[derive(Clone, Debug)]
pub struct Contender {
    group: Group,
    rounds: u8,
}

/// What a user may do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wish {
    Ask,
    Leave,
}

/// A message with an order, which stateright wants so that it can sort what may happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sorted(pub Message);

impl Actor for Contender {
    type Msg = Sorted;
    type Timer = Wish;
    type State = Member;
    type Storage = ();
    type Random = ();

    fn on_start(&self, id: Id, _storage: &Option<()>, out: &mut Out<Self>) -> Member {
        let node = RicartAgrawala1981::new(node_id(id), self.group.clone(), Flaw::BareReplies);
        let member = Member { node, standing: Standing::Outside, rounds: self.rounds };
        wish_to_ask(member.rounds, out);
        member
    }

    fn on_msg(&self, id: Id, member: &mut Cow<'_, Member>, from: Id, Sorted(message): Sorted, out: &mut Out<Self>) {
        // Every message changes the node: a request its clock, a reply what is missing.
        step(id, member.to_mut(), Input::Message { from: node_id(from), message }, out);
    }

    fn on_timeout(&self, id: Id, member: &mut Cow<'_, Member>, wish: &Wish, out: &mut Out<Self>) {
        let member = member.to_mut();
        match wish {
            Wish::Ask => {
                member.standing = Standing::Waiting;
                member.rounds -= 1;
                step(id, member, Input::Command(Command::Acquire), out);
            }
            Wish::Leave => step(id, member, Input::Command(Command::Release), out),
        }
    }
}

fn step(id: Id, member: &mut Member, input: Input<RicartAgrawala1981>, out: &mut Out<Contender>) {
    let mut world = World { me: node_id(id), standing: &mut member.standing, rounds: member.rounds, out };
    member.node.step(Time::ZERO, input, &mut Effects::new(&mut world));
}

/// Hands the effects of a step on to stateright.
struct World<'a> {
    me: NodeId,
    standing: &'a mut Standing,
    rounds: u8,
    out: &'a mut Out<Contender>,
}

impl Sink<RicartAgrawala1981> for World<'_> {
    fn effect(&mut self, effect: Effect<RicartAgrawala1981>) {
        match effect {
            Effect::Send { to, message, .. } => self.out.send(actor_id(to), Sorted(message)),
            Effect::Multicast { to, message, .. } => {
                to.others(self.me).for_each(|to| self.out.send(actor_id(to), Sorted(message)));
            }
            Effect::Emit { event: Event::Entered { .. }, .. } => {
                *self.standing = Standing::Inside;
                self.out.set_timer(Wish::Leave, model_timeout());
            }
            Effect::Emit { event: Event::Left | Event::Denied | Event::Cancelled, .. } => {
                *self.standing = Standing::Outside;
                wish_to_ask(self.rounds, self.out);
            }
            Effect::Emit { event: Event::Extended { .. } | Event::Lost | Event::Refused(_), .. } => {}
            Effect::Save(never) | Effect::SetTimer { timer: never, .. } | Effect::CancelTimer(never) => match never {},
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

/// A user that is outside may ask while it has rounds left.
fn wish_to_ask(rounds: u8, out: &mut Out<Contender>) {
    if rounds > 0 {
        out.set_timer(Wish::Ask, model_timeout());
    }
}

impl Sorted {
    fn key(self) -> Option<Stamp> {
        match self.0 {
            Message::Request(stamp) => Some(stamp),
            Message::Reply => None,
        }
    }
}

impl Ord for Sorted {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Sorted {
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
