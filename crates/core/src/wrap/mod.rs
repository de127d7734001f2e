//! Protocols around protocols.

mod many;
mod reliable;
mod viewed;
mod watched;

pub use many::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};
pub use reliable::{Copy, Frame, Pair, Reliable, ReliableTimer, Retransmission, about as about_reliable};
pub use viewed::{Content, Envelope, InViews, Leased, Viewed, ViewedTimer, about as about_viewed};
pub use watched::{Detector, Signal, Threshold, Watched, WatchedTimer, about as about_watched};
