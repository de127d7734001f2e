//! What every driver of a [`Protocol`](quorate_core::Protocol) shares: what happens, who watches it, how it is recorded.
//!
//! - A [`Moment`](moment::Moment) is one thing that happens: a node takes an input, a node's effect is carried out, or the world
//!   around the nodes changes. An [`Observer`](moment::Observer) sees every moment of a run.
//! - The [`record`] of a run is its journal, which one observer writes and any observer can read again; [`gather`](record::gather) merges those
//!   of several processes into one, and [`replay`] makes real nodes take the same inputs again.
//! - [`metrics`], [`causality`], [`role`] and [`property`] are what observers are made of.
//! - A [`Workload`](workload::Workload) is the clients of a group: a driver tells it what nodes emit, and gives nodes what it plans.
//! - [`settings`] are the small languages in which people describe faults, delays and scripts; journals hold them as text.
//!
//! The simulator, the checker and the runtime between real processes all speak in these terms, and none of them depends on another.

pub mod causality;
pub mod clocks;
pub mod dice;
pub mod disk;
pub mod metrics;
pub mod moment;
pub mod node_clock;
pub mod property;
pub mod puppets;
pub mod record;
mod recordable;
pub mod replay;
pub mod role;
pub mod settings;
pub mod views;
pub mod words;
pub mod workload;

pub use recordable::Recordable;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
