//! How letters reach a node.

use quorate_core::{Incarnation, NodeId, Protocol};
use quorate_store::Report;
use std::sync::mpsc::{Receiver, Sender, channel};

/// What reaches a node from outside: messages with their numbers among all that this life of the sender sent.
pub(crate) enum Letter<P: Protocol> {
    Commands(Vec<P::Command>),
    Messages { from: NodeId, incarnation: Incarnation, messages: Vec<(u64, P::Message)> },
    Disk(Report),
    Stop,
}

/// Where letters to a node go. Copies lead to the same node.
pub struct Address<P: Protocol>(Sender<Letter<P>>);

// Written by hand, because a derive would ask Clone of the protocol itself.
impl<P: Protocol> Clone for Address<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Where a node finds its letters.
pub struct Mailbox<P: Protocol>(pub(crate) Receiver<Letter<P>>);

/// An address and the mailbox that it leads to.
pub fn mailbox<P: Protocol>() -> (Address<P>, Mailbox<P>) {
    let (sender, receiver) = channel();
    (Address(sender), Mailbox(receiver))
}

impl<P: Protocol> Address<P> {
    /// Gives commands, which the node takes in this order. They are lost if it has ended.
    pub fn command(&self, commands: Vec<P::Command>) {
        self.post(Letter::Commands(commands));
    }

    /// Brings messages. They are lost if the node has ended, as on any network.
    pub fn deliver(&self, from: NodeId, messages: Vec<P::Message>) {
        self.numbered(from, Incarnation::FIRST, (1..).zip(messages).collect());
    }

    pub(crate) fn numbered(&self, from: NodeId, incarnation: Incarnation, messages: Vec<(u64, P::Message)>) {
        self.post(Letter::Messages { from, incarnation, messages });
    }

    /// Asks the node to end.
    pub fn stop(&self) {
        self.post(Letter::Stop);
    }

    /// What a [`Scribe`](quorate_store::Scribe) tells goes to the node.
    pub fn reporter(&self) -> impl FnMut(Report) + Send + 'static
    where
        P: Protocol<Command: Send, Message: Send> + 'static,
    {
        let address = self.clone();
        move |report| address.post(Letter::Disk(report))
    }

    fn post(&self, letter: Letter<P>) {
        // The other end is gone only if the node has ended.
        let _ = self.0.send(letter);
    }
}
