//! Messages between replicas, in types of this crate: raft's protobuf decoder never sees a peer's
//! bytes.

use crate::directory::MemberRecord;
use crate::members::Configuration;
use bytes::Bytes;
use quorate_core::{Class, Describe, Incarnation, NodeId};
use serde::{Deserialize, Serialize};

/// One entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    pub index: u64,
    pub term: u64,
    pub body: EntryBody,
}

/// The contents of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryBody {
    /// A leader's empty first entry.
    Blank,
    /// Commands with their log time, encoded by [`Batch`](crate::batch::Batch).
    Batch(Bytes),
    /// An encoded change of the members with its log time.
    Change(Bytes),
    /// The end of a joint change.
    Leave,
}

/// A round of heartbeats that confirms the leader. It serves all queries that wait for it at this
/// incarnation of `node`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Round {
    pub node: NodeId,
    pub incarnation: Incarnation,
    pub number: u64,
}

/// A message between replicas. Most kinds carry the sender's term, and many its commit index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Requests a vote in a term. The last entry of the sender has this index and log term.
    Vote {
        term: u64,
        /// Whether the sender only asks if the receiver would vote, so that a candidate that cannot
        /// win does not disturb the group.
        #[serde(rename = "pre")]
        is_pre_vote: bool,
        /// Whether the leader transfers its leadership to the sender.
        #[serde(rename = "forced")]
        is_forced: bool,
        log_term: u64,
        index: u64,
        commit: LastCommit,
    },
    /// Grants or denies a vote, in the term of the request or in the sender's later term.
    VoteReply {
        term: u64,
        #[serde(rename = "pre")]
        is_pre_vote: bool,
        #[serde(rename = "granted")]
        is_granted: bool,
        commit: LastCommit,
    },
    /// Entries that follow the entry at `index` and `log_term`, which the receiver should have.
    Append { term: u64, log_term: u64, index: u64, entries: Vec<Entry>, commit: u64 },
    /// The index up to which the logs agree, or a rejection with a hint where to try next.
    AppendReply {
        term: u64,
        index: u64,
        commit: u64,
        #[serde(rename = "rejected")]
        rejection_hint: Option<RejectionHint>,
    },
    /// A leader's heartbeat.
    Heartbeat { term: u64, commit: u64, round: Option<Round> },
    /// A follower's reply to a heartbeat.
    HeartbeatReply { term: u64, commit: u64, round: Option<Round> },
    /// Asks the receiver to become a candidate at once, for a leadership transfer.
    TimeoutNow { term: u64 },
    /// Asks the leader which index must be applied before the queries of this round are answered.
    ReadIndex { round: Round },
    /// The index that must be applied before the queries of this round are answered.
    ReadIndexReply { term: u64, index: u64, round: Round },
    /// Asks for admission: the sender has no log. The incarnation is the one in which it first
    /// started without a log; later restarts keep it.
    #[serde(rename = "knock")]
    AdmissionRequest {
        #[serde(rename = "born")]
        incarnation: Incarnation,
        /// The newest format level that the sender understands.
        level: u32,
    },
    /// Tells the leader what the group should record about the sender.
    Report(MemberRecord),
    /// Asks a member for its report.
    ReportRequest,
    /// The receiver is no member after the entry with this index. It may have missed the entry that
    /// ended its membership, and gets no further entries. If it has applied this entry itself, it
    /// knows better, because it has been added again.
    NotMember { index: u64 },
    /// Passes commands that were proposed at the sender on to the leader, which does not answer:
    /// the sender learns of them when it applies their entry. The bytes encode
    /// [`ProposalGroup`](crate::batch::ProposalGroup)s.
    Forward(Bytes),
    /// A piece of a snapshot.
    Piece(SnapshotPiece),
    /// Replies to a piece: how many bytes of the snapshot, from its beginning, this replica has.
    PieceReply {
        snapshot: SnapshotId,
        #[serde(rename = "held")]
        held_bytes: u64,
    },
}

/// The index and term of the last committed entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LastCommit {
    pub index: u64,
    pub term: u64,
}

/// A position up to which two diverging logs may agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RejectionHint {
    pub index: u64,
    pub log_term: u64,
}

/// The id of a snapshot: the leader's term, and the index and term of the last entry in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SnapshotId {
    pub term: u64,
    pub index: u64,
    pub log_term: u64,
}

/// A piece of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SnapshotPiece {
    pub snapshot: SnapshotId,
    pub members: Configuration,
    /// The length of the whole snapshot.
    #[serde(rename = "length")]
    pub snapshot_bytes: u64,
    #[serde(rename = "offset")]
    pub offset_bytes: u64,
    pub bytes: Bytes,
}

impl Message {
    /// Removes the entries of an append, which then only asks whether the logs agree.
    pub(crate) fn remove_entries(&mut self) {
        if let Self::Append { entries, .. } = self {
            entries.clear();
        }
    }
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Vote { is_pre_vote: true, .. } => "pre-vote",
            Self::Vote { is_pre_vote: false, .. } => "vote",
            Self::VoteReply { is_pre_vote: true, .. } => "pre-vote-reply",
            Self::VoteReply { is_pre_vote: false, .. } => "vote-reply",
            Self::Append { .. } => "append",
            Self::AppendReply { .. } => "append-reply",
            Self::Heartbeat { .. } => "heartbeat",
            Self::HeartbeatReply { .. } => "heartbeat-reply",
            Self::TimeoutNow { .. } => "timeout-now",
            Self::ReadIndex { .. } => "read-index",
            Self::ReadIndexReply { .. } => "read-index-reply",
            Self::AdmissionRequest { .. } => "admission-request",
            Self::Report(_) => "report",
            Self::ReportRequest => "report-request",
            Self::NotMember { .. } => "not-member",
            Self::Forward(_) => "forward",
            Self::Piece(_) => "piece",
            Self::PieceReply { .. } => "piece-reply",
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::Heartbeat { .. }
            | Self::HeartbeatReply { .. }
            | Self::Report(_)
            | Self::ReportRequest
            | Self::NotMember { .. } => Class::Control,
            Self::Vote { .. }
            | Self::VoteReply { .. }
            | Self::Append { .. }
            | Self::AppendReply { .. }
            | Self::TimeoutNow { .. }
            | Self::ReadIndex { .. }
            | Self::ReadIndexReply { .. }
            | Self::AdmissionRequest { .. }
            | Self::Forward(_)
            | Self::Piece(_)
            | Self::PieceReply { .. } => Class::Algorithm,
        }
    }
}
