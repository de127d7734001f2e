//! Messages about the order of multicasts, and reports of what a member knows of it: positions that
//! a sequencer assigns, or priorities. All orderings share one message type and one report type.

use super::isis::{Priorities, PriorityMessage};
use super::sequencer::{Position, Positions};
use crate::describe::Describe;
use crate::node::NodeId;
use core::fmt;

/// A message about the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderMessage {
    /// From a sequencer: the position of a multicast.
    Position(Position),
    /// Between members: a proposed or an agreed priority.
    Priority(PriorityMessage),
}

impl OrderMessage {
    fn as_describe(&self) -> &dyn Describe {
        match self {
            Self::Position(position) => position,
            Self::Priority(message) => message,
        }
    }
}

impl Describe for OrderMessage {
    fn kind(&self) -> &'static str {
        self.as_describe().kind()
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        self.as_describe().label()
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        self.as_describe().on_behalf_of()
    }
}

/// The positions or priorities that a member knows, which it reports to the others when the view
/// ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum OrderReport {
    /// The order has neither positions nor priorities.
    #[default]
    Nothing,
    Positions(Positions),
    Priorities(Priorities),
}

impl OrderReport {
    /// Returns the known positions, if a sequencer assigns them.
    pub const fn positions(&self) -> Option<&Positions> {
        match self {
            Self::Positions(positions) => Some(positions),
            Self::Nothing | Self::Priorities(_) => None,
        }
    }

    /// Returns the known proposed and agreed priorities, if members agree on priorities.
    pub const fn priorities(&self) -> Option<&Priorities> {
        match self {
            Self::Priorities(priorities) => Some(priorities),
            Self::Nothing | Self::Positions(_) => None,
        }
    }
}
