//! A detector of deadlocks, as the registry knows it.

use crate::registry::Maker;
use quorate_core::NodeId;
use quorate_core::deadlock::{Command, Event, Facts, Locks, Plan, Requests};
use quorate_erased::{AnyCodec, AnyDetector, Erased};
use std::sync::Arc;

/// A node of any detector of deadlocks, with the processes that it watches.
pub type DeadlockNode = Erased<Command, Event>;

/// A detector of deadlocks.
pub struct DeadlockEntry {
    /// What the book says of it.
    pub facts: &'static Facts,
    /// Makes a site's part of the detector.
    pub make: Maker<Plan, AnyDetector>,
    /// How the detector's own messages become bytes.
    pub codec: AnyCodec,
}

impl DeadlockEntry {
    /// A node with processes that ask each other.
    pub fn asking(&self, me: NodeId, plan: &Arc<Plan>) -> DeadlockNode {
        Erased::new(Requests::new(me, Arc::clone(plan), (self.make)(me, plan)))
    }

    /// A node with a process that takes resources.
    pub fn taking(&self, me: NodeId, plan: &Arc<Plan>) -> DeadlockNode {
        Erased::new(Locks::new(me, Arc::clone(plan), (self.make)(me, plan)))
    }
}
