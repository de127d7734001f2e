//! Messages, timers and durable state of the invitation algorithm. A group here is a coordinator
//! with its members, and not all nodes. A higher coordinator is one of greater rank.

use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use crate::protocol::Durable;

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// I coordinate a group, perhaps of myself alone. Do you? `latest_epoch` is the largest epoch
    /// of a group that the sender was in.
    Check {
        #[cfg_attr(feature = "serde", serde(rename = "floor"))]
        latest_epoch: Epoch,
    },
    /// To a higher coordinator: I coordinate a group, perhaps of myself alone, or belong to yours.
    /// Invite me. `latest_epoch` is as in `Check`.
    Found {
        #[cfg_attr(feature = "serde", serde(rename = "floor"))]
        latest_epoch: Epoch,
    },
    /// Join this group. Sent by the group's coordinator, or forwarded by the receiver's
    /// coordinator, which joins too.
    Invitation { leader: NodeId, epoch: Epoch },
    /// To a coordinator: I join.
    Accept { epoch: Epoch },
    /// From a coordinator: you are a member, and I lead.
    Ready { epoch: Epoch },
    /// To a coordinator: do you still lead this group?
    Query { epoch: Epoch },
    /// From a coordinator: I still lead this group.
    #[cfg_attr(feature = "serde", serde(rename = "here"))]
    Confirm { epoch: Epoch },
    /// From a former coordinator: I no longer lead this group.
    Gone { epoch: Epoch },
}

impl Message {
    /// Returns the epoch that the message mentions.
    pub(super) const fn epoch(&self) -> Epoch {
        match self {
            Self::Check { latest_epoch } | Self::Found { latest_epoch } => *latest_epoch,
            Self::Invitation { epoch, .. }
            | Self::Accept { epoch }
            | Self::Ready { epoch }
            | Self::Query { epoch }
            | Self::Confirm { epoch }
            | Self::Gone { epoch } => *epoch,
        }
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Check { .. } => "check",
            Self::Found { .. } => "found",
            Self::Invitation { .. } => "invitation",
            Self::Accept { .. } => "accept",
            Self::Ready { .. } => "ready",
            Self::Query { .. } => "query",
            Self::Confirm { .. } => "confirm",
            Self::Gone { .. } => "gone",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Invitation { .. } | Self::Accept { .. } => Class::Algorithm,
            Self::Ready { .. } => Class::Announcement,
            Self::Check { .. } | Self::Found { .. } | Self::Query { .. } | Self::Confirm { .. } | Self::Gone { .. } => {
                Class::Control
            }
        }
    }
}

/// A timeout, named after the event that the node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// Answers of nodes that coordinate a group, after a search began.
    Found,
    Invitation,
    Ready,
    /// The time of the next periodic question (`Check` or `Query`).
    Watch,
}

/// The largest epoch of a group that a node formed or joined, as saved on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SavedEpoch(pub Epoch);

impl Durable for SavedEpoch {
    type Write = Epoch;
    fn apply(&mut self, epoch: Epoch) {
        self.0 = self.0.max(epoch);
    }
}
