//! What has arrived on a link: told from repetitions, and acknowledged in time.

use quorate_core::Incarnation;

/// After so many bytes an acknowledgement waits for nothing. It is far below what a sender may hold.
const DUE_BYTES: usize = 64 * 1024;

#[derive(Debug, Default)]
pub(super) struct Receipts {
    last: u64,
    /// Batches that came since an acknowledgement was put into a frame, in bytes. Repetitions count: who repeats has
    /// missed an acknowledgement.
    untold_bytes: usize,
    is_open: bool,
}

impl Receipts {
    pub(super) fn heard(&mut self, last: u64, bytes: usize) {
        self.last = self.last.max(last);
        self.untold_bytes = self.untold_bytes.saturating_add(bytes);
        self.is_open = true;
    }

    pub(super) fn told(&mut self) {
        *self = Self { last: self.last, ..Self::default() };
    }

    /// The peer is another life now, whose numbers begin anew.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn is_due(&self) -> bool {
        self.untold_bytes >= DUE_BYTES
    }
}

/// What a message's number says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receipt {
    Fresh,
    Repeated,
}

/// Tells a peer's new messages from repetitions. It stands where messages are taken in, which may be another task than
/// the one that has the [`Link`](super::Link).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reception {
    life: Option<Incarnation>,
    last: u64,
    repeated: u64,
}

impl Reception {
    /// A batch of this life of the peer is about to be taken in. A life above the last begins anew; a batch of a life
    /// that is over is not to be taken in at all, and this says so by `false`.
    #[must_use]
    pub fn open(&mut self, life: Incarnation) -> bool {
        if self.life < Some(life) {
            (self.life, self.last) = (Some(life), 0);
        }
        self.life == Some(life)
    }

    /// Judges the next message of the batch.
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

    /// The last number that was taken in of the present life, 0 for none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// How many messages came more than once, over all lives.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }
}
