//! The record of a multicast until all members have delivered it.

use quorate_core::multicast::{GroupId, MessageId, Payload};
use quorate_core::{Epoch, NodeId, Time};

/// A message id within one view of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) sender: NodeId,
    pub(super) number: u64,
}

impl Key {
    pub(super) const fn of(id: MessageId) -> Self {
        Self { sender: id.sender, number: id.number }
    }

    pub(super) const fn in_view(self, group: GroupId, view: Epoch) -> MessageId {
        MessageId { group, view, sender: self.sender, number: self.number }
    }
}

/// The record of a multicast.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// The payload; `None` if no client requested the send.
    pub(super) payload: Option<Payload>,
    pub(super) sent_at: Time,
    /// The messages that its sender delivered since its previous message, and that message. Earlier
    /// causes follow transitively.
    pub(super) causes: Vec<Key>,
    /// Number of members that have not delivered it and still could, or that moved on without it.
    pub(super) undelivered: usize,
    /// The first node that delivered it.
    pub(super) first_receiver: Option<NodeId>,
    /// Number of messages that had been delivered by any node when this one was first delivered, if
    /// orders are observed.
    pub(super) rank: Option<u64>,
    /// The members that have delivered it, with positions, if orders are observed.
    pub(super) deliveries: Vec<(NodeId, u64)>,
}
