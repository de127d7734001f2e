//! Test helpers: a node that carries out the actions in its inputs, a builder for scenarios, random
//! scenarios, and a trace of a run.

mod chaos;
mod scenario;
mod scripted_node;
mod trace;

pub(crate) use chaos::random_scenario;
pub(crate) use scenario::{Scenario, header};
pub(crate) use scripted_node::{
    Action, Actions, Message, ScriptedNode, cancel, emit, emit_ahead, multicast, multicast_ahead, ping, save, send,
    send_ahead, send_message, set,
};
pub(crate) use trace::Trace;

use quorate_core::{Duration, NodeId, Time};
use quorate_journal::settings::Length;

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

/// Parses a duration such as `1.5ms`.
pub(crate) fn duration(text: &str) -> Duration {
    text.parse::<Length>().unwrap().0
}

/// Returns the time this long after the start.
pub(crate) fn at(text: &str) -> Time {
    Time::ZERO + duration(text)
}
