//! Upper bounds on delays, as far as the operator of a group knows them.

use crate::time::Duration;

/// Upper bounds on delays. Algorithms compute their timeouts from these; an algorithm of the
/// asynchronous model needs none for its safety.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// Maximum time that a message is in transit.
    pub message: Duration,
    /// Maximum time that a node is busy with one input.
    pub processing: Duration,
}

impl Bounds {
    /// Maximum time until an answer arrives: two message delays and the processing at both ends.
    pub fn round_trip(&self) -> Duration {
        self.message.times(2) + self.processing.times(2)
    }
}
