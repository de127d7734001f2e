//! Outgoing messages of a link: collected in batches and kept until they are acknowledged.
//!
//! ```text
//! push ─▶ open batch ─▶ full batches ─▶ take ─▶ frames in flight ─▶ acknowledged
//!                                                    ▲    │
//!                                                    └────┘ rewind: sent again
//! ```
//!
//! Batches are split off the front of a chunk. The chunk's memory is reused once all its batches
//! are acknowledged. A batch ends where its chunk ends, so no message is ever copied again.

use crate::frame::{BATCH_HEAD, BATCH_TAIL, Header, MESSAGE_HEAD_MAX, append_message, begin_batch, seal_batch};
use crate::frame::{HEAD, MESSAGE_LIMIT};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use thiserror::Error;

/// Size of a chunk, and so the maximum length of a batch of short messages.
const CHUNK: usize = 64 * 1024;
/// A batch does not begin in a chunk with less free space than this.
const MIN_FREE: usize = 4 * 1024;
/// Length of a batch frame without its messages.
const BATCH_FRAME: usize = HEAD + BATCH_HEAD + BATCH_TAIL.len();
/// A longer message goes in a batch of its own.
const LONG: usize = CHUNK - BATCH_FRAME - MESSAGE_HEAD_MAX;

/// Bounds on what a link holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    /// Number of held bytes from which on clients should wait.
    pub crowded_bytes: usize,
    /// Maximum number of held bytes.
    pub held_bytes: usize,
    /// Maximum length of a message. The frame limit of the peer's reader must allow it.
    pub message_bytes: usize,
}

impl Default for LinkLimits {
    fn default() -> Self {
        Self { crowded_bytes: 4 << 20, held_bytes: 32 << 20, message_bytes: MESSAGE_LIMIT }
    }
}

/// Why a link does not accept a message. The link is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PushError {
    #[error(
        "The link is full: it holds {held} bytes for the peer, and a message of {length} bytes would exceed the maximum \
         of {limit}. The message was not queued; messages before it still are. Find out why the peer is slow."
    )]
    Overflow { length: usize, held: usize, limit: usize },
    #[error("A message must have at most {limit} bytes; got {length}. It was not queued; send it in several messages.")]
    TooLong { length: usize, limit: usize },
    #[error(
        "Message {number} cannot follow message {last} on the same link. It was not queued; this is a bug in Quorate, \
         please report it."
    )]
    OutOfOrder { number: u64, last: u64 },
}

#[derive(Debug)]
pub(super) struct Outgoing {
    room: LinkLimits,
    /// The number of the last pushed message.
    last: u64,
    /// The number of the last message sent to the peer's current incarnation.
    sent: u64,
    /// Number of bytes in all the fields below.
    held: usize,
    /// Sent and not acknowledged.
    in_flight: VecDeque<Framed>,
    /// How many frames of `in_flight` were sent on the current connection.
    resent: usize,
    full: VecDeque<Draft>,
    /// The open batch, if it is not empty, and the free space behind it.
    chunk: BytesMut,
    /// Number of messages in the open batch.
    open_messages: u64,
}

/// A closed batch that is not a frame yet: its header is written when it is sent.
#[derive(Debug)]
struct Draft {
    bytes: BytesMut,
    last: u64,
    messages: u64,
}

#[derive(Debug)]
struct Framed {
    bytes: Bytes,
    last: u64,
    messages: u64,
}

