//! A cache of the state transitions of an object.
//!
//! An object is deterministic, so the search numbers its states and computes each transition once.

use super::Object;
use super::problem::Problem;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The index of a state of the object in the transition table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StateIndex(u32);

/// The index of an operation: first the answered operations of the problem, then the pending ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct OperationIndex(u32);

/// The states found so far, and the transitions between them computed so far.
pub(super) struct TransitionTable<'s, 'h, O: Object> {
    problem: &'s Problem<'h, O>,
    /// The object in each state.
    objects: Vec<O>,
    /// The index of each object in `objects`.
    index_of_object: HashMap<O, StateIndex>,
    /// The state after an operation; `None` if the operation would give another answer.
    cache: HashMap<(StateIndex, OperationIndex), Option<StateIndex>, BuildHasherDefault<IntHasher>>,
}

impl<'s, 'h, O: Object> TransitionTable<'s, 'h, O> {
    pub(super) fn new(problem: &'s Problem<'h, O>) -> Self {
        Self { problem, objects: Vec::new(), index_of_object: HashMap::new(), cache: HashMap::default() }
    }

    /// Returns the index of the state of this object; adds the state if it is new.
    pub(super) fn intern(&mut self, object: O) -> StateIndex {
        let new_index = StateIndex(self.objects.len() as u32);
        let index = *self.index_of_object.entry(object.clone()).or_insert(new_index);
        if index == new_index {
            self.objects.push(object);
        }
        index
    }

    /// Returns the state after an answered operation, or `None` if the operation would give another
    /// answer than the recorded one.
    pub(super) fn apply_answered(&mut self, state: StateIndex, index: usize) -> Option<StateIndex> {
        let key = (state, OperationIndex(index as u32));
        if let Some(outcome) = self.cache.get(&key) {
            return *outcome;
        }
        let mut object = self.objects[state.0 as usize].clone();
        let answered = &self.problem.answered[index];
        let is_consistent = object.apply(answered.operation) == *answered.answer;
        let outcome = is_consistent.then(|| self.intern(object));
        self.cache.insert(key, outcome);
        outcome
    }

    /// Returns the state after a pending operation.
    pub(super) fn apply_pending(&mut self, state: StateIndex, index: usize) -> StateIndex {
        let key = (state, OperationIndex((self.problem.answered.len() + index) as u32));
        if let Some(Some(outcome)) = self.cache.get(&key) {
            return *outcome;
        }
        let mut object = self.objects[state.0 as usize].clone();
        object.apply(self.problem.pending[index].operation);
        let outcome = self.intern(object);
        self.cache.insert(key, Some(outcome));
        outcome
    }
}

/// A fast hash for small integers. Collision attacks are not a concern, and no result depends on
/// the order of the map.
#[derive(Default)]
pub(super) struct IntHasher(u64);

impl Hasher for IntHasher {
    fn finish(&self) -> u64 {
        // The map also uses the low bits, and a multiplication mixes only the high bits well.
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        // An odd constant with well-distributed bits: 2^64 divided by the golden ratio.
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
