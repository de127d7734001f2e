//! What of a replica survives a crash: its vote, its log, and the state at some index of it.

use crate::members::Configuration;
use crate::message::Entry;
use bytes::Bytes;
use quorate_core::Incarnation;
use serde::{Deserialize, Serialize};

/// What a replica finds on its disk when it starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    pub ballot: Ballot,
    /// The state at some index, if any was kept; before that there is the founding state.
    pub checkpoint: Option<Checkpoint>,
    /// The entries that are kept, without a gap. Some may lie before the checkpoint, for peers that lag behind.
    pub entries: Vec<Entry>,
    /// The index and term just before the first of them, once entries were cut off.
    pub cut: Option<Cut>,
    /// Whether the disk was lost. Such a replica has forgotten its votes, and must be let in anew.
    pub wiped: bool,
    /// The life in which a replica that holds nothing began to wait to be let in. By that name it is let in, so that nothing
    /// that was meant for an earlier life can let this one in.
    pub born: Option<Incarnation>,
}

/// A vote, and how far the log is known to be committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ballot {
    pub term: u64,
    /// For whom in that term; 0 is nobody.
    pub vote: u64,
    pub commit: u64,
}

/// The whole state at some index.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Checkpoint {
    pub index: u64,
    pub term: u64,
    pub members: Configuration,
    /// The log time there, and the state machine, as [`Image`](crate::batch::Image) writes them.
    pub image: Bytes,
}

/// Where a log begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cut {
    pub index: u64,
    pub term: u64,
}

/// One change to what is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Write {
    /// The name by which a replica that holds nothing waits to be let in.
    Born(Incarnation),
    /// A vote.
    Ballot(Ballot),
    /// Entries, in place of all that was kept from the first of them on.
    Entries(Vec<Entry>),
    /// A leader's snapshot, in place of everything.
    Install(Checkpoint),
    /// The state at an index; entries up to the cut are let go.
    Checkpoint { checkpoint: Checkpoint, cut: Cut },
}

impl quorate_core::Durable for Durable {
    type Write = Write;

    fn wiped() -> Self {
        Self { wiped: true, ..Self::default() }
    }

    fn apply(&mut self, write: Write) {
        match write {
            Write::Born(life) => self.born = Some(life),
            Write::Ballot(ballot) => self.ballot = ballot,
            Write::Entries(entries) => {
                let Some(first) = entries.first().map(|entry| entry.index) else { return };
                let keep = self.entries.partition_point(|entry| entry.index < first);
                self.entries.truncate(keep);
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
                let gone = self.entries.partition_point(|entry| entry.index <= cut.index);
                self.entries.drain(..gone);
                self.cut = Some(cut);
            }
        }
    }
}
