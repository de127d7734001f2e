//! Nodes of any type: what they send, set and save.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod disks;
mod erased;
mod multicast;
mod opaque;
