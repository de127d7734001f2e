//! The protocol inside the measured detectors: it only reports suspicions.

use quorate_core::{Effects, Input, Never, NodeId, Protocol, Time};
use serde::Serialize;
use std::fmt;

/// Emits an event whenever its detector suspects or trusts a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Reporter;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DetectorEvent {
    Suspect(NodeId),
    Trust(NodeId),
}

impl fmt::Display for DetectorEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspect(node) => write!(f, "SUSPECTS {node}"),
            Self::Trust(node) => write!(f, "TRUSTS {node}"),
        }
    }
}

impl Protocol for Reporter {
    type Command = Never;
    type Message = Never;
    type Timer = Never;
    type Event = DetectorEvent;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Suspect(node) => out.emit(DetectorEvent::Suspect(node)),
            Input::Trust(node) => out.emit(DetectorEvent::Trust(node)),
            Input::Command(never) | Input::Timer(never) | Input::Message { message: never, .. } => match never {},
            Input::Start { durable: (), .. }
            | Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}
