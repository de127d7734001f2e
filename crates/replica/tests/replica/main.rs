//! Tests of replicas: one replica against any message, small groups step by step and in the
//! simulator, elections, and group memberships.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, reason = "a test fails by panicking")]

mod cluster;
mod election;
mod entries;
mod failures;
mod hostile;
mod leadership;
mod leaving;
mod load;
mod members;
mod membership;
mod requests;
mod sessions;
mod simulated;
mod slow;
mod stepped;

use quorate_core::{Duration, NodeId};
use quorate_journal::settings::Latency;
use quorate_replica::{Event, Members, StateMachine, Ticket};
use quorate_sim::{LinkDefaults, Setup};

fn node(number: u32) -> NodeId {
    NodeId::new(number).unwrap()
}

fn members(voters: &[u32], learners: &[u32]) -> Members {
    let set = |numbers: &[u32]| numbers.iter().map(|number| node(*number)).collect();
    Members { voters: set(voters), learners: set(learners) }
}

/// A simulated network with this latency, loss and duplication, and disks with this sync time.
fn setup(nodes: usize, seed: u64, latency: &str, [loss, duplicate]: [&str; 2], sync: &str) -> Setup {
    let [loss, duplicate] = [loss, duplicate].map(|chance| chance.parse().unwrap());
    let link_defaults = LinkDefaults { latency: latency.parse().unwrap(), loss, duplicate, is_fifo: false };
    Setup { nodes, seed, link_defaults, processing: Latency::Fixed(Duration::ZERO), sync: sync.parse().unwrap() }
}

/// The request that an event completes, if any.
fn completed_request<S: StateMachine>(event: &Event<S>) -> Option<Ticket> {
    match event {
        Event::Answered { ticket, .. }
        | Event::Refused { ticket, .. }
        | Event::Unknown { ticket }
        | Event::Changed { ticket, .. } => Some(*ticket),
        Event::Attached { ticket, .. } => *ticket,
        Event::Leads { .. }
        | Event::Follows { .. }
        | Event::Outcome { .. }
        | Event::Detached { .. }
        | Event::Configured { .. }
        | Event::Retired
        | Event::Applied { .. }
        | Event::Restored(_)
        | Event::Halted { .. } => None,
    }
}
