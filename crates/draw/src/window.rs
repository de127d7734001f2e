//! The part of a run that a picture shows.

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
    /// Whether this instant is within the time range.
    pub fn shows(&self, time: Time) -> bool {
        !self.starts_after(time) && !self.ends_before(time)
    }

    /// Whether the time range starts after this instant.
    pub fn starts_after(&self, time: Time) -> bool {
        self.from.is_some_and(|from| time < from)
    }

    /// Whether the time range ends before this instant.
    pub fn ends_before(&self, time: Time) -> bool {
        self.to.is_some_and(|to| time > to)
    }

    pub fn shows_node(&self, node: NodeId) -> bool {
        self.nodes.is_empty() || self.nodes.contains(&node)
    }

    /// Returns the nodes shown of a group of `group_size` nodes, in ascending order.
    pub fn shown_nodes(&self, group_size: usize) -> Vec<NodeId> {
        if self.nodes.is_empty() {
            return (0..group_size).map(NodeId::from_index).collect();
        }
        self.nodes.iter().copied().filter(|node| node.index() < group_size).collect()
    }
}
