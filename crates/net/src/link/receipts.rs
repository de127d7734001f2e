//! Received messages of a link: acknowledgements that are owed, and the detection of duplicates.

use crate::frame::LinkEnd;

/// Number of consumed bytes after which the link acknowledges immediately. It is far below the
/// maximum number of bytes that the sender holds, so that the sender does not wait for
/// acknowledgements.
const MAX_UNACKNOWLEDGED_BYTES: usize = 64 * 1024;

/// The acknowledgements that this node owes the peer.
#[derive(Debug, Default)]
pub(super) struct Acknowledgements {
    /// Number of the last message consumed from the peer; 0 for none.
    last_number: u64,
    /// Bytes of the batches consumed since the last acknowledgement. Duplicates count, because a
    /// peer that retransmits has missed an acknowledgement.
    unacknowledged_bytes: usize,
    /// Whether the node consumed a batch since the last acknowledgement.
    is_pending: bool,
}

impl Acknowledgements {
    /// Records that the node consumed a batch of `bytes`, which ends with message `last_number`.
    pub(super) fn record_batch(&mut self, last_number: u64, bytes: usize) {
        self.last_number = self.last_number.max(last_number);
        self.unacknowledged_bytes = self.unacknowledged_bytes.saturating_add(bytes);
        self.is_pending = true;
    }

    /// Records that an acknowledgement was sent: none is pending now.
    pub(super) fn mark_sent(&mut self) {
        *self = Self { last_number: self.last_number, ..Self::default() };
    }

    /// Forgets everything, for a new end of the peer.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }

    /// Whether so many bytes are unacknowledged that an acknowledgement must be sent now.
    pub(super) fn is_overdue(&self) -> bool {
        self.unacknowledged_bytes >= MAX_UNACKNOWLEDGED_BYTES
    }
}

/// Whether a message is new or a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    New,
    Duplicate,
}

/// Detects duplicates among a peer's messages. The task that consumes the messages owns it; another
/// task may own the [`Link`](super::Link).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateFilter {
    /// The latest end of the peer.
    peer_end: Option<LinkEnd>,
    last_number: u64,
    duplicates: u64,
}

impl DuplicateFilter {
    /// Begins a batch from this end of the peer. Message numbers start again with the first batch
    /// of a later end. Returns `false` for an earlier end, whose batch the caller must discard.
    #[must_use]
    pub fn begin_batch(&mut self, peer_end: LinkEnd) -> bool {
        if self.peer_end < Some(peer_end) {
            (self.peer_end, self.last_number) = (Some(peer_end), 0);
        }
        self.peer_end == Some(peer_end)
    }

    /// Classifies the next message of the batch by its number, and records it.
    #[inline]
    pub fn receive(&mut self, number: u64) -> Receipt {
        if number > self.last_number {
            self.last_number = number;
            Receipt::New
        } else {
            self.duplicates += 1;
            Receipt::Duplicate
        }
    }

    /// The last number received from the current end; 0 for none.
    pub fn last_number(&self) -> u64 {
        self.last_number
    }

    /// Number of duplicates received, over all ends.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
}
