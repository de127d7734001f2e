//! Replicas that run for real: on threads, with real or nearly real disks.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod full;
mod killed;
mod recorded;
mod reseeded;
