//! A map of registers: a small state machine whose histories show whether a log is linearizable.

use crate::machine::{LogPosition, StateMachine};
use crate::version::{Format, FormatError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const REGISTERS: Format = Format { name: "map of registers", version: 1 };

/// Registers by key. A key that was never written has no value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Registers {
    values: BTreeMap<u64, Register>,
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

/// A command that changes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Sets the register.
    Write { key: u64, value: u64 },
    /// Sets the register if its value is `expect`, where `None` means that it was never written.
    CompareAndSet { key: u64, expect: Option<u64>, value: u64 },
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
}

impl Change {
    /// The register that the command changes.
    pub const fn key(&self) -> u64 {
        match self {
            Self::Write { key, .. } | Self::CompareAndSet { key, .. } => *key,
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

    fn set(&mut self, key: u64, value: u64) -> Answer {
        let register = self.values.entry(key).or_default();
        register.value = value;
        register.write_count += 1;
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

    fn apply(&mut self, _at: LogPosition, command: &Change) -> Answer {
        self.applied_count += 1;
        match *command {
            Change::Write { key, value } => self.set(key, value),
            Change::CompareAndSet { key, expect, value } => match self.get(key) {
                current if current == expect => self.set(key, value),
                current => Answer::Differs(current),
            },
        }
    }

    fn query(&self, _at: LogPosition, query: &Read) -> Answer {
        Answer::Value(self.get(query.key))
    }

    fn describe_command(command: &Change) -> String {
        match command {
            Change::Write { key, value } => format!("x{key} := {value}"),
            Change::CompareAndSet { key, expect, value } => {
                format!("x{key} := {value} if it is {}", describe_value(*expect))
            }
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
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        REGISTERS.write(self)
    }

    fn restore(bytes: &[u8]) -> Result<Self, FormatError> {
        REGISTERS.read(bytes)
    }
}
