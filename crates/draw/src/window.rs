//! The part of a run that is looked at.

use quorate_core::{NodeId, Time};
use std::collections::BTreeSet;

/// A part of a run: some time, and some nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// From this instant on; from the beginning if none.
    pub from: Option<Time>,
    /// Up to this instant, which is part of it; to the end if none.
    pub to: Option<Time>,
    /// These nodes; all if there are none.
    pub nodes: BTreeSet<NodeId>,
}

impl Window {
    pub fn shows(&self, time: Time) -> bool {
        !self.is_before(time) && !self.is_after(time)
    }

    pub fn is_before(&self, time: Time) -> bool {
        self.from.is_some_and(|from| time < from)
    }

    pub fn is_after(&self, time: Time) -> bool {
        self.to.is_some_and(|to| time > to)
    }

    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }

    pub fn members(&self, nodes: usize) -> Vec<NodeId> {
        if self.nodes.is_empty() {
            return (0..nodes).map(NodeId::from_index).collect();
        }
        self.nodes.iter().copied().filter(|node| node.index() < nodes).collect()
    }
}
