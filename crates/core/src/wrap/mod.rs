//! Protocols around protocols.

mod many;
mod reliable;

pub use many::{Limits, Many, ManyDurable, ManyEvent, Named, OneOfMany};
pub use reliable::{Copy, Frame, Pair, Reliable, ReliableTimer, Retransmission, about as about_reliable};
