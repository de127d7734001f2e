//! Tests of the command line: each runs the program and checks its output and exit code.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests and their helpers fail by panicking")]

mod armies;
mod bank;
#[cfg(unix)]
mod bench;
#[cfg(target_os = "linux")]
mod bench_servers;
mod berkeley;
mod certs;
mod check;
mod commands;
#[cfg(target_os = "linux")]
mod compare;
mod detectors;
mod documents;
mod draw;
mod effects;
mod elections;
mod errors;
mod failures;
mod families;
mod gallery;
mod golden;
mod journals;
mod json;
#[cfg(target_os = "linux")]
mod live;
mod local;
mod multicast;
#[cfg(target_os = "linux")]
mod node;
mod record;
mod run;
mod shrink;
mod undecided;
#[cfg(target_os = "linux")]
mod views;
mod violations;
mod voting_risk;
mod wait_for;
mod xml;
