//! Wait-for graphs, drawn so that deadlocks are obvious.
//!
//! The members of a deadlock are placed on a circle, and the nodes connected with them on rings
//! around it. Other connected nodes are placed in the same way around the largest set of them that
//! can all reach each other, or, if they have no cycle, in rows with running processes at the top.
//! The layout is deterministic.

mod cluster;
mod curve;
mod layers;
mod legend;
mod nodes;
mod order;
mod page;
mod radial;
mod route;
mod shape;
mod style;
#[cfg(test)]
mod tests;

use crate::style::Theme;
use thiserror::Error;

/// Maximum number of processes and resources in a picture; more are unreadable.
pub const MAX_NODES: usize = 80;

/// Maximum number of arrows in a picture.
pub const MAX_EDGES: usize = 240;

/// A wait-for graph with the deadlocks found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagram {
    pub title: String,
    pub subtitle: String,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

/// A process or a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub name: String,
    pub kind: NodeKind,
    pub state: NodeState,
    pub is_victim: bool,
    /// Text that the picture shows on hovering over the node; if empty, the name.
    pub tooltip: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Process,
    /// A lock, or a semaphore with this number of permits.
    Resource(Option<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Member of the deadlock with this number.
    Deadlock(usize),
    /// Blocked behind a deadlock.
    BlockedBehind,
    /// Waiting, but not blocked forever.
    Waiting,
    /// A process that does not wait, or a resource in no deadlock.
    Free,
}

/// An arrow from one node to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the node at the arrow's start.
    pub from: usize,
    /// Index of the node at the arrow's tip.
    pub to: usize,
    pub kind: EdgeKind,
    pub is_in_deadlock: bool,
}

/// The meaning of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    /// The source waits for every target of its arrows of this kind.
    All,
    /// The source, a process, waits for any one of the targets of its arrows with this number; or
    /// the source, a semaphore, has permits held by these targets, any of which may release one.
    Any(usize),
    /// The source, a resource, is held by the target.
    Held,
    /// The source is queued behind the target.
    Queue,
}

/// Why a graph is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DiagramError {
    /// It has too many nodes or arrows.
    #[error(
        "a picture can have at most {MAX_NODES} processes and resources and {MAX_EDGES} arrows; this graph has {nodes} \
         and {edges}. Leave out processes that are not blocked, or read the report."
    )]
    TooLarge { nodes: usize, edges: usize },
}

impl Diagram {
    /// Returns the graph as an SVG document. Arrows to or from missing nodes are left out. Fails if
    /// the graph is too large.
    pub fn svg(&self, theme: Theme) -> Result<String, DiagramError> {
        let (nodes, edges) = (self.nodes.len(), self.edges.len());
        if nodes > MAX_NODES || edges > MAX_EDGES {
            return Err(DiagramError::TooLarge { nodes, edges });
        }
        Ok(page::draw(self, theme))
    }
}
