//! The hold-back queue in a scene: what a node has received and does not deliver yet.

use super::Place;

/// What waits in a node's hold-back queue for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub count: usize,
    /// The names of the first ones, in the order of the queue.
    pub names: Vec<String>,
    pub from: Place,
    pub to: Place,
}
