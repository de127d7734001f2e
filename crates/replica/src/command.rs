//! What a user asks of a replica, and what the replica tells it.

use crate::machine::{LogTime, StateMachine};
use crate::members::Members;
use quorate_core::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A user's name for one request, chosen by the user. It means something to one life of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(pub u64);

const ATTEMPT_BITS: u32 = 20;
const NUMBER_BITS: u32 = 28;

impl Ticket {
    /// The highest number that an operation can have in a ticket that tells whose it is.
    pub const MOST_NUMBER: u64 = low(NUMBER_BITS);

    /// A ticket that tells whose it is: the client, which of its operations, and which attempt at that.
    pub const fn of(client: u64, number: u64, attempt: u64) -> Self {
        Self((client << (NUMBER_BITS + ATTEMPT_BITS)) | (number << ATTEMPT_BITS) | attempt)
    }

    /// The client, the operation and the attempt, if it was made of those.
    pub const fn parts(self) -> (u64, u64, u64) {
        let number = (self.0 >> ATTEMPT_BITS) & low(NUMBER_BITS);
        (self.0 >> (NUMBER_BITS + ATTEMPT_BITS), number, self.0 & low(ATTEMPT_BITS))
    }
}

const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// What a user asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", bound = "")]
pub enum Command<S: StateMachine> {
    /// Put these into the log, in this order, as one entry. Only a leader does; others refuse and say who leads.
    Propose(Vec<Proposal<S::Command>>),
    /// Answer this from a state no older than now. Any replica does, with the leader's help.
    Query { ticket: Ticket, query: S::Query },
    /// Let these be the members. Only a leader does.
    Change { ticket: Ticket, members: Members },
    /// Hand the leadership to this member. Only a leader does.
    Transfer(NodeId),
    /// Stand for election now.
    Campaign,
}

/// One command for the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal<C> {
    pub ticket: Ticket,
    pub command: C,
}

/// What a replica tells its user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", bound = "")]
pub enum Event<S: StateMachine> {
    /// It was applied, or the query was answered.
    Answered { ticket: Ticket, index: u64, answer: S::Answer },
    /// It was not done and never will be.
    Refused { ticket: Ticket, why: Refusal },
    /// It may be done, or not: the leadership moved. Ask again under the same identity.
    Unknown { ticket: Ticket },
    /// The members are now as asked.
    Changed { ticket: Ticket, members: Members },
    /// This replica leads.
    Leads { term: u64 },
    /// This replica follows, as far as it knows this leader.
    Follows { leader: Option<NodeId>, term: u64 },
    /// An entry was applied; told only where the settings ask for an audit.
    Applied(Audit),
    /// The state was taken from a checkpoint: at the start, or from a leader's snapshot. Told only where the settings ask for
    /// an audit.
    Restored(Restoration),
    /// This replica takes no further part, because something that it was given cannot be read.
    Halted { reason: String },
}

/// What came of an entry, so that an auditor can hold replicas against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Audit {
    pub index: u64,
    pub term: u64,
    pub time: LogTime,
    pub entry: u64,
    pub state: u64,
}

/// A state that was not reached entry by entry, so that an auditor can hold it against those that were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Restoration {
    pub index: u64,
    pub time: LogTime,
    pub state: u64,
}

/// Why a request was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    NotLeader {
        leader: Option<NodeId>,
    },
    Busy,
    /// The disk is full. Queries go on.
    DiskFull,
    HandingOver,
    ChangeUnderWay,
    /// The new members make no sense: there must be a voter, and nobody may be voter and learner.
    NoSuchMembers,
    /// A voter must have been a learner before, so that it holds the log.
    LearnerFirst(NodeId),
    /// The entry that held it was overwritten by another leader's.
    Overtaken,
    /// A command of the batch cannot be written to the log and read back as it was: its type asks for more than the log's
    /// format (postcard) has, such as flattened fields or untagged choices.
    Unwritable,
    /// This replica is no member, or waits to be let in.
    NotMember,
    /// This replica takes no part any more.
    Halted,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLeader { leader: Some(leader) } => write!(f, "this replica does not lead, {leader} does"),
            Self::NotLeader { leader: None } => f.write_str("this replica does not lead, and knows of no leader"),
            Self::Busy => f.write_str("too much is under way; try again later"),
            Self::DiskFull => f.write_str("the disk is full; nothing was lost, and queries are answered"),
            Self::HandingOver => f.write_str("the leadership is being handed on; try again"),
            Self::ChangeUnderWay => f.write_str("another change of the members is under way; try again"),
            Self::NoSuchMembers => f.write_str("members need a voter, and nobody may be voter and learner at once"),
            Self::LearnerFirst(node) => write!(f, "node {node} must be a learner first, so that it holds the log"),
            Self::Overtaken => f.write_str("another leader's entry took its place; it was not done"),
            Self::Unwritable => {
                f.write_str("a command cannot be written to the log and read back; nothing was proposed")
            }
            Self::NotMember => f.write_str("this replica is no member of the group, or not yet; ask another"),
            Self::Halted => f.write_str("this replica takes no part any more"),
        }
    }
}
