//! Coordination algorithms as pure state machines.
//!
//! A node of any algorithm is a [`Protocol`]: [`step`](Protocol::step) takes one [`Input`] and puts
//! [`Effect`]s into a sink. It never reads a clock, draws random numbers, blocks or does IO. That
//! is the work of the driver, which must:
//!
//! 1. Build one node per member of the group.
//! 2. Feed each of them `Input::Start` once.
//! 3. Feed commands, messages, timers and everything else that happens, one at a time.
//! 4. Execute the effects of each step in order; delay those that must wait for the disk (see
//!    [`Barrier`]).
//!
//! ```
//! use quorate_core::mutex::{Command, Event, RicartAgrawala};
//! use quorate_core::{Effect, Effects, Group, Input, NodeId, Protocol, Time};
//!
//! // A group of one needs no other node's permission. `RicartAgrawala` ignores `Input::Start`.
//! let group = Group::of_size(1);
//! let mut node = RicartAgrawala::new(NodeId::from_index(0), group);
//! let mut effects: Vec<Effect<RicartAgrawala>> = Vec::new();
//! node.step(Time::ZERO, Input::Command(Command::Acquire), &mut Effects::new(&mut effects));
//! assert!(matches!(effects[..], [Effect::Emit { event: Event::Entered { .. }, .. }]));
//! ```
//!
//! The algorithms are in one module per family ([`mutex`], [`election`], [`multicast`],
//! [`deadlock`]), one file each. Wrappers are protocols too: [`Reliable`](wrap::Reliable) for links
//! that lose, duplicate and reorder messages, [`Watched`](wrap::Watched) for heartbeats,
//! [`Viewed`](wrap::Viewed) for changing groups.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod about;
mod adapt;
mod barrier;
mod bounds;
mod clock;
mod codec;
pub mod deadlock;
mod describe;
mod effects;
pub mod election;
mod fence;
mod fixed;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
mod group;
pub mod membership;
mod model;
pub mod multicast;
pub mod mutex;
mod node;
#[cfg(feature = "postcard")]
pub mod packed;
#[cfg(feature = "serde")]
mod pairs;
mod protocol;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time;
mod tree;
mod view;
pub mod wrap;

pub use barrier::Barrier;
pub use bounds::Bounds;
pub use clock::{Clock, Stamp, VectorClock};
pub use codec::{Codec, Malformed};
pub use describe::{Class, Describe, Medium};
pub use effects::{Effect, Effects, MembershipNote, Note, Order, PayloadId, Sink};
pub use fence::Fence;
pub use fixed::Fixed;
pub use group::{Epoch, Group, majority};
pub use node::{Incarnation, NodeId};
pub use protocol::{Durable, Input, Never, Protocol, WriteOf};
pub use time::{Duration, Span, Time};
pub use tree::Tree;
pub use view::{Stay, View};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
