//! Leader election: the group chooses one of its nodes, and every node learns which.
//!
//! Any node may start an election, and several nodes may do so at once. Every election has an
//! [`Epoch`]; at one node epochs never decrease. As long as the algorithm's assumptions hold, at
//! most one leader is elected in each epoch. Two algorithms may have several leaders at once, in
//! different epochs: [`Invitation`] until its groups can merge, as on two sides of a partition, and
//! [`SuperPeer`] one in each region. All algorithms of the family accept the same [`Command`]s and
//! emit the same [`Event`]s, so a property, a metric or a service is written once for all of them.

pub mod bully;
pub mod by_mutex;
pub mod chang_roberts;
pub mod circuit;
pub mod consensus_by_election;
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
#[cfg(test)]
pub(crate) mod script;
pub mod super_peer;

pub use crate::bounds::Bounds;
pub use crate::model::{Links, Model};
pub use bully::Bully;
pub use by_mutex::ByMutex;
pub use chang_roberts::ChangRoberts;
pub use consensus_by_election::{ConsensusByElection, ConsensusByRing};
pub use facts::{Case, Cost, Counts, ExpectedMessages, Facts, Splits, Starting, Structure, Tally};
pub use franklin::Franklin;
pub use hirschberg_sinclair::HirschbergSinclair;
pub use invitation::Invitation;
pub use lelann::LeLann;
pub use majority_lease::MajorityLease;
pub use overlay::{DEFAULT_ID_BITS, DEFAULT_REGION_BITS, MAX_ID_BITS, Overlay};
pub use peterson::Peterson;
pub use plan::{AnnouncementMode, BullyOptions, LeaseSettings, Plan, Repair};
pub use rank::{Preference, Rank, Ranking};
pub use ring::Ring;
pub use ring_list::RingList;
pub use super_peer::SuperPeer;

use crate::group::Epoch;
use crate::node::NodeId;
use crate::time::Time;
use core::fmt;

/// A request from a client to its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Command {
    /// Start an election. The client may wrongly believe that the leader has crashed, so most
    /// algorithms accept this command even while another node leads.
    Campaign,
    /// Stop leading, and make another node the leader soon: a planned handover.
    Resign,
}

/// All commands, in the order of [`Command`].
pub const COMMANDS: [Command; 2] = [Command::Campaign, Command::Resign];

impl Command {
    /// Returns the command's name on the command line and in scripts.
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

/// An event that a node reports to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Event {
    /// This node takes part in an election; from now on it knows no leader.
    Began {
        /// Epoch of the election, or a lower bound if the node does not know it yet. At one node
        /// epochs never decrease.
        epoch: Epoch,
    },
    /// This node learned the result of an election. The winner emits this event too.
    Elected {
        leader: NodeId,
        /// Epoch of the election. At one node epochs never decrease.
        epoch: Epoch,
        /// At the winner: the end of its lease on its own clock. `Time::NEVER` at other nodes, and
        /// in algorithms without leases.
        #[cfg_attr(feature = "serde", serde(default = "Time::never", skip_serializing_if = "Time::is_never"))]
        until: Time,
    },
    /// The lease of this node, which leads, now lasts until this instant of its own clock.
    Extended { until: Time },
    /// This node no longer leads, or no longer trusts its leader: it knows no leader.
    Ended { epoch: Epoch },
    /// The command is not valid in this state; nothing changed.
    Refused(Refusal),
}

impl Event {
    /// Creates an `Elected` event without a lease.
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
            Self::Ended { epoch } => write!(f, "no longer knows a leader (epoch {epoch} has ended)"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// The reason why a node refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    AlreadyRunning,
    AlreadyLeading,
    /// This node may not vote now or is not a member of the group, so it cannot start an election.
    NotEligible,
    LeaseLasts,
    NotLeading,
    /// This algorithm has no handover: a leader leads until it fails.
    CannotResign,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyRunning => "the node already takes part in an election",
            Self::AlreadyLeading => "the node is the leader already",
            Self::NotEligible => "the node may not start an election",
            Self::LeaseLasts => "the leader's lease has not expired yet",
            Self::NotLeading => "the node is not the leader",
            Self::CannotResign => "this algorithm does not support resigning",
        })
    }
}
