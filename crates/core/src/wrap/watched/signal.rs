//! Messages and timers of watched nodes.

use crate::wrap::prelude::*;
use core::fmt;

/// A heartbeat, or a message of the inner protocol. Both carry the sender's incarnation, and are
/// signs that the sender is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Signal<M> {
    /// A message that says only that the sender is alive.
    #[cfg_attr(feature = "serde", serde(rename = "beat"))]
    Heartbeat {
        #[cfg_attr(feature = "serde", serde(rename = "life"))]
        incarnation: Incarnation,
        /// The number of the heartbeat in that incarnation, by which an accrual detector ignores
        /// duplicates and overtaken heartbeats. A detector with a fixed bound does not measure the
        /// gaps between heartbeats, so it needs no numbers and always sends 0.
        number: u64,
    },
    Inner {
        #[cfg_attr(feature = "serde", serde(rename = "life"))]
        incarnation: Incarnation,
        message: M,
    },
}

impl<M> Signal<M> {
    /// Returns the sender's incarnation.
    pub const fn incarnation(&self) -> Incarnation {
        match self {
            Self::Heartbeat { incarnation, .. } | Self::Inner { incarnation, .. } => *incarnation,
        }
    }

    /// Returns the number of the heartbeat; `None` for a message of the inner protocol.
    pub const fn heartbeat_number(&self) -> Option<u64> {
        match self {
            Self::Heartbeat { number, .. } => Some(*number),
            Self::Inner { .. } => None,
        }
    }
}

impl<M: Describe> Describe for Signal<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Heartbeat { .. } => "beat",
            Self::Inner { message, .. } => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Heartbeat { .. } => None,
            Self::Inner { message, .. } => message.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Heartbeat { .. } => Class::Control,
            Self::Inner { message, .. } => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Heartbeat { .. } => None,
            Self::Inner { message, .. } => message.on_behalf_of(),
        }
    }

    fn payload_id(&self) -> Option<PayloadId> {
        match self {
            Self::Heartbeat { .. } => None,
            Self::Inner { message, .. } => message.payload_id(),
        }
    }

    fn is_retransmission(&self) -> bool {
        match self {
            Self::Heartbeat { .. } => false,
            Self::Inner { message, .. } => message.is_retransmission(),
        }
    }

    /// Returns whether the arrival of the message alone tells the inner protocol nothing. That is
    /// so for a heartbeat, because the inner protocol never receives it. An inner message reaches
    /// the inner protocol at once, so the answer is that of the message itself.
    fn is_wrapped(&self) -> bool {
        match self {
            Self::Heartbeat { .. } => true,
            Self::Inner { message, .. } => message.is_wrapped(),
        }
    }
}

/// The timers of a watched node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WatchedTimer<T> {
    /// Fires when it is time to send the next heartbeat.
    #[cfg_attr(feature = "serde", serde(rename = "beat"))]
    NextHeartbeat,
    /// Fires when this peer has been silent for too long.
    Silence(NodeId),
    Inner(T),
}
