//! Runs any protocol between real processes, over TCP or TLS.
//!
//! A [`Runtime`] is one node of a group with its network, clock, disk and journal. Every two nodes
//! share one connection, plain or encrypted, and a link that outlives it: while both processes
//! live, the link loses, repeats and reorders nothing. To embed a node, give `Runtime` a listening
//! socket, a protocol and a [`Codec`](quorate_core::Codec); it returns a [`Handle`] for commands
//! and a future to run.
//!
//! ```text
//! handle ─ commands ─▶ node task ─ outbox ─▶ link ─▶ writer ─┐
//!                        ▲   │ journal, then disk            │ TCP, TLS
//!                        │   ▼                               │
//!                      inbox ◀────────────────── reader ◀────┘
//!
//! one peer task per peer: dials, accepts, and keeps the one elected connection
//! ```

pub mod certificates;
pub mod connection_election;
mod connection_io;
mod context;
pub mod frame;
pub mod group;
mod handshake;
mod inbox;
pub mod link;
mod link_handle;
mod listener;
mod node;
mod outbox;
mod peer;
mod rate_limited_log;
mod runtime;
mod settings;
mod stream;
pub mod tls;

pub use group::GroupName;
pub use link_handle::LinkStats;
pub use quorate_core::packed::Postcard;
pub use runtime::{CommandRejected, Ending, Handle, Reports, Runtime, reports};
pub use settings::{Limits, Overflow, Settings};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
