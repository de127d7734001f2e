//! The wire format between two nodes: frames, each with a length, a header, a body and a checksum.
//!
//! ```text
//! length 4 │ its complement 4 │ version 1 │ kind 1 │ group 8 │ sender 4 │ incarnation 8 │ epoch 8 │
//! acknowledged 8 │ body │ checksum 4
//! ```
//!
//! Each number above is the length of a field in bytes. Integers are little-endian. The length
//! counts the bytes from the version on. It is followed by its bitwise complement, because a
//! receiver that believed a damaged length would wait for bytes that are never sent. The checksum
//! is the CRC-32C of everything from the version to the end of the body. It detects damage on the
//! network, not attacks; TLS protects against those.

mod batch;
mod error;
mod handshake;
#[cfg(test)]
mod tests;

pub use batch::BatchReader;
pub(crate) use batch::{BATCH_HEAD_BYTES, MAX_MESSAGE_HEAD_BYTES, append_message, begin_batch};
pub use error::FrameError;
pub use handshake::{Dial, Generation, HandshakeTerms, Hello, LinkEnd, ProcessNonce, Refusal, Welcome};

use crate::group::GroupNumber;
use bytes::{Bytes, BytesMut};
use error::{malformed, newer};
use quorate_core::{Epoch, Incarnation, NodeId};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The format version that this release writes, and the newest that it reads.
pub const VERSION: u8 = 1;
/// Maximum value of a frame's length field, in bytes, during the handshake. After the handshake,
/// batches may be longer.
pub const HANDSHAKE_LIMIT: usize = 4 * 1024;
/// Maximum length of a message in bytes, unless a link sets a lower limit.
pub const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;
/// Maximum value of a frame's length field, in bytes, after the handshake: the longest message in a
/// batch of its own.
pub const FRAME_LIMIT: usize = frame_limit(MESSAGE_LIMIT);

// The lengths of the parts of a frame, in bytes.
/// The length, and again its complement.
const WORD_BYTES: usize = 4;
const LENGTH_FIELD_BYTES: usize = 2 * WORD_BYTES;
/// From the version to the acknowledgement.
const HEADER_BYTES: usize = 38;
const CHECKSUM_BYTES: usize = 4;
/// From the start of the frame to its body.
pub(crate) const HEAD_BYTES: usize = LENGTH_FIELD_BYTES + HEADER_BYTES;
/// Maximum number of bytes to allocate at once for a frame that is still arriving: a peer may
/// announce a long frame and never send it.
const MAX_RESERVED_BYTES: usize = 64 * 1024;
/// Maximum length of the reason in a Bye frame, in bytes.
const MAX_REASON_BYTES: usize = 512;

/// Maximum value of a frame's length field, in bytes, for messages of at most `message_bytes`.
pub const fn frame_limit(message_bytes: usize) -> usize {
    HEADER_BYTES + BATCH_HEAD_BYTES + MAX_MESSAGE_HEAD_BYTES + message_bytes + CHECKSUM_BYTES
}

/// The fields that every frame starts with: its sender, and an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub group: GroupNumber,
    pub sender: NodeId,
    pub incarnation: Incarnation,
    /// The epoch of the sender's view.
    pub epoch: Epoch,
    /// The number of the last message that the sender has consumed from the receiver's current
    /// [`LinkEnd`]; 0 for none. Numbers count the transmissions of one incarnation to all
    /// receivers, from 1, so on one link they grow with gaps.
    pub acknowledged: u64,
}

/// The kind of a frame, with its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Hello(Hello),
    /// The reply that accepts the connection.
    Welcome(Welcome),
    Refuse(Refusal),
    /// Encoded messages; read them with a [`BatchReader`].
    Batch(Bytes),
    /// Only the acknowledgement in the header.
    Ack,
    /// A keepalive.
    Ping,
    /// The last frame of a node that closes the connection, with the reason.
    Bye(String),
}

/// A complete frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub header: Header,
    pub body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Hello = 1,
    Welcome = 2,
    Refuse = 3,
    Batch = 4,
    Ack = 5,
    Ping = 6,
    Bye = 7,
}

