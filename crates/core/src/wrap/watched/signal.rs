//! Messages and timers of watched nodes.

use crate::wrap::prelude::*;
use core::fmt;

/// A heartbeat, or a message of the inner protocol. Either carries its sender's incarnation, and is
/// a sign that the sender is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Signal<M> {
    /// A heartbeat: the sender is alive.
    Beat {
        /// The sender's incarnation.
        life: Incarnation,
        /// The number of the heartbeat in that incarnation, to recognize duplicates; always 0 with
        /// a fixed bound.
        number: u64,
    },
    /// A message of the inner protocol.
    Inner { life: Incarnation, message: M },
}

impl<M> Signal<M> {
    /// The sender's incarnation.
    pub const fn life(&self) -> Incarnation {
        match self {
            Self::Beat { life, .. } | Self::Inner { life, .. } => *life,
        }
    }

    /// The number of the heartbeat; `None` for a message of the inner protocol.
    pub const fn beat(&self) -> Option<u64> {
        match self {
            Self::Beat { number, .. } => Some(*number),
            Self::Inner { .. } => None,
        }
    }
}

impl<M: Describe> Describe for Signal<M> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Beat { .. } => "beat",
            Self::Inner { message, .. } => message.kind(),
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        match self {
            Self::Beat { .. } => None,
            Self::Inner { message, .. } => message.label(),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Beat { .. } => Class::Control,
            Self::Inner { message, .. } => message.class(),
        }
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Beat { .. } => None,
            Self::Inner { message, .. } => message.on_behalf_of(),
        }
    }

    fn payload_id(&self) -> Option<PayloadId> {
        match self {
            Self::Beat { .. } => None,
            Self::Inner { message, .. } => message.payload_id(),
        }
    }

    fn is_retransmission(&self) -> bool {
        match self {
            Self::Beat { .. } => false,
            Self::Inner { message, .. } => message.is_retransmission(),
        }
    }

    /// A heartbeat gives the inner protocol no information that it could pass on.
    fn is_wrapped(&self) -> bool {
        match self {
            Self::Beat { .. } => true,
            Self::Inner { message, .. } => message.is_wrapped(),
        }
    }
}

/// The timers of a watched node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WatchedTimer<T> {
    /// It is time to send the next heartbeat.
    Beat,
    /// No sign of life of this peer arrived in time.
    Silence(NodeId),
    Inner(T),
}
