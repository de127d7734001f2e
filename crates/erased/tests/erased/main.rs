//! Erased nodes: their messages, timers and saves.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod disks;
mod erased;
mod multicast;
mod opaque;
