//! The replicated state machine, and log time.

use crate::version::FormatError;
use quorate_core::Duration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A deterministic state machine on top of a replicated log.
///
/// Every replica applies the same commands in the same order at the same log time, so all of them
/// have the same state at the same index, byte for byte. The state machine must not use clocks,
/// randomness or IO.
pub trait StateMachine: Default {
    /// A command that changes the state. The log stores it with `postcard`, which cannot encode
    /// flattened fields nor decode untagged enums; a replica refuses to propose such a command.
    type Command: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// A query that reads the state.
    type Query: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// The answer to a command or a query.
    type Answer: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;

    /// Applies one command.
    fn apply(&mut self, at: LogPosition, command: &Self::Command) -> Self::Answer;

    /// Answers a query without changing the state.
    fn query(&self, at: LogPosition, query: &Self::Query) -> Self::Answer;

    /// A short description of a command for traces.
    fn describe_command(command: &Self::Command) -> String {
        format!("{command:?}")
    }

    /// A short description of a query for traces.
    fn describe_query(query: &Self::Query) -> String {
        format!("{query:?}")
    }

    /// A short description of an answer for traces.
    fn describe_answer(answer: &Self::Answer) -> String {
        format!("{answer:?}")
    }

    /// Encodes the whole state for [`restore`](Self::restore). Equal states must give equal bytes.
    fn snapshot(&self) -> Vec<u8>;

    /// Decodes a snapshot. Fails if the bytes are not valid or have a newer format.
    fn restore(bytes: &[u8]) -> Result<Self, FormatError>;
}

/// A position in the log, and its log time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LogPosition {
    pub index: u64,
    pub time: LogTime,
}

/// Log time: the total time during which leaders have led.
///
/// Every entry has one, and it never goes back. It stops while there is no leader, so it is never
/// ahead of real time by more than the clocks' drift, and leases measured by it expire late rather
/// than early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogTime(u64);

impl LogTime {
    /// The log time before the first leader.
    pub const ZERO: Self = Self(0);

    /// The log time of this many nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since [`ZERO`](Self::ZERO).
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// The log time that is later by `length`.
    pub const fn after(self, length: Duration) -> Self {
        Self(self.0.saturating_add(length.nanos()))
    }

    /// The time since an earlier log time; zero if it is not earlier.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for LogTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration::from_nanos(self.0).fmt(f)
    }
}
