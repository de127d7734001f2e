//! Any protocol between real processes: the third driver.
//!
//! A [`Runtime`] is one node of a group with its network, clock, disk and journal. Between every two nodes there is one
//! connection, plain or encrypted, and a link that outlives it: nothing is lost, repeated or reordered while both
//! processes live. Whoever wants to embed it gives it a listener, a protocol and a [`Codec`](quorate_core::Codec), and
//! gets a [`Handle`] for commands and a future to run.
//!
//! ```text
//! handle ─ commands ─▶ node task ─ post ─▶ line ─▶ writer ─┐
//!                        ▲   │ journal, then disk          │ TCP, TLS
//!                        │   ▼                             │
//!                      parcels ◀──────────────── reader ◀──┘      one peer task a peer: dials, is dialled,
//!                                                                 keeps the connection that remains
//! ```

mod acceptor;
pub mod certificates;
mod complaints;
mod context;
pub mod frame;
mod greeting;
pub mod group;
mod inbox;
mod line;
pub mod link;
pub mod meeting;
mod node;
mod peer;
mod post;
mod runtime;
mod settings;
mod stream;
mod talk;
pub mod tls;

pub use group::GroupName;
pub use line::LinkStats;
pub use quorate_core::packed::Postcard;
pub use runtime::{Ending, Handle, NotTaken, Reports, Runtime, reports};
pub use settings::{Limits, Overflow, Settings};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
