//! The part of a run to show.

use quorate_core::{NodeId, Time};
use std::collections::BTreeSet;

/// A part of a run: a time range and a set of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// First instant shown; `None` means the start of the run.
    pub from: Option<Time>,
    /// Last instant shown, inclusive; `None` means the end of the run.
    pub to: Option<Time>,
    /// The nodes shown; empty means all nodes.
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

    /// Returns the nodes shown, of a group of `nodes`.
    pub fn members(&self, nodes: usize) -> Vec<NodeId> {
        if self.nodes.is_empty() {
            return (0..nodes).map(NodeId::from_index).collect();
        }
        self.nodes.iter().copied().filter(|node| node.index() < nodes).collect()
    }
}
