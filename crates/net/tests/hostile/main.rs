//! A group of real nodes on loopback under attack from the network.
//!
//! Most tests end with `check_exchange`, which checks that all nodes can still exchange messages.
//! The messages carry numbers, so each node detects a lost, repeated or reordered one.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod backpressure;
mod certificates;
mod changing_peers;
mod chatter;
mod cluster;
mod damaged_connections;
mod fake_peer;
mod hellos;
mod log;
mod malformed_frames;
mod many_connections;
mod memory;
mod non_peers;
mod paused;
mod proxy;
mod restarts;
mod shutdown;
mod tls;

use std::time::Duration;

/// Maximum time to wait for anything, long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for a future, and fails the test with the name of the expected event after [`DEADLINE`].
async fn within<T>(expected: &str, waiting: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, waiting).await {
        Ok(output) => output,
        Err(_) => panic!("{expected} did not happen within {DEADLINE:?}"),
    }
}