impl Outgoing {
    pub(super) fn new(room: LinkLimits) -> Self {
        Self {
            room,
            last: 0,
            sent: 0,
            held: 0,
            in_flight: VecDeque::new(),
            resent: 0,
            full: VecDeque::new(),
            chunk: BytesMut::new(),
            open_messages: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, number: u64, message: &[u8]) -> Result<(), PushError> {
        self.check(number, message.len())?;
        if message.len() > LONG {
            self.push_alone(number, message);
            return Ok(());
        }
        let needed = MESSAGE_HEAD_MAX + message.len() + BATCH_TAIL.len();
        if self.open_messages > 0 && self.chunk.capacity() - self.chunk.len() < needed {
            self.close();
        }
        if self.open_messages == 0 {
            self.open(number, needed);
        }
        let before = self.chunk.len();
        // The batch itself carries the number of its first message.
        let distance = if self.open_messages == 0 { 0 } else { number - self.last };
        append_message(&mut self.chunk, distance, message);
        self.held += self.chunk.len() - before;
        self.open_messages += 1;
        self.last = number;
        Ok(())
    }

    #[inline]
    fn check(&self, number: u64, length: usize) -> Result<(), PushError> {
        let (last, LinkLimits { message_bytes, held_bytes, .. }) = (self.last, self.room);
        if number <= last {
            return Err(PushError::OutOfOrder { number, last });
        }
        if length > message_bytes {
            return Err(PushError::TooLong { length, limit: message_bytes });
        }
        if self.held + BATCH_FRAME + MESSAGE_HEAD_MAX + length > held_bytes {
            return Err(PushError::Overflow { length, held: self.held, limit: held_bytes });
        }
        Ok(())
    }

    fn push_alone(&mut self, number: u64, message: &[u8]) {
        self.close();
        let mut bytes = BytesMut::with_capacity(BATCH_FRAME + MESSAGE_HEAD_MAX + message.len());
        begin_batch(&mut bytes, number);
        append_message(&mut bytes, 0, message);
        bytes.extend_from_slice(&BATCH_TAIL);
        self.held += bytes.len();
        self.full.push_back(Draft { bytes, last: number, messages: 1 });
        self.last = number;
    }

    /// Begins a batch with space for a first message, in the rest of the chunk or in a new one.
    fn open(&mut self, first: u64, needed: usize) {
        let needed = (HEAD + BATCH_HEAD + needed).max(MIN_FREE);
        if self.chunk.capacity() < needed && !self.chunk.try_reclaim(CHUNK) {
            self.chunk = BytesMut::with_capacity(CHUNK);
        }
        begin_batch(&mut self.chunk, first);
        self.held += HEAD + BATCH_HEAD;
    }

    fn close(&mut self) {
        if self.open_messages > 0 {
            self.chunk.extend_from_slice(&BATCH_TAIL);
            self.held += BATCH_TAIL.len();
            let messages = std::mem::take(&mut self.open_messages);
            self.full.push_back(Draft { bytes: self.chunk.split(), last: self.last, messages });
        }
    }

    /// The next unacknowledged frame of the previous connection.
    pub(super) fn take_again(&mut self) -> Option<Bytes> {
        let frame = self.in_flight.get(self.resent)?;
        self.resent += 1;
        Some(frame.bytes.clone())
    }

    /// The next frame that was never sent.
    pub(super) fn take_new(&mut self, header: &Header) -> Option<Bytes> {
        if self.full.is_empty() {
            self.close();
        }
        let Draft { mut bytes, last, messages } = self.full.pop_front()?;
        seal_batch(&mut bytes, header);
        let bytes = bytes.freeze();
        self.in_flight.push_back(Framed { bytes: bytes.clone(), last, messages });
        self.resent = self.in_flight.len();
        self.sent = last;
        Some(bytes)
    }

    /// Releases every frame whose messages are all acknowledged. A partly acknowledged frame stays
    /// whole: if it is sent again, the receiver discards the duplicates.
    pub(super) fn acknowledged(&mut self, number: u64) {
        while let Some(frame) = self.in_flight.front().filter(|frame| frame.last <= number) {
            self.held -= frame.bytes.len();
            self.resent = self.resent.saturating_sub(1);
            self.in_flight.pop_front();
        }
    }

    /// Starts to send all unacknowledged frames again.
    pub(super) fn rewind(&mut self) {
        self.resent = 0;
    }

    /// Drops everything, because the peer restarted as another incarnation. Returns the number of
    /// dropped messages.
    pub(super) fn drop_all(&mut self) -> u64 {
        self.close();
        let taken = self.in_flight.drain(..).map(|frame| frame.messages).sum::<u64>();
        let waiting = self.full.drain(..).map(|draft| draft.messages).sum::<u64>();
        (self.held, self.resent, self.sent) = (0, 0, 0);
        taken + waiting
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.held >= self.room.crowded_bytes
    }

    pub(super) fn has_again(&self) -> bool {
        self.resent < self.in_flight.len()
    }

    pub(super) fn has_new(&self) -> bool {
        self.open_messages > 0 || !self.full.is_empty()
    }
}
