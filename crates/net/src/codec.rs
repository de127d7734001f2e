//! Messages as postcard writes them.

use postcard::ser_flavors::Flavor;
use quorate_core::{Codec, Malformed, Protocol};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The codec of every protocol whose messages serde can read and write.
#[derive(Clone, Copy, Debug, Default)]
pub struct Postcard;

impl<P: Protocol<Message: Serialize + DeserializeOwned>> Codec<P> for Postcard {
    fn encode(&self, message: &P::Message, into: &mut Vec<u8>) -> Result<(), Malformed> {
        postcard::serialize_with_flavor(message, Appending(into)).map_err(malformed)
    }

    fn decode(&self, bytes: &[u8]) -> Result<P::Message, Malformed> {
        match postcard::take_from_bytes(bytes).map_err(malformed)? {
            (message, []) => Ok(message),
            (_, rest) => Err(Malformed(format!("{} bytes follow its end", rest.len()))),
        }
    }
}

/// Writes at the end of what is there.
struct Appending<'a>(&'a mut Vec<u8>);

impl Flavor for Appending<'_> {
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

fn malformed(error: postcard::Error) -> Malformed {
    Malformed(error.to_string())
}
