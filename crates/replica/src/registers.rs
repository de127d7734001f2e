//! A map of registers: the smallest state machine whose histories tell whether a log is one.

use crate::machine::{At, StateMachine};
use crate::version::{Format, FormatError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const REGISTERS: Format = Format { what: "map of registers", version: 1 };

/// Registers by number, each with a value and the number of times it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Registers {
    values: BTreeMap<u64, Register>,
    /// How many commands were applied, so that one applied twice shows.
    applied: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Register {
    value: u64,
    writes: u64,
}

/// What changes a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// Set it.
    Write { key: u64, value: u64 },
    /// Set it if it has this value; nothing is the value of one that was never written.
    CompareAndSet { key: u64, expect: Option<u64>, value: u64 },
}

/// Reads a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Read {
    pub key: u64,
}

/// What comes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    Written,
    Differs(Option<u64>),
    Value(Option<u64>),
}

impl Change {
    /// The register that it changes.
    pub const fn key(&self) -> u64 {
        match self {
            Self::Write { key, .. } | Self::CompareAndSet { key, .. } => *key,
        }
    }
}

impl Registers {
    /// The value of a register.
    pub fn get(&self, key: u64) -> Option<u64> {
        self.values.get(&key).map(|register| register.value)
    }

    /// How many commands were applied.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    fn set(&mut self, key: u64, value: u64) -> Answer {
        let register = self.values.entry(key).or_default();
        register.value = value;
        register.writes += 1;
        Answer::Written
    }
}

fn content(value: Option<u64>) -> String {
    value.map_or_else(|| "empty".into(), |value| value.to_string())
}

impl StateMachine for Registers {
    type Command = Change;
    type Query = Read;
    type Answer = Answer;

    fn apply(&mut self, _at: At, command: &Change) -> Answer {
        self.applied += 1;
        match *command {
            Change::Write { key, value } => self.set(key, value),
            Change::CompareAndSet { key, expect, value } => match self.get(key) {
                now if now == expect => self.set(key, value),
                now => Answer::Differs(now),
            },
        }
    }

    fn query(&self, _at: At, query: &Read) -> Answer {
        Answer::Value(self.get(query.key))
    }

    fn command_words(command: &Change) -> String {
        match command {
            Change::Write { key, value } => format!("x{key} := {value}"),
            Change::CompareAndSet { key, expect, value } => format!("x{key} := {value} if it is {}", content(*expect)),
        }
    }

    fn query_words(query: &Read) -> String {
        format!("x{}?", query.key)
    }

    fn answer_words(answer: &Answer) -> String {
        match answer {
            Answer::Written => "done".into(),
            Answer::Differs(value) => format!("not done, it is {}", content(*value)),
            Answer::Value(value) => content(*value),
        }
    }

    fn snapshot(&self) -> Vec<u8> {
        REGISTERS.write(self)
    }

    fn restore(bytes: &[u8]) -> Result<Self, FormatError> {
        REGISTERS.read(bytes)
    }
}
