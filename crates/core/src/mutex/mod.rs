//! Mutual exclusion: at most one node is in the critical section at a time, or several readers.
//!
//! Every algorithm of the family takes the same [`Command`]s and emits the same [`Event`]s, so one
//! property, metric or service works with all of them.

pub mod central;
mod consent;
mod facts;
pub mod lamport;
pub mod maekawa;
pub mod mutex_by_election;
mod phase;
pub(crate) mod prelude;
pub mod quorum;
#[cfg(test)]
mod random_schedule;
pub mod raymond;
pub mod readers_writers;
pub mod ricart_agrawala;
pub mod ricart_agrawala_implicit;
pub mod ricart_agrawala_modulo;
pub mod ricart_agrawala_ring;
pub mod roucairol_carvalho;
#[cfg(test)]
pub(crate) mod rules;
mod token;
pub mod token_request;
pub mod token_ring;
pub mod token_ring_acknowledged;
mod views;
mod vote;
pub mod voting;

pub use crate::model::{Links, Model};
pub use central::Central;
pub use consent::{Denial, Reply};
pub use facts::{Case, Choice, Cost, Facts, Fairness, Load, Range, Service, ServiceOrder};
pub use lamport::Lamport;
pub use maekawa::Maekawa;
pub use mutex_by_election::MutexByElection;
pub use phase::{Intent, Phase};
pub use raymond::Raymond;
pub use readers_writers::ReadersWriters;
pub use ricart_agrawala::RicartAgrawala;
pub use ricart_agrawala_implicit::RicartAgrawalaImplicit;
pub use ricart_agrawala_modulo::RicartAgrawalaModulo;
pub use ricart_agrawala_ring::RicartAgrawalaRing;
pub use roucairol_carvalho::RoucairolCarvalho;
pub use token::Token;
pub use token_request::TokenRequest;
pub use token_ring::TokenRing;
pub use token_ring_acknowledged::TokenRingAcknowledged;
pub use views::{ClientState, Report, ViewStart, ViewTransition, Waiter};
pub use voting::Voting;

use crate::fence::Fence;
use crate::time::Time;
use core::fmt;

/// A command that a client gives its node. A node handles at most one request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Command {
    /// Request entry and wait for it, however long it takes.
    Acquire,
    /// Enter if no other node is in the way; otherwise the node emits `Denied`.
    Try,
    /// Request shared entry: several readers may be in the critical section together. An algorithm
    /// without shared access treats this as `Acquire`.
    Share,
    Cancel,
    Release,
}

/// Every command, requests first.
pub const COMMANDS: [Command; 5] = [Command::Acquire, Command::Try, Command::Share, Command::Cancel, Command::Release];

impl Command {
    /// The command's name as typed in scripts and on the console.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Try => "try",
            Self::Share => "share",
            Self::Cancel => "cancel",
            Self::Release => "release",
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An event that a node emits to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Event {
    Entered {
        /// Larger than the fence of every earlier entry that conflicts with this one, if the
        /// algorithm has fences.
        fence: Fence,
        /// The entry ends at this time of the node's own clock. `Time::NEVER` for an entry without
        /// a lease.
        #[cfg_attr(feature = "serde", serde(default = "Time::never", skip_serializing_if = "Time::is_never"))]
        until: Time,
    },
    /// The lease of the entry was extended to this time of the node's own clock.
    Extended { until: Time },
    /// The entry ended without a release: a view ended the stay of this node in the group.
    Lost,
    /// The client released its entry.
    Left,
    /// Another node was in the way of a `Try`.
    Denied,
    /// The client cancelled its pending request.
    Cancelled,
    /// The command was not valid in the node's current phase; nothing changed.
    Refused(Refusal),
}

impl Event {
    /// Returns an `Entered` event for an entry without a lease.
    pub const fn entered(fence: Fence) -> Self {
        Self::Entered { fence, until: Time::NEVER }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered { fence, until: Time::NEVER } => write!(f, "ENTERS (fence {fence})"),
            Self::Entered { fence, until } => write!(f, "ENTERS (fence {fence}, until {until} of its clock)"),
            Self::Extended { until } => write!(f, "may stay until {until} of its clock"),
            Self::Lost => f.write_str("LOSES its entry"),
            Self::Left => f.write_str("LEAVES"),
            Self::Denied => f.write_str("denied"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// The reason why a node refused a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Refusal {
    AlreadyWaiting,
    AlreadyInside,
    NotInside,
    NotWaiting,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlreadyWaiting => "a request is already pending",
            Self::AlreadyInside => "already in the critical section",
            Self::NotInside => "not in the critical section",
            Self::NotWaiting => "no request is pending",
        })
    }
}

/// Whether a request may wait or needs an answer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Patience {
    /// The request waits for its turn.
    Wait,
    /// The request is denied if any other node is in the way.
    Try,
}

/// Whether an entry may overlap with other entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Access {
    /// The node is alone in the critical section.
    Exclusive,
    /// The entry may overlap with other shared entries.
    Shared,
}

impl Access {
    /// Returns whether two entries with these accesses must not overlap.
    pub const fn conflicts_with(self, other: Self) -> bool {
        matches!((self, other), (Self::Exclusive, _) | (_, Self::Exclusive))
    }
}

/// Lower bounds for the clock and the fence in later states of a resource. A node keeps them when
/// it discards the state of an idle resource, and carries them into the next view, so that stamps
/// and fences never decrease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Floor {
    pub clock: crate::clock::Clock,
    pub fence: Fence,
}
