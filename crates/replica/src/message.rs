//! What replicas send each other, in types of our own: nothing that a peer sends reaches raft's old decoder.

use crate::members::Configuration;
use bytes::Bytes;
use quorate_core::{Class, Describe, Incarnation, NodeId};
use serde::{Deserialize, Serialize};

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    pub index: u64,
    pub term: u64,
    pub body: Body,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Body {
    /// Nothing: a leader's first.
    Blank,
    /// Commands with their log time, as [`Batch`](crate::batch::Batch) writes them.
    Batch(Bytes),
    /// A change of the members with its log time, as [`Batch`](crate::batch::Batch) writes it.
    Change(Bytes),
    Leave,
}

/// A round by which a leader makes sure that it still leads, for all queries that wait at one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Round {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub number: u64,
}

/// What one replica tells another. Each carries its sender's term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Asks for a vote in a term. With `pre` it only asks whether the receiver would vote, so that a hopeless candidate disturbs
    /// nobody. `forced` says that the leader itself asked the sender to stand.
    Vote { term: u64, pre: bool, forced: bool, log_term: u64, index: u64, commit: Commit },
    /// Yes or no, in the term of the vote, or in the later term of a sender that knows better.
    VoteReply { term: u64, pre: bool, granted: bool, commit: Commit },
    /// Entries that follow on one that the receiver should have.
    Append { term: u64, log_term: u64, index: u64, entries: Vec<Entry>, commit: u64 },
    /// Up to which index the logs agree; or, with a hint where to try next, at which they do not.
    AppendReply { term: u64, index: u64, commit: u64, rejected: Option<Hint> },
    /// The leader leads.
    Heartbeat { term: u64, commit: u64, round: Option<Round> },
    /// The sender follows.
    HeartbeatReply { term: u64, commit: u64, round: Option<Round> },
    /// Stand for election at once.
    TimeoutNow { term: u64 },
    /// From which index on may these queries be answered?
    ReadIndex { round: Round },
    /// From this one on.
    ReadIndexReply { term: u64, index: u64, round: Round },
    /// The sender holds nothing, and waits to be let in by this name.
    Knock { born: Incarnation },
    /// A piece of a snapshot.
    Piece(Piece),
    /// How many bytes of a snapshot have come, from its beginning.
    PieceReply { snapshot: SnapshotId, held: u64 },
}

/// How far the log is committed, and the term of the last entry that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Commit {
    pub index: u64,
    pub term: u64,
}

/// Where a log that does not agree might.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hint {
    pub index: u64,
    pub log_term: u64,
}

/// Which snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SnapshotId {
    pub term: u64,
    pub index: u64,
    pub log_term: u64,
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    pub snapshot: SnapshotId,
    pub members: Configuration,
    pub length: u64,
    pub offset: u64,
    pub bytes: Bytes,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Vote { pre: true, .. } => "pre-vote",
            Self::Vote { pre: false, .. } => "vote",
            Self::VoteReply { pre: true, .. } => "pre-vote-reply",
            Self::VoteReply { pre: false, .. } => "vote-reply",
            Self::Append { .. } => "append",
            Self::AppendReply { .. } => "append-reply",
            Self::Heartbeat { .. } => "heartbeat",
            Self::HeartbeatReply { .. } => "heartbeat-reply",
            Self::TimeoutNow { .. } => "timeout-now",
            Self::ReadIndex { .. } => "read-index",
            Self::ReadIndexReply { .. } => "read-index-reply",
            Self::Knock { .. } => "knock",
            Self::Piece(_) => "piece",
            Self::PieceReply { .. } => "piece-reply",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Heartbeat { .. } | Self::HeartbeatReply { .. } => Class::Control,
            Self::Vote { .. }
            | Self::VoteReply { .. }
            | Self::Append { .. }
            | Self::AppendReply { .. }
            | Self::TimeoutNow { .. }
            | Self::ReadIndex { .. }
            | Self::ReadIndexReply { .. }
            | Self::Knock { .. }
            | Self::Piece(_)
            | Self::PieceReply { .. } => Class::Algorithm,
        }
    }
}
