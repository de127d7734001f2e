//! The encoding of log entries and snapshots: a version, then the contents.

use crate::machine::{LogTime, StateMachine};
use crate::members::Change;
use crate::version::{Format, FormatError};
use bytes::Bytes;
use quorate_core::{Incarnation, NodeId};
use serde::Serialize;
use std::collections::BTreeMap;

const BATCH: Format = Format { name: "log entry", version: 1 };
const CHANGE: Format = Format { name: "change of members", version: 1 };
const IMAGE: Format = Format { name: "snapshot", version: 1 };

/// The commands of one log entry, and the entry's log time.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<C> {
    pub time: LogTime,
    /// Learners that this entry admits, each with the incarnation that asked for its admission.
    pub admitted: Vec<(NodeId, Incarnation)>,
    pub commands: Vec<C>,
}

impl<C: serde::de::DeserializeOwned> Batch<C> {
    /// Encodes an entry. Fails if the commands cannot be encoded, or decoded again to equal ones,
    /// because such an entry would halt every replica or let replicas diverge.
    pub fn write<'a>(
        time: LogTime,
        admitted: &[(NodeId, Incarnation)],
        commands: impl Iterator<Item = &'a C>,
    ) -> Result<Bytes, FormatError>
    where
        C: Serialize + PartialEq + 'a,
    {
        let commands: Vec<&C> = commands.collect();
        let bytes: Bytes = BATCH.try_write(&(time, admitted, &commands))?.into();
        let decoded = Self::read(&bytes)?;
        if decoded.commands.iter().ne(commands) {
            return Err(FormatError::Malformed {
                name: BATCH.name,
                reason: "its commands are not equal after decoding".into(),
            });
        }
        Ok(bytes)
    }

    /// Decodes an entry.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        BATCH.read(bytes).map(|(time, admitted, commands)| Self { time, admitted, commands })
    }
}

pub(crate) fn write_change(time: LogTime, change: &Change) -> Bytes {
    CHANGE.write(&(time, change)).into()
}

pub(crate) fn read_change(bytes: &[u8]) -> Result<(LogTime, Change), FormatError> {
    CHANGE.read(bytes)
}

/// The log time of an encoded batch or change, without decoding the rest. `None` if the bytes are
/// malformed.
pub(crate) fn read_log_time(bytes: &[u8]) -> Option<LogTime> {
    let (_version, body) = bytes.split_first()?;
    postcard::take_from_bytes(body).ok().map(|(time, _)| time)
}

/// Members that started without a log and were admitted as learners, each with the incarnation
/// that was admitted.
pub type AdmittedLearners = BTreeMap<NodeId, Incarnation>;

/// The contents of a snapshot: a state machine, its log time and the admitted learners.
#[derive(Clone, Debug, Default)]
pub struct Image<S> {
    pub time: LogTime,
    pub admitted: AdmittedLearners,
    pub machine: S,
}

impl<S: StateMachine> Image<S> {
    /// Encodes a snapshot.
    pub fn write(time: LogTime, admitted: &AdmittedLearners, machine: &S) -> Bytes {
        IMAGE.write(&(time, admitted, machine.snapshot())).into()
    }

    /// Decodes a snapshot.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let (time, admitted, state): (_, _, Vec<u8>) = IMAGE.read(bytes)?;
        S::restore(&state).map(|machine| Self { time, admitted, machine })
    }
}

#[cfg(test)]
mod tests {
    use super::Batch;
    use crate::machine::LogTime;
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
    fn rp_1_commands_that_cannot_be_encoded_and_decoded_again_are_rejected() {
        let time = LogTime::ZERO;
        assert!(Batch::write(time, &[], [7_u64, 8].iter()).is_ok());
        assert!(Batch::write(time, &[], [Untagged::Number(7), Untagged::Text("x".into())].iter()).is_err());
        assert!(Batch::write(time, &[], [Outer { inner: Inner { number: 7 } }].iter()).is_err());
    }
}
