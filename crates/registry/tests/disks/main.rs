//! Disks of any algorithm through bytes and back: what a node finds is what was written, or it is told that it is not.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod keeper;
mod refusals;
mod replicas;
mod shelves;
mod stores;
