//! The wire format of messages: a version, then the message.

use crate::message::Message;
use crate::version::{Format, FormatError};

const MESSAGE: Format = Format { name: "message between replicas", version: 2 };

/// Encodes a message with its version.
pub fn encode(message: &Message) -> Vec<u8> {
    MESSAGE.write(message)
}

/// Decodes a message. Fails if the bytes are malformed or have a newer version.
pub fn decode(bytes: &[u8]) -> Result<Message, FormatError> {
    MESSAGE.read(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use crate::message::Message;
    use proptest::prelude::{any, proptest};

    #[test]
    fn a_newer_version_has_its_own_error() {
        let mut bytes = encode(&Message::TimeoutNow { term: 7 });
        assert_eq!(decode(&bytes), Ok(Message::TimeoutNow { term: 7 }));
        bytes[0] = 9;
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(error.contains("format version 9") && error.contains("message between replicas"), "{error}");
    }

    proptest! {
        #[test]
        fn decoding_any_bytes_does_not_panic(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }

        #[test]
        fn decoding_a_damaged_message_does_not_panic(offset in any::<usize>(), flip in 1_u8..) {
            let mut bytes = encode(&Message::AppendReply { term: 1, index: 2, commit: 3, rejection_hint: None });
            let offset = offset % bytes.len();
            bytes[offset] ^= flip;
            let _ = decode(&bytes);
        }
    }
}
