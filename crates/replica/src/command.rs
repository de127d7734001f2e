//! Commands of a client to a replica, and the events that the replica reports.

use crate::directory::Addresses;
use crate::machine::{LogTime, SessionId, StateMachine};
use crate::members::Members;
use quorate_core::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of a request, chosen by the client. It is valid for one incarnation of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub u64);

// A ticket packs a client (upper bits), the number of its operation, and the attempt.
const ATTEMPT_BITS: u32 = 20;
const NUMBER_BITS: u32 = 28;

impl Ticket {
    /// Maximum operation number in a ticket made by [`from_parts`](Self::from_parts).
    pub const MAX_NUMBER: u64 = low_mask(NUMBER_BITS);

    /// A ticket that encodes a client, the number of its operation, and the attempt. A part that
    /// needs more bits than it has (16, 28 and 20) corrupts the ticket.
    pub const fn from_parts(client: u64, number: u64, attempt: u64) -> Self {
        Self((client << (NUMBER_BITS + ATTEMPT_BITS)) | (number << ATTEMPT_BITS) | attempt)
    }

    /// The client, operation and attempt of a ticket made by [`from_parts`](Self::from_parts).
    pub const fn parts(self) -> (u64, u64, u64) {
        let number = (self.0 >> ATTEMPT_BITS) & low_mask(NUMBER_BITS);
        (self.0 >> (NUMBER_BITS + ATTEMPT_BITS), number, self.0 & low_mask(ATTEMPT_BITS))
    }
}

/// Returns a mask of this many low bits.
const fn low_mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A request of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", bound = "")]
pub enum Command<S: StateMachine> {
    /// Append these commands to the log, in this order. A replica that does not lead forwards
    /// repeatable commands to the leader, and refuses others.
    Propose(Vec<Proposal<S::Command>>),
    /// Answer this query from a state that contains everything committed before now. Any member
    /// does this, with the leader's help.
    Query { ticket: Ticket, query: S::Query },
    /// Change the members to these, and record these addresses of members. Only a leader does this;
    /// other replicas refuse.
    Change { ticket: Ticket, members: Members, addresses: Addresses },
    /// Report the outcomes for a session from now on: first those that it has not acknowledged,
    /// in a state that contains everything committed before now. Any member does this.
    Attach { ticket: Ticket, session: SessionId },
    /// Report no more outcomes for a session.
    Detach(SessionId),
    /// Give up the leadership and do not campaign for some time, because the process is about to
    /// end. `Retired` follows when the replica does not lead, or no other replica can take over.
    Retire,
    /// Offer the leadership to this member, if it is another voter. Replicas that do not lead
    /// ignore this.
    Transfer(NodeId),
    /// Become a candidate now. Replicas that may not campaign ignore this.
    Campaign,
}

/// One command for the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal<C> {
    pub ticket: Ticket,
    pub command: C,
}

/// A replica's report to its client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", bound = "")]
pub enum Event<S: StateMachine> {
    /// The command was applied, or the query was answered, in the state after entry `index`.
    Answered { ticket: Ticket, index: u64, answer: S::Answer },
    /// The request was not executed and never will be.
    Refused {
        ticket: Ticket,
        #[serde(rename = "why")]
        refusal: Refusal,
    },
    /// The request may or may not be executed: this replica lost the leadership, stopped, installed
    /// a snapshot, or is no member any more. Commands that are not repeatable end like this in
    /// each of these cases; repeatable ones only if this replica stops or is removed, and the
    /// client can repeat them at another one.
    Unknown { ticket: Ticket },
    /// The session is attached. These are its unacknowledged outcomes in the state after entry
    /// `index`; later ones follow as [`Outcome`](Self::Outcome). A replica that installs a snapshot
    /// reports its attached sessions again, without a ticket.
    Attached { ticket: Option<Ticket>, session: SessionId, index: u64, outcomes: Vec<S::Outcome> },
    /// An outcome for an attached session, of the entry `index`.
    Outcome { session: SessionId, index: u64, outcome: S::Outcome },
    /// This replica reports no more outcomes for an attached session: the session has ended, or the
    /// replica is not a member any more. A client that attaches it elsewhere finds out which.
    Detached { session: SessionId },
    /// The change of members is complete.
    Changed { ticket: Ticket, members: Members },
    /// The members, the addresses of all nodes that take part (also of those that leave by a change
    /// in progress), or the format level of the group are now these.
    Configured { members: Members, addresses: Addresses, level: u32 },
    /// This replica became leader.
    Leads { term: u64 },
    /// This replica does not lead. It follows this leader, if it knows one.
    Follows { leader: Option<NodeId>, term: u64 },
    /// The replica was asked to retire and does not lead any more, or no other replica can take
    /// over.
    Retired,
    /// An entry was applied, with these outcomes. Emitted only if the settings ask for an audit.
    Applied { audit: Audit, outcomes: Vec<(SessionId, S::Outcome)> },
    /// The state was restored from a checkpoint, at the start or from a leader's snapshot. Emitted
    /// only if the settings ask for an audit.
    Restored(Restoration),
    /// This replica has stopped, because it cannot decode an entry or a snapshot, or the log on its
    /// disk is inconsistent.
    Halted { reason: String },
}

