//! The group that one worker thread searches. Every thread of a depth-first search or of random
//! walks has one of its own.
//!
//! Each thread numbers states and messages in the order in which it finds them, so threads exchange
//! fingerprints, never numbers.

use crate::expand::Stepper;
use crate::system::System;

/// One thread's copy of the group.
pub(crate) struct WorkerGroup<'a> {
    /// The group's settings, the properties, and the tables that number states and messages.
    pub(crate) system: System,
    /// The nodes, which compute the outcomes of inputs.
    pub(crate) stepper: Box<dyn Stepper + 'a>,
    /// Each initial state as the words that encode it.
    pub(crate) initial: Vec<Vec<u32>>,
}

/// Creates identical worker groups.
pub(crate) type MakeWorkerGroup<'a> = &'a (dyn Fn() -> WorkerGroup<'a> + Sync);

/// A path to a violation, as the fingerprints of its states; the initial state comes first.
#[derive(Clone, Debug)]
pub(crate) struct FingerprintPath {
    pub(crate) fingerprints: Vec<u64>,
}

impl FingerprintPath {
    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.fingerprints.len().saturating_sub(1)
    }
}
