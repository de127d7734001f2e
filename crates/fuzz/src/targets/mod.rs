//! The fuzz targets. Each function passes arbitrary bytes to one parser of untrusted input, or lets
//! them choose the events of a link.

#![allow(clippy::panic, clippy::expect_used, clippy::missing_panics_doc, reason = "a target fails by panicking")]

pub mod certificates;
pub mod disks;
pub mod frames;
pub mod journals;
pub mod links;
pub mod messages;
