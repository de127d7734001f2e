//! How journals, metrics and pictures name and classify messages.

use crate::effects::PayloadId;
use crate::node::NodeId;
use crate::protocol::Never;
use core::fmt;

/// Describes a message for journals, metrics and pictures.
pub trait Describe {
    /// The name of the message's kind, in lower case: `request`, `reply`.
    fn kind(&self) -> &'static str;

    /// A label for pictures, where the kind alone does not distinguish messages, such as `2#1` for
    /// message 1 of node 2.
    fn label(&self) -> Option<&dyn fmt::Display> {
        None
    }

    /// The class under which metrics count the message.
    fn class(&self) -> Class {
        Class::Algorithm
    }

    /// The node whose request or multicast this message serves, so that metrics can attribute its
    /// cost; `None` if it serves no single node.
    fn on_behalf_of(&self) -> Option<NodeId> {
        None
    }

    /// The identity of the payload that this message carries a copy of, if a wrapper numbers
    /// payloads.
    fn payload_id(&self) -> Option<PayloadId> {
        None
    }

    /// Whether this is a retransmission.
    fn is_retransmission(&self) -> bool {
        false
    }

    /// Whether this is a message of a wrapper, which delivers the payload, if any, separately. If
    /// so, the arrival of the message alone tells the inner protocol nothing; causality follows
    /// from the delivery of its payload.
    fn is_wrapped(&self) -> bool {
        false
    }
}

/// How the network carries a message with several receivers, and so how many messages it counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// One message per receiver.
    Unicast,
    /// One message that only its receivers get.
    Multicast,
    /// One message that every node receives, as on a shared cable; nodes that it is not addressed
    /// to drop it.
    Broadcast,
}

/// The class of a message in metrics. The formulas of the literature count algorithm messages, and
/// some formulas for elections also count announcements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Class {
    Algorithm,
    /// The announcement of a result, which metrics of elections count separately; in deadlock
    /// detection, a message that resolves a deadlock.
    Announcement,
    /// All other messages, such as acknowledgements, retransmissions, heartbeats, and messages that
    /// say what all members have received.
    Control,
}

impl Describe for Never {
    fn kind(&self) -> &'static str {
        match *self {}
    }
}
