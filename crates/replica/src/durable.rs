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
    /// The index and term just before the first kept entry, once the log was truncated.
    pub cut: Option<Cut>,
    /// Whether the disk was lost. Such a replica has forgotten its votes and must be admitted
    /// again.
    pub wiped: bool,
    /// The incarnation in which a replica without a log began to wait for its admission. The group
    /// admits this incarnation, so that no admission of an earlier one applies to it.
    pub born: Option<Incarnation>,
}

/// A vote, and the index up to which the log is known to be committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    pub term: u64,
    /// The candidate voted for in that term; 0 for none.
    pub vote: u64,
    pub commit: u64,
}

/// The whole state at one index of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Checkpoint {
    pub index: u64,
    pub term: u64,
    pub members: Configuration,
    /// The log time and the state machine, encoded by [`Image`](crate::batch::Image).
    pub image: Bytes,
}

/// The index and term just before the first kept entry of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cut {
    pub index: u64,
    pub term: u64,
}

/// One change of the durable state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Write {
    /// The incarnation with which a replica without a log waits for its admission.
    Born(Incarnation),
    /// A vote or a commit index.
    Ballot(Ballot),
    /// Entries that replace all kept entries from the first of them on.
    Entries(Vec<Entry>),
    /// A leader's snapshot, which replaces everything.
    Install(Checkpoint),
    /// A checkpoint; entries up to the cut are dropped.
    Checkpoint { checkpoint: Checkpoint, cut: Cut },
}

impl quorate_core::Durable for Durable {
    type Write = Write;

    fn wiped() -> Self {
        Self { wiped: true, ..Self::default() }
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Born(incarnation) => self.born = Some(incarnation),
            Write::Ballot(ballot) => self.ballot = ballot,
            Write::Entries(entries) => {
                let Some(first) = entries.first().map(|entry| entry.index) else { return };
                let kept = self.entries.partition_point(|entry| entry.index < first);
                self.entries.truncate(kept);
                self.entries.extend(entries);
            }
            Write::Install(checkpoint) => {
                self.cut = Some(Cut { index: checkpoint.index, term: checkpoint.term });
                self.checkpoint = Some(checkpoint);
                self.entries.clear();
                self.wiped = false;
                self.born = None;
            }
            Write::Checkpoint { checkpoint, cut } => {
                self.checkpoint = Some(checkpoint);
                let dropped = self.entries.partition_point(|entry| entry.index <= cut.index);
                self.entries.drain(..dropped);
                self.cut = Some(cut);
            }
        }
    }
}
