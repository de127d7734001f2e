//! The requirements on a protocol whose runs a journal can record.

use quorate_core::{Describe, Protocol};
use serde::Serialize;

/// A protocol whose runs can be recorded: its commands, messages, timers and events are
/// serializable, its messages describe themselves, and its durable state can be cloned.
///
/// Implemented for every protocol that meets these bounds.
pub trait Recordable:
    Protocol<Command: Serialize, Message: Describe + Serialize, Timer: Serialize, Event: Serialize, Durable: Clone>
{
}

impl<P> Recordable for P where
    P: Protocol<Command: Serialize, Message: Describe + Serialize, Timer: Serialize, Event: Serialize, Durable: Clone>
{
}
