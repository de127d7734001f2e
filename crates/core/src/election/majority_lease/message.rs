//! What nodes say to each other, and what they wait for.

use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::Time;

/// What nodes send each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Vote for me, and promise me a lease. I asked at this instant of my own clock, and the answer says it back.
    Request { term: Epoch, asked: Time },
    /// You have my vote and my promise.
    Vote { term: Epoch, asked: Time },
    /// You have not. I know of terms up to the latest one.
    Denied { term: Epoch, asked: Time, latest: Epoch },
    /// I lead.
    Leads { term: Epoch },
    /// I still lead; promise me another lease.
    Renew { term: Epoch, asked: Time },
    /// I promise.
    Renewed { term: Epoch, asked: Time },
    /// You lead in a term that is over here: I know of a later one.
    Outdated { latest: Epoch },
    /// I am through with all terms up to this one: your promise is over.
    Release { term: Epoch, successor: Option<NodeId> },
}

impl Message {
    /// The latest term that it speaks of.
    pub(super) const fn latest(&self) -> Epoch {
        match *self {
            Self::Request { term, .. }
            | Self::Vote { term, .. }
            | Self::Leads { term }
            | Self::Renew { term, .. }
            | Self::Renewed { term, .. }
            | Self::Release { term, .. } => term,
            Self::Denied { latest, .. } | Self::Outdated { latest } => latest,
        }
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Vote { .. } => "vote",
            Self::Denied { .. } => "denied",
            Self::Leads { .. } => "leads",
            Self::Renew { .. } => "renew",
            Self::Renewed { .. } => "renewed",
            Self::Outdated { .. } => "outdated",
            Self::Release { .. } => "release",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Request { .. } | Self::Vote { .. } | Self::Denied { .. } => Class::Algorithm,
            Self::Leads { .. } => Class::Announcement,
            Self::Renew { .. } | Self::Renewed { .. } | Self::Outdated { .. } | Self::Release { .. } => Class::Control,
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The end of the lease that it leads or follows by.
    Lapse,
    /// The time to ask for another lease.
    Renew,
    /// The time by which votes should have come.
    Votes,
    /// The time to campaign, if there is no leader by then.
    Stand,
}
