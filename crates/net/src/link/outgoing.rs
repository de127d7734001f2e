//! Outgoing messages of a link: collected in batches and kept until they are acknowledged.
//!
//! ```text
//! push ─▶ open batch ─▶ closed batches ─▶ take ─▶ frames in flight ─▶ acknowledged
//!                                                      ▲    │
//!                                                      └────┘ rewind: sent again
//! ```
//!
//! Batches are split off the front of a chunk of memory. The chunk is reused once all its batches
//! are acknowledged. A batch ends at the latest where its chunk ends, so no message is ever copied
//! again.

use crate::frame::{
    BATCH_HEAD_BYTES, BATCH_TAIL, Header, MAX_MESSAGE_HEAD_BYTES, append_message, begin_batch, seal_batch,
};
use crate::frame::{HEAD_BYTES, MESSAGE_LIMIT};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use thiserror::Error;

/// Size of a chunk, and so the maximum length of a batch of short messages.
const CHUNK_BYTES: usize = 64 * 1024;
/// A batch does not begin in a chunk with less free space than this.
const MIN_FREE_BYTES: usize = 4 * 1024;
/// Length of a batch frame without its messages.
const BATCH_FRAME_BYTES: usize = HEAD_BYTES + BATCH_HEAD_BYTES + BATCH_TAIL.len();
/// Maximum length of a message that shares a batch. A longer one goes in a batch of its own.
const MAX_SHARED_MESSAGE_BYTES: usize = CHUNK_BYTES - BATCH_FRAME_BYTES - MAX_MESSAGE_HEAD_BYTES;

/// Bounds on the messages that a link holds until they are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    /// Clients should wait while at least this many bytes are held.
    pub crowded_bytes: usize,
    /// Maximum number of held bytes.
    pub max_held_bytes: usize,
    /// Maximum length of a message. The frame limit of the peer's reader must allow it.
    pub max_message_bytes: usize,
}

impl Default for LinkLimits {
    fn default() -> Self {
        Self { crowded_bytes: 4 << 20, max_held_bytes: 32 << 20, max_message_bytes: MESSAGE_LIMIT }
    }
}

/// Why a link does not accept a message. The link is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PushError {
    #[error(
        "the link is full: it holds {held} bytes for the peer, and a message of {length} bytes would exceed the maximum \
         of {limit}. The message was not queued; messages before it still are. Find out why the peer is slow."
    )]
    Overflow { length: usize, held: usize, limit: usize },
    #[error("a message must have at most {limit} bytes; got {length}. It was not queued; send it in several messages.")]
    TooLong { length: usize, limit: usize },
    #[error(
        "message {number} cannot follow message {last} on the same link. It was not queued; this is a bug in Quorate, \
         please report it."
    )]
    OutOfOrder { number: u64, last: u64 },
}

/// The messages that a link holds until they are acknowledged.
#[derive(Debug)]
pub(super) struct Outgoing {
    limits: LinkLimits,
    /// The number of the last pushed message.
    last_pushed: u64,
    /// The number of the last message sent to the peer's current end.
    last_sent: u64,
    /// Number of bytes in the frames, batches and chunk below.
    held_bytes: usize,
    /// Sent and not acknowledged.
    in_flight: VecDeque<FrameInFlight>,
    /// Number of frames of `in_flight`, from the front, that were sent on the current connection.
    frames_on_connection: usize,
    /// Batches that accept no more messages and were never sent.
    closed_batches: VecDeque<ClosedBatch>,
    /// The open batch, if it is not empty, and the free space behind it.
    chunk: BytesMut,
    /// Number of messages in the open batch.
    open_messages: u64,
    /// Number of messages in all frames that were taken, again or for the first time.
    messages_sent: u64,
}

/// A closed batch that is not a frame yet: its header is written when it is sent.
#[derive(Debug)]
struct ClosedBatch {
    bytes: BytesMut,
    /// The number of its last message.
    last: u64,
    /// Number of its messages.
    messages: u64,
}

#[derive(Debug)]
struct FrameInFlight {
    bytes: Bytes,
    /// The number of its last message.
    last: u64,
    /// Number of its messages.
    messages: u64,
}

