//! Frames between a client and a server: a length, then a value in the format of postcard.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// Maximum length of the value in a frame, in bytes. Requests and replies are far shorter.
const MAX_VALUE_BYTES: usize = 64 << 10;
const LENGTH_BYTES: usize = 4;

/// Bytes that are not a frame. The connection must be closed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrameError {
    TooLong(usize),
    Malformed(String),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(length) => {
                write!(f, "a frame has {length} bytes; the maximum is {MAX_VALUE_BYTES}")
            }
            Self::Malformed(reason) => write!(f, "a frame cannot be decoded: {reason}"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Appends a frame with this value. On failure, nothing is appended.
pub(super) fn write(value: &impl Serialize, into: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = into.len();
    into.extend([0; LENGTH_BYTES]);
    let outcome = quorate_core::packed::pack(value, into).map_err(|error| FrameError::Malformed(error.to_string()));
    let length = into.len() - start - LENGTH_BYTES;
    let outcome = outcome.and(if length > MAX_VALUE_BYTES { Err(FrameError::TooLong(length)) } else { Ok(()) });
    match (&outcome, into.get_mut(start..start + LENGTH_BYTES)) {
        (Ok(()), Some(prefix)) => prefix.copy_from_slice(&(length as u32).to_le_bytes()),
        _ => into.truncate(start),
    }
    outcome
}

/// Received bytes, which may end within a frame.
#[derive(Default)]
pub(super) struct FrameBuffer {
    bytes: Vec<u8>,
    /// Number of bytes at the beginning that were read as frames.
    consumed: usize,
}

impl FrameBuffer {
    /// Makes room for the next read, and removes what was consumed.
    pub(super) fn reserve(&mut self) -> &mut Vec<u8> {
        const READ_BYTES: usize = 16 << 10;
        self.bytes.drain(..self.consumed);
        self.consumed = 0;
        self.bytes.reserve(READ_BYTES);
        &mut self.bytes
    }

    /// The value of the next frame; `None` if it has not arrived completely.
    pub(super) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let rest = self.bytes.get(self.consumed..).unwrap_or_default();
        let Some((prefix, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*prefix) as usize;
        if length > MAX_VALUE_BYTES {
            return Err(FrameError::TooLong(length));
        }
        let Some(value) = rest.get(..length) else { return Ok(None) };
        let value = quorate_core::packed::unpack(value).map_err(|error| FrameError::Malformed(error.to_string()))?;
        self.consumed += LENGTH_BYTES + length;
        Ok(Some(value))
    }
}

#[cfg(test)]
mod tests {
    use super::{FrameBuffer, FrameError, MAX_VALUE_BYTES, write};

    type Value = (u64, String);

    fn values() -> Vec<Value> {
        vec![(1, "one".into()), (u64::MAX, String::new()), (3, "x".repeat(5_000))]
    }

    fn frames() -> Vec<u8> {
        let mut bytes = Vec::new();
        values().iter().for_each(|value| write(value, &mut bytes).unwrap());
        bytes
    }

    #[test]
    fn frames_are_read_however_they_are_cut() {
        let bytes = frames();
        for chunk_bytes in [1, 2, 3, 7, bytes.len()] {
            let (mut buffer, mut read) = (FrameBuffer::default(), Vec::<Value>::new());
            for chunk in bytes.chunks(chunk_bytes) {
                buffer.reserve().extend_from_slice(chunk);
                while let Some(value) = buffer.next().unwrap() {
                    read.push(value);
                }
            }
            assert_eq!(read, values(), "in chunks of {chunk_bytes} bytes");
        }
    }

    #[test]
    fn a_truncated_frame_is_not_read() {
        let bytes = frames();
        let last_bytes = frames().len() - 5_000;
        for end in 0..bytes.len() {
            let mut buffer = FrameBuffer { bytes: bytes[..end].to_vec(), ..FrameBuffer::default() };
            let read = std::iter::from_fn(|| buffer.next::<Value>().unwrap()).count();
            assert!(read < values().len(), "{end} of {} bytes", bytes.len());
            assert!(end < last_bytes || read == 2, "{end} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn an_oversized_frame_is_refused_before_its_value_arrives() {
        let length = MAX_VALUE_BYTES + 1;
        let mut buffer = FrameBuffer { bytes: (length as u32).to_le_bytes().to_vec(), ..FrameBuffer::default() };
        assert_eq!(buffer.next::<Value>(), Err(FrameError::TooLong(length)));
        let mut bytes = b"kept".to_vec();
        assert!(matches!(write(&"x".repeat(length), &mut bytes), Err(FrameError::TooLong(_))));
        assert_eq!(bytes, b"kept");
    }

    #[test]
    fn garbage_is_refused() {
        let garbage = [&[3, 0, 0, 0][..], &[0xff; 3]].concat();
        let mut buffer = FrameBuffer { bytes: garbage, ..FrameBuffer::default() };
        assert!(matches!(buffer.next::<Value>(), Err(FrameError::Malformed(_))));
        // A valid value, with a byte behind it in the same frame.
        let mut bytes = Vec::new();
        write(&7_u8, &mut bytes).unwrap();
        bytes[0] += 1;
        bytes.push(0);
        let mut buffer = FrameBuffer { bytes, ..FrameBuffer::default() };
        assert!(matches!(buffer.next::<u8>(), Err(FrameError::Malformed(_))));
    }
}
