//! Many objects of one type, each with a key.
//!
//! The objects are independent, so a history of all objects is linearizable exactly if the history
//! of each key is. [`History::judge_by_key`](super::History::judge_by_key) with
//! [`KeyedOperation::key`] decides for one key at a time, which is much faster.

use super::Object;
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::hash::Hash;

/// One object for each key. All start with the same state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keyed<K, O> {
    initial: O,
    /// The objects that are not in the initial state.
    changed: BTreeMap<K, O>,
}

/// An operation on the object with one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyedOperation<K, T> {
    pub key: K,
    pub operation: T,
}

impl<K: Ord, O> Keyed<K, O> {
    /// Creates objects that all start with this state.
    pub fn new(initial: O) -> Self {
        Self { initial, changed: BTreeMap::new() }
    }
}

impl<K: Clone + Ord + Hash + Display, O: Object> Object for Keyed<K, O> {
    type Operation = KeyedOperation<K, O::Operation>;
    type Answer = O::Answer;

    fn apply(&mut self, KeyedOperation { key, operation }: &Self::Operation) -> O::Answer {
        let mut object = self.changed.remove(key).unwrap_or_else(|| self.initial.clone());
        let answer = object.apply(operation);
        // Do not keep an object in its initial state, so that equal contents compare equal.
        if object != self.initial {
            self.changed.insert(key.clone(), object);
        }
        answer
    }

    fn is_read_only(operation: &Self::Operation, answer: &O::Answer) -> bool {
        O::is_read_only(&operation.operation, answer)
    }
}

impl<K: Display, O: Display> Display for Keyed<K, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.changed.is_empty() {
            return write!(f, "{} everywhere", self.initial);
        }
        for (index, (key, object)) in self.changed.iter().enumerate() {
            write!(f, "{}{key}: {object}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl<K: Display, T: Display> Display for KeyedOperation<K, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.operation)
    }
}
