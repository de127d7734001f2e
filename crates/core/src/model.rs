//! The network and timing models that algorithms assume.

/// The links that an algorithm assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Links deliver every message, in any order.
    AnyOrder,
    /// Links deliver every message, in the order in which it was sent.
    Fifo,
}

/// The timing model that an algorithm assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Delays are unbounded.
    Asynchronous,
    /// No delay exceeds the [`Bounds`](crate::Bounds). If one does, the algorithm's guarantees may
    /// not hold.
    Synchronous,
}
