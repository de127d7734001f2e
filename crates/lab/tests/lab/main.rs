//! Tests of the lab's experiments: expected message counts, sweeps under faults, checks, replays of
//! journals.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod bounds;
mod bully;
mod check;
mod checker;
mod common;
mod counts;
mod deadlock_runs;
mod deadlocks;
mod detectors;
mod determinism;
mod election_fixtures;
mod election_runs;
mod elections;
mod encoding;
mod gather;
mod invitation;
mod majority_lease;
mod multicast;
mod multicast_runs;
mod mutex_journals;
mod mutex_measures;
mod mutex_properties;
mod mutex_script;
mod reductions;
mod registry;
mod replica;
mod rings;
mod shrink;
mod stack;
mod super_peer;
mod sweeps;
mod token_ring;
mod views;
