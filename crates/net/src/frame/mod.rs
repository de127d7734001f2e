//! The bytes between two nodes: frames, each with a length, a header, a body and a checksum.
//!
//! ```text
//! length 4 │ its complement 4 │ version 1 │ kind 1 │ group 8 │ sender 4 │ incarnation 8 │ epoch 8 │ acknowledged 8 │
//! body │ check 4
//! ```
//!
//! Whole numbers are little-endian. The length counts from the version on, and is written twice, the second time with
//! every bit turned over: a length that was damaged would have us wait for bytes that nobody sends. The check is CRC-32C
//! over everything from the version to the end of the body: it finds what a cable or a proxy damaged, and protects
//! against nobody; TLS does that.

mod batch;
mod error;
mod handshake;
#[cfg(test)]
mod tests;

pub use batch::BatchReader;
pub(crate) use batch::{BATCH_HEAD, MESSAGE_HEAD_MOST, append_message, begin_batch};
pub use error::FrameError;
pub use handshake::{Birth, Dial, Hello, Refusal, Terms, Welcome};

use crate::group::GroupNumber;
use bytes::{Bytes, BytesMut};
use error::{malformed, newer};
use quorate_core::{Epoch, Incarnation, NodeId};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The version of the layout that is written, and the newest that is read.
pub const VERSION: u8 = 1;
/// The longest frame, as its length field has it, before two nodes have met. No frame but a batch is ever longer.
pub const HANDSHAKE_LIMIT: usize = 4 * 1024;
/// The longest message that a batch carries, unless a link is told otherwise.
pub const MESSAGE_LIMIT: usize = 16 * 1024 * 1024;
/// The longest frame between nodes that have met: the longest message in a batch of its own.
pub const FRAME_LIMIT: usize = frame_limit(MESSAGE_LIMIT);

const WORD: usize = 4;
const LENGTH: usize = 2 * WORD;
/// From the version to the acknowledgement.
const HEADER: usize = 38;
const CHECK: usize = 4;
pub(crate) const HEAD: usize = LENGTH + HEADER;
/// How much room is made at once for a frame that is still arriving: a length is only a promise.
const STRETCH: usize = 64 * 1024;
/// How much text a farewell may have, in bytes.
const MOST_REASON: usize = 512;

/// The longest frame that carries messages of up to so many bytes.
pub const fn frame_limit(message: usize) -> usize {
    HEADER + BATCH_HEAD + MESSAGE_HEAD_MOST + message + CHECK
}

/// What every frame says first: whose it is, and how much of the other's has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub group: GroupNumber,
    pub sender: NodeId,
    pub incarnation: Incarnation,
    pub epoch: Epoch,
    /// The last number that the sender has received from the present life of the receiver, 0 for none. Numbers count
    /// the transmissions of a node's life, from 1, over all receivers; on one link they grow.
    pub acknowledged: u64,
}

/// What a frame is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    Hello(Hello),
    /// The answer: we have met, and this connection is ours.
    Welcome(Welcome),
    Refuse(Refusal),
    /// Messages, for a [`BatchReader`].
    Batch(Bytes),
    /// Nothing but the header's acknowledgement.
    Ack,
    /// A sign of life, when there is nothing else to say.
    Ping,
    /// The last frame of a node that closes the connection, and why it does.
    Bye(String),
}

/// One whole frame.
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
    /// Splits the next whole frame off the front of what was received, or tells that more bytes are needed.
    ///
    /// The length is judged as soon as it is there: nobody can make us hold more than `limit` bytes of a frame. After an
    /// error nothing behind it can be understood, and the connection has to be closed.
    pub fn next(received: &mut BytesMut, limit: usize) -> Result<Option<Self>, FrameError> {
        let Some(length) = received.first_chunk::<WORD>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > limit {
            return Err(FrameError::too_long(received, length, limit));
        }
        if length < HEADER + CHECK {
            return Err(FrameError::TooShort { length });
        }
        check_length(received)?;
        check_version(received.get(LENGTH).copied())?;
        let whole = LENGTH + length;
        if received.len() < whole {
            received.reserve((whole - received.len()).min(STRETCH));
            return Ok(None);
        }
        Self::parse(received.split_to(whole).freeze()).map(Some)
    }

    /// Its bytes on the wire.
    pub fn encode(&self) -> Bytes {
        encode(&self.header, &self.body)
    }

    fn parse(frame: Bytes) -> Result<Self, FrameError> {
        let end = frame.len() - CHECK;
        let (found, expected) = (word(&frame[end..]), crc32c::crc32c(&frame[LENGTH..end]));
        if found != expected {
            return Err(FrameError::Damaged { found, expected });
        }
        let kind = Kind::from_byte(frame[LENGTH + 1]).ok_or(FrameError::UnknownKind(frame[LENGTH + 1]))?;
        let header = Header::read(&frame)?;
        Ok(Self { header, body: Body::read(kind, frame.slice(HEAD..end))? })
    }
}

