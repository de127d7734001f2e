//! The store against disks that fail in every way: what was acknowledged is there, or the store says why not.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod crashes;
mod creation;
mod damage;
mod drawn;
mod errors;
mod failures;
mod kills;
mod room;
mod scribe;
