//! Quorate's own nodes of Ricart–Agrawala (1981), whose replies name no request, for stateright:
//! Quorate's checker and stateright run the same code.
//!
//! A state shares unchanged nodes with the previous state, as stateright's own actor model does, so
//! that a step copies one node. The messages in flight are kept sorted.
//!
//! Messages arrive in any order, each exactly once. Two equal messages are never in flight, because
//! a node requests entry again only after it has received the replies to its last request.

use quorate_core::fixtures::{Flaw, Message, RicartAgrawala1981};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Effect, Effects, Group, Input, NodeId, Note, Protocol, Sink, Stamp, Time};
use stateright::{Model, Property};
use std::array;
use std::sync::Arc;

/// A group of `NODES` nodes, each of which enters `rounds` times.
#[derive(Clone, Copy, Debug)]
pub struct RicartAgrawala<const NODES: usize> {
    rounds: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<const NODES: usize> {
    pub members: [Arc<Member>; NODES],
    pub messages: Vec<Envelope>,
}

/// One node with its client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    pub node: RicartAgrawala1981,
    pub client: ClientState,
    pub rounds_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientState {
    Idle,
    Waiting,
    InCriticalSection,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    pub to: NodeId,
    pub from: NodeId,
    pub message: Message,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// The client of the node with this index requests entry.
    Acquire(usize),
    Release(usize),
    /// The message with this index in the state arrives.
    Deliver(usize),
}

impl<const NODES: usize> RicartAgrawala<NODES> {
    pub const fn new(rounds: u8) -> Self {
        Self { rounds }
    }
}

impl<const NODES: usize> Model for RicartAgrawala<NODES> {
    type State = State<NODES>;
    type Action = Action;

    fn init_states(&self) -> Vec<Self::State> {
        let group = Group::of_size(NODES);
        let members = array::from_fn(|index| {
            let node = RicartAgrawala1981::new(NodeId::from_index(index), group.clone(), Flaw::BareReplies);
            Arc::new(Member { node, client: ClientState::Idle, rounds_left: self.rounds })
        });
        vec![State { members, messages: Vec::new() }]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Action>) {
        for (index, member) in state.members.iter().enumerate() {
            match member.client {
                ClientState::Idle if member.rounds_left > 0 => actions.push(Action::Acquire(index)),
                ClientState::Idle | ClientState::Waiting => {}
                ClientState::InCriticalSection => actions.push(Action::Release(index)),
            }
        }
        actions.extend((0..state.messages.len()).map(Action::Deliver));
    }

    fn next_state(&self, state: &Self::State, action: Action) -> Option<Self::State> {
        Some(match action {
            Action::Acquire(node) => state.acquire(node),
            Action::Release(node) => state.release(node),
            Action::Deliver(message) => state.deliver(message),
        })
    }

    /// Returns a property that holds in this model, although the nodes reply without naming the
    /// request. If every property were violated, stateright would stop before it has visited all
    /// states.
    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("exclusion", |_, state: &State<NODES>| {
            state.members.iter().filter(|member| member.client == ClientState::InCriticalSection).count() <= 1
        })]
    }
}

impl<const NODES: usize> State<NODES> {
    fn acquire(&self, node: usize) -> Self {
        let mut member = Member::clone(&self.members[node]);
        member.client = ClientState::Waiting;
        member.rounds_left -= 1;
        self.step(node, member, Input::Command(Command::Acquire), self.messages_with_capacity())
    }

    fn release(&self, node: usize) -> Self {
        let member = Member::clone(&self.members[node]);
        self.step(node, member, Input::Command(Command::Release), self.messages_with_capacity())
    }

    fn deliver(&self, index: usize) -> Self {
        let Envelope { to, from, message } = self.messages[index];
        // This capacity suffices: the node sends at most one reply, and one message is delivered.
        let mut messages = Vec::with_capacity(self.messages.len());
        messages.extend_from_slice(&self.messages[..index]);
        messages.extend_from_slice(&self.messages[index + 1..]);
        let member = Member::clone(&self.members[to.index()]);
        self.step(to.index(), member, Input::Message { from, message }, messages)
    }

    /// The messages in flight, with capacity for one more to every peer.
    fn messages_with_capacity(&self) -> Vec<Envelope> {
        let mut messages = Vec::with_capacity(self.messages.len() + NODES - 1);
        messages.extend_from_slice(&self.messages);
        messages
    }

    /// The next state, in which `member`, a copy of the member of `node`, has processed the input.
    fn step(
        &self,
        node: usize,
        mut member: Member,
        input: Input<RicartAgrawala1981>,
        mut messages: Vec<Envelope>,
    ) -> Self {
        let me = NodeId::from_index(node);
        let mut sink = EffectSink { me, client: &mut member.client, messages: &mut messages };
        member.node.step(Time::ZERO, input, &mut Effects::new(&mut sink));
        let mut members = self.members.clone();
        members[node] = Arc::new(member);
        Self { members, messages }
    }
}

/// Carries out the effects of a step.
struct EffectSink<'a> {
    me: NodeId,
    client: &'a mut ClientState,
    messages: &'a mut Vec<Envelope>,
}

impl EffectSink<'_> {
    fn send(&mut self, to: NodeId, message: Message) {
        let envelope = Envelope { to, from: self.me, message };
        let index = self.messages.partition_point(|other| other.key() < envelope.key());
        debug_assert_ne!(self.messages.get(index), Some(&envelope), "an equal message is already in flight");
        self.messages.insert(index, envelope);
    }
}

impl Sink<RicartAgrawala1981> for EffectSink<'_> {
    fn effect(&mut self, effect: Effect<RicartAgrawala1981>) {
        match effect {
            Effect::Send { to, message, .. } => self.send(to, message),
            Effect::Multicast { to, message, .. } => to.others(self.me).for_each(|to| self.send(to, message)),
            Effect::Emit { event: Event::Entered { .. }, .. } => *self.client = ClientState::InCriticalSection,
            Effect::Emit { event: Event::Left | Event::Denied | Event::Cancelled, .. } => {
                *self.client = ClientState::Idle;
            }
            Effect::Emit { event: Event::Extended { .. } | Event::Lost | Event::Refused(_), .. } => {}
            Effect::Save(never) | Effect::SetTimer { timer: never, .. } | Effect::CancelTimer(never) => match never {},
        }
    }

    fn note(&mut self, _note: Note<'_>) {}
}

impl Envelope {
    /// The sort key; a message has no order of its own.
    fn key(&self) -> (NodeId, NodeId, Option<Stamp>) {
        let stamp = match self.message {
            Message::Request(stamp) => Some(stamp),
            Message::Reply => None,
        };
        (self.to, self.from, stamp)
    }
}
