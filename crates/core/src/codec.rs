//! Messages as bytes, for drivers that send them between machines.

use crate::protocol::Protocol;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Encodes a protocol's messages as bytes, and decodes them.
///
/// The input of [`decode`](Self::decode) comes from the network and may be any bytes. `decode` must
/// not panic, nor allocate more memory than the length of the input justifies.
pub trait Codec<P: Protocol> {
    /// Appends the encoding of a message. On failure, the appended bytes are garbage.
    fn encode(&self, message: &P::Message, into: &mut Vec<u8>) -> Result<(), Malformed>;

    /// Decodes a message from all of `bytes`. Fails if bytes are left over.
    fn decode(&self, bytes: &[u8]) -> Result<P::Message, Malformed>;
}

/// Why bytes do not decode to a message, or a message cannot be encoded, as part of a sentence:
/// `5 bytes follow its end`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Malformed {}
