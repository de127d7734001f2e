//! Errors of the frame decoder, as sentences for operators.

use super::{HANDSHAKE_LIMIT, VERSION};
use thiserror::Error;

/// Why the received bytes are not a valid frame. The frame was ignored, and the rest of the stream
/// cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error(
        "the peer announced a frame of {length} bytes; the maximum here is {limit}. The frame was not read and the \
         connection was closed; unacknowledged messages are sent again. Either the peer is not a Quorate node, or it \
         allows longer messages than this node."
    )]
    TooLong { length: usize, limit: usize },
    #[error(
        "the peer uses TLS, but this node expects plain TCP. No message was exchanged; start both nodes with --certs, \
         or both without."
    )]
    SpeaksTls,
    #[error(
        "the peer announced a frame of {length} bytes, which is shorter than any valid frame. The connection was \
         closed; unacknowledged messages are sent again. The peer may not be a Quorate node."
    )]
    TooShort { length: usize },
    #[error(
        "the peer sent a frame of format version {found_version}; this release reads versions up to {known_version}. The frame was \
         ignored; run a release that supports version {found_version} on both nodes."
    )]
    Newer { found_version: u8, known_version: u8 },
    #[error(
        "the peer sent a frame of the unknown kind {0}. The frame was ignored and the connection closed; \
         unacknowledged messages are sent again. Run the same release on both nodes."
    )]
    UnknownKind(u8),
    #[error(
        "a frame arrived damaged: its check value is {found:08x} and should be {expected:08x}. The frame was ignored and \
         the connection closed; unacknowledged messages are sent again. If this happens repeatedly, check the network \
         between the two nodes."
    )]
    Damaged { found: u32, expected: u32 },
    #[error(
        "the peer sent a malformed {kind}: {reason}. The connection was closed; unacknowledged messages are sent \
         again. Run the same release on both nodes."
    )]
    Malformed { kind: &'static str, reason: String },
}

impl FrameError {
    /// The error for a frame that is too long: [`SpeaksTls`](Self::SpeaksTls) if `limit` is that of
    /// the handshake and the frame begins like a TLS record.
    pub(super) fn too_long(received: &[u8], length: usize, limit: usize) -> Self {
        if limit <= HANDSHAKE_LIMIT && received.starts_with(&[0x16, 0x03]) {
            Self::SpeaksTls
        } else {
            Self::TooLong { length, limit }
        }
    }
}

#[cold]
pub(super) fn malformed(kind: &'static str, reason: impl ToString) -> FrameError {
    FrameError::Malformed { kind, reason: reason.to_string() }
}

#[cold]
pub(super) fn newer(found: u8) -> FrameError {
    FrameError::Newer { found_version: found, known_version: VERSION }
}
