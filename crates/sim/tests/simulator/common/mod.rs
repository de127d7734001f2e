//! A small language for tests: a puppet that does what it is told, a stage to put it on, the story of what happened.

mod chaos;
mod puppet;
mod stage;
mod story;

pub(crate) use chaos::chaos;
pub(crate) use puppet::{
    Act, Acts, Message, Puppet, cancel, emit, emit_ahead, multicast, multicast_ahead, ping, save, send, send_ahead,
    send_message, set,
};
pub(crate) use stage::{Stage, header};
pub(crate) use story::Story;

use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::Length;

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// A length as people write it: `1.5ms`.
pub(crate) fn length(text: &str) -> Duration {
    text.parse::<Length>().unwrap().0
}

/// The instant so long after the start.
pub(crate) fn at(text: &str) -> Time {
    Time::ZERO + length(text)
}
