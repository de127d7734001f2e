//! Wrappers: protocols around protocols.

mod many;
pub(crate) mod prelude;
mod reliable;
mod viewed;
mod watched;

// Hidden until the lock table, for which it was written, uses it and settles its interface.
#[doc(hidden)]
pub use many::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};
pub use reliable::{Copy, Frame, Pair, Reliable, ReliableTimer, Retransmission, about as about_reliable};
pub use viewed::{Content, Envelope, InViews, Leased, Viewed, ViewedTimer, about as about_viewed};
pub use watched::{Detector, Signal, Threshold, Watched, WatchedTimer, about as about_watched};
