//! Nodes on threads, with real disks, simulated faulty disks, or none.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod crowded;
mod full;
mod killed;
mod paused;
mod recorded;
mod reseeded;
mod turns;
