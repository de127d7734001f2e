//! A detector of deadlocks, as the registry knows it.

use crate::registry::Maker;
use quorate_core::NodeId;
use quorate_core::deadlock::{Command, Event, Facts, Locks, Plan, Requests};
use quorate_erased::{AnyCodec, AnyDetector, Erased};
use std::sync::Arc;

pub type DeadlockNode = Erased<Command, Event>;

pub struct DeadlockEntry {
    pub facts: &'static Facts,
    pub make: Maker<Plan, AnyDetector>,
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