impl Frame {
    /// Splits the next complete frame off the front of the received bytes. Returns `None` if more
    /// bytes are needed.
    ///
    /// Checks the length as soon as it has arrived, so that a peer cannot make this node hold more
    /// than `limit` bytes of a frame. After an error the rest of the stream cannot be decoded, and
    /// the caller must close the connection.
    pub fn next(received: &mut BytesMut, limit: usize) -> Result<Option<Self>, FrameError> {
        let Some(length) = received.first_chunk::<WORD_BYTES>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > limit {
            return Err(FrameError::too_long(received, length, limit));
        }
        if length < HEADER_BYTES + CHECKSUM_BYTES {
            return Err(FrameError::TooShort { length });
        }
        check_length(received)?;
        check_version(received.get(LENGTH_FIELD_BYTES).copied())?;
        let frame_bytes = LENGTH_FIELD_BYTES + length;
        if received.len() < frame_bytes {
            received.reserve((frame_bytes - received.len()).min(MAX_RESERVED_BYTES));
            return Ok(None);
        }
        Self::parse(received.split_to(frame_bytes).freeze()).map(Some)
    }

    /// Encodes the frame for the wire.
    pub fn encode(&self) -> Bytes {
        encode(&self.header, &self.body)
    }

    fn parse(frame: Bytes) -> Result<Self, FrameError> {
        let end = frame.len() - CHECKSUM_BYTES;
        let (found, expected) = (read_u32(&frame[end..]), crc32c::crc32c(&frame[LENGTH_FIELD_BYTES..end]));
        if found != expected {
            return Err(FrameError::Damaged { found, expected });
        }
        let kind = Kind::from_byte(frame[LENGTH_FIELD_BYTES + 1])
            .ok_or(FrameError::UnknownKind(frame[LENGTH_FIELD_BYTES + 1]))?;
        let header = Header::read(&frame)?;
        Ok(Self { header, body: Body::read(kind, frame.slice(HEAD_BYTES..end))? })
    }
}

/// Encodes a frame for the wire.
pub fn encode(header: &Header, body: &Body) -> Bytes {
    let frame = vec![0; HEAD_BYTES];
    let mut frame = match body {
        Body::Hello(hello) => append_serialized(frame, hello),
        Body::Welcome(welcome) => append_serialized(frame, welcome),
        Body::Refuse(refusal) => append_serialized(frame, refusal),
        Body::Batch(messages) => [frame.as_slice(), messages].concat(),
        Body::Ack | Body::Ping => frame,
        Body::Bye(reason) => [frame.as_slice(), sanitize(reason).as_bytes()].concat(),
    };
    frame.extend_from_slice(&[0; CHECKSUM_BYTES]);
    seal(&mut frame, body.kind(), header);
    frame.into()
}

/// Completes a batch that was begun with [`begin_batch`] and has space for the checksum at its end.
pub(crate) fn seal_batch(frame: &mut [u8], header: &Header) {
    seal(frame, Kind::Batch, header);
}

/// Space at the end of a batch for the checksum that [`seal_batch`] writes.
pub(crate) const BATCH_TAIL: [u8; CHECKSUM_BYTES] = [0; CHECKSUM_BYTES];

/// Fills in everything but the body. The frame has space for the head in front and for the checksum
/// at the end.
fn seal(frame: &mut [u8], kind: Kind, header: &Header) {
    let end = frame.len() - CHECKSUM_BYTES;
    // The length fits into 32 bits: a message has at most 16 MiB, and a batch of several messages
    // at most 64 KiB.
    let length = (end + CHECKSUM_BYTES - LENGTH_FIELD_BYTES) as u32;
    frame[..WORD_BYTES].copy_from_slice(&length.to_le_bytes());
    frame[WORD_BYTES..LENGTH_FIELD_BYTES].copy_from_slice(&(!length).to_le_bytes());
    header.write(kind, &mut frame[LENGTH_FIELD_BYTES..HEAD_BYTES]);
    let checksum = crc32c::crc32c(&frame[LENGTH_FIELD_BYTES..end]);
    frame[end..].copy_from_slice(&checksum.to_le_bytes());
}

/// Checks the length against its complement, once both have arrived.
fn check_length(received: &[u8]) -> Result<(), FrameError> {
    let Some([length, complement]) =
        received.first_chunk::<LENGTH_FIELD_BYTES>().map(|both| [read_u32(both), read_u32(&both[WORD_BYTES..])])
    else {
        return Ok(());
    };
    if complement != !length {
        return Err(FrameError::Damaged { found: complement, expected: !length });
    }
    Ok(())
}

