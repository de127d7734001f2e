//! Values as bytes, in the `postcard` format.

use crate::codec::{Codec, Malformed};
use crate::protocol::Protocol;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A codec for every protocol whose messages implement serde's traits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postcard;

impl<P: Protocol<Message: Serialize + DeserializeOwned>> Codec<P> for Postcard {
    fn encode(&self, message: &P::Message, into: &mut Vec<u8>) -> Result<(), Malformed> {
        pack(message, into)
    }

    fn decode(&self, bytes: &[u8]) -> Result<P::Message, Malformed> {
        unpack(bytes)
    }
}

/// Appends the encoding of a value. On failure, the appended bytes are garbage.
pub fn pack(value: &impl Serialize, into: &mut Vec<u8>) -> Result<(), Malformed> {
    postcard::serialize_with_flavor(value, BufferAppender(into)).map_err(|error| Malformed(error.to_string()))
}

/// Decodes a value from all of `bytes`. Fails if bytes are left over.
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Malformed> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, [_])) => Err(Malformed("a byte follows its end".into())),
        Ok((_, rest)) => Err(Malformed(format!("{} bytes follow its end", rest.len()))),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// Makes postcard append to a buffer. If encoding fails, the caller discards the appended bytes.
struct BufferAppender<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for BufferAppender<'_> {
    type Output = ();

    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}
