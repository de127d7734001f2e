//! What reliable nodes send each other: numbered messages and acknowledgements.

use crate::wrap::prelude::*;
use core::fmt;

/// A message of the protocol inside with what makes it reliable, or an acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Frame<M> {
    Data {
        pair: Pair,
        /// The first number ever sent between these lives: where a receiver that knows nothing begins.
        base: u64,
        /// Its number. Numbers are those of one life of the sender to one peer, in order, without gap.
        number: u64,
        /// Whether the network has carried it before.
        copy: Copy,
        message: M,
    },
    /// What has been handed up so far.
    Ack {
        /// Between which lives it travels; `mine` is the life of the one who acknowledges.
        pair: Pair,
        /// Every number below this one.
        below: u64,
    },
}

/// The two lives that a frame travels between, named by its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pair {
    /// The life of the frame's sender.
    pub mine: Incarnation,
    /// The life of its receiver, as far as the sender knows.
    pub yours: Incarnation,
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}→{}", self.mine, self.yours)
    }
}

/// Which copy of a message a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Copy {
    /// The first one, which the textbook's formulas count.
    First,
    /// A repetition.
    Again,
}

impl<M> Frame<M> {
    /// The two lives that it travels between.
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

    fn parcel(&self) -> Option<Parcel> {
        match self {
            Self::Data { pair, number, .. } => Some(Parcel { incarnation: pair.mine, number: *number }),
            Self::Ack { .. } => None,
        }
    }

    fn again(&self) -> bool {
        matches!(self, Self::Data { copy: Copy::Again, .. })
    }

    fn wrapped(&self) -> bool {
        true
    }
}
