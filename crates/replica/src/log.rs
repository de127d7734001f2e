//! The log that raft reads: a checkpoint and the kept entries.

use crate::convert;
use crate::durable::{Ballot, Checkpoint, Durable, LogStart};
use crate::message::Entry;
use raft::eraftpb::{Entry as RaftEntry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// The position of the founders' initial state in every log. No log has an entry there, so a member
/// that joins later needs a snapshot.
pub(crate) const FOUNDING: LogStart = LogStart { index: 1, term: 1 };

/// The in-memory log of one replica. The engine tracks which part of it is durable.
pub(crate) struct Log {
    ballot: Ballot,
    /// The last checkpoint; `None` for a replica that was not admitted yet.
    checkpoint: Option<Checkpoint>,
    entries: VecDeque<RaftEntry>,
    /// The index and term just before the first entry; zeros for a replica without a log.
    start: LogStart,
    /// Whether the checkpoint contains the current members and admissions.
    is_current: bool,
    /// Whether a peer needs a snapshot that is newer than the checkpoint. Atomic, because raft asks
    /// for snapshots by a shared reference.
    is_snapshot_wanted: AtomicBool,
}

impl Log {
    /// Opens the log from the durable state. `founding` is the initial state of the group, which
    /// only its founders have.
    pub(crate) fn open(durable: Durable, founding: Option<Checkpoint>) -> Self {
        let Durable { mut ballot, checkpoint, entries, log_start: start, is_wiped, joining_incarnation: _ } = durable;
        let checkpoint = checkpoint.or_else(|| founding.filter(|_| !is_wiped));
        let beginning =
            checkpoint.as_ref().map(|checkpoint| LogStart { index: checkpoint.index, term: checkpoint.term });
        let start = start.or(beginning).unwrap_or(LogStart { index: 0, term: 0 });
        let entries: VecDeque<_> = entries.iter().map(Entry::to_raft).collect();
        let (last, last_term) = entries.back().map_or((start.index, start.term), |entry| (entry.index, entry.term));
        // After a crash, the ballot's commit index may cover entries that the crash lost.
        let applied = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.index);
        ballot.commit = ballot.commit.clamp(applied.min(last), last);
        // A founder starts in the term of the founding state, although it has saved no ballot.
        ballot.term = ballot.term.max(last_term);
        Self { ballot, checkpoint, entries, start, is_current: true, is_snapshot_wanted: AtomicBool::new(false) }
    }

    pub(crate) fn checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoint.as_ref()
    }

    /// The index of the last entry, or of the start if there is no entry.
    pub(crate) fn end_index(&self) -> u64 {
        self.entries.back().map_or(self.start.index, |entry| entry.index)
    }

    /// The entry at an index, if the log has it.
    pub(crate) fn entry(&self, index: u64) -> Option<&RaftEntry> {
        let offset = index.checked_sub(self.start.index + 1)?;
        self.entries.get(usize::try_from(offset).ok()?)
    }

    fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.start.index { Some(self.start.term) } else { self.entry(index).map(|entry| entry.term) }
    }

    /// Appends entries, which replace all existing ones from the first of them on.
    pub(crate) fn append(&mut self, entries: &[RaftEntry]) {
        let Some(first) = entries.first() else { return };
        let kept_count = first.index.saturating_sub(self.start.index + 1);
        self.entries.truncate(usize::try_from(kept_count).unwrap_or(usize::MAX));
        self.entries.extend(entries.iter().cloned());
    }

    /// Replaces everything by a leader's snapshot.
    pub(crate) fn install(&mut self, checkpoint: Checkpoint) {
        self.start = LogStart { index: checkpoint.index, term: checkpoint.term };
        self.entries.clear();
        self.is_current = true;
        self.checkpoint = Some(checkpoint);
    }

    pub(crate) fn mark_checkpoint_outdated(&mut self) {
        self.is_current = false;
    }

    /// Stores a checkpoint and drops the entries before it, except for the last `keep_entries`.
    /// Returns where the log now begins.
    pub(crate) fn store_checkpoint(&mut self, checkpoint: Checkpoint, keep_entries: u64) -> LogStart {
        let index = checkpoint.index.saturating_sub(keep_entries).max(self.start.index);
        if let Some(term) = self.term_at(index) {
            let dropped_count = usize::try_from(index - self.start.index).unwrap_or(usize::MAX).min(self.entries.len());
            self.entries.drain(..dropped_count);
            self.start = LogStart { index, term };
        }
        self.checkpoint = Some(checkpoint);
        self.is_current = true;
        self.start
    }

    /// Returns and clears whether a peer needs a newer snapshot.
    pub(crate) fn take_snapshot_wanted(&self) -> bool {
        self.is_snapshot_wanted.swap(false, Ordering::Relaxed)
    }
}

impl Storage for Log {
    fn initial_state(&self) -> Result<RaftState> {
        let Ballot { term, vote, commit } = self.ballot;
        let hard_state = HardState { term, vote, commit, ..HardState::default() };
        let members = self.checkpoint.as_ref().map(|checkpoint| checkpoint.members.to_raft());
        Ok(RaftState::new(hard_state, members.unwrap_or_default()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> Result<Vec<RaftEntry>> {
        if low <= self.start.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        if high > self.end_index() + 1 {
            return Err(Error::Store(StorageError::Unavailable));
        }
        let offset = |index: u64| usize::try_from(index - self.start.index - 1).unwrap_or(usize::MAX);
        let mut entries: Vec<_> = self.entries.range(offset(low)..offset(high.max(low))).cloned().collect();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> Result<u64> {
        match self.term_at(index) {
            Some(term) => Ok(term),
            None if index < self.start.index => Err(Error::Store(StorageError::Compacted)),
            None => Err(Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.start.index + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.end_index())
    }

    /// A snapshot must have the current members, so that a new member finds itself among them in
    /// its current role.
    fn snapshot(&self, request_index: u64, _to: u64) -> Result<Snapshot> {
        match &self.checkpoint {
            Some(Checkpoint { index, term, members, image }) if *index >= request_index && self.is_current => {
                Ok(convert::build_snapshot(*index, *term, members, image.clone()))
            }
            Some(_) | None => {
                self.is_snapshot_wanted.store(true, Ordering::Relaxed);
                Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable))
            }
        }
    }
}
