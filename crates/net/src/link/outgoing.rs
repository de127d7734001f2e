//! What goes out on a link: gathered in batches, kept until it is acknowledged.
//!
//! ```text
//! push ─▶ open batch ─▶ full batches ─▶ take ─▶ frames under way ─▶ acknowledged
//!                                                    ▲    │
//!                                                    └────┘ rewind: taken again
//! ```
//!
//! Batches are cut from the front of a chunk, which is used again once all that was cut from it is acknowledged. A batch
//! ends where its chunk ends, so no message is ever moved.

use crate::frame::{BATCH_HEAD, BATCH_TAIL, Header, MESSAGE_HEAD_MOST, append_message, begin_batch, seal_batch};
use crate::frame::{HEAD, MESSAGE_LIMIT};
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use thiserror::Error;

/// How much a batch gathers before it is closed.
const CHUNK: usize = 64 * 1024;
/// What is left of a chunk is not begun any more if it is less than this.
const SCRAP: usize = 4 * 1024;
/// All of a batch but its messages.
const BATCH_FRAME: usize = HEAD + BATCH_HEAD + BATCH_TAIL.len();
/// A longer message goes in a batch of its own.
const LONG: usize = CHUNK - BATCH_FRAME - MESSAGE_HEAD_MOST;

/// How much a link may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// From so many held bytes on, users should wait.
    pub crowded_bytes: usize,
    /// So many bytes may be held at most.
    pub held_bytes: usize,
    /// No message is longer. What the peer reads as one frame must have the same limit.
    pub message_bytes: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { crowded_bytes: 4 << 20, held_bytes: 32 << 20, message_bytes: MESSAGE_LIMIT }
    }
}

/// Why a link does not take a message. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PushError {
    #[error(
        "A message of {length} bytes found no room: {held} bytes wait for the peer already, and {limit} are the most. \
         It was not taken, and everything before it still is; find out why the peer does not keep up."
    )]
    Overflow { length: usize, held: usize, limit: usize },
    #[error("A message of {length} bytes is too long: {limit} are the most. It was not taken; send it in pieces.")]
    TooLong { length: usize, limit: usize },
    #[error(
        "Message {number} cannot follow message {last} on the same link. It was not taken; this is a mistake in \
         Quorate, please report it."
    )]
    OutOfOrder { number: u64, last: u64 },
}

#[derive(Debug)]
pub(super) struct Outgoing {
    room: Room,
    /// The number that was pushed last.
    last: u64,
    /// The number that was taken last, for the peer's present life.
    sent: u64,
    /// The bytes of all that is below.
    held: usize,
    /// Taken and not acknowledged.
    under_way: VecDeque<Framed>,
    /// How many of these were taken on the present connection.
    retaken: usize,
    full: VecDeque<Draft>,
    /// The open batch, if it is not empty, and the room behind it.
    chunk: BytesMut,
    /// How many messages the open batch has.
    gathered: u64,
}

