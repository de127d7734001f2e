//! A replicated log with any deterministic state machine on top, as one protocol around tikv's
//! raft.
//!
//! [`Replica`] is a [`Protocol`](quorate_core::Protocol) like any algorithm of the core: the
//! simulator runs clusters of it under faults, and a driver with real disks and links runs the same
//! code. A client proposes commands and asks queries; a [`StateMachine`] executes them.
//! [`sessions`] adds sessions to a state machine.

pub mod batch;
mod clock;
pub mod command;
mod convert;
pub mod directory;
pub mod durable;
pub mod election;
mod engine;
pub mod fingerprint;
pub mod fixtures;
mod guard;
mod heartbeats;
mod log;
pub mod machine;
pub mod members;
pub mod membership;
pub mod message;
mod pieces;
pub mod profile;
mod proposals;
mod reads;
pub mod registers;
pub mod replica;
mod running;
pub mod sessions;
pub mod settings;
mod show;
pub mod version;
pub mod wire;
mod write_order;

/// Bytes that are shared without copying, in which state machines encode their state.
pub use bytes::Bytes;
pub use command::{Audit, Command, Event, Proposal, Refusal, Restoration, Ticket};
pub use directory::{Addresses, MemberRecord};
pub use durable::{Durable, Write};
pub use machine::{LogPosition, LogTime, Outbox, SessionId, StateMachine};
pub use members::Members;
pub use message::Message;
pub use replica::{Replica, Timer};
pub use settings::{OldRelease, ReadMode, Settings};
pub use version::FormatError;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
