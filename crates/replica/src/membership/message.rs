//! What members send each other, and what they wait for.

use super::Ask;
use crate::message::Message as ReplicaMessage;
use crate::replica::Timer as ReplicaTimer;
use quorate_core::wrap::{Envelope, Frame, ReliableTimer, ViewedTimer};
use quorate_core::{Class, Describe, Incarnation, NodeId, Parcel};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What members send each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Message<M, R> {
    /// Between the replicas that keep the membership.
    Replica { life: Incarnation, message: ReplicaMessage },
    /// To the one that leads them: put this into the log.
    Ask(Ask),
    /// Between the members, on reliable links.
    Inner(Frame<Envelope<M, R>>),
}

impl<M: Describe, R> Describe for Message<M, R> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Replica { message, .. } => message.kind(),
            Self::Ask(_) => "ask",
            Self::Inner(frame) => frame.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Replica { .. } | Self::Ask(_) => None,
            Self::Inner(frame) => frame.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Replica { .. } | Self::Ask(_) => Class::Control,
            Self::Inner(frame) => frame.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Replica { .. } | Self::Ask(_) => None,
            Self::Inner(frame) => frame.on_behalf_of(),
        }
    }

    fn parcel(&self) -> Option<Parcel> {
        match self {
            Self::Replica { .. } | Self::Ask(_) => None,
            Self::Inner(frame) => frame.parcel(),
        }
    }

    fn again(&self) -> bool {
        match self {
            Self::Replica { .. } | Self::Ask(_) => false,
            Self::Inner(frame) => frame.again(),
        }
    }

    fn wrapped(&self) -> bool {
        match self {
            Self::Replica { .. } | Self::Ask(_) => false,
            Self::Inner(frame) => frame.wrapped(),
        }
    }
}

/// What a member waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Timer<T> {
    Replica(ReplicaTimer),
    Keepalive,
    Round,
    /// Its turn to stand for election, after the leader's process was seen to be gone.
    Stand,
    /// A timer of its links, of its view, or of the protocol inside.
    Inner(ReliableTimer<ViewedTimer<T>>),
}
