//! Format versions: everything on disk and on the wire begins with one, and newer versions are
//! refused.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why bytes could not be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error(
        "this {what} has format version {found}; this release reads versions up to {known}. No data was changed; run a \
         release that reads version {found}."
    )]
    Newer { what: &'static str, found: u8, known: u8 },
    #[error("this {what} is malformed: {reason}. No data was changed.")]
    Malformed { what: &'static str, reason: String },
}

/// An encoding that begins with its version.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    pub what: &'static str,
    pub version: u8,
}

impl Format {
    /// Encodes a value of our own types, which cannot fail.
    pub fn write(self, value: &impl Serialize) -> Vec<u8> {
        self.try_write(value).unwrap_or_else(|_| vec![self.version])
    }

    /// Encodes a value. Fails if its type uses features that postcard lacks.
    pub fn try_write(self, value: &impl Serialize) -> Result<Vec<u8>, FormatError> {
        let malformed = |error: postcard::Error| FormatError::Malformed { what: self.what, reason: error.to_string() };
        postcard::to_extend(value, vec![self.version]).map_err(malformed)
    }

    /// Decodes a value. Fails if the bytes are malformed or have a newer version.
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
                    Err(FormatError::Malformed { what, reason: format!("it has {} bytes too many", rest.len()) })
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
    fn values_round_trip() {
        assert_eq!(NOTE.read::<(u64, String)>(&NOTE.write(&(7_u64, "seven"))), Ok((7, "seven".into())));
    }

    #[test]
    fn a_newer_version_is_refused() {
        let error = NOTE.read::<u64>(&[3, 7]).unwrap_err();
        assert_eq!(error, FormatError::Newer { what: "note", found: 3, known: 2 });
        assert!(error.to_string().contains("version 3"));
    }

    #[test]
    fn malformed_bytes_are_refused() {
        for bytes in [&[][..], &[0], &[2], &[2, 255], &[1, 7, 7]] {
            assert!(matches!(NOTE.read::<u64>(bytes), Err(FormatError::Malformed { .. })), "{bytes:?}");
        }
    }
}
