//! Parsers of untrusted input, one function each.

#![allow(clippy::panic, clippy::expect_used, clippy::missing_panics_doc, reason = "a target fails by panicking")]

pub mod certificates;
pub mod disks;
pub mod frames;
pub mod journals;
pub mod links;
pub mod messages;
