//! Messages and timers of the majority lease algorithm.

use crate::describe::{Class, Describe};
use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::Time;

/// A message between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Message {
    /// Requests a vote and a promise: to vote for no other node during a lease. `requested_at` is
    /// the time of the sender's clock at the request, which the answer repeats. The same holds for
    /// `Renew`.
    Request {
        term: Epoch,
        #[cfg_attr(feature = "serde", serde(rename = "asked"))]
        requested_at: Time,
    },
    /// Grants a vote and a promise.
    Vote {
        term: Epoch,
        #[cfg_attr(feature = "serde", serde(rename = "asked"))]
        requested_at: Time,
    },
    /// Denies the vote. `latest` is the latest term that the sender knows.
    Denied {
        term: Epoch,
        #[cfg_attr(feature = "serde", serde(rename = "asked"))]
        requested_at: Time,
        latest: Epoch,
    },
    /// Announces that the sender leads.
    Leads { term: Epoch },
    /// Requests another promise. The sender still leads.
    Renew {
        term: Epoch,
        #[cfg_attr(feature = "serde", serde(rename = "asked"))]
        requested_at: Time,
    },
    /// Renews the promise.
    Renewed {
        term: Epoch,
        #[cfg_attr(feature = "serde", serde(rename = "asked"))]
        requested_at: Time,
    },
    /// Reports that the receiver leads in a term that has ended: the sender knows a later one.
    Outdated { latest: Epoch },
    /// Releases all promises that the sender has received in terms up to `term`. `successor` may
    /// campaign at once.
    Release { term: Epoch, successor: Option<NodeId> },
}

impl Message {
    /// Returns the latest term that the message mentions.
    pub(super) const fn latest_term(&self) -> Epoch {
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

/// A timeout, named after the event that the node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Timer {
    /// The end of the lease under which the node leads or follows.
    Lapse,
    /// The time to renew the lease.
    Renew,
    /// The time by which votes should have arrived.
    Votes,
    /// The time to campaign (to stand for election), if the node knows no leader by then.
    Stand,
}
