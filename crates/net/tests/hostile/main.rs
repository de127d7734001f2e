//! A group of real nodes on loopback, and everything that a network full of strangers can do to it.
//!
//! Every test ends with the same question: does the group go on? Messages carry numbers, so each node notices for itself
//! if one is lost, repeated or out of order.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod chatter;
mod crowds;
mod cuts;
mod endings;
mod greetings;
mod impostor;
mod lives;
mod log;
mod memory;
mod papers;
mod party;
mod pressure;
mod proxy;
mod strangers;
mod tls;
mod words;

use std::time::Duration;

/// Whatever is waited for has come by then, even on a machine that is busy with something else.
const DEADLINE: Duration = Duration::from_secs(20);

async fn within<T>(what: &str, waiting: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, waiting).await {
        Ok(done) => done,
        Err(_) => panic!("{what} did not come within {DEADLINE:?}"),
    }
}
