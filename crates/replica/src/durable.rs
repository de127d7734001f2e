//! The durable state of a replica: its vote, its log, and a checkpoint.

use crate::members::Configuration;
use crate::message::Entry;
use bytes::Bytes;
use quorate_core::Incarnation;
use serde::{Deserialize, Serialize};

/// The state that a replica finds on its disk when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    pub ballot: Ballot,
    /// The last checkpoint, if any.
    pub checkpoint: Option<Checkpoint>,
    /// The kept entries, without a gap. Some may precede the checkpoint, for peers that lag behind.
    pub entries: Vec<Entry>,
    /// The index and term just before the first kept entry; `None` until a checkpoint is saved.
    #[serde(rename = "cut")]
    pub log_start: Option<LogStart>,
    /// Whether the disk was lost, or created for a node that joins a running cluster. Such a
    /// replica may have forgotten votes and must be admitted.
    #[serde(rename = "wiped")]
    pub is_wiped: bool,
    /// The incarnation in which a replica without a log began to wait for its admission. The group
    /// admits this incarnation, so an admission of an earlier incarnation does not apply to it.
    #[serde(rename = "born")]
    pub joining_incarnation: Option<Incarnation>,
}

/// A vote and a commit index, which raft calls its hard state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    pub term: u64,
    /// The number of the node voted for in that term; 0 for none.
    pub vote: u64,
    /// The index up to which the log is known to be committed.
    pub commit: u64,
}

/// The whole state at one index of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Checkpoint {
    pub index: u64,
    pub term: u64,
    pub members: Configuration,
    /// The log time, the admitted learners and the state machine, encoded by
    /// [`Image`](crate::batch::Image).
    pub image: Bytes,
}

/// The index and term just before the first kept entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogStart {
    pub index: u64,
    pub term: u64,
}

/// One change of the durable state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Write {
    /// The incarnation with which a replica without a log waits for its admission.
    #[serde(rename = "born")]
    JoiningIncarnation(Incarnation),
    /// A ballot, which replaces the old one.
    Ballot(Ballot),
    /// Entries, which replace all kept entries from the index of the first new one on.
    Entries(Vec<Entry>),
    /// A leader's snapshot, which replaces the checkpoint and all entries. It also ends the wait
    /// for admission.
    Install(Checkpoint),
    /// A checkpoint; entries up to the new start of the log are dropped.
    Checkpoint {
        checkpoint: Checkpoint,
        #[serde(rename = "cut")]
        log_start: LogStart,
    },
}

impl quorate_core::Durable for Durable {
    type Write = Write;

    fn wiped() -> Self {
        Self { is_wiped: true, ..Self::default() }
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::JoiningIncarnation(incarnation) => self.joining_incarnation = Some(incarnation),
            Write::Ballot(ballot) => self.ballot = ballot,
            Write::Entries(entries) => {
                let Some(first) = entries.first().map(|entry| entry.index) else { return };
                let kept_count = self.entries.partition_point(|entry| entry.index < first);
                self.entries.truncate(kept_count);
                self.entries.extend(entries);
            }
            Write::Install(checkpoint) => {
                self.log_start = Some(LogStart { index: checkpoint.index, term: checkpoint.term });
                self.checkpoint = Some(checkpoint);
                self.entries.clear();
                self.is_wiped = false;
                self.joining_incarnation = None;
            }
            Write::Checkpoint { checkpoint, log_start } => {
                self.checkpoint = Some(checkpoint);
                let dropped_count = self.entries.partition_point(|entry| entry.index <= log_start.index);
                self.entries.drain(..dropped_count);
                self.log_start = Some(log_start);
            }
        }
    }
}
