//! Mutual exclusion: at most one node inside at a time.
//!
//! Every algorithm of the family takes the same [`Command`]s and tells the same [`Event`]s, so a property, a
//! metric or a service is written once for all of them.

mod central;
mod ricart_agrawala;

pub use central::{Central, Message as CentralMessage};
pub use ricart_agrawala::{Message as RicartAgrawalaMessage, RicartAgrawala};

use crate::about::About;
use crate::fence::Fence;
use crate::time::Time;
use core::fmt;

/// What `quorate explain central` prints.
pub fn about_central() -> About {
    About::of_source(include_str!("central.rs"))
}

/// What `quorate explain ricart-agrawala` prints.
pub fn about_ricart_agrawala() -> About {
    About::of_source(include_str!("ricart_agrawala.rs"))
}

/// What a user asks of a node. A node has at most one request under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Command {
    /// Enter, however long it takes.
    Acquire,
    /// Enter if nobody is in the way, or be told `Denied`.
    Try,
    /// Give up the request under way.
    Cancel,
    /// Leave.
    Release,
}

/// Every command, in the order of a request's life.
pub const COMMANDS: [Command; 4] = [Command::Acquire, Command::Try, Command::Cancel, Command::Release];

impl Command {
    /// Its name as users type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire",
            Self::Try => "try",
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Event {
    /// Inside now.
    Entered {
        /// Larger than the fence of every earlier entry.
        fence: Fence,
        /// How long the entry is good.
        until: Validity,
    },
    /// Outside again, as asked.
    Left,
    /// Somebody was in the way of a `Try`.
    Denied,
    /// The request under way is given up.
    Cancelled,
    /// The command made no sense now; nothing changed.
    Refused(Refusal),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entered { fence, until: Validity::Forever } => write!(f, "ENTERS (fence {fence})"),
            Self::Entered { fence, until: Validity::Until(end) } => write!(f, "ENTERS (fence {fence}, until {end})"),
            Self::Left => f.write_str("LEAVES"),
            Self::Denied => f.write_str("denied"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Refused(refusal) => write!(f, "refused: {refusal}"),
        }
    }
}

/// How long an entry is good, by its owner's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Validity {
    /// Until its owner leaves: the textbook's entry, which a crash alone ends.
    Forever,
    /// Until that instant at the latest.
    Until(Time),
}

/// Why a command made no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Refusal {
    /// A request of this node is already under way.
    AlreadyWaiting,
    /// This node is inside already.
    AlreadyInside,
    /// This node is not inside.
    NotInside,
    /// No request of this node is under way.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Patience {
    /// Waits its turn.
    Wait,
    /// Is denied if anybody is in the way.
    Try,
}

/// What must outlive a forgotten instance of an idle resource, so that stamps and fences never go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Floor {
    /// The largest clock reading known.
    pub clock: crate::clock::Clock,
    /// The largest fence known.
    pub fence: Fence,
}
