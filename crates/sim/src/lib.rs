//! The deterministic simulator: a world of nodes with seeded faults, one journal, metrics and properties.
//!
//! Everything here drives [`Protocol`](quorate_core::Protocol)s and watches them:
//!
//! - a [`World`] holds the nodes, the network between them, their clocks and disks;
//! - an [`Observer`](moment::Observer) sees every [`Moment`](moment::Moment): the [`journal`] is one, so are the
//!   [`metrics`] and each family's properties ([`mutex`], [`election`], [`multicast`]);
//! - [`run`](run::run) lets the users of a family ask until they are served;
//! - [`settings`] are the small languages in which people describe all that.

pub mod causality;
pub mod clocks;
pub mod deadlock;
pub mod dice;
pub mod election;
pub mod journal;
pub mod linear;
pub mod metrics;
pub mod moment;
pub mod multicast;
pub mod mutex;
mod network;
pub mod property;
pub mod puppets;
mod queue;
pub mod replay;
pub mod role;
pub mod run;
pub mod settings;
pub mod views;
pub mod words;
pub mod world;

pub use network::Wire;
pub use world::{News, Setup, Views, World};
