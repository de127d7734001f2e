//! Runs any protocol between real processes, over TCP or TLS.
//!
//! A [`Runtime`] is one node of a group with its network, clock, disk and journal. Each pair of
//! nodes shares one connection, plain or encrypted, and one link that outlives the connection:
//! while both processes are alive, the link delivers every message that it accepts exactly once and
//! in order. To embed a node, give `Runtime` a listening socket, a protocol and a
//! [`Codec`](quorate_core::Codec); it returns a [`Handle`] for commands and a future to run. If the
//! settings allow it, [`Handle::set_peers`] replaces the peers while the node runs.
//!
//! ```text
//! handle ─ commands ─▶ node task ─ outbox ─▶ link ─▶ writer ─┐
//!                        ▲   │ journal, then disk            │ TCP, TLS
//!                        │   ▼                               │
//!                      inbox ◀────────────────── reader ◀────┘
//!
//! one task per peer: dials, accepts, and keeps the connection that both nodes elect
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
mod peers;
mod rate_limited_log;
mod redial_delay;
mod runtime;
mod settings;
mod stream;
pub mod tls;

pub use group::GroupName;
pub use link_handle::{LinkStats, Traffic};
pub use quorate_core::packed::Postcard;
pub use runtime::{CommandRejected, DiskReports, Ending, Handle, PeersAreFixed, Runtime, disk_reports};
pub use settings::{Limits, OverflowPolicy, PeerSet, Settings};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
