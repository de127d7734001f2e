//! The encoding of log entries and snapshots: a version, then the contents.

use crate::directory::{Addresses, Directory, FIRST_LEVEL, Notice};
use crate::machine::{LogTime, StateMachine};
use crate::members::Change;
use crate::version::{Format, FormatError};
use bytes::Bytes;
use quorate_core::{Incarnation, NodeId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const BATCH: Format = Format { name: "log entry", version: 2 };
const FORWARDED: Format = Format { name: "forwarded commands", version: 1 };
const CHANGE: Format = Format { name: "change of members", version: 2 };
const IMAGE: Format = Format { name: "snapshot", version: 2 };

/// The contents of one log entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<C> {
    pub time: LogTime,
    /// The lowest format level of a release that understands all commands.
    pub level: u32,
    pub notices: Vec<Notice>,
    pub groups: Vec<ProposalGroup<C>>,
}

/// Commands that were proposed at one replica, with consecutive numbers. By origin and number the
/// replica recognises its own proposals when it applies them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProposalGroup<C> {
    pub origin: Origin,
    /// The number of the first command.
    pub first_number: u64,
    pub commands: Vec<C>,
}

/// The replica at which a command was proposed, and its incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Origin {
    pub node: NodeId,
    pub incarnation: Incarnation,
}

impl<C> Batch<C> {
    /// An entry without commands.
    pub fn of_notices(time: LogTime, notices: Vec<Notice>) -> Self {
        Self { time, level: FIRST_LEVEL, notices, groups: Vec::new() }
    }

    /// Whether another replica than `me`, or a client of it, waits for this entry.
    pub(crate) fn is_awaited_elsewhere(&self, me: NodeId) -> bool {
        let mut origins = self.groups.iter().map(|group| group.origin.node);
        let mut members = self.notices.iter().map(Notice::member);
        origins.any(|node| node != me) || members.any(|node| node != me)
    }
}

impl<C: Serialize> Batch<C> {
    /// Encodes an entry. Fails if postcard cannot encode the commands.
    pub fn write(&self) -> Result<Bytes, FormatError> {
        BATCH.try_write(&(self.time, self.level, &self.notices, &self.groups)).map(Bytes::from)
    }
}

impl<C: DeserializeOwned> Batch<C> {
    /// Decodes an entry. Fails if it is malformed, or of a higher level than `known_level`.
    pub fn read(bytes: &[u8], known_level: u32) -> Result<Self, FormatError> {
        let ((_, found_level), _): ((LogTime, u32), _) = BATCH.read_first(bytes)?;
        if found_level > known_level {
            return Err(FormatError::NewerLevel { name: BATCH.name, found_level, known_level });
        }
        BATCH.read(bytes).map(|(time, level, notices, groups)| Self { time, level, notices, groups })
    }
}

/// Checks that postcard can encode a command, and decodes it to an equal one. A state machine's
/// tests should check one command of each kind: an entry that cannot be decoded stops every
/// replica.
pub fn check_encoding<C: Serialize + DeserializeOwned + PartialEq>(command: &C) -> Result<(), FormatError> {
    let decoded: C = BATCH.read(&BATCH.try_write(command)?)?;
    if decoded == *command { Ok(()) } else { Err(BATCH.malformed("its command is not equal after decoding")) }
}

/// The length of a command in an entry. Fails if postcard cannot encode it.
pub(crate) fn encoded_length(command: &impl Serialize) -> Result<usize, FormatError> {
    postcard::experimental::serialized_size(command).map_err(|error| BATCH.malformed(error.to_string()))
}

/// Encodes commands that a follower forwards. postcard can encode each of them.
pub(crate) fn write_groups<C: Serialize>(groups: &[ProposalGroup<C>]) -> Bytes {
    FORWARDED.write(&groups).into()
}

pub(crate) fn read_groups<C: DeserializeOwned>(bytes: &[u8]) -> Result<Vec<ProposalGroup<C>>, FormatError> {
    FORWARDED.read(bytes)
}

pub(crate) fn write_change(time: LogTime, change: &Change, addresses: &Addresses) -> Bytes {
    CHANGE.write(&(time, change, addresses)).into()
}

pub(crate) fn read_change(bytes: &[u8]) -> Result<(LogTime, Change, Addresses), FormatError> {
    CHANGE.read(bytes)
}

/// The log time of an encoded batch or change, without decoding the rest. `None` if the bytes are
/// malformed.
pub(crate) fn read_log_time(bytes: &[u8]) -> Option<LogTime> {
    let (_version, body) = bytes.split_first()?;
    postcard::take_from_bytes(body).ok().map(|(time, _)| time)
}

/// The contents of a snapshot: a state machine, its log time and the directory of the members.
#[derive(Clone, Debug, Default)]
pub struct Image<S> {
    pub time: LogTime,
    pub directory: Directory,
    pub machine: S,
}

impl<S: StateMachine> Image<S> {
    /// Encodes a snapshot.
    pub fn write(time: LogTime, directory: &Directory, machine: &S) -> Bytes {
        let pieces: Vec<Bytes> = machine.freeze().into_iter().collect();
        IMAGE.write(&(time, directory, pieces)).into()
    }

    /// Decodes a snapshot.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let (time, directory, pieces): (_, _, Vec<Bytes>) = IMAGE.read(bytes)?;
        S::thaw(pieces.into_iter()).map(|machine| Self { time, directory, machine })
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, check_encoding};
    use crate::machine::LogTime;
    use crate::version::FormatError;
    use serde::{Deserialize, Serialize};

    /// A type that postcard cannot decode, because the bytes do not say which variant it is.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Number(u64),
        Text(String),
    }

    /// A type that postcard cannot encode, because serde states no length of flattened fields.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
    }

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Inner {
        number: u64,
    }

    /// Rule RP-1, at the head of `replica.rs`.
    #[test]
    fn rp_1_commands_that_cannot_be_encoded_and_decoded_again_are_found() {
        assert_eq!(check_encoding(&7_u64), Ok(()));
        for command in [Untagged::Number(7), Untagged::Text("x".into())] {
            assert!(check_encoding(&command).is_err(), "{command:?}");
        }
        assert!(check_encoding(&Outer { inner: Inner { number: 7 } }).is_err());
    }

    #[test]
    fn an_entry_of_a_newer_level_is_refused_before_its_commands_are_decoded() {
        let bytes = Batch::<u64> { level: 3, ..Batch::of_notices(LogTime::from_nanos(9), Vec::new()) }.write().unwrap();
        assert!(Batch::<u64>::read(&bytes, 3).is_ok());
        let error = Batch::<u64>::read(&bytes, 2).unwrap_err();
        assert_eq!(error, FormatError::NewerLevel { name: "log entry", found_level: 3, known_level: 2 });
    }
}
