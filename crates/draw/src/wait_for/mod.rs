//! Who waits for whom, drawn as a graph in which a deadlock is seen at once.
//!
//! The members of a deadlock stand in a circle, and whoever waits behind them farther out. What nobody is stuck in stands in rows, those who run at
//! the top. The same graph is always drawn the same way: nothing is left to chance.

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

/// How many processes and resources a picture shows at most. More would be a thicket.
pub const MOST_NODES: usize = 80;

/// How many waits it shows at most.
pub const MOST_EDGES: usize = 240;

/// A graph with what was found in it.
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
    pub kind: Kind,
    pub mark: Mark,
    pub is_victim: bool,
    pub hover: String,
}

/// What stands in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Process,
    /// Something that is held, by as many at once as it has permits if it is a semaphore.
    Resource(Option<u32>),
}

/// How somebody or something stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// In the deadlock of this number.
    Deadlock(usize),
    /// Stuck behind one.
    Behind,
    /// Waiting, but not for ever.
    Waits,
    /// Waiting for nobody, or a resource in no deadlock.
    Free,
}

/// An arrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub link: Link,
    pub is_marked: bool,
}

/// What an arrow means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Waits for it in any case.
    All,
    /// One of those arrows with this number that begin at the same node: one of them is enough.
    Any(usize),
    /// Is held by it.
    Held,
    /// Stands behind it in a queue.
    Queue,
}

/// Why a graph is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotDrawn {
    /// Nobody could follow it.
    #[error(
        "{nodes} processes and resources with {edges} arrows are too many for a picture that anybody could read: at most \
         {MOST_NODES} with {MOST_EDGES} are drawn. Leave out who is not stuck, or read the report."
    )]
    TooLarge { nodes: usize, edges: usize },
}

impl Diagram {
    /// The graph as an SVG. Arrows to nodes that there are not are left out.
    pub fn svg(&self, theme: Theme) -> Result<String, NotDrawn> {
        let (nodes, edges) = (self.nodes.len(), self.edges.len());
        if nodes > MOST_NODES || edges > MOST_EDGES {
            return Err(NotDrawn::TooLarge { nodes, edges });
        }
        Ok(page::draw(self, theme))
    }
}
