//! The election family in the simulator: its workload, measures and properties.
//!
//! This code sees commands, events and descriptions of messages, but not their contents, so it
//! works for every algorithm.

mod agreement;
mod leader_leases;
mod measures;
mod properties;
mod ring_order;
mod starters;
mod super_peers;
mod workload;

pub use agreement::{Agreement, Belief, Expectation};
pub use measures::{ElectionSummary, Measures};
pub use properties::Properties;
pub use ring_order::{Attribute, RingOrder};
pub use starters::Starters;
pub use super_peers::{SuperPeerMeasures, SuperPeers};
pub use workload::Campaigns;

use quorate_core::election::{Command, Event};
use quorate_core::{Epoch, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, WorldEvent};

/// A moment that concerns a node's knowledge of the leader, or its own leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The client gives the command to campaign.
    Campaigns,
    /// The node takes part in an election of this epoch, and knows no leader.
    BeginsElection(Epoch),
    LearnsLeader {
        leader: NodeId,
        epoch: Epoch,
        /// When the leadership expires, on the leader's clock, if this node is the leader.
        until: Time,
    },
    ExtendsLease {
        /// The new expiry, on the node's clock.
        until: Time,
    },
    /// The node no longer leads, or no longer trusts its leader.
    LosesLeader,
    /// The node crashes or its process ends.
    Crashes,
    /// The node starts or restarts.
    Starts,
}

/// Returns the change that a moment causes at a node, if any.
pub fn observed_change(moment: &Moment<'_, Command, Event>) -> Option<(Time, NodeId, Change)> {
    match moment {
        Moment::Input { time, node, input: ObservedInput::Command(Command::Campaign), .. } => {
            Some((*time, *node, Change::Campaigns))
        }
        Moment::Input { time, node, input: ObservedInput::Start { .. }, .. } => Some((*time, *node, Change::Starts)),
        Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
            Some((*time, *node, change_from_event(event)?))
        }
        Moment::World { time, event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node } } => {
            Some((*time, *node, Change::Crashes))
        }
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}

/// Returns the change that an event reports, if any.
fn change_from_event(event: &Event) -> Option<Change> {
    match *event {
        Event::Began { epoch } => Some(Change::BeginsElection(epoch)),
        Event::Elected { leader, epoch, until } => Some(Change::LearnsLeader { leader, epoch, until }),
        Event::Extended { until } => Some(Change::ExtendsLease { until }),
        Event::Ended { .. } => Some(Change::LosesLeader),
        Event::Refused(_) => None,
    }
}
