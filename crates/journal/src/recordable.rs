//! What a protocol needs so that a journal can hold its runs.

use quorate_core::{Describe, Protocol};
use serde::Serialize;

/// A protocol whose runs can be recorded: its commands, messages, timers and events can be serialised, and its disk copied.
///
/// Every protocol with such parts is one; there is nothing to implement.
pub trait Recordable:
    Protocol<Command: Serialize, Message: Describe + Serialize, Timer: Serialize, Event: Serialize, Durable: Clone>
{
}

impl<P> Recordable for P where
    P: Protocol<Command: Serialize, Message: Describe + Serialize, Timer: Serialize, Event: Serialize, Durable: Clone>
{
}
