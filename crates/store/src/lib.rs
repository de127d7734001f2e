//! Durable storage for a node: its writes, as a checksummed log on a real disk.
//!
//! A [`Protocol`](quorate_core::Protocol) asks for saves, and a driver reports when they are
//! durable. This crate is for drivers on real machines: a [`Store`] keeps any
//! [`Durable`](quorate_core::Durable) in a folder, and a [`DiskWriter`] writes on a thread of its
//! own, so that a node never waits for a slow disk; to a quick one it can write itself.
//!
//! - **Acknowledged writes are durable.** An append takes one frame and one sync, however many
//!   writes it contains.
//! - **A torn tail is cut off; damage is refused.** A crash can tear only the last frame, which was
//!   never acknowledged. Any other difference from what was written is reported with its file, byte
//!   and frame, and the node does not start. Only two go undetected: bytes lost from the end of the
//!   log, because a crash can leave the same file, and changed bytes that carry no information (the
//!   last byte of a frame, and zeros after the last frame).
//! - **A full disk is not a failure.** No part of the append remains, and the same append succeeds
//!   once there is space.
//! - **A failed sync is final.** The contents of the disk are unknown after it, so the store
//!   accepts no more writes until it is opened again.
//!
//! ```text
//! data/
//!   identity        the owner of the folder, human-readable
//!   lock            held while a store is open
//!   life-00000003   empty; the number is the incarnation that the next start gets
//!   log-00000007    a header, a checkpoint, then one frame per append
//! ```

mod create;
mod disk_writer;
mod error;
pub mod faults;
mod files;
mod folder;
mod frame;
mod identity;
mod queue;
mod recovery;
mod scan;
mod segment;
mod store;

pub use create::{create_founder, create_in, create_joiner, replace_lost_log, replace_lost_log_in};
pub use disk_writer::{AppendCount, DiskWriter, NotSaved, Report, RetryDelays, SaveId};
pub use error::StoreError;
pub use files::{FileSystem, Files, StoreFile};
pub use identity::{ClusterId, FORMAT, Identity, Origin, Owner};
pub use recovery::Recovery;
pub use store::{Settings, Storable, Store};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
