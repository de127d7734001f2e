//! The protocol inside the detectors that are measured: it does nothing but tell what it hears.

use quorate_core::{Effects, Input, Never, NodeId, Protocol, Time};
use serde::Serialize;
use std::fmt;

/// Tells its user whom its detector suspects and trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sentry;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Heard {
    Suspect(NodeId),
    Trust(NodeId),
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspect(node) => write!(f, "SUSPECTS {node}"),
            Self::Trust(node) => write!(f, "TRUSTS {node}"),
        }
    }
}

impl Protocol for Sentry {
    type Command = Never;
    type Message = Never;
    type Timer = Never;
    type Event = Heard;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Suspect(node) => out.emit(Heard::Suspect(node)),
            Input::Trust(node) => out.emit(Heard::Trust(node)),
            Input::Command(never) | Input::Timer(never) | Input::Message { message: never, .. } => match never {},
            Input::Start { durable: (), .. }
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
