//! Messages between members, and their timers.

use super::TimedRequest;
use crate::message::Message as ReplicaMessage;
use crate::replica::Timer as ReplicaTimer;
use quorate_core::wrap::{Envelope, Frame, ReliableTimer, ViewedTimer};
use quorate_core::{Class, Describe, Incarnation, NodeId, PayloadId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A message between members. `M` and `R` are the inner protocol's messages and reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message<M, R> {
    /// A message between the replicas of the membership log, with the sender's incarnation.
    Replica {
        #[serde(rename = "life")]
        sender_incarnation: Incarnation,
        message: ReplicaMessage,
    },
    /// Asks the leader to propose this request.
    #[serde(rename = "ask")]
    Request(TimedRequest),
    /// A message of the inner protocol, on reliable links.
    Inner(Frame<Envelope<M, R>>),
}

impl<M: Describe, R> Describe for Message<M, R> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Replica { message, .. } => message.kind(),
            Self::Request(_) => "membership-request",
            Self::Inner(frame) => frame.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Replica { .. } | Self::Request(_) => None,
            Self::Inner(frame) => frame.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Replica { .. } | Self::Request(_) => Class::Control,
            Self::Inner(frame) => frame.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Replica { .. } | Self::Request(_) => None,
            Self::Inner(frame) => frame.on_behalf_of(),
        }
    }

    fn payload_id(&self) -> Option<PayloadId> {
        match self {
            Self::Replica { .. } | Self::Request(_) => None,
            Self::Inner(frame) => frame.payload_id(),
        }
    }

    fn is_retransmission(&self) -> bool {
        match self {
            Self::Replica { .. } | Self::Request(_) => false,
            Self::Inner(frame) => frame.is_retransmission(),
        }
    }

    fn is_wrapped(&self) -> bool {
        match self {
            Self::Replica { .. } | Self::Request(_) => false,
            Self::Inner(frame) => frame.is_wrapped(),
        }
    }
}

/// The timers of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer<T> {
    Replica(ReplicaTimer),
    /// The next request for a lease.
    Keepalive,
    /// The next repetition of the proposal to found the group and of the reports of suspicions,
    /// which may have been lost.
    #[serde(rename = "round")]
    Repetition,
    /// A timer of the links, the view, or the inner protocol.
    Inner(ReliableTimer<ViewedTimer<T>>),
}
