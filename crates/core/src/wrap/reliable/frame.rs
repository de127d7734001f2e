//! Frames between reliable nodes: numbered messages and acknowledgements.

use crate::wrap::prelude::*;
use core::fmt;

/// A numbered message of the inner protocol, or an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Frame<M> {
    Data {
        pair: Pair,
        /// The first number ever sent between these incarnations: where a receiver without state
        /// begins.
        base: u64,
        /// The message's number. Numbers are consecutive for one incarnation of the sender and one
        /// peer.
        number: u64,
        /// Whether this is the first copy or a retransmission.
        copy: Copy,
        message: M,
    },
    /// Acknowledges delivered messages.
    Ack {
        /// Its `mine` is the incarnation of the acknowledging node.
        pair: Pair,
        /// Every number below this one is acknowledged.
        below: u64,
    },
}

/// The incarnations of a frame's sender and receiver, as seen by the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pair {
    /// The incarnation of the frame's sender.
    pub mine: Incarnation,
    /// The incarnation of its receiver, as far as the sender knows.
    pub yours: Incarnation,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.mine, self.yours)
    }
}

/// Whether a frame carries a message for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Copy {
    /// The first copy, which the formulas of the literature count.
    First,
    /// A retransmission.
    Again,
}

impl<M> Frame<M> {
    /// The incarnations of the frame's sender and receiver.
    pub fn pair(&self) -> Pair {
        match self {
            Self::Data { pair, .. } | Self::Ack { pair, .. } => *pair,
        }
    }
}

impl<M: Describe> Describe for Frame<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Data { message, .. } => message.kind(),
            Self::Ack { .. } => "ack",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Data { message, .. } => message.label(),
            Self::Ack { .. } => None,
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Data { copy: Copy::First, message, .. } => message.class(),
            Self::Data { copy: Copy::Again, .. } | Self::Ack { .. } => Class::Control,
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Data { message, .. } => message.on_behalf_of(),
            Self::Ack { .. } => None,
        }
    }

    fn payload_id(&self) -> Option<PayloadId> {
        match self {
            Self::Data { pair, number, .. } => Some(PayloadId { incarnation: pair.mine, number: *number }),
            Self::Ack { .. } => None,
        }
    }

    fn is_retransmission(&self) -> bool {
        matches!(self, Self::Data { copy: Copy::Again, .. })
    }

    fn is_wrapped(&self) -> bool {
        true
    }
}
