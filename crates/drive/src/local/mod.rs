//! Nodes of any protocol on threads of one process, with real clocks and, optionally, real disks.
//!
//! This is the smallest driver with real clocks: messages pass through memory, and saves go to a
//! [`DiskWriter`](quorate_store::DiskWriter), which syncs all waiting saves together. Benchmarks
//! and crash tests use it.

mod mailbox;
mod node;

pub use mailbox::{Address, Mailbox, create_mailbox};
pub use node::{Ending, NodeSetup, RunningNode, start};
