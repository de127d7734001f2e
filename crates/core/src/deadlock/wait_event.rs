//! The commands and events of a detector.

use super::{AbortCost, Agent, Event, Need, Report, WaitId};
use crate::protocol::Protocol;

/// A change of the waits at a detector's site, which the host reports. Links are FIFO, and a host
/// reports a wait after it has sent the messages that make it known to others: so all messages of
/// the detector arrive later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// An agent here begins to wait.
    Blocked { who: Agent, wait_id: WaitId, need: Need<Agent>, abort_cost: AbortCost },
    /// One of the agents it waits for has released it.
    DependencyReleased { who: Agent, by: Agent, abort_cost: AbortCost },
    /// The agent no longer waits: it has got what it waited for, or has cancelled.
    Runs { who: Agent },
    /// The agent `to` waits for `who`, which is here. The number is that of the wait of `to`.
    BlockedOn { who: Agent, to: Agent, wait_id: WaitId },
    /// The agent `to` no longer waits for `who`. The number is that of the wait of `to`.
    NoLongerBlockedOn { who: Agent, to: Agent, wait_id: WaitId },
    /// The agent starts a check whether it is part of a deadlock.
    Look { who: Agent },
}

/// An event of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A deadlock was found.
    Deadlock(Report),
    /// An agent here must abort.
    Victim { who: Agent, report: Report },
}

impl From<Finding> for Event {
    fn from(finding: Finding) -> Self {
        match finding {
            Finding::Deadlock(report) => Self::Deadlock(report),
            Finding::Victim { who, report } => Self::Victim { who, report },
        }
    }
}

/// The part of a node that finds deadlocks.
pub trait Detector: Protocol<Command = WaitEvent, Event = Finding, Durable = ()> {
    /// Returns whether the detector supports such a wait.
    fn supports(&self, need: &Need<Agent>) -> bool;
}
