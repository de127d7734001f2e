//! Replicas on threads, with real disks or simulated faulty ones.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod crowded;
mod full;
mod killed;
mod recorded;
mod reseeded;