fn check_version(version: Option<u8>) -> Result<(), FrameError> {
    match version {
        Some(0) => Err(malformed("frame", "its format version is 0")),
        Some(found) if found > VERSION => Err(newer(found)),
        Some(_) | None => Ok(()),
    }
}

impl Header {
    fn write(&self, kind: Kind, out: &mut [u8]) {
        out[0] = VERSION;
        out[1] = kind as u8;
        out[2..10].copy_from_slice(&self.group.0.to_le_bytes());
        out[10..14].copy_from_slice(&self.sender.number().to_le_bytes());
        out[14..22].copy_from_slice(&self.incarnation.0.to_le_bytes());
        out[22..30].copy_from_slice(&self.epoch.0.to_le_bytes());
        out[30..38].copy_from_slice(&self.acknowledged.to_le_bytes());
    }

    fn read(frame: &[u8]) -> Result<Self, FrameError> {
        let header = &frame[LENGTH_FIELD_BYTES..HEAD_BYTES];
        Ok(Self {
            group: GroupNumber(read_u64(&header[2..])),
            sender: NodeId::new(read_u32(&header[10..])).ok_or_else(|| malformed("frame", "its sender is node 0"))?,
            incarnation: Incarnation(read_u64(&header[14..])),
            epoch: Epoch(read_u64(&header[22..])),
            acknowledged: read_u64(&header[30..]),
        })
    }
}

impl Body {
    fn kind(&self) -> Kind {
        match self {
            Self::Hello(_) => Kind::Hello,
            Self::Welcome(_) => Kind::Welcome,
            Self::Refuse(_) => Kind::Refuse,
            Self::Batch(_) => Kind::Batch,
            Self::Ack => Kind::Ack,
            Self::Ping => Kind::Ping,
            Self::Bye(_) => Kind::Bye,
        }
    }

    fn read(kind: Kind, bytes: Bytes) -> Result<Self, FrameError> {
        if kind != Kind::Batch && HEADER_BYTES + bytes.len() + CHECKSUM_BYTES > HANDSHAKE_LIMIT {
            let length = HEADER_BYTES + bytes.len() + CHECKSUM_BYTES;
            return Err(malformed(
                "frame",
                format_args!("it has {length} bytes; the maximum for its kind is {HANDSHAKE_LIMIT}"),
            ));
        }
        match kind {
            Kind::Hello => Ok(Self::Hello(decode::<Hello>("Hello", &bytes)?.validated()?)),
            Kind::Welcome => Ok(Self::Welcome(decode("Welcome", &bytes)?)),
            Kind::Refuse => Ok(Self::Refuse(decode::<Refusal>("refusal", &bytes)?.validated()?)),
            Kind::Batch => Ok(Self::Batch(bytes)),
            Kind::Ack => require_empty_body("acknowledgement", &bytes, Self::Ack),
            Kind::Ping => require_empty_body("Ping", &bytes, Self::Ping),
            Kind::Bye => match str::from_utf8(&bytes) {
                Ok(reason) => Ok(Self::Bye(sanitize(reason))),
                Err(_) => Err(malformed("Bye", "its reason is not UTF-8 text")),
            },
        }
    }
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Self::Hello, Self::Welcome, Self::Refuse, Self::Batch, Self::Ack, Self::Ping, Self::Bye]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// Shortens the text and replaces control characters, so that a peer cannot forge lines in the log
/// of this node.
fn sanitize(text: &str) -> String {
    let mut sanitized = String::new();
    for character in text.chars().map(|character| if character.is_control() { ' ' } else { character }) {
        if sanitized.len() + character.len_utf8() > MAX_REASON_BYTES {
            break;
        }
        sanitized.push(character);
    }
    sanitized
}

/// Appends a serialized body to the head. Serializing the body types of this module cannot fail.
fn append_serialized(head: Vec<u8>, value: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(value, head).unwrap_or_else(|_| vec![0; HEAD_BYTES])
}

fn decode<T: DeserializeOwned>(kind_name: &'static str, bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(malformed(kind_name, format!("it has {} bytes too many", rest.len()))),
        Err(error) => Err(malformed(kind_name, error)),
    }
}

fn require_empty_body(kind_name: &'static str, bytes: &[u8], body: Body) -> Result<Body, FrameError> {
    if bytes.is_empty() {
        Ok(body)
    } else {
        Err(malformed(kind_name, format!("it has {} bytes too many", bytes.len())))
    }
}

/// The little-endian `u32` at the front. Callers have checked the length.
fn read_u32(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn read_u64(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
