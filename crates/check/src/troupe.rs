//! Groups to search: every thread of a depth-first search or of random walks has one of its own.
//!
//! They number what they meet in different orders, so whatever they tell each other is told in fingerprints.

use crate::expand::Oracle;
use crate::system::System;

/// A group with its nodes, and the states in which it can begin.
pub(crate) struct Troupe<'a> {
    pub(crate) system: System,
    pub(crate) oracle: Box<dyn Oracle + 'a>,
    pub(crate) initial: Vec<Vec<u32>>,
}

/// Makes groups that are all alike.
pub(crate) type Casting<'a> = &'a (dyn Fn() -> Troupe<'a> + Sync);

/// A breach that is told by the fingerprints of the states that lead to it, the initial one first.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) fingerprints: Vec<u64>,
}

impl Trace {
    pub(crate) fn len(&self) -> usize {
        self.fingerprints.len().saturating_sub(1)
    }
}
