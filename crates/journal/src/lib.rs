//! Types that every driver of a [`Protocol`](quorate_core::Protocol) shares: recorded events,
//! observers and journals.
//!
//! - A [`Moment`](moment::Moment) is one event of a run: a node takes an input, a driver carries
//!   out an effect of a node, or a fault changes the environment. An [`Observer`](moment::Observer)
//!   sees every moment of a run.
//! - The [`record`] of a run is its journal. One observer writes it, and a reader shows it to any
//!   other observer. [`gather`](record::gather) merges the journals of several processes, and
//!   [`replay`] gives the recorded inputs to fresh nodes.
//! - A [`node_clock`] is a node's own clock; [`clocks`] derives the readings of all nodes' clocks
//!   from the moments of a run.
//! - [`metrics`], [`causality`], [`role`] and [`property`] contain building blocks for observers.
//! - A [`Workload`](workload::Workload) models the clients of a group. A driver passes it the
//!   events that nodes emit and gives nodes the commands that the workload plans.
//! - [`settings`] defines the text formats for faults, delays and scripts. Journals store settings
//!   as that text.
//!
//! The simulator, the checker and the runtime for real processes all use these types, and none
//! depends on another.

pub mod causality;
pub mod clocks;
pub mod disk;
pub mod metrics;
pub mod moment;
pub mod node_clock;
pub mod property;
pub mod record;
mod recordable;
pub mod replay;
pub mod replay_nodes;
pub mod rng;
pub mod role;
pub mod settings;
pub mod views;
pub mod words;
pub mod workload;

pub use recordable::Recordable;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
