//! Registers in the lab: the operations that clients draw, and the sequential specification of one
//! register for the linearizability check.

use super::machine::{ObservedAnswer, Operation, TestedMachine};
use quorate_journal::rng::SeededRng;
use quorate_replica::registers::{Answer, Change, Read, Registers};
use quorate_sim::linear::Object;
use std::collections::BTreeMap;
use std::fmt;

/// One register. It ignores the keys of operations: the check judges each key separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Register(Option<u64>);

/// The kinds of operations, each with its share of all operations in percent. The rest are
/// compare-and-sets.
const READ_PERCENT: u64 = 40;
const WRITE_PERCENT: u64 = 30;
const AWAIT_PERCENT: u64 = 10;
const SWAP_PERCENT: u64 = 5;

impl TestedMachine for Registers {
    type Specification = Register;
    /// The last known value of each register.
    type Knowledge = BTreeMap<u64, Option<u64>>;

    fn draw_operation(known: &Self::Knowledge, keys: u64, unique: u64, rng: &mut SeededRng) -> Operation<Self> {
        let (key, value) = (rng.below(keys.max(1)), unique);
        let mut percent = rng.below(100);
        let mut is_drawn = |share: u64| {
            let is_drawn = percent < share;
            percent = percent.saturating_sub(share);
            is_drawn
        };
        if is_drawn(READ_PERCENT) {
            return Operation::Query(Read { key });
        }
        Operation::Change(if is_drawn(WRITE_PERCENT) {
            Change::Write { key, value }
        } else if is_drawn(AWAIT_PERCENT) {
            Change::Await { key }
        } else if is_drawn(SWAP_PERCENT) {
            Change::Swap { key, value }
        } else {
            Change::CompareAndSet { key, expect: known.get(&key).copied().flatten(), value }
        })
    }

    fn learn(known: &mut Self::Knowledge, operation: &Operation<Self>, answer: &Answer) {
        let value = match (operation, answer) {
            (Operation::Change(Change::Await { .. }), _) => return,
            (Operation::Change(Change::Swap { value, .. }), Answer::Value(_)) => Some(*value),
            (Operation::Change(Change::Write { value, .. } | Change::CompareAndSet { value, .. }), Answer::Written) => {
                Some(*value)
            }
            (_, Answer::Differs(value) | Answer::Value(value)) => *value,
            (_, Answer::Written | Answer::Waiting | Answer::NoSession) => return,
        };
        known.insert(key_of(operation), value);
    }

    fn part(operation: &Operation<Self>) -> Option<u64> {
        match operation {
            Operation::Change(Change::Await { .. }) => None,
            Operation::Query(_) | Operation::Change(_) => Some(key_of(operation)),
        }
    }
}

fn key_of(operation: &Operation<Registers>) -> u64 {
    match operation {
        Operation::Query(Read { key }) => *key,
        Operation::Change(change) => change.key(),
    }
}

impl Object for Register {
    type Operation = Operation<Registers>;
    type Answer = ObservedAnswer<Registers>;

    fn apply(&mut self, operation: &Self::Operation) -> Self::Answer {
        ObservedAnswer(match *operation {
            Operation::Query(Read { .. }) => Answer::Value(self.0),
            Operation::Change(Change::CompareAndSet { expect, .. }) if self.0 != expect => Answer::Differs(self.0),
            Operation::Change(Change::Write { value, .. } | Change::CompareAndSet { value, .. }) => {
                self.0 = Some(value);
                Answer::Written
            }
            Operation::Change(Change::Swap { value, .. }) => Answer::Value(self.0.replace(value)),
            Operation::Change(Change::Await { .. }) => Answer::Waiting,
        })
    }

    fn is_read_only(operation: &Self::Operation, answer: &Self::Answer) -> bool {
        matches!((operation, answer.0), (Operation::Query(_), _) | (_, Answer::Differs(_)))
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("nothing"),
        }
    }
}
