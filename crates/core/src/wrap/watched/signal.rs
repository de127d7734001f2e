//! What watched nodes send each other, and what they wait for.

use crate::wrap::prelude::*;
use core::fmt;

/// A heartbeat, or a message of the protocol inside. Either says which life of its sender it is of, and is a sign of that life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Signal<M> {
    /// The sender lives.
    Beat {
        /// Which life of it.
        life: Incarnation,
        /// Which beat of that life, where that is counted: so a repetition is none that teaches anything.
        number: u64,
    },
    /// A message of the protocol inside.
    Inner { life: Incarnation, message: M },
}

impl<M> Signal<M> {
    /// Which life of its sender it is of.
    pub const fn life(&self) -> Incarnation {
        match self {
            Self::Beat { life, .. } | Self::Inner { life, .. } => *life,
        }
    }

    /// Which beat it is, if it is one.
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

    fn parcel(&self) -> Option<Parcel> {
        match self {
            Self::Beat { .. } => None,
            Self::Inner { message, .. } => message.parcel(),
        }
    }

    fn again(&self) -> bool {
        match self {
            Self::Beat { .. } => false,
            Self::Inner { message, .. } => message.again(),
        }
    }

    /// A beat tells the protocol inside nothing that it could pass on.
    fn wrapped(&self) -> bool {
        match self {
            Self::Beat { .. } => true,
            Self::Inner { message, .. } => message.wrapped(),
        }
    }
}

/// What a watched node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum WatchedTimer<T> {
    Beat,
    /// The next sign of this peer.
    Silence(NodeId),
    Inner(T),
}
