//! The sequential specification of one register, for the linearizability check.

use quorate_replica::registers::{Answer, Change};
use quorate_sim::linear::Object;
use std::fmt;

/// One register. It ignores the keys of operations: the check judges each key separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Register(Option<u64>);

/// An operation on the map of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Read { key: u64 },
    Change(Change),
}

/// The answer to an operation, printable in histories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegisterAnswer(pub(super) Answer);

impl Operation {
    pub(super) fn key(&self) -> u64 {
        match self {
            Self::Read { key } => *key,
            Self::Change(change) => change.key(),
        }
    }

    pub(super) fn is_change(&self) -> bool {
        matches!(self, Self::Change(_))
    }
}

impl Object for Register {
    type Operation = Operation;
    type Answer = RegisterAnswer;

    fn apply(&mut self, operation: &Operation) -> RegisterAnswer {
        RegisterAnswer(match *operation {
            Operation::Read { .. } => Answer::Value(self.0),
            Operation::Change(Change::CompareAndSet { expect, .. }) if self.0 != expect => Answer::Differs(self.0),
            Operation::Change(Change::Write { value, .. } | Change::CompareAndSet { value, .. }) => {
                self.0 = Some(value);
                Answer::Written
            }
        })
    }

    fn is_read_only(operation: &Operation, answer: &RegisterAnswer) -> bool {
        matches!((operation, answer.0), (Operation::Read { .. }, _) | (_, Answer::Differs(_)))
    }
}

struct DisplayedValue(Option<u64>);

impl fmt::Display for DisplayedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        DisplayedValue(self.0).fmt(f)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Read { key } => write!(f, "read {key}"),
            Self::Change(Change::Write { key, value }) => write!(f, "write {value} to {key}"),
            Self::Change(Change::CompareAndSet { key, expect, value }) => {
                write!(f, "set {key} from {} to {value}", DisplayedValue(expect))
            }
        }
    }
}

impl fmt::Display for RegisterAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Answer::Written => f.write_str("done"),
            Answer::Differs(value) => write!(f, "it is {}", DisplayedValue(value)),
            Answer::Value(value) => DisplayedValue(value).fmt(f),
        }
    }
}
