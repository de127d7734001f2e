//! Leader election: one node of the group is chosen, and everyone learns which.
//!
//! Any node may start, and several may at once. A run has an [`Epoch`], which only grows; at most one leader is
//! elected in each. Every algorithm of the family takes the same [`Command`]s and tells the same [`Event`]s, so a
//! property, a metric or a service is written once for all of them.

mod facts;

pub use crate::bounds::Bounds;
pub use facts::{Cost, Facts, Tally};

use crate::group::Epoch;
use crate::node::NodeId;
use core::fmt;

/// What a user asks of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Command {
    /// Start an election, whoever wins it. A live leader is no obstacle: false alarms are allowed.
    Campaign,
}

/// Every command.
pub const COMMANDS: [Command; 1] = [Command::Campaign];

impl Command {
    /// Its name as users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Campaign => "campaign",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a node tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Event {
    /// This node takes part in a run: from now on it knows of no leader.
    Began {
        /// Which run. At one node it never goes back.
        epoch: Epoch,
    },
    /// This node has learnt who won; the winner tells it too.
    Elected {
        /// Who.
        leader: NodeId,
        /// In which run. At one node it never goes back.
        epoch: Epoch,
    },
    /// The command made no sense now; nothing changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { epoch } => write!(f, "knows no leader (epoch {epoch})"),
            Self::Elected { leader, epoch } => write!(f, "LEADER IS {leader} (epoch {epoch})"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// Why a command made no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    /// A run that this node started is already under way.
    AlreadyRunning,
    /// This node is the leader already.
    AlreadyLeading,
    /// This node has no vote, or is no member of the group, and cannot start a run.
    NotEligible,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyRunning => "a run of its own is already under way",
            Self::AlreadyLeading => "it is the leader already",
            Self::NotEligible => "it may not start a run",
        })
    }
}
