//! Tests of erased nodes, of their disks, and of the two forms of multicast messages: bytes and
//! text.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod disks;
mod erased;
mod multicast;
mod opaque;
