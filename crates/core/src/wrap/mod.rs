//! Wrappers: protocols around protocols.

mod many;
pub(crate) mod prelude;
mod reliable;
mod viewed;
mod watched;

// `Many` is hidden until its first user, a table of named locks, settles its interface.
#[doc(hidden)]
pub use many::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};
pub use reliable::{
    Frame, IncarnationPair, Reliable, ReliableTimer, RetransmissionTimeouts, Transmission, about as about_reliable,
};
pub use viewed::{Content, Envelope, InViews, Leased, Viewed, ViewedTimer, about as about_viewed};
pub use watched::{Detector, Signal, Threshold, Watched, WatchedTimer, about as about_watched};
