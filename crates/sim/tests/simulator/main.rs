//! Integration tests of the simulator: scenarios with scripted nodes, and their traces and
//! journals.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests and their helpers fail by panicking")]

mod accounting;
mod broken_journals;
mod causality;
mod clocks;
mod common;
mod crashes;
mod cuts;
mod determinism;
mod directions;
mod disks;
mod failed_disks;
mod full_disks;
mod journal;
mod metrics;
mod network;
mod order;
mod pauses;
mod processing;
mod replay;
mod runs;
mod timers;
mod turns;
