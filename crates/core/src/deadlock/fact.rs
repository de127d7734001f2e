//! What a detector is told, and what it tells.

use super::{Agent, Event, Need, Report, Spell, Stake};
use crate::protocol::Protocol;

/// What a detector is told of the agents at its site, by whoever lets them wait. Links keep the order of messages, and a host tells a detector of
/// a wait when it has sent what makes others know of it: so whatever the detector sends arrives later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// Somebody here begins to wait.
    Blocks {
        /// Who.
        who: Agent,
        /// Which of its times of waiting that is.
        spell: Spell,
        /// For whom.
        need: Need<Agent>,
        /// What it would lose by giving up.
        stake: Stake,
    },
    /// One of those it waits for has let go.
    Eased {
        /// Who waits.
        who: Agent,
        /// Who has let go.
        by: Agent,
        /// What it would lose by giving up now.
        stake: Stake,
    },
    /// It waits no longer: it has got what it waited for, or has given up.
    Runs {
        /// Who.
        who: Agent,
    },
    /// Somebody here is waited for.
    Owes {
        /// Who.
        who: Agent,
        /// By whom.
        to: Agent,
        /// Which of that one's times of waiting it is.
        spell: Spell,
    },
    /// It has let go, or is waited for no longer.
    Paid {
        /// Who.
        who: Agent,
        /// Who waited.
        to: Agent,
        /// Which of that one's times of waiting it is.
        spell: Spell,
    },
    /// It is to have a look whether it is part of a deadlock.
    Look {
        /// Who.
        who: Agent,
    },
}

/// What a detector tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// There is a deadlock.
    Deadlock(Report),
    /// Somebody here is to give up.
    Victim {
        /// Who.
        who: Agent,
        /// Because of this.
        report: Report,
    },
}

/// As users are told.
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
