//! What algorithms ask of the world that they run in.

/// What an algorithm asks of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Nothing but that everything arrives.
    AnyOrder,
    /// What one node sends another arrives in the order in which it was sent.
    Fifo,
}

/// What an algorithm asks of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Nothing: things take as long as they take.
    Asynchronous,
    /// That nothing takes longer than the [`Bounds`](crate::Bounds) say. Else what it promises may not hold.
    Synchronous,
}
