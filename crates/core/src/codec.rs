//! Messages as bytes, for drivers that carry them between machines.

use crate::protocol::Protocol;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Turns a protocol's messages into bytes and back.
///
/// What [`decode`](Self::decode) is given came over a network: it may be anything, and must never make it panic or
/// take more memory than its length accounts for.
pub trait Codec<P: Protocol> {
    /// Appends the bytes of a message. If that fails, whatever was appended means nothing.
    fn encode(&self, message: &P::Message, into: &mut Vec<u8>) -> Result<(), Malformed>;

    /// The message that these bytes are, all of them.
    fn decode(&self, bytes: &[u8]) -> Result<P::Message, Malformed>;
}

/// Why bytes are no message, or a message has no bytes, as a part of a sentence: `5 bytes follow its end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Malformed {}
