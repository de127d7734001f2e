//! The deterministic simulator: nodes of any [`Protocol`](quorate_core::Protocol) in a world with seeded faults.
//!
//! - A [`World`] holds the nodes, the network between them, their clocks and disks; an [`Observer`](quorate_journal::moment::Observer)
//!   sees every moment of it.
//! - [`run`](run::run) lets a [`Workload`](quorate_journal::workload::Workload) ask until it is served.
//! - [`linear`] decides whether a history of operations is linearizable.
//!
//! It knows no family of algorithms: clients, measures and properties come from outside.

pub mod linear;
mod network;
mod queue;
pub mod run;
pub mod world;

pub use network::Wire;
pub use world::{Setup, Views, World};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
