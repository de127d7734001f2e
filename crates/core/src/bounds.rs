//! Upper bounds on delays, as far as the operator of a group knows them.

use crate::time::Duration;

/// Upper bounds on delays. Timeouts are multiples of these; an algorithm of the asynchronous model
/// needs none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    pub message: Duration,
    pub processing: Duration,
}

impl Bounds {
    /// Maximum time until an answer arrives: two message delays and the processing at both ends.
    pub fn round_trip(&self) -> Duration {
        self.message.times(2) + self.processing.times(2)
    }
}
