//! Encoding of many messages in one frame.
//!
//! ```text
//! first number (8 bytes) │ for each message: difference to the previous number │ length │ bytes
//! ```
//!
//! Differences and lengths are varints (LEB128: seven bits per byte, the lowest first). The first
//! difference is 0, and all others are positive.

use super::error::malformed;
use super::{FrameError, HEAD_BYTES};
use bytes::{BufMut, BytesMut};
use std::iter::FusedIterator;

/// Length of the head of a batch: the number of its first message.
pub(crate) const BATCH_HEAD_BYTES: usize = 8;
/// Maximum length of the head of a message: two 64-bit varints.
pub(crate) const MAX_MESSAGE_HEAD_BYTES: usize = 2 * MAX_VARINT_BYTES;
/// Maximum length of a 64-bit varint.
const MAX_VARINT_BYTES: usize = 10;

/// Iterates over the messages of a batch with their numbers, in the order in which they were sent.
///
/// A batch has at least one message. The iterator ends after the first malformed message, which it
/// returns as an error.
#[derive(Clone, Debug)]
pub struct BatchReader<'a> {
    position: Position,
    /// The bytes that were not read yet.
    rest: &'a [u8],
}

#[derive(Clone, Copy, Debug)]
enum Position {
    /// The batch is too short to contain its first number.
    Missing,
    /// Before the first message, which has this number.
    First(u64),
    /// After the message with this number.
    After(u64),
}

impl<'a> BatchReader<'a> {
    /// Reads the body of a batch.
    pub fn new(body: &'a [u8]) -> Self {
        match body.split_at_checked(BATCH_HEAD_BYTES) {
            Some((first, rest)) => Self { position: Position::First(super::read_u64(first)), rest },
            None => Self { position: Position::Missing, rest: body },
        }
    }
}

impl<'a> Iterator for BatchReader<'a> {
    type Item = Result<(u64, &'a [u8]), FrameError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let message = match self.position {
            Position::After(_) if self.rest.is_empty() => return None,
            Position::After(last) => self.read_following(last),
            Position::First(number) => self.read_first(number),
            Position::Missing => Err(malformed_batch("it has no first number")),
        };
        match message {
            Ok((number, _)) => self.position = Position::After(number),
            Err(_) => *self = Self { position: Position::After(0), rest: &[] },
        }
        Some(message)
    }
}

impl FusedIterator for BatchReader<'_> {}

impl<'a> BatchReader<'a> {
    fn read_first(&mut self, number: u64) -> Result<(u64, &'a [u8]), FrameError> {
        if number == 0 {
            return Err(malformed_batch("its first number is 0; numbers start at 1"));
        }
        if self.rest.is_empty() {
            return Err(malformed_batch("it has no message"));
        }
        if self.read_varint()? != 0 {
            return Err(malformed_batch("the number of its first message differs from the batch's first number"));
        }
        Ok((number, self.read_message()?))
    }

    #[inline]
    fn read_following(&mut self, last: u64) -> Result<(u64, &'a [u8]), FrameError> {
        let difference = self.read_varint()?;
        let number =
            last.checked_add(difference).ok_or_else(|| malformed_batch("its message numbers exceed 64 bits"))?;
        if difference == 0 {
            return Err(malformed_batch("its message numbers do not increase"));
        }
        Ok((number, self.read_message()?))
    }

    #[inline]
    fn read_message(&mut self) -> Result<&'a [u8], FrameError> {
        let length = self.read_varint()?;
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (message, rest) = split.ok_or_else(|| malformed_batch("it ends inside a message"))?;
        self.rest = rest;
        Ok(message)
    }

    #[inline]
    fn read_varint(&mut self) -> Result<u64, FrameError> {
        match self.rest {
            [byte, rest @ ..] if *byte < 0x80 => {
                self.rest = rest;
                Ok(u64::from(*byte))
            }
            _ => self.read_long_varint(),
        }
    }

    /// Reads a varint of more than one byte.
    fn read_long_varint(&mut self) -> Result<u64, FrameError> {
        let mut value = 0_u64;
        for (index, byte) in self.rest.iter().take(MAX_VARINT_BYTES).enumerate() {
            let bits = u64::from(byte & 0x7F);
            let shifted = bits << (7 * index);
            if shifted >> (7 * index) != bits {
                break;
            }
            value |= shifted;
            if *byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(malformed_batch("it contains an incomplete or too long varint"))
    }
}

#[cold]
fn malformed_batch(reason: &'static str) -> FrameError {
    malformed("batch", reason)
}

/// Begins a batch in the empty `frame`: space for the frame's head, then the first number.
pub(crate) fn begin_batch(frame: &mut BytesMut, first: u64) {
    frame.put_bytes(0, HEAD_BYTES);
    frame.put_u64_le(first);
}

/// Appends a message whose number is `difference` above the previous one.
#[inline]
pub(crate) fn append_message(frame: &mut BytesMut, difference: u64, message: &[u8]) {
    let mut head = [0; MAX_MESSAGE_HEAD_BYTES];
    let length = write_varint(&mut head, 0, difference);
    let length = write_varint(&mut head, length, message.len() as u64);
    frame.extend_from_slice(&head[..length]);
    frame.extend_from_slice(message);
}

/// Writes a varint at `index`, and returns the index after it.
#[inline]
fn write_varint(out: &mut [u8; MAX_MESSAGE_HEAD_BYTES], mut index: usize, mut value: u64) -> usize {
    while value >= 0x80 {
        out[index] = value as u8 | 0x80;
        value >>= 7;
        index += 1;
    }
    out[index] = value as u8;
    index + 1
}