impl Outgoing {
    pub(super) fn new(limits: LinkLimits) -> Self {
        Self {
            limits,
            last_pushed: 0,
            last_sent: 0,
            held_bytes: 0,
            in_flight: VecDeque::new(),
            frames_on_connection: 0,
            closed_batches: VecDeque::new(),
            chunk: BytesMut::new(),
            open_messages: 0,
            messages_sent: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, number: u64, message: &[u8]) -> Result<(), PushError> {
        self.check_push(number, message.len())?;
        if message.len() > MAX_SHARED_MESSAGE_BYTES {
            self.push_alone(number, message);
            return Ok(());
        }
        let needed_bytes = MAX_MESSAGE_HEAD_BYTES + message.len() + BATCH_TAIL.len();
        if self.open_messages > 0 && self.chunk.capacity() - self.chunk.len() < needed_bytes {
            self.close_batch();
        }
        if self.open_messages == 0 {
            self.open_batch(number, needed_bytes);
        }
        let length_before = self.chunk.len();
        // The batch itself carries the number of its first message.
        let difference = if self.open_messages == 0 { 0 } else { number - self.last_pushed };
        append_message(&mut self.chunk, difference, message);
        self.held_bytes += self.chunk.len() - length_before;
        self.open_messages += 1;
        self.last_pushed = number;
        Ok(())
    }

    #[inline]
    fn check_push(&self, number: u64, length: usize) -> Result<(), PushError> {
        let (last, LinkLimits { max_message_bytes, max_held_bytes, .. }) = (self.last_pushed, self.limits);
        if number <= last {
            return Err(PushError::OutOfOrder { number, last });
        }
        if length > max_message_bytes {
            return Err(PushError::TooLong { length, limit: max_message_bytes });
        }
        if self.held_bytes + BATCH_FRAME_BYTES + MAX_MESSAGE_HEAD_BYTES + length > max_held_bytes {
            return Err(PushError::Overflow { length, held: self.held_bytes, limit: max_held_bytes });
        }
        Ok(())
    }

    /// Queues a message in a batch of its own.
    fn push_alone(&mut self, number: u64, message: &[u8]) {
        self.close_batch();
        let mut bytes = BytesMut::with_capacity(BATCH_FRAME_BYTES + MAX_MESSAGE_HEAD_BYTES + message.len());
        begin_batch(&mut bytes, number);
        append_message(&mut bytes, 0, message);
        bytes.extend_from_slice(&BATCH_TAIL);
        self.held_bytes += bytes.len();
        self.closed_batches.push_back(ClosedBatch { bytes, last: number, messages: 1 });
        self.last_pushed = number;
    }

    /// Begins a batch with space for a first message, whose number is `first`, in the rest of the
    /// chunk or in a new one. `needed_message_bytes` counts the message, its head and the batch's
    /// tail.
    fn open_batch(&mut self, first: u64, needed_message_bytes: usize) {
        let needed_bytes = (HEAD_BYTES + BATCH_HEAD_BYTES + needed_message_bytes).max(MIN_FREE_BYTES);
        if self.chunk.capacity() < needed_bytes && !self.chunk.try_reclaim(CHUNK_BYTES) {
            self.chunk = BytesMut::with_capacity(CHUNK_BYTES);
        }
        begin_batch(&mut self.chunk, first);
        self.held_bytes += HEAD_BYTES + BATCH_HEAD_BYTES;
    }

    fn close_batch(&mut self) {
        if self.open_messages > 0 {
            self.chunk.extend_from_slice(&BATCH_TAIL);
            self.held_bytes += BATCH_TAIL.len();
            let messages = std::mem::take(&mut self.open_messages);
            self.closed_batches.push_back(ClosedBatch { bytes: self.chunk.split(), last: self.last_pushed, messages });
        }
    }

    /// Returns the next unacknowledged frame that was sent on an earlier connection, but not yet on
    /// this one. It stays in flight.
    pub(super) fn take_retransmission(&mut self) -> Option<Bytes> {
        let frame = self.in_flight.get(self.frames_on_connection)?;
        self.frames_on_connection += 1;
        self.messages_sent += frame.messages;
        Some(frame.bytes.clone())
    }

    /// The next frame that was never sent. All retransmissions must have been taken before.
    pub(super) fn take_new(&mut self, header: &Header) -> Option<Bytes> {
        if self.closed_batches.is_empty() {
            self.close_batch();
        }
        let ClosedBatch { mut bytes, last, messages } = self.closed_batches.pop_front()?;
        seal_batch(&mut bytes, header);
        let bytes = bytes.freeze();
        self.in_flight.push_back(FrameInFlight { bytes: bytes.clone(), last, messages });
        self.frames_on_connection = self.in_flight.len();
        self.last_sent = last;
        self.messages_sent += messages;
        Some(bytes)
    }

    /// Releases every frame whose messages are all acknowledged, up to this number. A partly
    /// acknowledged frame stays whole: if it is sent again, the receiver discards the duplicates.
    pub(super) fn release(&mut self, number: u64) {
        while let Some(frame) = self.in_flight.front().filter(|frame| frame.last <= number) {
            self.held_bytes -= frame.bytes.len();
            self.frames_on_connection = self.frames_on_connection.saturating_sub(1);
            self.in_flight.pop_front();
        }
    }

    /// Makes all unacknowledged frames available to
    /// [`take_retransmission`](Self::take_retransmission) again, for a new connection.
    pub(super) fn rewind(&mut self) {
        self.frames_on_connection = 0;
    }

    /// Drops everything, because the peer has another end now. Returns the number of dropped
    /// messages.
    pub(super) fn drop_all(&mut self) -> u64 {
        self.close_batch();
        let sent = self.in_flight.drain(..).map(|frame| frame.messages).sum::<u64>();
        let unsent = self.closed_batches.drain(..).map(|batch| batch.messages).sum::<u64>();
        (self.held_bytes, self.frames_on_connection, self.last_sent) = (0, 0, 0);
        sent + unsent
    }

    pub(super) fn last_sent(&self) -> u64 {
        self.last_sent
    }

    pub(super) fn messages_sent(&self) -> u64 {
        self.messages_sent
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.held_bytes >= self.limits.crowded_bytes
    }

    pub(super) fn has_retransmission(&self) -> bool {
        self.frames_on_connection < self.in_flight.len()
    }

    pub(super) fn has_new(&self) -> bool {
        self.open_messages > 0 || !self.closed_batches.is_empty()
    }
}
