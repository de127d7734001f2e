//! What entries and checkpoints say, as bytes with a version in front.

use crate::machine::{LogTime, StateMachine};
use crate::members::Change;
use crate::version::{Format, FormatError};
use bytes::Bytes;
use quorate_core::{Incarnation, NodeId};
use serde::Serialize;
use std::collections::BTreeMap;

const BATCH: Format = Format { what: "log entry", version: 1 };
const CHANGE: Format = Format { what: "change of members", version: 1 };
const IMAGE: Format = Format { what: "snapshot", version: 1 };

/// Commands that share an entry, and the entry's log time.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch<C> {
    /// When.
    pub time: LogTime,
    /// Learners that are let in, each by the name of its life.
    pub admitted: Vec<(NodeId, Incarnation)>,
    /// What, in order.
    pub commands: Vec<C>,
}

impl<C: serde::de::DeserializeOwned> Batch<C> {
    /// The bytes of an entry.
    pub fn write<'a>(time: LogTime, admitted: &[(NodeId, Incarnation)], commands: impl Iterator<Item = &'a C>) -> Bytes
    where
        C: Serialize + 'a,
    {
        let commands: Vec<&C> = commands.collect();
        BATCH.write(&(time, admitted, commands)).into()
    }

    /// What an entry says.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        BATCH.read(bytes).map(|(time, admitted, commands)| Self { time, admitted, commands })
    }
}

/// The bytes of a change of members.
pub(crate) fn write_change(time: LogTime, change: &Change) -> Bytes {
    CHANGE.write(&(time, change)).into()
}

/// What a change of members says.
pub(crate) fn read_change(bytes: &[u8]) -> Result<(LogTime, Change), FormatError> {
    CHANGE.read(bytes)
}

/// The log time of an entry of commands, without a look at the commands.
pub(crate) fn time_of_batch(bytes: &[u8]) -> Option<LogTime> {
    let (_, body) = bytes.split_first()?;
    postcard::take_from_bytes(body).ok().map(|(time, _)| time)
}

/// Who was let in, and by which name.
pub type Admitted = BTreeMap<NodeId, Incarnation>;

/// A state machine and its log time.
#[derive(Clone, Debug, Default)]
pub struct Image<S> {
    /// When.
    pub time: LogTime,
    /// Those who were let in as learners and are members still, each by the name of its life then.
    pub admitted: Admitted,
    /// The state.
    pub machine: S,
}

impl<S: StateMachine> Image<S> {
    /// The bytes of a snapshot.
    pub fn write(time: LogTime, admitted: &Admitted, machine: &S) -> Bytes {
        IMAGE.write(&(time, admitted, machine.snapshot())).into()
    }

    /// What a snapshot says.
    pub fn read(bytes: &[u8]) -> Result<Self, FormatError> {
        let (time, admitted, state): (_, _, Vec<u8>) = IMAGE.read(bytes)?;
        S::restore(&state).map(|machine| Self { time, admitted, machine })
    }
}
