//! Frames of the `Reliable` wrapper: numbered messages and acknowledgements.

use crate::wrap::prelude::*;
use core::fmt;

/// A numbered message of the inner protocol, or an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Frame<M> {
    Data {
        pair: IncarnationPair,
        /// The first number ever sent between these two incarnations. A receiver without state
        /// expects it first.
        base: u64,
        /// The message's number. Numbers are consecutive for one incarnation of the sender and one
        /// peer.
        number: u64,
        #[cfg_attr(feature = "serde", serde(rename = "copy"))]
        transmission: Transmission,
        message: M,
    },
    /// Acknowledges delivered messages.
    Ack {
        /// `sender` is the incarnation of the acknowledging node.
        pair: IncarnationPair,
        /// Every number below this one is acknowledged.
        below: u64,
    },
}

/// The incarnations of a frame's sender and receiver, as the sender knows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncarnationPair {
    #[cfg_attr(feature = "serde", serde(rename = "mine"))]
    pub sender: Incarnation,
    /// The latest incarnation of the receiver that the sender knows.
    #[cfg_attr(feature = "serde", serde(rename = "yours"))]
    pub receiver: Incarnation,
}

impl fmt::Display for IncarnationPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.sender, self.receiver)
    }
}

/// Whether a frame carries a message for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Transmission {
    /// The first transmission. The message counts of the literature include only these.
    First,
    /// A retransmission.
    Again,
}

impl<M> Frame<M> {
    /// Returns the incarnations of the frame's sender and receiver.
    pub fn pair(&self) -> IncarnationPair {
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
            Self::Data { transmission: Transmission::First, message, .. } => message.class(),
            Self::Data { transmission: Transmission::Again, .. } | Self::Ack { .. } => Class::Control,
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
            Self::Data { pair, number, .. } => Some(PayloadId { incarnation: pair.sender, number: *number }),
            Self::Ack { .. } => None,
        }
    }

    fn is_retransmission(&self) -> bool {
        matches!(self, Self::Data { transmission: Transmission::Again, .. })
    }

    fn is_wrapped(&self) -> bool {
        true
    }
}
