//! What is remembered of a multicast until everyone has delivered it.

use quorate_core::multicast::{GroupId, MessageId, Payload};
use quorate_core::{Epoch, NodeId, Time};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) sender: NodeId,
    pub(super) number: u64,
}

impl Key {
    pub(super) const fn of(id: MessageId) -> Self {
        Self { sender: id.sender, number: id.number }
    }

    pub(super) const fn named(self, group: GroupId, view: Epoch) -> MessageId {
        MessageId { group, view, sender: self.sender, number: self.number }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Message {
    /// What it says, unless nobody asked for it to be sent.
    pub(super) payload: Option<Payload>,
    pub(super) sent: Time,
    /// What its sender delivered since it sent the message before, and that message: the rest follows from their own causes.
    pub(super) causes: Vec<Key>,
    /// How many members have not delivered it and could, or went on without it.
    pub(super) owing: usize,
    pub(super) first: Option<NodeId>,
    /// How many messages had been delivered by anybody when it first was; while orders are watched.
    pub(super) rank: Option<u64>,
    /// Which members have delivered it, and at which position; while orders are watched.
    pub(super) deliveries: Vec<(NodeId, u64)>,
}
