//! The inbox of a node on a thread.

use quorate_core::{Incarnation, NodeId, Protocol};
use quorate_store::Report;
use std::sync::mpsc::{Receiver, Sender, channel};

/// An entry of a node's inbox. Each message comes with its number: an incarnation of a sender
/// numbers its transmissions to all nodes together, from 1.
pub(crate) enum Incoming<P: Protocol> {
    Commands(Vec<P::Command>),
    Messages { from: NodeId, incarnation: Incarnation, messages: Vec<(u64, P::Message)> },
    Disk(Report),
    Stop,
}

/// The sending side of a node's inbox. Clones send to the same node.
pub struct Address<P: Protocol>(Sender<Incoming<P>>);

// Implemented by hand because a derive would require `P: Clone`.
impl<P: Protocol> Clone for Address<P> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The receiving side of a node's inbox.
pub struct Mailbox<P: Protocol>(pub(crate) Receiver<Incoming<P>>);

/// Creates an inbox and returns both sides.
pub fn create_mailbox<P: Protocol>() -> (Address<P>, Mailbox<P>) {
    let (sender, receiver) = channel();
    (Address(sender), Mailbox(receiver))
}

impl<P: Protocol> Address<P> {
    /// Sends commands, which the node handles in this order. They are lost if the node has stopped.
    pub fn send_commands(&self, commands: Vec<P::Command>) {
        self.send(Incoming::Commands(commands));
    }

    /// Sends messages to the node, numbered as the first ones of the sender's first incarnation.
    /// They are lost if the node has stopped, as on a real network.
    pub fn send_messages(&self, from: NodeId, messages: Vec<P::Message>) {
        self.send_numbered(from, Incarnation::FIRST, (1..).zip(messages).collect());
    }

    pub(crate) fn send_numbered(&self, from: NodeId, incarnation: Incarnation, messages: Vec<(u64, P::Message)>) {
        self.send(Incoming::Messages { from, incarnation, messages });
    }

    /// Asks the node to stop, without waiting for it.
    pub fn ask_to_stop(&self) {
        self.send(Incoming::Stop);
    }

    /// Returns a callback for a [`DiskWriter`](quorate_store::DiskWriter) that passes its reports
    /// to the node.
    pub fn reporter(&self) -> impl FnMut(Report) + Send + 'static
    where
        P: Protocol<Command: Send, Message: Send> + 'static,
    {
        let address = self.clone();
        move |report| address.send(Incoming::Disk(report))
    }

    fn send(&self, incoming: Incoming<P>) {
        // Sending fails only if the node has stopped.
        let _ = self.0.send(incoming);
    }
}
