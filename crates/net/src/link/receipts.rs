//! Received messages of a link: acknowledgements that are owed, and the detection of duplicates.

use quorate_core::Incarnation;

/// Number of consumed bytes after which an acknowledgement is due at once. It is far below what a
/// sender may hold.
const DUE_BYTES: usize = 64 * 1024;

/// The acknowledgements that this node owes the peer.
#[derive(Debug, Default)]
pub(super) struct Acknowledgements {
    last: u64,
    /// Bytes of the batches consumed since the last acknowledgement. Duplicates count, because a
    /// peer that retransmits has missed an acknowledgement.
    unacknowledged_bytes: usize,
    is_pending: bool,
}

impl Acknowledgements {
    pub(super) fn record(&mut self, last: u64, bytes: usize) {
        self.last = self.last.max(last);
        self.unacknowledged_bytes = self.unacknowledged_bytes.saturating_add(bytes);
        self.is_pending = true;
    }

    pub(super) fn mark_sent(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }

    /// Starts again for another incarnation of the peer, whose numbers begin at 1.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn is_pending(&self) -> bool {
        self.is_pending
    }

    pub(super) fn is_due(&self) -> bool {
        self.unacknowledged_bytes >= DUE_BYTES
    }
}

/// Whether a message is new or a duplicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    Fresh,
    Repeated,
}

/// Detects duplicates among a peer's messages. It belongs to the task that consumes messages, which
/// may be another one than the owner of the [`Link`](super::Link).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateFilter {
    incarnation: Option<Incarnation>,
    last: u64,
    repeated: u64,
}

impl DuplicateFilter {
    /// Begins a batch from this incarnation of the peer. A later incarnation than the last starts
    /// its numbers again. Returns `false` for an earlier one, whose batch the caller must discard.
    #[must_use]
    pub fn begin_batch(&mut self, incarnation: Incarnation) -> bool {
        if self.incarnation < Some(incarnation) {
            (self.incarnation, self.last) = (Some(incarnation), 0);
        }
        self.incarnation == Some(incarnation)
    }

    /// Classifies the next message of the batch by its number.
    #[inline]
    pub fn receive(&mut self, number: u64) -> Receipt {
        if number > self.last {
            self.last = number;
            Receipt::Fresh
        } else {
            self.repeated += 1;
            Receipt::Repeated
        }
    }

    /// The last number received from the current incarnation; 0 for none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Number of duplicates, over all incarnations.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }
}
