//! What operations do to objects, worked out once.
//!
//! An object is deterministic, so the search works with the numbers of states and looks up what it
//! saw before.

use super::Object;
use super::problem::Problem;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A state of the object, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct State(u32);

/// An operation of the problem, by number: the calls, then the doubts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Move(u32);

/// States by number, and what operations make of them.
pub(super) struct Outcomes<'s, 'h, O: Object> {
    problem: &'s Problem<'h, O>,
    objects: Vec<O>,
    numbers: HashMap<O, State>,
    known: HashMap<(State, Move), Option<State>, BuildHasherDefault<Mixer>>,
}

impl<'s, 'h, O: Object> Outcomes<'s, 'h, O> {
    pub(super) fn new(problem: &'s Problem<'h, O>) -> Self {
        Self { problem, objects: Vec::new(), numbers: HashMap::new(), known: HashMap::default() }
    }

    pub(super) fn number(&mut self, object: O) -> State {
        let fresh = State(self.objects.len() as u32);
        let number = *self.numbers.entry(object.clone()).or_insert(fresh);
        if number == fresh {
            self.objects.push(object);
        }
        number
    }

    /// What a call makes of a state, if its answer fits there.
    pub(super) fn call(&mut self, state: State, call: usize) -> Option<State> {
        let key = (state, Move(call as u32));
        if let Some(outcome) = self.known.get(&key) {
            return *outcome;
        }
        let mut object = self.objects[state.0 as usize].clone();
        let call = &self.problem.calls[call];
        let fits = object.apply(call.operation) == *call.answer;
        let outcome = fits.then(|| self.number(object));
        self.known.insert(key, outcome);
        outcome
    }

    /// What a doubt makes of a state.
    pub(super) fn doubt(&mut self, state: State, doubt: usize) -> State {
        let key = (state, Move((self.problem.calls.len() + doubt) as u32));
        if let Some(Some(outcome)) = self.known.get(&key) {
            return *outcome;
        }
        let mut object = self.objects[state.0 as usize].clone();
        object.apply(self.problem.doubts[doubt].operation);
        let outcome = self.number(object);
        self.known.insert(key, Some(outcome));
        outcome
    }
}

/// A hash for small numbers. Nobody chooses them to collide, and nobody sees the order of the map.
#[derive(Default)]
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
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
        // An odd constant with well-spread bits: 2^64 divided by the golden ratio.
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
