//! Checks by name: every fixture is caught, every twin is let go, and whatever is found replays.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test speaks by panicking, and so do its helpers"
)]

mod agreement;
mod common;
mod fixtures;
mod journals;
mod toys;
mod views;
