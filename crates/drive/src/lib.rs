//! What every driver on a real machine shares: the clock, the timers, the disk, the live journal, and an [`Engine`] that
//! steps one node with all of them.
//!
//! An engine knows no network. Whoever drives it brings messages and commands, and gives it an [`Outlet`] for what leaves:
//! [`local`] passes messages through memory, `net` over TCP. One turn of a driver is
//!
//! 1. [`Engine::wake`], then everything that has come: commands, messages, what the disk tells, timers that are due;
//! 2. [`Engine::settle`]: the journal is written, then the saves go to the disk;
//! 3. only then may anything that came out of the turn leave the process.

mod clock;
mod counted;
mod desk;
mod engine;
mod journal;
pub mod local;
mod record;
mod timers;

pub use clock::{Clock, boot_id};
pub use counted::Counted;
pub use desk::Disk;
pub use engine::{Engine, Failure, Found, Outlet, Parts, Sender};
pub use journal::LiveJournal;
pub use record::Record;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
