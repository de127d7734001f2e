//! The election family in the simulator: who starts, what is measured, what must hold.
//!
//! All of it is written once for the family. It sees commands and events, never an algorithm.

mod agreement;
mod measures;
mod properties;
mod reigns;
mod seating;
mod starters;
mod super_peers;
mod workload;

pub use agreement::{Agreement, Belief, Expectation};
pub use measures::{ElectionSummary, Measures};
pub use properties::Properties;
pub use seating::{Attribute, Seating};
pub use starters::Starters;
pub use super_peers::{Crowd, SuperPeers};
pub use workload::Campaigns;

use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, NodeId, Time};
use quorate_journal::moment::{Done, Happening, Moment, Taken};

/// A change in what a node knows of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Campaigns,
    Begins(Epoch),
    Learns {
        leader: NodeId,
        epoch: Epoch,
        /// Up to when that one may act as leader, on its own clock, if it is this node.
        until: Time,
    },
    Extends {
        /// Up to when, on its own clock.
        until: Time,
    },
    Ends,
    Dies,
    Boots,
}

pub fn change(moment: &Moment<'_, Command, Event>) -> Option<(Time, NodeId, Change)> {
    match moment {
        Moment::Input { time, node, input: Taken::Command(Command::Campaign), .. } => {
            Some((*time, *node, Change::Campaigns))
        }
        Moment::Input { time, node, input: Taken::Start { .. }, .. } => Some((*time, *node, Change::Boots)),
        Moment::Effect { time, node, effect: Done::Emit(event) } => Some((*time, *node, told(event)?)),
        Moment::World { time, what: Happening::Crashed { node, .. } | Happening::Ended { node } } => {
            Some((*time, *node, Change::Dies))
        }
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}

fn told(event: &Event) -> Option<Change> {
    match *event {
        Event::Began { epoch } => Some(Change::Begins(epoch)),
        Event::Elected { leader, epoch, until } => Some(Change::Learns { leader, epoch, until }),
        Event::Extended { until } => Some(Change::Extends { until }),
        Event::Ended { .. } => Some(Change::Ends),
        Event::Refused(_) => None,
    }
}
