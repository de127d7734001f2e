//! A deterministic simulator for nodes of any [`Protocol`](quorate_core::Protocol), with seeded
//! faults.
//!
//! - A [`World`] contains the nodes, the network between them, their clocks and disks. An
//!   [`Observer`](quorate_journal::moment::Observer) sees every moment of the run.
//! - [`run`](run::run) runs a world with a [`Workload`](quorate_journal::workload::Workload) until
//!   all requests are served, nothing more can happen, or the run reaches a limit.
//! - [`linear`] decides whether a history of operations is linearizable.
//!
//! The simulator does not depend on any family of algorithms: callers provide clients, metrics and
//! properties.

pub mod linear;
mod network;
mod queue;
pub mod run;
pub mod world;

pub use network::LinkDefaults;
pub use world::{MembershipSettings, Setup, World};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
