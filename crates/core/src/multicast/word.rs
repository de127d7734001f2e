//! What members tell each other about places in an order, and what they know of them, whatever the order.

use super::isis::{Standings, Vote};
use super::sequencer::{Place, Places};
use crate::describe::Describe;
use crate::node::NodeId;
use core::fmt;

/// What members tell each other about places in the order, beside the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    Place(Place),
    Vote(Vote),
}

impl Word {
    fn described(&self) -> &dyn Describe {
        match self {
            Self::Place(place) => place,
            Self::Vote(vote) => vote,
        }
    }
}

impl Describe for Word {
    fn kind(&self) -> &'static str {
        self.described().kind()
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        self.described().label()
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        self.described().on_behalf_of()
    }
}

/// What a member knows of places in the order, as it tells the others when the view ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(untagged))]
pub enum Notes {
    #[default]
    Nothing,
    Places(Places),
    Standings(Standings),
}

impl Notes {
    /// The numbers that the sequencer gave, if there is one.
    pub const fn places(&self) -> Option<&Places> {
        match self {
            Self::Places(places) => Some(places),
            Self::Nothing | Self::Standings(_) => None,
        }
    }

    /// The priorities that were proposed and agreed, if members agree on them.
    pub const fn standings(&self) -> Option<&Standings> {
        match self {
            Self::Standings(standings) => Some(standings),
            Self::Nothing | Self::Places(_) => None,
        }
    }
}
