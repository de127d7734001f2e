//! What a node saved survives its crash: the fold of its writes, as a checksummed log on a real disk.
//!
//! A [`Protocol`](quorate_core::Protocol) asks for saves, and a driver tells it when they are durable. Here is what a
//! driver on a real machine uses: a [`Store`] keeps any [`Durable`](quorate_core::Durable) in a folder, and a [`Scribe`]
//! is the thread that writes, so that a node never waits for its disk.
//!
//! - **Acknowledged is durable.** An append is one frame with one checksum and one sync, however many writes are in it.
//! - **A torn tail is cut off; damage is refused.** A crash can only tear the last frame, which nobody was told of.
//!   Everything else that is not as it was written stops the node, with the file, the byte and the frame.
//! - **A full disk is not a failure.** Nothing of the append stays, and the same append succeeds when room returns.
//! - **A failed sync is the end.** Nothing is known after it, so the store takes nothing more until it is opened anew.
//!
//! ```text
//! data/
//!   identity        whose folder this is, for people to read
//!   lock            held while a store is open
//!   life-00000003   empty; its name counts how often the node was started
//!   log-00000007    a header, a checkpoint, then one frame for each append
//! ```

mod create;
mod error;
pub mod faults;
mod files;
mod folder;
mod frame;
mod identity;
mod queue;
mod recovery;
mod scan;
mod scribe;
mod segment;
mod store;

pub use create::{create_in, found, join, reseed, reseed_in};
pub use error::StoreError;
pub use files::{FileSystem, Files, StoreFile};
pub use identity::{ClusterId, FORMAT, Identity, Origin, Owner};
pub use recovery::Recovery;
pub use scribe::{Patience, Refusal, Report, Scribe, Ticket};
pub use store::{Settings, Storable, Store};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
