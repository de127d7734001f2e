//! Messages about positions in an order, and reports of known positions. Both are of one type for
//! all orderings.

use super::isis::{Priorities, PriorityMessage};
use super::sequencer::{Position, Positions};
use crate::describe::Describe;
use crate::node::NodeId;
use core::fmt;

/// A message about positions in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderMessage {
    /// From a sequencer.
    Position(Position),
    /// Between members that agree on priorities.
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

/// The positions in the order that a member knows, which it reports to the others when the view
/// ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum OrderReport {
    /// The order has no positions to know.
    #[default]
    Nothing,
    Positions(Positions),
    Priorities(Priorities),
}

impl OrderReport {
    /// Returns the numbers that the sequencer assigned, if the order has a sequencer.
    pub const fn positions(&self) -> Option<&Positions> {
        match self {
            Self::Positions(positions) => Some(positions),
            Self::Nothing | Self::Priorities(_) => None,
        }
    }

    /// Returns the proposed and agreed priorities, if members agree on priorities.
    pub const fn priorities(&self) -> Option<&Priorities> {
        match self {
            Self::Priorities(priorities) => Some(priorities),
            Self::Nothing | Self::Positions(_) => None,
        }
    }
}
