//! Algorithms by name and nodes of any type. These are no unit tests: the crate compiles every algorithm in every form, and once is enough.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod around;
mod disks;
mod erased;
mod opaque;
mod table;
