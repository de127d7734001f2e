//! Tests of pictures: their contents, that the target tools accept them, and that no journal breaks
//! them.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod mermaid;
mod overview;
mod queues;
mod shiviz;
mod svg;
mod terminal;
mod views;
mod wait_for;
