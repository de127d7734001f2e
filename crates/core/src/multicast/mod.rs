//! Ordered multicast: a message of one member reaches all members, in an order that the algorithm
//! guarantees.
//!
//! A member *receives* a message when it arrives from the network, and *delivers* it when it
//! reports the message to its client. In between the message waits in the hold-back queue. All
//! algorithms of the family accept the same [`Command`]s and emit the same [`Event`]s, so a
//! property, a metric or a service is written once for all of them. In each algorithm a node is a
//! [`Member`], which receives, relays, acknowledges and moves from view to view; the algorithms
//! differ in its [`Ordering`], which decides which message is delivered next.

mod ack_matrix;
pub mod causal;
mod facts;
pub mod fifo;
mod hold_back;
pub mod isis;
pub mod member;
mod message;
mod multi_group;
mod order_message;
mod ordering;
mod payload;
mod plan;
pub mod sequencer;
mod state;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tests;
pub mod unordered;
#[cfg(feature = "serde")]
mod wire;

pub use ack_matrix::AckMatrix;
pub use causal::{Causal, Causes};
pub use facts::{ExpectedCost, Facts, OrderGuarantee};
pub use fifo::Fifo;
pub use hold_back::HoldBack;
pub use isis::Isis;
pub use member::{Member, Report};
pub use message::{DataMessage, Message, StatePiece};
pub use multi_group::{Addressed, MultiGroup};
pub use order_message::{OrderMessage, OrderReport};
pub use ordering::{AnyOrdering, ErasedOrdering, MakeOrdering, OrderSink, Ordering, PartialOrdering, Route, Survey};
pub use payload::Payload;
pub use plan::{Delivery, Plan, Sequencing, Window};
pub use sequencer::{Position, Sequencer};
pub use state::{Board, State};
pub use unordered::Unordered;

use crate::group::{Epoch, Group};
use crate::node::NodeId;
use crate::view::View;
use core::fmt;

/// Identifies a multicast uniquely among all views of all groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MessageId {
    #[cfg_attr(feature = "serde", serde(default))]
    pub group: GroupId,
    /// The view in which the message was sent. Only one incarnation of a node is a member of a
    /// view, so messages of a later incarnation have other ids.
    pub view: Epoch,
    pub sender: NodeId,
    /// Number of the message among its sender's messages in this view, from 1.
    pub number: u64,
}

impl fmt::Display for MessageId {
    /// `2#5` is the fifth message of node 2; `2#5@3/1` that of view 3 in group 1. The first view
    /// and `GroupId::ONLY` are omitted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.sender, self.number)?;
        if self.view > View::FIRST {
            write!(f, "@{}", self.view)?;
        }
        if self.group != GroupId::ONLY {
            write!(f, "/{}", self.group)?;
        }
        Ok(())
    }
}

/// Identifies one of the groups that a node may be in. Each group has its own order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GroupId(pub u16);

impl GroupId {
    /// The group of a node that is in one group only.
    pub const ONLY: Self = Self(0);
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A request from a client to its node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Command {
    /// Multicast this payload to all members of a group.
    Send {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
        payload: Payload,
    },
    /// Leave a group, once all members hold every message of this node.
    Leave {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
}

impl Command {
    /// Creates a multicast to the only group.
    pub fn send(payload: impl Into<Payload>) -> Self {
        Self::Send { group: GroupId::ONLY, payload: payload.into() }
    }

    /// Creates a request to leave the only group.
    pub const fn leave() -> Self {
        Self::Leave { group: GroupId::ONLY }
    }

    /// Returns the group that the command refers to.
    pub const fn group(&self) -> GroupId {
        match self {
            Self::Send { group, .. } | Self::Leave { group } => *group,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { group: GroupId::ONLY, payload } => write!(f, "send {payload}"),
            Self::Send { group, payload } => write!(f, "send {payload} to group {group}"),
            Self::Leave { group: GroupId::ONLY } => f.write_str("leave"),
            Self::Leave { group } => write!(f, "leave group {group}"),
        }
    }
}

/// An event that a node reports to its client. The node answers every `Send` by `Sent`, `Wait` or
/// `Refused`, in the order of the commands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Event {
    /// The node has sent the message.
    Sent { id: MessageId },
    /// The node did not accept the message: too many of its messages are unacknowledged, its view
    /// has not begun, its lease has expired, or it has joined and still loads the state of the
    /// group. The client may try again after the next `Ready` or `View`.
    Wait {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
        /// The members that have acknowledged the fewest of this node's messages. Empty if the node
        /// waits for a view, a lease or the state.
        slow: Group,
    },
    /// After a `Wait`: the node accepts messages again.
    Ready {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
    /// The node has delivered the next message of the order.
    Delivered { id: MessageId, payload: Payload },
    /// A view begins. All messages of earlier views have been delivered; messages of this view
    /// follow.
    View {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
        view: View,
        /// Digest of the replicated state at this point. It is equal at all members of the view.
        state: u64,
    },
    /// The group continued without this node. Messages that it sent but did not deliver itself may
    /// or may not have been delivered by others.
    #[cfg_attr(feature = "serde", serde(rename = "out"))]
    Excluded {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
    /// The node has left, as requested: all members hold every message it sent.
    Left {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
    /// The node refused a command, and nothing changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent { id } => write!(f, "sends {id}"),
            Self::Wait { slow, .. } if slow.is_empty() => f.write_str("must wait for its view, lease or group state"),
            Self::Wait { slow, .. } => write!(f, "must wait for acknowledgements from {slow}"),
            Self::Ready { .. } => f.write_str("may send again"),
            Self::Delivered { id, payload } => write!(f, "DELIVERS {id} {payload}"),
            Self::View { view, .. } => write!(f, "BEGINS {view}"),
            Self::Excluded { .. } => f.write_str("is out: the group continued without it"),
            Self::Left { .. } => f.write_str("leaves: all members hold what it sent"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// The reason why a node refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    Leaving,
    NotAMember,
    /// The payload is longer than `Payload::MAX_LEN`.
    TooLong,
    /// The node has restarted or is no founding member, and a group without views does not admit
    /// it.
    #[cfg_attr(feature = "serde", serde(rename = "no-way-back"))]
    CannotRejoin,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leaving => "the node is leaving, and sends nothing more",
            Self::NotAMember => "the node is not a member of that group",
            Self::TooLong => "the payload is longer than the maximum of 1 MiB",
            Self::CannotRejoin => "a group without views admits only its first members, and none again after a restart",
        })
    }
}
