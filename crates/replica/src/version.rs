//! Format versions: every encoding on disk and on the wire begins with its version, and newer
//! versions are refused.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Why bytes could not be decoded, or a value could not be encoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FormatError {
    #[error(
        "this {name} has format version {found_version}; this release reads versions up to {known_version}. No data was changed; run a \
         release that reads version {found_version}."
    )]
    Newer { name: &'static str, found_version: u8, known_version: u8 },
    #[error(
        "this {name} has format version {found_version}, which this release no longer reads; it reads version {known_version}. No data \
         was changed; run the release that wrote it, or remove the data and start anew."
    )]
    Older { name: &'static str, found_version: u8, known_version: u8 },
    #[error("this {name} is malformed: {reason}. No data was changed.")]
    Malformed { name: &'static str, reason: String },
    #[error(
        "this {name} has format level {found_level}; this release reads levels up to {known_level}. No data was changed; install the \
         release that the other members run."
    )]
    NewerLevel { name: &'static str, found_level: u32, known_level: u32 },
}

/// An encoding that begins with its version.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name of the encoded thing in error messages.
    pub name: &'static str,
    /// The version that this release writes, and the only one that it reads.
    pub version: u8,
}

impl Format {
    /// Encodes a value whose type postcard supports; it supports all types of this crate. For any
    /// other type it returns the version alone, which [`read`](Self::read) refuses.
    pub fn write(self, value: &impl Serialize) -> Vec<u8> {
        self.try_write(value).unwrap_or_else(|_| vec![self.version])
    }

    /// The error for malformed bytes.
    pub fn malformed(self, reason: impl Into<String>) -> FormatError {
        FormatError::Malformed { name: self.name, reason: reason.into() }
    }

    /// Encodes a value. Fails if its type uses features that postcard lacks.
    pub fn try_write(self, value: &impl Serialize) -> Result<Vec<u8>, FormatError> {
        postcard::to_extend(value, vec![self.version]).map_err(|error| self.malformed(error.to_string()))
    }

    /// Decodes a value. Fails if the bytes are malformed or have another version.
    pub fn read<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<T, FormatError> {
        match self.read_first(bytes)? {
            (value, []) => Ok(value),
            (_, rest) => Err(self.malformed(format!("it has {} bytes too many", rest.len()))),
        }
    }

    /// Decodes a value at the beginning of the bytes, and returns it with the bytes that follow.
    /// Fails as [`read`](Self::read) does.
    pub fn read_first<T: DeserializeOwned>(self, bytes: &[u8]) -> Result<(T, &[u8]), FormatError> {
        let name = self.name;
        let (version, body) = bytes.split_first().ok_or_else(|| self.malformed("it is empty"))?;
        match *version {
            0 => Err(self.malformed("its format version is 0")),
            found_version if found_version > self.version => {
                Err(FormatError::Newer { name, found_version, known_version: self.version })
            }
            found_version if found_version < self.version => {
                Err(FormatError::Older { name, found_version, known_version: self.version })
            }
            _ => postcard::take_from_bytes(body).map_err(|error| self.malformed(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, FormatError};

    const SAMPLE: Format = Format { name: "sample", version: 2 };

    #[test]
    fn values_round_trip() {
        assert_eq!(SAMPLE.read::<(u64, String)>(&SAMPLE.write(&(7_u64, "seven"))), Ok((7, "seven".into())));
    }

    #[test]
    fn a_newer_version_is_refused() {
        let error = SAMPLE.read::<u64>(&[3, 7]).unwrap_err();
        assert_eq!(error, FormatError::Newer { name: "sample", found_version: 3, known_version: 2 });
        assert!(error.to_string().contains("version 3"));
    }

    #[test]
    fn an_older_version_is_refused() {
        let error = SAMPLE.read::<u64>(&[1, 7]).unwrap_err();
        assert_eq!(error, FormatError::Older { name: "sample", found_version: 1, known_version: 2 });
    }

    #[test]
    fn malformed_bytes_are_refused() {
        // No version, version 0, no value, an incomplete value, and a byte too many.
        for bytes in [&[][..], &[0], &[2], &[2, 255], &[2, 7, 7]] {
            assert!(matches!(SAMPLE.read::<u64>(bytes), Err(FormatError::Malformed { .. })), "{bytes:?}");
        }
    }
}
