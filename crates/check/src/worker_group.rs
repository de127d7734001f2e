//! One worker thread's own model of the group. Every thread of a depth-first search or of random
//! walks has one.
//!
//! Each thread numbers states and messages in the order in which it finds them, so threads exchange
//! fingerprints, never numbers.

use crate::expand::Stepper;
use crate::system::System;

/// The model of the group that one thread searches.
pub(crate) struct WorkerModel<'a> {
    /// The group's settings, the properties, and the tables that number states and messages.
    pub(crate) system: System,
    /// Steps the nodes to compute the outcomes of inputs.
    pub(crate) stepper: Box<dyn Stepper + 'a>,
    /// Each initial state as the `u32` words that encode it.
    pub(crate) initial: Vec<Vec<u32>>,
}

/// Creates identical models.
pub(crate) type MakeWorkerModel<'a> = &'a (dyn Fn() -> WorkerModel<'a> + Sync);

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
