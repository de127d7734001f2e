//! Benchmarks of three or five replicas in processes of their own, as a service would run them.
//!
//! The benchmark starts its own program as servers ([`server`]) and controls them ([`group`]).
//! Clients in this process ([`client`]) use them over TCP or TLS ([`frame`], [`message`]).

mod client;
pub(super) mod fail_over;
mod frame;
mod front_end;
mod group;
mod load;
pub(super) mod members;
mod message;
mod meter;
mod server;
mod stream;
pub(super) mod throughput;

use quorate_core::NodeId;
use std::time::Duration;

pub(crate) use server::run as run_server;

/// Number of servers in a group.
const SERVERS: u32 = 3;
/// How long a client waits for a server before it uses another one, where faults are expected.
const CLIENT_TIMEOUT: Duration = Duration::from_millis(250);
/// The default number of clients of a benchmark with faults or changes.
const CLIENTS: u64 = 16;
/// Maximum number of clients.
const MAX_CLIENTS: u64 = 1_000;

/// The number of clients to start.
fn client_count(requested: Option<u64>) -> anyhow::Result<u64> {
    let clients = requested.unwrap_or(CLIENTS);
    anyhow::ensure!(
        (1..=MAX_CLIENTS).contains(&clients),
        "--clients must be between 1 and {MAX_CLIENTS}; got {clients}."
    );
    Ok(clients)
}

fn servers() -> Vec<NodeId> {
    (0..SERVERS as usize).map(NodeId::from_index).collect()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Returns the median of some values; `None` if there are none.
fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied()?;
    let lower = values.get((values.len() - 1) / 2).copied()?;
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn a_median_is_between_the_middle_values() {
        assert_eq!(median([].into_iter()), None);
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0].into_iter()), Some(2.5));
    }
}
