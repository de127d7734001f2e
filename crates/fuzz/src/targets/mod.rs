//! What reads bytes that anybody may have written, one function a reader.

#![allow(clippy::panic, clippy::expect_used, clippy::missing_panics_doc, reason = "a target fails by panicking")]

pub mod disks;
pub mod frames;
pub mod journals;
pub mod links;
pub mod messages;
pub mod papers;
