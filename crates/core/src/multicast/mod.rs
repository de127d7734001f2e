//! Ordered multicast: what one member says reaches all members, and in which order they hear it.
//!
//! A message is *received* when the network brings it, and *delivered* when the user is told of it. In between it waits in the hold-back
//! queue. Every algorithm of the family takes the same [`Command`]s and tells the same [`Event`]s, so a property, a metric or a
//! service is written once for all of them. They are one [`Member`] each, which receives, relays, counts and goes from view to view,
//! with an [`Ordering`] inside that says what may be delivered next.

pub mod causal;
#[cfg(test)]
mod drill;
mod facts;
pub mod fifo;
mod hold_back;
pub mod isis;
pub mod member;
mod message;
mod ordering;
mod payload;
mod plan;
pub mod sequencer;
mod several;
mod state;
#[cfg(test)]
mod tests;
mod told;
pub mod unordered;
#[cfg(feature = "serde")]
mod wire;
mod word;

pub use causal::{Causal, Causes};
pub use facts::{Book, Facts, Promise};
pub use fifo::Fifo;
pub use hold_back::HoldBack;
pub use isis::Isis;
pub use member::{Member, Report};
pub use message::{Letter, Message, Piece};
pub use ordering::{AnyOrdering, Begin, Desk, ErasedOrdering, Ordering, Partial, Route, Survey};
pub use payload::Payload;
pub use plan::{Delivery, Plan, Sequencing, Window};
pub use sequencer::{Place, Sequencer};
pub use several::{Addressed, Several};
pub use state::{Board, State};
pub use told::Told;
pub use unordered::Unordered;
pub use word::{Notes, Word};

use crate::group::{Epoch, Group};
use crate::node::NodeId;
use crate::view::View;
use core::fmt;

/// The name of a multicast: nothing else in all views of all groups has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MessageId {
    #[cfg_attr(feature = "serde", serde(default))]
    pub group: GroupId,
    /// In which view it was sent. A member of a view is one life of a node, so that a later life's messages have other names.
    pub view: Epoch,
    pub sender: NodeId,
    /// Which of its sender's messages in this view it is, from 1.
    pub number: u64,
}

impl fmt::Display for MessageId {
    /// `2#5` is the fifth message of node 2. Later views than the first, and other groups, are named as well.
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

/// One of the groups that a node may be in, each with an order of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GroupId(pub u16);

impl GroupId {
    /// The group of a node that is in no other.
    pub const ONLY: Self = Self(0);
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a user asks of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Command {
    /// Tell all members of a group this.
    Send {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
        payload: Payload,
    },
    /// Leave a group, once all that this node has said is held by everyone.
    Leave {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
}

impl Command {
    /// A multicast to the only group.
    pub fn send(payload: impl Into<Payload>) -> Self {
        Self::Send { group: GroupId::ONLY, payload: payload.into() }
    }

    /// Leaves the only group.
    pub const fn leave() -> Self {
        Self::Leave { group: GroupId::ONLY }
    }

    /// Which group it is about.
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

/// What a node tells its user. Every command `Send` is answered by `Sent`, `Wait` or `Refused`, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Event {
    /// What it was asked to send is under way.
    Sent { id: MessageId },
    /// What it was asked to send was not taken, because as much of this node's is under way as may be. Nothing was lost: ask again
    /// after the next `Ready` or `View`.
    Wait {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
        /// The members that hold least of what is under way, for whom everyone waits.
        slow: Group,
    },
    /// After a `Wait`: it takes more now.
    Ready {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
    /// The next message in the order.
    Delivered { id: MessageId, payload: Payload },
    /// A view begins here: all that was said in the views before has been delivered, and what is delivered from now on was said in it.
    View {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
        view: View,
        /// A digest of the state of the group at this point. Members of one view have the same.
        state: u64,
    },
    /// The group went on without this node. What it sent and did not hear itself may have been delivered to others, or not.
    Out {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
    /// As asked, it leaves: everyone holds all that it sent.
    Left {
        #[cfg_attr(feature = "serde", serde(default))]
        group: GroupId,
    },
    /// The command made no sense now; nothing changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent { id } => write!(f, "sends {id}"),
            Self::Wait { slow, .. } if slow.is_empty() => f.write_str("must wait for its view to begin"),
            Self::Wait { slow, .. } => write!(f, "must wait: {slow} holds too little of what it sent"),
            Self::Ready { .. } => f.write_str("may send again"),
            Self::Delivered { id, payload } => write!(f, "DELIVERS {id} {payload}"),
            Self::View { view, .. } => write!(f, "BEGINS {view}"),
            Self::Out { .. } => f.write_str("is out: the group went on without it"),
            Self::Left { .. } => f.write_str("leaves: everyone holds what it sent"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// Why a command made no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    Leaving,
    NotAMember,
    /// It says more than a message may hold.
    TooLong,
    /// It has come back from a crash, and a group without views takes nobody back.
    NoWayBack,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Leaving => "it leaves, and sends nothing more",
            Self::NotAMember => "it is in no such group",
            Self::TooLong => "it says more than a message may hold",
            Self::NoWayBack => "it has restarted, and a group without views takes nobody back",
        })
    }
}
