//! Disks of any algorithm through bytes and back: what a node finds is what was written, or it is told that it is not.

mod keeper;
mod refusals;
mod replicas;
mod shelves;
mod stores;
