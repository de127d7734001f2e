//! The replicated state machine, its outcomes for sessions, and log time.

use crate::version::FormatError;
use bytes::Bytes;
use quorate_core::Duration;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A deterministic state machine on top of a replicated log.
///
/// Every replica applies the same commands in the same order at the same log time, so all of them
/// have the same state at the same index, byte for byte. The state machine must not use clocks,
/// randomness or IO.
///
/// [`Sessions`](crate::sessions::Sessions) adds sessions to any state machine: requests that are
/// executed once however often they are sent, and outcomes that reach their session even if it
/// moves to another replica.
pub trait StateMachine: Default {
    /// A command that changes the state. The log stores it with `postcard`, which cannot encode
    /// flattened fields nor decode untagged enums. [`check_encoding`](crate::batch::check_encoding)
    /// tests a command's type.
    type Command: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// A query that reads the state.
    type Query: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// The answer to a command or a query.
    type Answer: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// A notification for a session, such as a lock that it waited for. It need not be the session
    /// whose command caused it.
    type Outcome: Clone + fmt::Debug + PartialEq + Serialize + DeserializeOwned;
    /// The frozen state, which yields its encoding in pieces. Another thread may encode it while
    /// the state changes.
    type Image: IntoIterator<Item = Bytes> + Send + 'static;

    /// The newest format level of commands that this release understands. It grows when a release
    /// adds commands that earlier ones cannot decode.
    const LEVEL: u32 = 1;

    /// Advances to the log time of an entry, before its commands are applied: whatever expires by
    /// this time expires now.
    fn advance(&mut self, _at: LogPosition, _out: &mut Outbox<Self::Outcome>) {}

    /// Applies one command. `from` is the session that sent it, if it came from one.
    fn apply(
        &mut self,
        at: LogPosition,
        from: Option<SessionId>,
        command: &Self::Command,
        out: &mut Outbox<Self::Outcome>,
    ) -> Self::Answer;

    /// Removes everything that belongs to a session that has ended.
    fn end_session(&mut self, _at: LogPosition, _session: SessionId, _out: &mut Outbox<Self::Outcome>) {}

    /// Answers a query without changing the state.
    fn query(&self, at: LogPosition, query: &Self::Query) -> Self::Answer;

    /// The log time at which the next thing expires, if any. The leader proposes an empty entry
    /// when it passes, unless other entries move log time.
    fn next_deadline(&self) -> Option<LogTime> {
        None
    }

    /// Whether a command has the same effect if it is applied twice, and the same answer. A
    /// follower forwards such commands to the leader and repeats them until they are applied;
    /// others are only accepted by the leader.
    fn is_repeatable(_command: &Self::Command) -> bool {
        false
    }

    /// The lowest format level of a release that understands a command.
    fn level_of(_command: &Self::Command) -> u32 {
        1
    }

    /// The outcomes that a session has not acknowledged, for a replica to which it attaches.
    /// `None` if there is no such session.
    fn unacknowledged_outcomes(&self, _session: SessionId) -> Option<Vec<Self::Outcome>> {
        None
    }

    /// Whether there is such a session. Cheaper than
    /// [`unacknowledged_outcomes`](Self::unacknowledged_outcomes).
    fn has_session(&self, session: SessionId) -> bool {
        self.unacknowledged_outcomes(session).is_some()
    }

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

    /// A short description of an outcome for traces.
    fn describe_outcome(outcome: &Self::Outcome) -> String {
        format!("{outcome:?}")
    }

    /// Freezes the state. Equal states must give equal pieces.
    fn freeze(&self) -> Self::Image;

    /// Restores a state from the pieces of its image. Fails if they are not valid or have a newer
    /// format.
    fn thaw(pieces: impl Iterator<Item = Bytes>) -> Result<Self, FormatError>;

    /// A fingerprint of the state, cheap to read because every command updates it. Equal states
    /// have equal fingerprints, on every machine.
    fn fingerprint(&self) -> u64;
}

/// The id of a session, unique in the life of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub u64);

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", self.0)
    }
}

/// Collects the outcomes of a state machine, each addressed to a session, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outbox<O>(Vec<(SessionId, O)>);

impl<O> Default for Outbox<O> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<O> Outbox<O> {
    /// Adds an outcome for a session.
    pub fn put(&mut self, to: SessionId, outcome: O) {
        self.0.push((to, outcome));
    }

    /// Removes and returns all outcomes.
    pub fn drain(&mut self) -> impl Iterator<Item = (SessionId, O)> + '_ {
        self.0.drain(..)
    }
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
