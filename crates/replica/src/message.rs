//! What replicas send each other, in types of our own: nothing that a peer sends reaches raft's old decoder.

use crate::members::Configuration;
use bytes::Bytes;
use quorate_core::{Class, Describe, Incarnation, NodeId};
use serde::{Deserialize, Serialize};

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// Its place.
    pub index: u64,
    /// The term of the leader that made it.
    pub term: u64,
    /// What it says.
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
    /// The end of an exchange of voters.
    Leave,
}

/// A round by which a leader makes sure that it still leads, for all queries that wait at one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Round {
    /// Where the queries wait.
    pub node: NodeId,
    /// In which of its lives.
    pub incarnation: Incarnation,
    /// Its number in that life.
    pub number: u64,
}

/// What one replica tells another. Each carries its sender's term.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Would you vote, or: vote for me.
    Vote {
        /// The term that the sender stands in, or would.
        term: u64,
        /// Whether it only asks first, so that a hopeless candidate disturbs nobody.
        pre: bool,
        /// Whether the leader itself asked the sender to stand.
        forced: bool,
        /// The term of its last entry.
        log_term: u64,
        /// The index of its last entry.
        index: u64,
        /// How far it knows the log to be committed.
        commit: Commit,
    },
    /// Yes or no.
    VoteReply {
        /// The term of the vote, or that of a sender who knows better.
        term: u64,
        /// Whether it answers the question or the vote.
        pre: bool,
        /// Yes.
        granted: bool,
        /// How far the sender knows the log to be committed.
        commit: Commit,
    },
    /// Entries that follow on one that the receiver should have.
    Append {
        /// The leader's term.
        term: u64,
        /// The term of the entry before these.
        log_term: u64,
        /// The index of the entry before these.
        index: u64,
        /// The entries.
        entries: Vec<Entry>,
        /// How far the log is committed.
        commit: u64,
    },
    /// Where the receiver's log now agrees, or does not.
    AppendReply {
        /// The sender's term.
        term: u64,
        /// The last index that agrees, or the one that does not.
        index: u64,
        /// How far the sender knows the log to be committed.
        commit: u64,
        /// Where to try next, if it does not agree.
        rejected: Option<Hint>,
    },
    /// The leader leads.
    Heartbeat {
        /// The leader's term.
        term: u64,
        /// How far the receiver's log is known to be committed.
        commit: u64,
        /// The round that it is for.
        round: Option<Round>,
    },
    /// The sender follows.
    HeartbeatReply {
        /// The sender's term.
        term: u64,
        /// How far the sender knows the log to be committed.
        commit: u64,
        /// The round that it is for.
        round: Option<Round>,
    },
    /// Stand for election at once.
    TimeoutNow {
        /// The leader's term.
        term: u64,
    },
    /// From which index on may these queries be answered?
    ReadIndex {
        /// Which queries.
        round: Round,
    },
    /// From this one on.
    ReadIndexReply {
        /// The leader's term.
        term: u64,
        /// The index.
        index: u64,
        /// Which queries.
        round: Round,
    },
    /// The sender holds nothing, and waits to be let in by this name.
    Knock {
        /// The life in which it began to wait.
        born: Incarnation,
    },
    /// A piece of a snapshot.
    Piece(Piece),
    /// How much of a snapshot has come.
    PieceReply {
        /// Which snapshot.
        snapshot: SnapshotId,
        /// How many bytes, from its beginning.
        held: u64,
    },
}

/// How far the log is committed, and the term of the last entry that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Commit {
    /// The index.
    pub index: u64,
    /// The term there.
    pub term: u64,
}

/// Where a log that does not agree might.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hint {
    /// The index.
    pub index: u64,
    /// The term there.
    pub log_term: u64,
}

/// Which snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SnapshotId {
    /// The term of the leader that sends it.
    pub term: u64,
    /// The index of the last entry in it.
    pub index: u64,
    /// The term of that entry.
    pub log_term: u64,
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Piece {
    /// Which snapshot.
    pub snapshot: SnapshotId,
    /// The members at its index.
    pub members: Configuration,
    /// How long it is in all.
    pub length: u64,
    /// Where this piece begins.
    pub offset: u64,
    /// The piece.
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
