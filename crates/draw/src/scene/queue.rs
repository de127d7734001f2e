//! Hold-back queues in a scene: messages that a node received but has not delivered yet.

use super::TimePosition;

/// Contents of a node's hold-back queue during one span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Number of messages.
    pub count: usize,
    /// Names of the first of them, in queue order.
    pub names: Vec<String>,
    pub from: TimePosition,
    pub to: TimePosition,
}
