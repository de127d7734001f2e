//! Why bytes are no frame, in sentences.

use super::{HANDSHAKE_LIMIT, VERSION};
use thiserror::Error;

/// Why what arrived is no frame. Nothing of that frame was used, and nothing behind it can be understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    #[error(
        "A frame of {length} bytes was announced, and at most {limit} are allowed here. None of it was read, and the \
         connection is closed; what was not acknowledged is sent again. Either the other end is no node of Quorate, \
         or it allows longer messages than this one does."
    )]
    TooLong { length: usize, limit: usize },
    #[error(
        "The other end begins with TLS, and this connection is plain TCP. Nothing was exchanged; start both nodes \
         with certificates, or both without."
    )]
    SpeaksTls,
    #[error(
        "A frame of {length} bytes was announced, which is too short for any. Nothing of it was used, and the \
         connection is closed; what was not acknowledged is sent again. The other end may be no node of Quorate."
    )]
    TooShort { length: usize },
    #[error(
        "This frame has format version {found}, and this release reads versions up to {known}. Nothing of it was \
         used; run a release that knows version {found} on both nodes."
    )]
    Newer { found: u8, known: u8 },
    #[error(
        "A frame of the unknown kind {0} arrived. Nothing of it was used, and the connection is closed; what was not \
         acknowledged is sent again. Run the same release on both nodes."
    )]
    UnknownKind(u8),
    #[error(
        "A frame arrived damaged: its checksum is {found:08x} and should be {expected:08x}. Nothing of it was used, \
         and the connection is closed; what was not acknowledged is sent again. If it happens more than once, look \
         at the network between the two nodes."
    )]
    Damaged { found: u32, expected: u32 },
    #[error(
        "This {what} cannot be read: {reason}. The connection is closed; what was not acknowledged is sent again. Run \
         the same release on both nodes."
    )]
    Malformed { what: &'static str, reason: String },
}

impl FrameError {
    /// Too long a frame, or something that is recognised as no frame at all.
    pub(super) fn too_long(received: &[u8], length: usize, limit: usize) -> Self {
        if limit <= HANDSHAKE_LIMIT && received.starts_with(&[0x16, 0x03]) {
            Self::SpeaksTls
        } else {
            Self::TooLong { length, limit }
        }
    }
}

#[cold]
pub(super) fn malformed(what: &'static str, reason: impl ToString) -> FrameError {
    FrameError::Malformed { what, reason: reason.to_string() }
}

#[cold]
pub(super) fn newer(found: u8) -> FrameError {
    FrameError::Newer { found, known: VERSION }
}
