//! The group that one worker thread searches. Every thread of a depth-first search or of random
//! walks has one of its own.
//!
//! Threads number states and messages in the order they find them, so they exchange fingerprints,
//! never numbers.

use crate::expand::Stepper;
use crate::system::System;

/// One thread's copy of the group: its system, its nodes, and the initial states.
pub(crate) struct WorkerGroup<'a> {
    pub(crate) system: System,
    pub(crate) stepper: Box<dyn Stepper + 'a>,
    pub(crate) initial: Vec<Vec<u32>>,
}

/// Creates identical worker groups.
pub(crate) type MakeWorkerGroup<'a> = &'a (dyn Fn() -> WorkerGroup<'a> + Sync);

/// A path to a violation, as the fingerprints of its states; the initial state comes first.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    pub(crate) fingerprints: Vec<u64>,
}

impl Trace {
    pub(crate) fn len(&self) -> usize {
        self.fingerprints.len().saturating_sub(1)
    }
}
