//! The clients of the multicast family in a check: each sender has a number of messages to send,
//! one after the other, at any time.
//!
//! No client is required to send. A client records its sends and deliveries in order, and every
//! property is judged by the records of all clients. Records of crashed clients count: with uniform
//! delivery they bind the survivors.

use super::history::{self, History, HistoryEvent, MAX_EVENTS, MAX_MESSAGES};
use super::judges;
use crate::multicast::run::{Property as MulticastProperty, PropertySet};
use quorate_check::{CheckError, ClientStep, Clients, Judged, Offer, Property, StateCondition, StepRecord};
use quorate_core::multicast::{Board, Command, Event, MessageId, Payload, State};
use quorate_core::{Epoch, Group, NodeId, View};

/// The clients of all nodes in a check.
#[derive(Clone, Debug)]
pub struct Senders {
    senders: Group,
    messages: u8,
    promises: PropertySet,
}

impl Senders {
    /// Creates clients of which `senders` have `messages` messages together; the first senders have
    /// one more if the division leaves a remainder. The shared state of the members is a [`Board`],
    /// a bulletin board of the delivered messages. Fails if there are more messages than a history
    /// can number, or if a client's history would not fit into one word.
    pub fn new(senders: Group, messages: u64, promises: PropertySet) -> Result<Self, CheckError> {
        // A history must have room for the deliveries of all messages and the client's own sends.
        let fits = |total: &usize| total + total.div_ceil(senders.len().max(1)) <= MAX_EVENTS;
        let max = (0..=MAX_MESSAGES).rev().find(fits).unwrap_or(0);
        match u8::try_from(messages) {
            Ok(count) if usize::from(count) <= max => Ok(Self { senders, messages: count, promises }),
            _ => Err(CheckError::TooManyMessages { given: messages, max, senders: senders.len() }),
        }
    }

    /// Number of messages of one sender.
    fn messages_of(&self, node: NodeId) -> u8 {
        let Some(index) = self.senders.iter().position(|sender| sender == node) else { return 0 };
        let count = self.senders.len();
        let (each, remainder) = (usize::from(self.messages) / count, usize::from(self.messages) % count);
        (each + usize::from(index < remainder)) as u8
    }

    /// Number of messages of all earlier senders.
    fn messages_before(&self, node: NodeId) -> u8 {
        self.senders.iter().filter(|sender| *sender < node).map(|sender| self.messages_of(sender)).sum()
    }

    /// The payload of a message: the sender's number and a letter, such as `2a`, then `2b`.
    fn payload(node: NodeId, index: u8) -> Payload {
        Payload::from(format!("{node}{}", char::from(b'a'.saturating_add(index))))
    }

    /// The number of a message among all messages, from 1; `None` if no client would send it.
    fn number(&self, id: MessageId, payload: &Payload) -> Option<u8> {
        let index = (0..self.messages_of(id.sender)).find(|index| Self::payload(id.sender, *index) == *payload)?;
        Some(self.messages_before(id.sender) + index + 1)
    }
}

/// The client of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    node: NodeId,
    phase: ClientPhase,
    assigned_messages: u8,
    sent_messages: u8,
    /// The epoch of the client's view; 0 before its first one.
    view: Epoch,
    /// The shared state that follows from the messages delivered to the client.
    board: Board,
    history: History,
}

/// The state of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ClientPhase {
    Free,
    /// The client has requested a send, and has no answer.
    Requested,
    /// The client's node told it to wait until the node is ready.
    Waiting,
    /// The client sends no more, because its node left or refused a request.
    Silent,
    /// The client's node crashed, or the group removed the node.
    Gone,
}

