//! Tests of pictures: their contents, that they follow the rules of the tools that read them, and
//! that no journal breaks them.

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
