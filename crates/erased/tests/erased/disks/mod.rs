//! Disks of any algorithm through bytes and back: a node finds what was written, or gets an error.

pub(crate) mod lists;
mod refusals;
mod replicas;
pub(crate) mod saving;
mod stores;
