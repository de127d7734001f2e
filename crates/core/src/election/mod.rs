//! Leader election: one node of the group is chosen, and everyone learns which.
//!
//! Any node may start, and several may at once. A run has an [`Epoch`], which only grows; at most one leader is
//! elected in each. Every algorithm of the family takes the same [`Command`]s and tells the same [`Event`]s, so a
//! property, a metric or a service is written once for all of them.

pub mod bully;
pub mod by_mutex;
pub mod chang_roberts;
pub mod circuit;
pub mod consensus_by_election;
#[cfg(test)]
pub(crate) mod drill;
mod facts;
pub mod franklin;
pub mod hirschberg_sinclair;
pub mod invitation;
pub mod lelann;
pub mod majority_lease;
mod overlay;
pub mod peterson;
mod plan;
mod rank;
mod ring;
pub mod ring_list;
pub mod super_peer;

pub use crate::bounds::Bounds;
pub use crate::model::{Links, Model};
pub use bully::Bully;
pub use by_mutex::ByMutex;
pub use chang_roberts::ChangRoberts;
pub use consensus_by_election::{ConsensusByElection, ConsensusByRing};
pub use facts::{Book, Case, Cost, Counts, Facts, Shape, Splits, Starting, Tally};
pub use franklin::Franklin;
pub use hirschberg_sinclair::HirschbergSinclair;
pub use invitation::Invitation;
pub use lelann::LeLann;
pub use majority_lease::MajorityLease;
pub use overlay::{MOST_BITS, Overlay, USUAL_BITS};
pub use peterson::Peterson;
pub use plan::{Announce, Courtesy, Plan, Repair, Tenure};
pub use rank::{Prefer, Rank, Ranking};
pub use ring::Ring;
pub use ring_list::RingList;
pub use super_peer::SuperPeer;

use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::Time;
use core::fmt;

/// What a user asks of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Command {
    /// Start an election, whoever wins it. A live leader is no obstacle: false alarms are allowed.
    Campaign,
    /// Lead no longer, and see to it that another one does soon: a planned handover.
    Resign,
}

/// Every command.
pub const COMMANDS: [Command; 2] = [Command::Campaign, Command::Resign];

impl Command {
    /// Its name as users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Campaign => "campaign",
            Self::Resign => "resign",
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
        leader: NodeId,
        /// In which run. At one node it never goes back.
        epoch: Epoch,
        /// Up to when the winner may act as leader, told to the winner alone and on its own clock. In textbook form that is for
        /// ever.
        #[cfg_attr(feature = "serde", serde(default = "Time::never", skip_serializing_if = "Time::is_never"))]
        until: Time,
    },
    /// This node, which leads, may do so for longer: up to this instant of its own clock.
    Extended { until: Time },
    /// This node led and does so no longer, or trusts no longer that its leader leads: it knows of no leader.
    Ended { epoch: Epoch },
    /// The command made no sense now; nothing changed.
    Refused(Refusal),
}

impl Event {
    /// A result that holds for ever, or is another's.
    pub const fn elected(leader: NodeId, epoch: Epoch) -> Self {
        Self::Elected { leader, epoch, until: Time::NEVER }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { epoch } => write!(f, "knows no leader (epoch {epoch})"),
            Self::Elected { leader, epoch, until: Time::NEVER } => write!(f, "LEADER IS {leader} (epoch {epoch})"),
            Self::Elected { leader, epoch, until } => {
                write!(f, "LEADER IS {leader} (epoch {epoch}, until {until} of its clock)")
            }
            Self::Extended { until } => write!(f, "may lead until {until} of its clock"),
            Self::Ended { epoch } => write!(f, "knows no leader any more (epoch {epoch} is over)"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// Why a command made no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    AlreadyRunning,
    AlreadyLeading,
    /// This node has no vote, or is no member of the group, and cannot start a run.
    NotEligible,
    LeaseLasts,
    NotLeading,
    /// This algorithm knows no handover: who leads does so until it fails.
    CannotResign,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyRunning => "it takes part in a run that is already under way",
            Self::AlreadyLeading => "it is the leader already",
            Self::NotEligible => "it may not start a run",
            Self::LeaseLasts => "a leader's lease lasts, and there is no run inside it",
            Self::NotLeading => "it does not lead",
            Self::CannotResign => "this algorithm knows no handover",
        })
    }
}
