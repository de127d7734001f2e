//! The record of a multicast until all members have delivered it.

use quorate_core::multicast::{GroupId, MessageId, Payload};
use quorate_core::{Epoch, NodeId, Time};

/// A message id within one view of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessageKey {
    pub(super) sender: NodeId,
    pub(super) number: u64,
}

impl MessageKey {
    pub(super) const fn from_id(id: MessageId) -> Self {
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
    /// The sender's previous message, and the messages that the sender delivered since then.
    /// Earlier causes follow transitively. Empty unless causal order is judged.
    pub(super) causes: Vec<MessageKey>,
    /// Number of members that have not delivered the message, apart from members that stopped, left
    /// or were removed.
    pub(super) undelivered: usize,
    /// The first node that delivered the message.
    pub(super) first_receiver: Option<NodeId>,
    /// The number of this message in the order of first deliveries by any node, if the total order
    /// is judged.
    pub(super) ordinal: Option<u64>,
    /// The members that have delivered the message, each with a number that grows with every
    /// delivery by that member, if the total order is judged.
    pub(super) deliveries: Vec<(NodeId, u64)>,
}