/// Fingerprints of an applied entry and the state after it, so that replicas can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Audit {
    pub index: u64,
    pub term: u64,
    pub time: LogTime,
    #[serde(rename = "entry")]
    pub entry_fingerprint: u64,
    #[serde(rename = "state")]
    pub state_fingerprint: u64,
}

/// The fingerprint of a state restored from a checkpoint, so that it can be compared with other
/// replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Restoration {
    pub index: u64,
    pub time: LogTime,
    #[serde(rename = "state")]
    pub state_fingerprint: u64,
}

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    NotLeader {
        leader: Option<NodeId>,
    },
    /// Too many requests are pending.
    Busy,
    /// The disk is full. Queries are still answered, except those that depend on entries that are
    /// not on this disk.
    DiskFull,
    /// The leader is transferring its leadership.
    #[serde(rename = "handing-over")]
    TransferInProgress,
    /// Another change of the members is in progress.
    #[serde(rename = "change-under-way")]
    ChangeInProgress,
    /// The new members are not valid: there must be a voter, and no node may be both voter and
    /// learner.
    #[serde(rename = "no-such-members")]
    InvalidMembers,
    /// A new voter must have been a learner before, so that it has the log. This node was not, or
    /// does not have the log yet.
    #[serde(rename = "learner-first")]
    NotYetLearner(NodeId),
    /// A command cannot be encoded for the log: its type uses features that postcard lacks, such
    /// as flattened fields.
    #[serde(rename = "unwritable")]
    NotEncodable,
    /// The encoded command is longer than an entry may be.
    TooLong {
        bytes: u64,
        max: u64,
    },
    /// Some members run a release that does not understand the command.
    LevelTooNew {
        command: u32,
        group: u32,
    },
    /// There is no such session.
    NoSession,
    /// The session was detached before it was attached.
    Detached,
    /// This replica is not a member, or waits for its admission.
    NotMember,
    /// This replica has stopped.
    Halted,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLeader { leader: Some(leader) } => write!(f, "this replica is not the leader; node {leader} is"),
            Self::NotLeader { leader: None } => f.write_str("this replica is not the leader and knows none; try again"),
            Self::Busy => f.write_str("too many requests are pending; try again later"),
            Self::DiskFull => {
                f.write_str("the disk is full; no data was lost, and queries that need only saved entries are answered")
            }
            Self::TransferInProgress => f.write_str("the leadership is being transferred; try again"),
            Self::ChangeInProgress => f.write_str("another change of the members is in progress; try again"),
            Self::InvalidMembers => {
                f.write_str("the members must include a voter, and no node may be both voter and learner")
            }
            Self::NotYetLearner(node) => write!(f, "node {node} must first be a learner that has received the log"),
            Self::NotEncodable => f.write_str("a command cannot be encoded for the log; nothing was proposed"),
            Self::TooLong { bytes, max } => {
                write!(f, "the command has {bytes} bytes; a command may have at most {max}; nothing was proposed")
            }
            Self::LevelTooNew { command, group } => write!(
                f,
                "the command needs format level {command}, but not all members understand more than level {group}; upgrade them first"
            ),
            Self::NoSession => f.write_str("the session has ended; open a new one"),
            Self::Detached => f.write_str("the session was detached again"),
            Self::NotMember => f.write_str("this replica is not a member of the group, or not yet; ask another one"),
            Self::Halted => f.write_str("this replica has stopped"),
        }
    }
}
