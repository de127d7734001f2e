//! Parts that every driver on a real machine shares: the clock, the timers, the disk, the live
//! journal, and an [`Engine`] that steps one node with all of them.
//!
//! An engine has no network. Its driver passes it messages and commands, and gives it an [`Outlet`]
//! for messages and events of the node: [`local`] passes messages through memory, `net` over TCP.
//! One turn of a driver is
//!
//! 1. all inputs that have arrived: commands, messages, reports of the disk, expired timers. The
//!    driver calls [`Engine::read_clock`] before each input, after it has taken it from its queue:
//!    a node must not take a pause of its process for no time, because its lease may have expired;
//! 2. [`Engine::settle`], which writes the journal and then submits the saves to the disk;
//! 3. only then may the messages and events of the turn leave the process.

mod clock;
mod counted;
mod engine;
mod journal;
pub mod local;
mod record;
mod save_queue;
mod timers;

pub use clock::{Clock, boot_id};
pub use counted::Counted;
pub use engine::{Engine, EngineParts, Failure, MessageOrigin, Outlet, StartState};
pub use journal::LiveJournal;
pub use record::Recorder;
pub use save_queue::Disk;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
