//! The trait of detectors, and their commands and events.

use super::{AbortCost, Agent, Event, Need, Report, WaitId};
use crate::protocol::Protocol;

/// An input of a detector from its host: a change of the waits at its site, or a client's request
/// for a check.
///
/// A host reports a wait only after it has sent the requests or the grant that begin it, so on FIFO
/// links the detector's messages arrive after them. If this site grants a resource at once,
/// `DependencyReleased` or `Unblocked` comes without a `Blocked` before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitEvent {
    /// An agent here begins to wait.
    Blocked { agent: Agent, wait_id: WaitId, need: Need<Agent>, abort_cost: AbortCost },
    /// One of the agents that `agent` waits for, `by`, has released what `agent` needs from it.
    /// `agent` still waits for others.
    DependencyReleased { agent: Agent, by: Agent, abort_cost: AbortCost },
    /// An agent here no longer waits: it has got what it waited for, or has cancelled.
    Unblocked { agent: Agent },
    /// `waiter`, here or elsewhere, waits for `agent`, which is here. `wait_id` numbers the wait of
    /// `waiter`.
    WaiterAdded { agent: Agent, waiter: Agent, wait_id: WaitId },
    /// `waiter` no longer waits for `agent`, which is here. `wait_id` numbers the wait of `waiter`.
    WaiterRemoved { agent: Agent, waiter: Agent, wait_id: WaitId },
    /// The client of an agent here wants to know whether the agent is part of a deadlock.
    Check { agent: Agent },
}

/// An event of a detector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The detector has found this deadlock.
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
    /// Returns whether the detector supports waits with this need.
    fn supports(&self, need: &Need<Agent>) -> bool;
}