impl Sender {
    fn record_event(&mut self, event: &Event, clients: &Senders) {
        match event {
            Event::Sent { .. } => {
                self.sent_messages += 1;
                self.phase = ClientPhase::Free;
                self.history.add(HistoryEvent::Sends);
            }
            Event::Wait { .. } => self.phase = ClientPhase::Waiting,
            Event::Ready { .. } => self.allow_request(),
            Event::Delivered { id, payload } => {
                // A message must be delivered in the view in which it was sent.
                if id.view != self.view {
                    self.history.add(HistoryEvent::WrongView);
                }
                self.board.apply(*id, payload);
                self.history
                    .add(clients.number(*id, payload).map_or(HistoryEvent::DeliversUnknown, HistoryEvent::Delivers));
            }
            Event::View { view, state, .. } => {
                // The group's state must equal the board, which follows from the messages that the
                // client delivered, because no member joins this group later.
                if view.epoch() <= self.view || *state != self.board.digest() || !view.members().contains(self.node) {
                    self.history.add(HistoryEvent::WrongView);
                }
                self.view = view.epoch();
                self.history.begin_view(view.epoch());
                self.allow_request();
            }
            Event::Excluded { .. } => self.phase = ClientPhase::Gone,
            Event::Left { .. } | Event::Refused(_) => self.phase = ClientPhase::Silent,
        }
    }

    /// Ends the wait of a client.
    fn allow_request(&mut self) {
        if self.phase == ClientPhase::Waiting {
            self.phase = ClientPhase::Free;
        }
    }
}

impl Clients for Senders {
    type Command = Command;
    type Event = Event;
    type Client = Sender;

    fn initial(&self, node: NodeId) -> Sender {
        Sender {
            node,
            phase: ClientPhase::Free,
            assigned_messages: self.messages_of(node),
            sent_messages: 0,
            view: if self.promises.views { Epoch(0) } else { View::FIRST },
            board: Board::default(),
            history: History::default(),
        }
    }

    fn offers(&self, client: &Sender) -> Vec<Offer<Command>> {
        match client.phase {
            ClientPhase::Free if client.sent_messages < client.assigned_messages => {
                let command = Command::send(Self::payload(client.node, client.sent_messages));
                vec![Offer { command, is_obliged: false }]
            }
            ClientPhase::Free
            | ClientPhase::Requested
            | ClientPhase::Waiting
            | ClientPhase::Silent
            | ClientPhase::Gone => Vec::new(),
        }
    }

    fn observe(&self, client: &mut Sender, step: ClientStep<'_, Command, Event>, _record: &mut StepRecord) {
        match step {
            ClientStep::Issued(_) => client.phase = ClientPhase::Requested,
            ClientStep::Emitted(event) => client.record_event(event, self),
            ClientStep::Crashed => {
                client.phase = ClientPhase::Gone;
                // Properties no longer inspect the board; without it, more states are equal.
                client.board = Board::default();
            }
            // A restarted node is never readmitted, and its requests would be refused.
            ClientStep::Restarted | ClientStep::PeerCrashed(_) | ClientStep::PeerRestarted(_) => {}
        }
    }

    fn is_waiting(&self, client: &Sender) -> bool {
        matches!(client.phase, ClientPhase::Requested | ClientPhase::Waiting)
    }

    /// A member whose lease has expired may not act, and counts as gone.
    fn facet(&self, client: &Sender, may_act: bool) -> u64 {
        let is_gone = !may_act || client.phase == ClientPhase::Gone;
        client.history.to_facet(client.assigned_messages, is_gone, self.promises.views)
    }

    fn goal(&self) -> Option<StateCondition> {
        self.promises.delivered.then_some(judges::all_delivered)
    }

    fn max_view_changes(&self) -> Option<u8> {
        Some(history::MAX_VIEW_CHANGES)
    }

    fn properties(&self) -> Vec<Property> {
        let total_order =
            if self.promises.uniform { judges::total_order_of_all } else { judges::total_order_of_survivors };
        let judged = |property| match property {
            MulticastProperty::Integrity => Judged::ByState(judges::integrity),
            MulticastProperty::Agreement => Judged::ByEnds(judges::agreement),
            MulticastProperty::Validity => Judged::ByEnds(judges::validity),
            MulticastProperty::Fifo => Judged::ByState(judges::fifo),
            MulticastProperty::Causal => Judged::ByState(judges::causal),
            MulticastProperty::Total => Judged::ByState(total_order),
            MulticastProperty::Uniform => Judged::ByEnds(judges::uniform),
            MulticastProperty::ViewSynchrony => Judged::ByState(judges::view_synchrony),
            MulticastProperty::Delivered => Judged::ByFairRuns,
        };
        let promised = MulticastProperty::ALL.into_iter().filter(|property| self.promises.contains(*property));
        promised.map(|property| Property { name: property.name(), judged: judged(property) }).collect()
    }
}
