//! The payload of a multicast: opaque bytes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Opaque bytes. Clones share the memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "SerializedPayload", into = "SerializedPayload"))]
pub struct Payload(Arc<[u8]>);

/// Maximum number of characters of a payload that `Display` shows.
const MAX_DISPLAYED_CHARS: usize = 24;

impl Payload {
    /// Maximum number of bytes of a payload, so that one message never delays all others for long.
    /// Clients send larger data in several messages.
    pub const MAX_LEN: usize = 1 << 20;

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the payload has no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the payload is at most `MAX_LEN` bytes long.
    pub fn is_within_limit(&self) -> bool {
        self.0.len() <= Self::MAX_LEN
    }

    /// Returns the payload as text; `None` if it is not valid UTF-8 or has control characters.
    pub fn text(&self) -> Option<&str> {
        let text = core::str::from_utf8(&self.0).ok()?;
        (!text.chars().any(char::is_control)).then_some(text)
    }
}

impl From<&str> for Payload {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self(text.into_bytes().into())
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Display for Payload {
    /// Text in quotation marks, otherwise the number of bytes; long text is cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) if text.chars().count() <= MAX_DISPLAYED_CHARS => write!(f, "\"{text}\""),
            Some(text) => {
                let beginning: String = text.chars().take(MAX_DISPLAYED_CHARS).collect();
                write!(f, "\"{beginning}…\"")
            }
            None => write!(f, "{} bytes", self.len()),
        }
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The serialized form of a payload: text if [`Payload::text`] accepts it.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum SerializedPayload {
    Text(String),
    Bytes(Vec<u8>),
}

#[cfg(feature = "serde")]
impl From<SerializedPayload> for Payload {
    fn from(serialized: SerializedPayload) -> Self {
        match serialized {
            SerializedPayload::Text(text) => text.into(),
            SerializedPayload::Bytes(bytes) => bytes.into(),
        }
    }
}

#[cfg(feature = "serde")]
impl From<Payload> for SerializedPayload {
    fn from(payload: Payload) -> Self {
        match payload.text() {
            Some(text) => Self::Text(text.into()),
            None => Self::Bytes(payload.bytes().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Payload;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn text_is_displayed_and_other_bytes_are_counted() {
        assert_eq!(Payload::from("re: lecture").to_string(), "\"re: lecture\"");
        assert_eq!(Payload::from(vec![0, 159, 146]).to_string(), "3 bytes");
        assert_eq!(Payload::from("line\nbreak").to_string(), "10 bytes");
        assert_eq!(Payload::from("é".repeat(24)).to_string(), alloc::format!("\"{}\"", "é".repeat(24)));
        assert_eq!(Payload::from("x".repeat(30)).to_string(), alloc::format!("\"{}…\"", "x".repeat(24)));
    }
}