/// A batch that is closed, and is no frame yet: its header is written when it is taken.
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
    pub(super) fn new(room: Room) -> Self {
        Self {
            room,
            last: 0,
            sent: 0,
            held: 0,
            under_way: VecDeque::new(),
            retaken: 0,
            full: VecDeque::new(),
            chunk: BytesMut::new(),
            gathered: 0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, number: u64, message: &[u8]) -> Result<(), PushError> {
        self.check(number, message.len())?;
        if message.len() > LONG {
            self.push_alone(number, message);
            return Ok(());
        }
        let needed = MESSAGE_HEAD_MOST + message.len() + BATCH_TAIL.len();
        if self.gathered > 0 && self.chunk.capacity() - self.chunk.len() < needed {
            self.close();
        }
        if self.gathered == 0 {
            self.open(number, needed);
        }
        let before = self.chunk.len();
        // The first message of a batch has the batch's number.
        let distance = if self.gathered == 0 { 0 } else { number - self.last };
        append_message(&mut self.chunk, distance, message);
        self.held += self.chunk.len() - before;
        self.gathered += 1;
        self.last = number;
        Ok(())
    }

    #[inline]
    fn check(&self, number: u64, length: usize) -> Result<(), PushError> {
        let (last, Room { message_bytes, held_bytes, .. }) = (self.last, self.room);
        if number <= last {
            return Err(PushError::OutOfOrder { number, last });
        }
        if length > message_bytes {
            return Err(PushError::TooLong { length, limit: message_bytes });
        }
        if self.held + BATCH_FRAME + MESSAGE_HEAD_MOST + length > held_bytes {
            return Err(PushError::Overflow { length, held: self.held, limit: held_bytes });
        }
        Ok(())
    }

    fn push_alone(&mut self, number: u64, message: &[u8]) {
        self.close();
        let mut bytes = BytesMut::with_capacity(BATCH_FRAME + MESSAGE_HEAD_MOST + message.len());
        begin_batch(&mut bytes, number);
        append_message(&mut bytes, 0, message);
        bytes.extend_from_slice(&BATCH_TAIL);
        self.held += bytes.len();
        self.full.push_back(Draft { bytes, last: number, messages: 1 });
        self.last = number;
    }

    /// Begins a batch that has room for a first message, in what is left of the chunk or in a fresh one.
    fn open(&mut self, first: u64, needed: usize) {
        let needed = (HEAD + BATCH_HEAD + needed).max(SCRAP);
        if self.chunk.capacity() < needed && !self.chunk.try_reclaim(CHUNK) {
            self.chunk = BytesMut::with_capacity(CHUNK);
        }
        begin_batch(&mut self.chunk, first);
        self.held += HEAD + BATCH_HEAD;
    }

    fn close(&mut self) {
        if self.gathered > 0 {
            self.chunk.extend_from_slice(&BATCH_TAIL);
            self.held += BATCH_TAIL.len();
            let messages = std::mem::take(&mut self.gathered);
            self.full.push_back(Draft { bytes: self.chunk.split(), last: self.last, messages });
        }
    }

    /// The next frame that was taken before the connection broke.
    pub(super) fn take_again(&mut self) -> Option<Bytes> {
        let frame = self.under_way.get(self.retaken)?;
        self.retaken += 1;
        Some(frame.bytes.clone())
    }

    /// The next frame that was never taken.
    pub(super) fn take_new(&mut self, header: &Header) -> Option<Bytes> {
        if self.full.is_empty() {
            self.close();
        }
        let Draft { mut bytes, last, messages } = self.full.pop_front()?;
        seal_batch(&mut bytes, header);
        let bytes = bytes.freeze();
        self.under_way.push_back(Framed { bytes: bytes.clone(), last, messages });
        self.retaken = self.under_way.len();
        self.sent = last;
        Some(bytes)
    }

    /// Lets go of every frame that has arrived whole. One that arrived in part stays whole: it is sent again, and the
    /// receiver knows the first part.
    pub(super) fn acknowledged(&mut self, number: u64) {
        while let Some(frame) = self.under_way.front().filter(|frame| frame.last <= number) {
            self.held -= frame.bytes.len();
            self.retaken = self.retaken.saturating_sub(1);
            self.under_way.pop_front();
        }
    }

    /// Everything that is not acknowledged will be taken again.
    pub(super) fn rewind(&mut self) {
        self.retaken = 0;
    }

    /// Lets go of everything, and tells how many messages that were. What comes next is for another life.
    pub(super) fn drop_all(&mut self) -> u64 {
        self.close();
        let taken = self.under_way.drain(..).map(|frame| frame.messages).sum::<u64>();
        let waiting = self.full.drain(..).map(|draft| draft.messages).sum::<u64>();
        (self.held, self.retaken, self.sent) = (0, 0, 0);
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
        self.retaken < self.under_way.len()
    }

    pub(super) fn has_new(&self) -> bool {
        self.gathered > 0 || !self.full.is_empty()
    }
}
