//! The checker against a second, plain explorer, and against protocols made to mislead it.

#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test speaks by panicking, and so do its helpers"
)]

mod bounds;
mod common;
mod compare;
mod counts;
mod drawn;
mod durable;
mod liveness;
mod reduction;
mod reference;
mod views;
