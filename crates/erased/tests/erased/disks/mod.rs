//! Disks of any algorithm through bytes and back: what a node finds is what was written, or it is told that it is not.

pub(crate) mod keeper;
mod refusals;
mod replicas;
pub(crate) mod shelves;
mod stores;
