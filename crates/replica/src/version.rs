//! Format versions: everything on disk and on the wire begins with one, and what is newer than we know is refused.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why bytes could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error(
        "This {what} has format version {found}, and this release reads versions up to {known}. Nothing was changed; \
         run a release that knows version {found}."
    )]
    Newer { what: &'static str, found: u8, known: u8 },
    #[error("This {what} cannot be read: {reason}. Nothing was changed.")]
    Malformed { what: &'static str, reason: String },
}

/// Something that is written with its version in front.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub what: &'static str,
    pub version: u8,
}

impl Format {
    /// The version, then the value. Types of our own can all be written.
    pub fn write(self, value: &impl Serialize) -> Vec<u8> {
        self.try_write(value).unwrap_or_else(|_| vec![self.version])
    }

    /// The version, then the value, if it can be written at all: a user's type may ask for what the format does not have.
    pub fn try_write(self, value: &impl Serialize) -> Result<Vec<u8>, FormatError> {
        let malformed = |error: postcard::Error| FormatError::Malformed { what: self.what, reason: error.to_string() };
        postcard::to_extend(value, vec![self.version]).map_err(malformed)
    }

    /// The value that was written.
    pub fn read<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, FormatError> {
        let what = self.what;
        let Some((version, body)) = bytes.split_first() else {
            return Err(FormatError::Malformed { what, reason: "it is empty".into() });
        };
        match *version {
            0 => Err(FormatError::Malformed { what, reason: "its format version is 0".into() }),
            found if found > self.version => Err(FormatError::Newer { what, found, known: self.version }),
            _ => match postcard::take_from_bytes(body) {
                Ok((value, [])) => Ok(value),
                Ok((_, rest)) => {
                    Err(FormatError::Malformed { what, reason: format!("{} bytes follow its end", rest.len()) })
                }
                Err(error) => Err(FormatError::Malformed { what, reason: error.to_string() }),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, FormatError};

    const NOTE: Format = Format { what: "note", version: 2 };

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(NOTE.read::<(u64, String)>(&NOTE.write(&(7_u64, "seven"))), Ok((7, "seven".into())));
    }

    #[test]
    fn a_newer_version_is_refused_with_a_sentence() {
        let error = NOTE.read::<u64>(&[3, 7]).unwrap_err();
        assert_eq!(error, FormatError::Newer { what: "note", found: 3, known: 2 });
        assert!(error.to_string().contains("version 3"));
    }

    #[test]
    fn nonsense_is_refused() {
        for bytes in [&[][..], &[0], &[2], &[2, 255], &[1, 7, 7]] {
            assert!(matches!(NOTE.read::<u64>(bytes), Err(FormatError::Malformed { .. })), "{bytes:?}");
        }
    }
}
