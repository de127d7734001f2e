//! Nodes of any protocol on threads of one process, with real clocks and, if wanted, real disks.
//!
//! It is the smallest driver that runs for real: messages pass through memory, saves through a
//! [`Scribe`](quorate_store::Scribe) and its one sync for all that waits. Benchmarks and crash tests use it.

mod mailbox;
mod node;

pub use mailbox::{Address, Mailbox, mailbox};
pub use node::{Ending, Running, Start, start};
