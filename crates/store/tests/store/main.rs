//! The store on disks that fail in every way: acknowledged writes are there, or the store reports
//! why not.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod crashes;
mod creation;
mod damage;
mod disk_writer;
mod errors;
mod failures;
mod full_disk;
mod kills;
mod random;