/// The bytes of a frame on the wire.
pub fn encode(header: &Header, body: &Body) -> Bytes {
    let frame = vec![0; HEAD];
    let mut frame = match body {
        Body::Hello(hello) => with(frame, hello),
        Body::Welcome(welcome) => with(frame, welcome),
        Body::Refuse(refusal) => with(frame, refusal),
        Body::Batch(messages) => [frame.as_slice(), messages].concat(),
        Body::Ack | Body::Ping => frame,
        Body::Bye(reason) => [frame.as_slice(), presentable(reason).as_bytes()].concat(),
    };
    frame.extend_from_slice(&[0; CHECK]);
    seal(&mut frame, body.kind(), header);
    frame.into()
}

/// Completes a batch that was begun with [`begin_batch`] and has room for the check at its end.
pub(crate) fn seal_batch(frame: &mut [u8], header: &Header) {
    seal(frame, Kind::Batch, header);
}

/// Room at the end of a batch for what [`seal_batch`] writes there.
pub(crate) const BATCH_TAIL: [u8; CHECK] = [0; CHECK];

/// Fills in all but the body: the frame has room for the head in front and for the check behind.
fn seal(frame: &mut [u8], kind: Kind, header: &Header) {
    let end = frame.len() - CHECK;
    // No frame comes near four gibibytes: a message has a limit, and a batch ends with its chunk.
    let length = (end + CHECK - LENGTH) as u32;
    frame[..WORD].copy_from_slice(&length.to_le_bytes());
    frame[WORD..LENGTH].copy_from_slice(&(!length).to_le_bytes());
    header.write(kind, &mut frame[LENGTH..HEAD]);
    let check = crc32c::crc32c(&frame[LENGTH..end]);
    frame[end..].copy_from_slice(&check.to_le_bytes());
}

/// Whether a length that has arrived with its complement is the one that was sent.
fn check_length(received: &[u8]) -> Result<(), FrameError> {
    let Some([length, complement]) = received.first_chunk::<LENGTH>().map(|both| [word(both), word(&both[WORD..])])
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
        let header = &frame[LENGTH..HEAD];
        Ok(Self {
            group: GroupNumber(long(&header[2..])),
            sender: NodeId::new(word(&header[10..])).ok_or_else(|| malformed("frame", "its sender is node 0"))?,
            incarnation: Incarnation(long(&header[14..])),
            epoch: Epoch(long(&header[22..])),
            acknowledged: long(&header[30..]),
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
        if kind != Kind::Batch && HEADER + bytes.len() + CHECK > HANDSHAKE_LIMIT {
            return Err(FrameError::TooLong { length: HEADER + bytes.len() + CHECK, limit: HANDSHAKE_LIMIT });
        }
        match kind {
            Kind::Hello => Ok(Self::Hello(decode::<Hello>("greeting", &bytes)?.bounded()?)),
            Kind::Welcome => Ok(Self::Welcome(decode("welcome", &bytes)?)),
            Kind::Refuse => Ok(Self::Refuse(decode::<Refusal>("refusal", &bytes)?.bounded()?)),
            Kind::Batch => Ok(Self::Batch(bytes)),
            Kind::Ack => bare("acknowledgement", &bytes, Self::Ack),
            Kind::Ping => bare("sign of life", &bytes, Self::Ping),
            Kind::Bye => match str::from_utf8(&bytes) {
                Ok(reason) => Ok(Self::Bye(presentable(reason))),
                Err(_) => Err(malformed("farewell", "its reason is not text")),
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

/// Text of a bounded length without control characters, so that a peer can write no lines of its own into our log.
fn presentable(text: &str) -> String {
    let mut kept = String::new();
    for letter in text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }) {
        if kept.len() + letter.len_utf8() > MOST_REASON {
            break;
        }
        kept.push(letter);
    }
    kept
}

/// The head with a value behind it. Bodies are types of our own, which can all be written.
fn with(head: Vec<u8>, value: &impl Serialize) -> Vec<u8> {
    postcard::to_extend(value, head).unwrap_or_else(|_| vec![0; HEAD])
}

fn decode<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, FrameError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(malformed(what, format!("{} bytes follow its end", rest.len()))),
        Err(error) => Err(malformed(what, error)),
    }
}

fn bare(what: &'static str, bytes: &[u8], body: Body) -> Result<Body, FrameError> {
    if bytes.is_empty() { Ok(body) } else { Err(malformed(what, format!("it has {} bytes too many", bytes.len()))) }
}

/// The whole number at the front. Callers know that it is there.
fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
