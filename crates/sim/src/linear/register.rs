//! A register: one number that is read, written, and set on a condition.

use super::Object;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The number, if one was ever written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Register {
    pub value: Option<u64>,
}

/// What can be asked of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    Read,
    /// Hold this value from now on.
    Write(u64),
    /// Hold the new value, but only if the present one is as expected.
    CompareAndSet {
        expect: Option<u64>,
        new: u64,
    },
}

/// What a register says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// To a read: the value.
    Value(Option<u64>),
    /// To a write.
    Written,
    /// To a compare-and-set: the value was as expected and is now the new one.
    Set,
    /// To a compare-and-set: the value was another one and has stayed.
    Differs,
}

impl Object for Register {
    type Operation = Operation;
    type Answer = Answer;

    fn apply(&mut self, operation: &Operation) -> Answer {
        match *operation {
            Operation::Read => Answer::Value(self.value),
            Operation::Write(value) => {
                self.value = Some(value);
                Answer::Written
            }
            Operation::CompareAndSet { expect, new } if self.value == expect => {
                self.value = Some(new);
                Answer::Set
            }
            Operation::CompareAndSet { .. } => Answer::Differs,
        }
    }

    fn looks_only(operation: &Operation, answer: &Answer) -> bool {
        match operation {
            Operation::Read => true,
            Operation::Write(_) => false,
            Operation::CompareAndSet { .. } => *answer == Answer::Differs,
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Held(self.value).fmt(f)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Write(value) => write!(f, "write {value}"),
            Self::CompareAndSet { expect, new } => write!(f, "set {new} if {}", Held(*expect)),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => Held(*value).fmt(f),
            Self::Written => f.write_str("written"),
            Self::Set => f.write_str("set"),
            Self::Differs => f.write_str("differs"),
        }
    }
}

struct Held(Option<u64>);

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("empty"),
        }
    }
}
