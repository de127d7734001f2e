//! Messages as bytes: a version, then the message. What cannot be read is refused, never guessed.

use crate::message::Message;
use crate::version::{Format, FormatError};

const MESSAGE: Format = Format { what: "message between replicas", version: 1 };

/// The bytes of a message.
pub fn encode(message: &Message) -> Vec<u8> {
    MESSAGE.write(message)
}

/// The message that these bytes are.
pub fn decode(bytes: &[u8]) -> Result<Message, FormatError> {
    MESSAGE.read(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};
    use crate::message::Message;
    use proptest::prelude::{any, proptest};

    #[test]
    fn a_newer_peer_is_told_apart_from_nonsense() {
        let mut bytes = encode(&Message::TimeoutNow { term: 7 });
        assert_eq!(decode(&bytes), Ok(Message::TimeoutNow { term: 7 }));
        bytes[0] = 9;
        let error = decode(&bytes).unwrap_err().to_string();
        assert!(error.contains("format version 9") && error.contains("message between replicas"), "{error}");
    }

    proptest! {
        #[test]
        fn nothing_that_arrives_panics(bytes: Vec<u8>) {
            let _ = decode(&bytes);
        }

        #[test]
        fn a_damaged_message_is_read_or_refused(place in any::<usize>(), flip in 1_u8..) {
            let mut bytes = encode(&Message::AppendReply { term: 1, index: 2, commit: 3, rejected: None });
            let place = place % bytes.len();
            bytes[place] ^= flip;
            let _ = decode(&bytes);
        }
    }
}
