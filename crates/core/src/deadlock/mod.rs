//! Deadlocks: who waits for whom, and who waits for ever.
//!
//! A process that waits for others lets go of nothing meanwhile. If they wait for it in turn, nobody ever goes on. [`Graph`] is who waits for
//! whom at an instant, seen as a whole; no process sees it so. A **detector** is the part of a node that finds deadlocks all the same. It is a
//! [`Protocol`](crate::Protocol) whose commands are [`Fact`]s, which it is told by whoever lets processes wait, and whose events are
//! [`Finding`]s. Two hosts feed detectors: [`Requests`], where processes ask each other, and [`Locks`], where they ask for resources, each with
//! a coordinator of its own. Both take the same [`Command`]s and tell the same [`Event`]s, so that a property, a measure or a user is written once.

mod agent;
pub mod central;
#[cfg(test)]
pub(crate) mod drill;
pub mod edge_chasing;
mod fact;
mod facts;
pub mod graph;
// Not part of the documented interface until the lock table, which it was written for, uses it and has settled its form. Benchmarks use it.
#[doc(hidden)]
pub mod incremental;
mod ledger;
pub mod locks;
mod need;
mod plan;
pub mod query_reply;
mod report;
pub mod requests;
pub mod resolution;
#[cfg(test)]
mod storm;
mod victim;

pub use agent::{Agent, Kind, NoAgent, Spell};
pub use central::Central;
pub use edge_chasing::EdgeChasing;
pub use fact::{Detector, Fact, Finding};
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
pub use victim::{Policy, Stake};

use core::fmt;

/// What a user asks of a process of a site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Command {
    /// The process asks others, and waits for them.
    Ask { process: u16, need: Need<Agent> },
    /// The process lets go: whoever waits for it need not wait for it any more.
    Answer { process: u16, to: Agent },
    /// The process waits no longer, without having got what it asked for.
    GiveUp { process: u16 },
    /// The process has a look whether it is part of a deadlock.
    Look { process: u16 },
}

impl Command {
    /// Its name, as users type it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ask { .. } => "ask",
            Self::Answer { .. } => "answer",
            Self::GiveUp { .. } => "give-up",
            Self::Look { .. } => "look",
        }
    }

    /// Which process of the site it is for.
    pub const fn process(&self) -> u16 {
        match self {
            Self::Ask { process, .. }
            | Self::Answer { process, .. }
            | Self::GiveUp { process }
            | Self::Look { process } => *process,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Ask { need, .. } => write!(f, " {need}")?,
            Self::Answer { to, .. } => write!(f, " {to}")?,
            Self::GiveUp { .. } | Self::Look { .. } => {}
        }
        match self.process() {
            0 => Ok(()),
            process => write!(f, " (process {process})"),
        }
    }
}

/// What a site tells its user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Event {
    /// An agent begins to wait.
    Waits { who: Agent, spell: Spell, need: Need<Agent> },
    /// An agent learns that another one waits for it. The spell is the waiter's.
    Asked { who: Agent, by: Agent, spell: Spell },
    /// An agent has let go of what another one waits for. The spell is the waiter's.
    Answers { who: Agent, to: Agent, spell: Spell },
    /// Somebody has got what it waited for.
    Runs { who: Agent, spell: Spell },
    /// Somebody waits no longer, without having got what it waited for.
    GaveUp { who: Agent, spell: Spell },
    /// Somebody is waited for no longer.
    Withdrawn { who: Agent, by: Agent },
    /// A detector has found a deadlock.
    Deadlock(Report),
    /// A process of this site is to give up, so that the others can go on.
    Victim { who: Agent, report: Report },
    /// The command made no sense now; nothing changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waits { who, need, .. } if who.is_resource() => write!(f, "{need} holds {who}"),
            Self::Waits { who, need, .. } => write!(f, "{who} waits for {need}"),
            Self::Asked { who, by, .. } if by.is_resource() => write!(f, "{who} has {by}"),
            Self::Asked { who, by, .. } => write!(f, "{by} waits for {who}"),
            Self::Answers { who, to, .. } if to.is_resource() => write!(f, "{who} lets go of {to}"),
            Self::Answers { who, to, .. } => write!(f, "{who} lets {to} go on"),
            Self::Runs { who, .. } if who.is_resource() => write!(f, "{who} is free"),
            Self::Runs { who, .. } => write!(f, "{who} goes on"),
            Self::GaveUp { who, .. } => write!(f, "{who} has given up"),
            Self::Withdrawn { who, by } => write!(f, "{by} waits for {who} no longer"),
            Self::Deadlock(report) => write!(f, "DEADLOCK: {report}"),
            Self::Victim { who, report } => write!(f, "{who} MUST GIVE UP: {report}"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// Why a command made no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    NoSuchProcess,
    Waiting,
    NotWaiting,
    /// Nobody is asked, somebody who is not there, somebody twice, or the process itself.
    NobodyToAsk,
    /// The detector knows only those who wait for all whom they ask, or only those who wait for any of them.
    OtherModel,
    NotOwed,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSuchProcess => "there is no such process here",
            Self::Waiting => "it waits, and whoever waits does nothing else",
            Self::NotWaiting => "it does not wait",
            Self::NobodyToAsk => "there is nobody to ask, or not as often",
            Self::OtherModel => "the detector knows another way of waiting",
            Self::NotOwed => "that one does not wait for it",
        })
    }
}
