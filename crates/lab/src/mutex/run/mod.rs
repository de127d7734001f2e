//! The mutual-exclusion family in the simulator: its workload, measures and properties.
//!
//! This code sees commands, events and descriptions of messages, but not their contents, so it
//! works for every algorithm.

mod measures;
mod overtaking;
mod properties;
mod resource;
mod workload;

pub use measures::{EntryCost, Measures, MutexSummary, ViewSummary};
pub use overtaking::{CountedFrom, OvertakingBound};
pub use properties::{Expectations, OrderCheck, Properties};
pub use resource::Resource;
pub use workload::{Demand, Pattern, Requests};

use quorate_core::mutex::{Access, Command, Event, Patience};
use quorate_core::{Fence, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, WorldEvent};

/// A change of a node's [`LockPhase`], or of the expiry of its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Requests(Patience, Access),
    Enters {
        fence: Fence,
        /// When the entry expires, on the node's clock.
        until: Time,
    },
    Extends {
        /// The new expiry, on the node's clock.
        until: Time,
    },
    Leaves,
    /// The entry ended because the group removed the node.
    Loses,
    /// The request ended without an entry: denied or cancelled.
    EndsWithoutEntry,
    /// The node crashed or stopped.
    Crashes,
}

/// Returns the change that a moment causes at a node, if any.
pub fn observed_change(moment: &Moment<'_, Command, Event>) -> Option<(Time, NodeId, Change)> {
    match moment {
        Moment::Input { time, node, input: ObservedInput::Command(command), .. } => {
            let change = match command {
                Command::Acquire => Change::Requests(Patience::Wait, Access::Exclusive),
                Command::Try => Change::Requests(Patience::Try, Access::Exclusive),
                Command::Share => Change::Requests(Patience::Wait, Access::Shared),
                Command::Cancel | Command::Release => return None,
            };
            Some((*time, *node, change))
        }
        Moment::Effect { time, node, effect: ObservedEffect::Emit(event) } => {
            let change = match event {
                Event::Entered { fence, until } => Change::Enters { fence: *fence, until: *until },
                Event::Extended { until } => Change::Extends { until: *until },
                Event::Left => Change::Leaves,
                Event::Lost => Change::Loses,
                Event::Denied | Event::Cancelled => Change::EndsWithoutEntry,
                Event::Refused(_) => return None,
            };
            Some((*time, *node, change))
        }
        Moment::World { time, event: WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node } } => {
            Some((*time, *node, Change::Crashes))
        }
        Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => None,
    }
}

/// Whether a node has requested the critical section or is in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockPhase {
    #[default]
    Idle,
    Waiting,
    Holding,
}

impl LockPhase {
    /// Returns the phase after a change. The request of a node that waits or holds is rejected and
    /// changes nothing.
    #[must_use]
    pub fn after(self, change: Change) -> Self {
        match (self, change) {
            (Self::Idle, Change::Requests(..)) => Self::Waiting,
            (unchanged, Change::Requests(..) | Change::Extends { .. }) => unchanged,
            (_, Change::Enters { .. }) => Self::Holding,
            (_, Change::Leaves | Change::Loses | Change::EndsWithoutEntry | Change::Crashes) => Self::Idle,
        }
    }
}
