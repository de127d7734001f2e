//! The commands and events of a detector.

use super::{AbortCost, Agent, Event, Need, Report, WaitId};
use crate::protocol::Protocol;

/// A change of the waits at a detector's site, which the host reports. Links are FIFO, and a host
/// reports a wait after it has sent the messages that make it known to others: so all messages of
/// the detector arrive later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// An agent here begins to wait.
    Blocked { agent: Agent, wait_id: WaitId, need: Need<Agent>, abort_cost: AbortCost },
    /// One of the agents that a waiting agent here waits for, `by`, has released it.
    DependencyReleased { agent: Agent, by: Agent, abort_cost: AbortCost },
    /// The agent no longer waits: it has got what it waited for, or has cancelled.
    Runs { agent: Agent },
    /// The agent `to` waits for `agent`, which is here. `wait_id` is that of the wait of `to`.
    BlockedOn { agent: Agent, to: Agent, wait_id: WaitId },
    /// The agent `to` no longer waits for `agent`. `wait_id` is that of the wait of `to`.
    NoLongerBlockedOn { agent: Agent, to: Agent, wait_id: WaitId },
    /// The agent checks whether it is part of a deadlock.
    Check { agent: Agent },
}

/// An event of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A deadlock was found.
    Deadlock(Report),
    /// An agent here must abort.
    Victim { agent: Agent, report: Report },
}

impl From<Finding> for Event {
    fn from(finding: Finding) -> Self {
        match finding {
            Finding::Deadlock(report) => Self::Deadlock(report),
            Finding::Victim { agent, report } => Self::Victim { agent, report },
        }
    }
}

/// The part of a node that finds deadlocks.
pub trait Detector: Protocol<Command = WaitEvent, Event = Finding, Durable = ()> {
    /// Returns whether the detector supports such a wait.
    fn supports(&self, need: &Need<Agent>) -> bool;
}
