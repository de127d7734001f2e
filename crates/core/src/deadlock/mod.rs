//! Deadlock detection: the wait-for graph, and algorithms that find its deadlocks.
//!
//! A process that waits for others releases nothing meanwhile. If they wait for the process in
//! turn, none of them ever continues. [`Graph`] is the complete wait-for graph at an instant, which
//! no single process sees. A **detector** is the part of a node that finds deadlocks nevertheless.
//! It is a [`Protocol`](crate::Protocol) whose commands are [`WaitEvent`]s and whose events are
//! [`Finding`]s. Around it is a **host**, the part of a node that manages the waiting processes and
//! tells the detector when they wait. There are two hosts: [`Requests`], in which processes ask
//! each other, and [`Locks`], in which they ask for resources, each with its own coordinator. Both
//! take the same [`Command`]s and emit the same [`Event`]s, so that one property, metric or client
//! works with both.

mod agent;
pub mod central;
pub mod edge_chasing;
mod facts;
pub mod graph;
mod wait_event;
// Hidden from the documentation until a lock service uses it and its interface is settled.
// Benchmarks use it.
#[doc(hidden)]
pub mod incremental;
pub mod locks;
mod need;
mod plan;
pub mod query_reply;
mod report;
pub mod requests;
pub mod resolution;
#[cfg(test)]
mod schedules;
mod site_state;
#[cfg(test)]
pub(crate) mod test_helpers;
mod victim;

pub use agent::{Agent, Kind, ParseAgentError, WaitId};
pub use central::Central;
pub use edge_chasing::EdgeChasing;
pub use facts::{Facts, Waiting};
pub use graph::{Deadlock, Graph, Shape};
#[doc(hidden)]
pub use incremental::WaitForGraph;
pub use locks::Locks;
pub use need::Need;
pub use plan::Plan;
pub use query_reply::QueryReply;
pub use report::{Report, Wait};
pub use requests::Requests;
pub use victim::{AbortCost, Policy};
pub use wait_event::{Detector, Finding, WaitEvent};

use core::fmt;

/// A command that a client gives a process of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Command {
    /// The process sends requests to others, or for resources, and waits for them.
    Ask { process: u16, need: Need<Agent> },
    /// The process answers the request of the process `to`, which no longer waits for it, or
    /// releases the resource `to`.
    Answer { process: u16, to: Agent },
    /// The process cancels its wait and continues without what it asked for.
    #[cfg_attr(feature = "serde", serde(rename = "give-up"))]
    Cancel { process: u16 },
    /// The process checks whether it is part of a deadlock.
    #[cfg_attr(feature = "serde", serde(rename = "look"))]
    Check { process: u16 },
}

impl Command {
    /// The command's name as typed in scripts and on the console.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ask { .. } => "ask",
            Self::Answer { .. } => "answer",
            Self::Cancel { .. } => "give-up",
            Self::Check { .. } => "look",
        }
    }

    /// Returns the number of the process within the site.
    pub const fn process(&self) -> u16 {
        match self {
            Self::Ask { process, .. }
            | Self::Answer { process, .. }
            | Self::Cancel { process }
            | Self::Check { process } => *process,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Ask { need, .. } => write!(f, " {need}")?,
            Self::Answer { to, .. } => write!(f, " {to}")?,
            Self::Cancel { .. } | Self::Check { .. } => {}
        }
        match self.process() {
            0 => Ok(()),
            process => write!(f, " (process {process})"),
        }
    }
}

/// An event that a site emits to its client. An agent is a process or a resource; a resource waits
/// for its holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Event {
    /// An agent begins to wait.
    Waits {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
        need: Need<Agent>,
    },
    /// An agent learns that `by` waits for it. `wait_id` is that of the wait of `by`.
    Asked {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        by: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
    /// An agent has released what `to` waits for. `wait_id` is that of the wait of `to`.
    Answers {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        to: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
    /// An agent has got what it waited for.
    Runs {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
    /// An agent has cancelled its wait, without having got what it waited for.
    #[cfg_attr(feature = "serde", serde(rename = "gave-up"))]
    Cancelled {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        #[cfg_attr(feature = "serde", serde(rename = "spell"))]
        wait_id: WaitId,
    },
    /// An agent learns that `by` no longer waits for it.
    Withdrawn {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        by: Agent,
    },
    /// A detector has found a deadlock.
    Deadlock(Report),
    /// The detector asks a process of this site to abort, so that the others can continue.
    Victim {
        #[cfg_attr(feature = "serde", serde(rename = "who"))]
        agent: Agent,
        report: Report,
    },
    /// The command was not valid now; nothing changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits { agent, need, .. } if agent.is_resource() => write!(f, "{need} holds {agent}"),
            Self::Waits { agent, need, .. } => write!(f, "{agent} waits for {need}"),
            Self::Asked { agent, by, .. } if by.is_resource() => write!(f, "{agent} has {by}"),
            Self::Asked { agent, by, .. } => write!(f, "{by} waits for {agent}"),
            Self::Answers { agent, to, .. } if to.is_resource() => write!(f, "{agent} releases {to}"),
            Self::Answers { agent, to, .. } if agent.is_resource() => write!(f, "{agent} is granted to {to}"),
            Self::Answers { agent, to, .. } => write!(f, "{agent} answers {to}"),
            Self::Runs { agent, .. } if agent.is_resource() => write!(f, "{agent} is free"),
            Self::Runs { agent, .. } => write!(f, "{agent} continues"),
            Self::Cancelled { agent, .. } => write!(f, "{agent} has cancelled its wait"),
            Self::Withdrawn { agent, by } => write!(f, "{by} no longer waits for {agent}"),
            Self::Deadlock(report) => write!(f, "DEADLOCK: {report}"),
            Self::Victim { agent, report } => write!(f, "{agent} MUST ABORT: {report}"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// The reason why a site refused a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    NoSuchProcess,
    Waiting,
    NotWaiting,
    /// The request names no agent, an unknown one, one twice, the process itself, or a resource
    /// that the process already holds.
    #[cfg_attr(feature = "serde", serde(rename = "nobody-to-ask"))]
    InvalidNeed,
    /// The host or the detector supports only waits for all, or only for any, of several agents.
    OtherModel,
    /// The agent does not wait for the process.
    #[cfg_attr(feature = "serde", serde(rename = "not-owed"))]
    NotAwaited,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchProcess => "the site has no such process",
            Self::Waiting => "the process waits, and can only cancel its wait or check for a deadlock",
            Self::NotWaiting => "the process does not wait",
            Self::InvalidNeed => "the request must name known agents, each once, except the process and what it holds",
            Self::OtherModel => "the host or the detector does not support this kind of wait",
            Self::NotAwaited => "that agent does not wait for the process",
        })
    }
}
