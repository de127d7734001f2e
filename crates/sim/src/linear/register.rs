//! A register: a number that can be read, written, and set conditionally.

use super::Object;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A register. Its value is `None` before the first write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Register {
    pub value: Option<u64>,
}

/// An operation of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    Read,
    /// Stores this value.
    Write(u64),
    /// Stores the new value if the current value is the expected one.
    CompareAndSet {
        expect: Option<u64>,
        new: u64,
    },
}

/// The answer of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Answer {
    /// The value, in answer to a read.
    Value(Option<u64>),
    /// The answer to a write.
    Written,
    /// The compare-and-set found the expected value and stored the new one.
    Set,
    /// The compare-and-set found another value and did not store the new one.
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

    fn is_read_only(operation: &Operation, answer: &Answer) -> bool {
        match operation {
            Operation::Read => true,
            Operation::Write(_) => false,
            Operation::CompareAndSet { .. } => *answer == Answer::Differs,
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayValue(self.value).fmt(f)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Write(value) => write!(f, "write {value}"),
            Self::CompareAndSet { expect, new } => write!(f, "set {new} if {}", DisplayValue(*expect)),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => DisplayValue(*value).fmt(f),
            Self::Written => f.write_str("written"),
            Self::Set => f.write_str("set"),
            Self::Differs => f.write_str("differs"),
        }
    }
}

struct DisplayValue(Option<u64>);

impl fmt::Display for DisplayValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("empty"),
        }
    }
}
