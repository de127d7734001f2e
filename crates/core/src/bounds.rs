//! How long things take, as far as those who set a group up know.

use crate::time::Duration;

/// How long things take at most. Waits are multiples of these; an algorithm of the asynchronous model needs neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    pub message: Duration,
    pub processing: Duration,
}

impl Bounds {
    /// The longest that an answer can take: there, through the node that is asked, and back.
    pub fn answer(&self) -> Duration {
        self.message.times(2) + self.processing.times(2)
    }
}
