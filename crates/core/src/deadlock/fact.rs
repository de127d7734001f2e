//! What a detector is told, and what it tells.

use super::{Agent, Event, Need, Report, Spell, Stake};
use crate::protocol::Protocol;

/// What a detector is told of the agents at its site, by whoever lets them wait. Links keep the order of messages, and a host tells a detector of
/// a wait when it has sent what makes others know of it: so whatever the detector sends arrives later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Somebody here begins to wait.
    Blocks { who: Agent, spell: Spell, need: Need<Agent>, stake: Stake },
    /// One of those it waits for has let go.
    Eased { who: Agent, by: Agent, stake: Stake },
    /// It waits no longer: it has got what it waited for, or has given up.
    Runs { who: Agent },
    /// An agent here is waited for. The spell is the waiter's.
    Owes { who: Agent, to: Agent, spell: Spell },
    /// It has let go, or is waited for no longer. The spell is the waiter's.
    Paid { who: Agent, to: Agent, spell: Spell },
    /// It is to have a look whether it is part of a deadlock.
    Look { who: Agent },
}

/// What a detector tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Agents wait for each other.
    Deadlock(Report),
    /// Somebody here is to give up.
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
pub trait Detector: Protocol<Command = Fact, Event = Finding, Durable = ()> {
    /// Whether it understands such a wait.
    fn understands(&self, need: &Need<Agent>) -> bool;
}
