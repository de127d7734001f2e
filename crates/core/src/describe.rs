//! What a message is called and how it is counted.

use crate::effects::Parcel;
use crate::node::NodeId;
use crate::protocol::Never;
use core::fmt;

/// How a message presents itself to journals, metrics and diagrams.
pub trait Describe {
    /// The name of its kind, in lower case: `request`, `reply`.
    fn kind(&self) -> &'static str;

    /// What it is called in a picture, where its kind alone would not tell it from others: `2#1 (0,1,0)`.
    fn label(&self) -> Option<&dyn fmt::Display> {
        None
    }

    /// How it is counted.
    fn class(&self) -> Class {
        Class::Algorithm
    }

    /// The node whose request it serves, so that costs can be told apart by who caused them.
    fn on_behalf_of(&self) -> Option<NodeId> {
        None
    }

    /// The payload it is a copy of, if a wrapper numbers payloads.
    fn parcel(&self) -> Option<Parcel> {
        None
    }

    /// Whether the same was sent before.
    fn again(&self) -> bool {
        false
    }

    /// Whether causality travels by parcels: then the arrival of a message alone tells the protocol nothing,
    /// and only a handed parcel does.
    fn wrapped(&self) -> bool {
        false
    }
}

/// What carries a message to all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// As many messages as there are receivers.
    Unicast,
    /// One message that those hear whom it is for.
    Multicast,
    /// One message that everyone hears, as on a shared cable; those whom it is not for drop it.
    Broadcast,
}

/// How a message is counted. The textbook's formulas count algorithm messages only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Class {
    Algorithm,
    /// The announcement of a result, which elections count apart.
    Announcement,
    /// Acknowledgements of links, repetitions, heartbeats, stability traffic.
    Control,
}

impl Describe for Never {
    fn kind(&self) -> &'static str {
        match *self {}
    }
}
