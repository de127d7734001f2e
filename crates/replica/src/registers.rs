//! A map of registers: a small state machine whose histories show whether a log is linearizable.

use crate::fingerprint::fingerprint;
use crate::machine::{LogPosition, Outbox, SessionId, StateMachine};
use crate::version::{Format, FormatError};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const REGISTERS: Format = Format { name: "map of registers", version: 2 };

/// Registers by key. A key that was never written has no value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Registers {
    values: BTreeMap<u64, Register>,
    /// For each register, the sessions that wait for its next change, in the order of their
    /// requests.
    waiting: BTreeMap<u64, Vec<SessionId>>,
    /// Number of applied commands, so that a command applied twice changes the state.
    #[serde(rename = "applied")]
    applied_count: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Register {
    value: u64,
    /// Number of writes, so that a write of the same value changes the state.
    #[serde(rename = "writes")]
    write_count: u64,
}

/// A command that changes a register, or waits for its change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Sets the register.
    Write { key: u64, value: u64 },
    /// Sets the register if its value is `expect`, where `None` means that it was never written.
    CompareAndSet { key: u64, expect: Option<u64>, value: u64 },
    /// Waits for the next change of the register, of which the session is notified once. A session
    /// that already waits does so once more.
    Await { key: u64 },
    /// Sets the register, and answers its old value. Releases of format level 1 do not know this
    /// command.
    Swap { key: u64, value: u64 },
}

/// The notification of a session that has waited for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Changed {
    pub key: u64,
    pub value: u64,
}

/// A query that reads a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Read {
    pub key: u64,
}

/// The answer to a command or a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Written,
    /// The register did not have the expected value, but this one.
    Differs(Option<u64>),
    Value(Option<u64>),
    /// The session will be notified of the next change.
    Waiting,
    /// A command without a session cannot wait.
    NoSession,
}

impl Change {
    /// The register that the command is about.
    pub const fn key(&self) -> u64 {
        match self {
            Self::Write { key, .. }
            | Self::CompareAndSet { key, .. }
            | Self::Await { key }
            | Self::Swap { key, .. } => *key,
        }
    }
}

impl Registers {
    /// Returns the value of a key, or `None` if it was never written.
    pub fn get(&self, key: u64) -> Option<u64> {
        self.values.get(&key).map(|register| register.value)
    }

    /// Returns the number of commands that were applied to the registers.
    pub fn applied_count(&self) -> u64 {
        self.applied_count
    }

    /// Sets a register, and notifies the sessions that wait for its change.
    fn set(&mut self, key: u64, value: u64, out: &mut Outbox<Changed>) -> Answer {
        let register = self.values.entry(key).or_default();
        register.value = value;
        register.write_count += 1;
        for session in self.waiting.remove(&key).unwrap_or_default() {
            out.put(session, Changed { key, value });
        }
        Answer::Written
    }
}

fn describe_value(value: Option<u64>) -> String {
    value.map_or_else(|| "empty".into(), |value| value.to_string())
}

impl StateMachine for Registers {
    type Command = Change;
    type Query = Read;
    type Answer = Answer;
    type Outcome = Changed;
    type Image = std::iter::Once<Bytes>;

    const LEVEL: u32 = 2;

    fn apply(
        &mut self,
        _at: LogPosition,
        from: Option<SessionId>,
        command: &Change,
        out: &mut Outbox<Changed>,
    ) -> Answer {
        self.applied_count += 1;
        match *command {
            Change::Write { key, value } => self.set(key, value, out),
            Change::CompareAndSet { key, expect, value } => match self.get(key) {
                current if current == expect => self.set(key, value, out),
                current => Answer::Differs(current),
            },
            Change::Await { key } => match from {
                Some(session) => {
                    self.waiting.entry(key).or_default().push(session);
                    Answer::Waiting
                }
                None => Answer::NoSession,
            },
            Change::Swap { key, value } => {
                let old = self.get(key);
                self.set(key, value, out);
                Answer::Value(old)
            }
        }
    }

    fn end_session(&mut self, _at: LogPosition, ended: SessionId, _out: &mut Outbox<Changed>) {
        self.waiting.values_mut().for_each(|sessions| sessions.retain(|session| *session != ended));
        self.waiting.retain(|_, sessions| !sessions.is_empty());
    }

    fn query(&self, _at: LogPosition, query: &Read) -> Answer {
        Answer::Value(self.get(query.key))
    }

    fn level_of(command: &Change) -> u32 {
        match command {
            Change::Write { .. } | Change::CompareAndSet { .. } | Change::Await { .. } => 1,
            Change::Swap { .. } => 2,
        }
    }

    fn describe_command(command: &Change) -> String {
        match command {
            Change::Write { key, value } => format!("x{key} := {value}"),
            Change::CompareAndSet { key, expect, value } => {
                format!("x{key} := {value} if it is {}", describe_value(*expect))
            }
            Change::Await { key } => format!("await x{key}"),
            Change::Swap { key, value } => format!("swap x{key} for {value}"),
        }
    }

    fn describe_query(query: &Read) -> String {
        format!("x{}?", query.key)
    }

    fn describe_answer(answer: &Answer) -> String {
        match answer {
            Answer::Written => "done".into(),
            Answer::Differs(value) => format!("not done, it is {}", describe_value(*value)),
            Answer::Value(value) => describe_value(*value),
            Answer::Waiting => "waits".into(),
            Answer::NoSession => "not done, because only a session can wait".into(),
        }
    }

    fn describe_outcome(Changed { key, value }: &Changed) -> String {
        format!("x{key} is now {value}")
    }

    fn freeze(&self) -> Self::Image {
        std::iter::once(REGISTERS.write(self).into())
    }

    fn thaw(mut pieces: impl Iterator<Item = Bytes>) -> Result<Self, FormatError> {
        let piece = pieces.next().ok_or_else(|| REGISTERS.malformed("it is missing"))?;
        REGISTERS.read(&piece)
    }

    /// Registers are few, so this computes their fingerprint anew.
    fn fingerprint(&self) -> u64 {
        fingerprint(self)
    }
}
