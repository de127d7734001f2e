//! Mutual exclusion: at most one node inside at a time.
//!
//! Every algorithm of the family takes the same [`Command`]s and tells the same [`Event`]s, so a property, a
//! metric or a service is written once for all of them.

mod ballot;
pub mod central;
mod consent;
mod facts;
pub mod lamport;
pub mod maekawa;
pub mod mutex_by_election;
mod phase;
pub(crate) mod prelude;
pub mod quorum;
pub mod raymond;
pub mod readers_writers;
pub mod ricart_agrawala;
pub mod ricart_agrawala_implicit;
pub mod ricart_agrawala_modulo;
pub mod ricart_agrawala_ring;
pub mod roucairol_carvalho;
#[cfg(test)]
pub(crate) mod rules;
#[cfg(test)]
mod storm;
mod token;
pub mod token_request;
pub mod token_ring;
pub mod token_ring_acknowledged;
mod views;
pub mod voting;

pub use crate::model::{Links, Model};
pub use central::Central;
pub use consent::{Denial, Reply};
pub use facts::{Case, Choice, Cost, Facts, Fairness, Load, Range, Service, ServiceOrder};
pub use lamport::Lamport;
pub use maekawa::Maekawa;
pub use mutex_by_election::MutexByElection;
pub use phase::{Phase, Wish};
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
pub use views::{Past, Report, Standing, Succession, Waiter};
pub use voting::Voting;

use crate::fence::Fence;
use crate::time::Time;
use core::fmt;

/// What a user asks of a node. A node has at most one request under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Command {
    /// Enter, however long it takes.
    Acquire,
    /// Enter if nobody is in the way, or be told `Denied`.
    Try,
    /// Enter to read, beside others who only read. Where an algorithm knows no sharing, this is `Acquire`.
    Share,
    Cancel,
    Release,
}

/// Every command, in the order of a request's life.
pub const COMMANDS: [Command; 5] = [Command::Acquire, Command::Try, Command::Share, Command::Cancel, Command::Release];

impl Command {
    /// Its name as users type it.
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

/// What a node tells its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Event {
    Entered {
        /// Larger than the fence of every earlier entry.
        fence: Fence,
        /// Up to when the entry holds, on this node's own clock. Textbook entries hold until they end.
        #[cfg_attr(feature = "serde", serde(default = "Time::never", skip_serializing_if = "Time::is_never"))]
        until: Time,
    },
    /// The entry holds for longer: up to this instant of this node's own clock.
    Extended { until: Time },
    /// The entry is over although nobody asked to leave: the group went on without this node.
    Lost,
    /// Outside again, as asked.
    Left,
    /// Somebody was in the way of a `Try`.
    Denied,
    /// The request under way is given up.
    Cancelled,
    /// The command made no sense now; nothing changed.
    Refused(Refusal),
}

impl Event {
    /// An entry that holds until it ends.
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

/// Why a command made no sense.
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
            Self::AlreadyWaiting => "a request is already under way",
            Self::AlreadyInside => "already inside",
            Self::NotInside => "not inside",
            Self::NotWaiting => "no request is under way",
        })
    }
}

/// Whether a request waits its turn or wants an answer at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Patience {
    /// Waits its turn.
    Wait,
    /// Is denied if anybody is in the way.
    Try,
}

/// Whom a node lets in beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Access {
    /// Nobody.
    Exclusive,
    /// Those who only read, as it does.
    Shared,
}

impl Access {
    /// Whether two such entries must not overlap.
    pub const fn conflicts(self, other: Self) -> bool {
        matches!((self, other), (Self::Exclusive, _) | (_, Self::Exclusive))
    }
}

/// What must outlive a forgotten instance of an idle resource, so that stamps and fences never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Floor {
    pub clock: crate::clock::Clock,
    pub fence: Fence,
}
