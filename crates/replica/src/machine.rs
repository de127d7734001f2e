//! The state machine that is replicated, and the time it lives in.

use crate::version::FormatError;
use quorate_core::Duration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A deterministic state machine on top of a replicated log.
///
/// Every replica applies the same commands in the same order at the same log time, so all of them have the same state
/// at the same index, byte for byte. It has no clock, no dice and no IO of its own.
pub trait StateMachine: Default {
    /// What changes it. It travels through the log, in the format of `postcard`: a type whose fields are flattened, or whose
    /// choices are untagged, cannot be read back, and is refused when it is proposed.
    type Command: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// What reads it.
    type Query: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// What a command or a query gives back.
    type Answer: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;

    /// Applies one command.
    fn apply(&mut self, at: At, command: &Self::Command) -> Self::Answer;

    /// Answers a query. It changes nothing.
    fn query(&self, at: At, query: &Self::Query) -> Self::Answer;

    /// What a command asks, in a few words for people who watch.
    fn command_words(command: &Self::Command) -> String {
        format!("{command:?}")
    }

    /// What a query asks, in a few words.
    fn query_words(query: &Self::Query) -> String {
        format!("{query:?}")
    }

    /// What is answered, in a few words.
    fn answer_words(answer: &Self::Answer) -> String {
        format!("{answer:?}")
    }

    /// The whole state, so that [`restore`](Self::restore) gives an equal one. Equal states give equal bytes.
    fn snapshot(&self) -> Vec<u8>;

    /// The state that these bytes are a snapshot of. Bytes that are none, or of a newer format, are refused.
    fn restore(bytes: &[u8]) -> Result<Self, FormatError>;
}

/// Where in the log, and when by the log's own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct At {
    pub index: u64,
    pub time: LogTime,
}

/// The time of the log: how long, in all, leaders have led.
///
/// It is in every entry and never goes back. It stands still while nobody leads, so it never outruns real time by more
/// than the clocks' drift, and what expires by it expires late rather than early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogTime(u64);

impl LogTime {
    /// Before any leader led.
    pub const ZERO: Self = Self(0);

    /// So many nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// This much later.
    pub const fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.nanos()))
    }

    /// How long after the other it is; nothing if it is not.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for LogTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration::from_nanos(self.0).fmt(f)
    }
}
