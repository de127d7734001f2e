//! Commands, answers and outcomes of a state machine with sessions.

use crate::machine::SessionId;
use quorate_core::Duration;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A command of a state machine with sessions; `C` is the command of the machine inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command<C> {
    /// Opens a session that lives for `ttl` after its last renewal. The nonce, which the client
    /// draws at random, makes a repeated command return the same session.
    Open { nonce: u64, ttl: Duration },
    /// Renews sessions. A node renews the sessions of all its clients by one command.
    Renew(Vec<Renewal>),
    /// Ends a session.
    Close { session: SessionId },
    /// A request of a session, which is executed once.
    Request(Request<C>),
    /// A command without a session. A copy of it is executed again.
    Direct(C),
}

/// The renewal of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Renewal {
    pub session: SessionId,
    pub seen: Seen,
}

/// The answers and outcomes that a client has received and that need not be kept any longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Seen {
    /// The client has the answers to all requests up to this number.
    pub answers: u64,
    /// The client has all outcomes up to this number.
    pub outcomes: u64,
}

/// A numbered request of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request<C> {
    pub session: SessionId,
    /// The number of the request among those of its session, from 1.
    pub number: u64,
    pub seen: Seen,
    pub command: C,
}

/// The answer to a command of a state machine with sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer<A> {
    /// The session is open.
    Opened { session: SessionId },
    /// All sessions but these were renewed; these do not exist any more.
    Renewed { ended: Vec<SessionId> },
    /// The session has ended.
    Closed,
    /// The request was executed, now or when an earlier copy of it arrived.
    Answered(A),
    /// The command was not executed.
    Refused(Refusal),
}

/// Why a state machine with sessions did not execute a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// The session has ended, or never existed.
    NoSession,
    /// The client has acknowledged the answer to this request before.
    Acknowledged,
    /// The client must acknowledge answers first: the session keeps as many as it may.
    WindowFull,
    /// The time to live is not between the minimum and the maximum.
    InvalidTtl,
    /// There are as many sessions as there may be.
    TooManySessions,
}

/// An outcome for a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome<O> {
    /// An outcome of the machine inside. The outcomes of a session have consecutive numbers from 1.
    /// The session keeps each one until the client acknowledges it, so the client may receive it
    /// again after it has attached to another replica.
    Numbered { number: u64, outcome: O },
    /// The session has ended. A session that is not attached anywhere at that time finds out when
    /// it attaches.
    Ended(EndReason),
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The client closed it.
    Closed,
    /// It was not renewed in time.
    Expired,
    /// The client did not acknowledge its outcomes.
    Unacknowledged,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use super::{MAX_ANSWER_BYTES, MAX_ANSWERS, MAX_SESSIONS, MAX_TTL, MIN_TTL};
        match self {
            Self::NoSession => f.write_str("the session has ended; open a new one"),
            Self::Acknowledged => f.write_str("the client has already acknowledged the answer to this request"),
            Self::WindowFull => write!(
                f,
                "the session keeps {MAX_ANSWERS} answers or {MAX_ANSWER_BYTES} bytes of them; acknowledge some first"
            ),
            Self::InvalidTtl => write!(f, "the time to live must be between {MIN_TTL} and {MAX_TTL}"),
            Self::TooManySessions => write!(f, "there are {MAX_SESSIONS} sessions; close some first"),
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Unacknowledged => "ended, because it did not acknowledge its outcomes",
        })
    }
}
