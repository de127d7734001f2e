//! The resource that a lock protects. It checks fences.

use super::{Change, LockPhase, observed_change};
use quorate_core::mutex::{Command, Event};
use quorate_core::{Fence, NodeId};
use quorate_journal::moment::{Moment, ObservedInput, WorldEvent};

/// A resource that remembers the largest fence and rejects accesses with a smaller one.
///
/// A holder accesses it on entry and on release, and immediately after a pause, because it does not
/// know yet how long the pause was.
#[derive(Clone, Debug, Default)]
pub struct Resource {
    /// For each node, its phase and the fence of its last entry.
    nodes: Vec<(LockPhase, Option<Fence>)>,
    largest_fence: Option<Fence>,
    pub accepted: u64,
    pub refused: u64,
}

impl Resource {
    pub fn new(nodes: usize) -> Self {
        Self { nodes: vec![(LockPhase::Idle, None); nodes], ..Self::default() }
    }

    pub fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        match moment {
            Moment::Input { node, input: ObservedInput::Command(Command::Release), .. }
            | Moment::World { event: WorldEvent::Resumed { node }, .. } => self.access(*node),
            Moment::Input { .. } | Moment::Effect { .. } | Moment::World { .. } => {}
        }
        let Some((_, node, change)) = observed_change(moment) else { return };
        let Some((phase, fence)) = self.nodes.get_mut(node.index()) else { return };
        *phase = phase.after(change);
        if let Change::Enters { fence: new_fence, .. } = change {
            *fence = Some(new_fence);
            self.access(node);
        }
    }

    /// Records an access by a node, if it holds the lock.
    fn access(&mut self, node: NodeId) {
        let Some((LockPhase::Holding, fence)) = self.nodes.get(node.index()) else { return };
        if *fence < self.largest_fence {
            self.refused += 1;
        } else {
            self.accepted += 1;
            self.largest_fence = *fence;
        }
    }
}
