//! A stopped node carries out queued commands and sends its last messages. Also tests of limits.

use crate::chatter::Command;
use crate::cluster::{Cluster, Endpoint, NodeOptions, TestNode, addresses, node};
use quorate_net::OverflowPolicy;
use quorate_net::tls::Security;
use std::time::Duration;

/// The incarnation of all nodes.
const INCARNATION: u64 = 0;

fn pair(options: &NodeOptions) -> [TestNode; 2] {
    let endpoints = [Endpoint::new(), Endpoint::new()];
    [1, 2].map(|number| {
        let endpoint = &endpoints[number as usize - 1];
        let peers = addresses(node(number), &endpoints);
        TestNode::start(node(number), INCARNATION, endpoint, peers, Security::Plain, options)
    })
}

#[tokio::test]
async fn commands_queued_before_the_stop_are_carried_out() {
    let [mut one, mut two] = pair(&NodeOptions::default());
    one.ask(node(2)).await;
    for _ in 0..10 {
        one.send(node(2), 1).await;
    }
    let _ = one.stop().await;
    two.wait_for_number(node(1), INCARNATION, 10).await;
}

/// The node's task handles a limited number of inputs in one turn; the rest wait for the next turn.
#[tokio::test]
async fn every_command_of_a_flood_is_carried_out() {
    let [one, mut two] = pair(&NodeOptions::default());
    for _ in 0..1_000 {
        one.command(Command::Send { to: node(2), count: 1, padding: 0 }).await;
    }
    two.wait_for_number(node(1), INCARNATION, 1_000).await;
}

/// The peer writes as well, so that the connection closes with much data in flight in both
/// directions.
#[tokio::test]
async fn the_last_messages_arrive_while_the_peer_writes() {
    let mut options = NodeOptions::default();
    // The nodes send at most 16 MiB each, so no link overflows or makes a client wait.
    (options.limits.max_held_bytes, options.limits.crowded_bytes) = (256 << 20, 256 << 20);
    for _ in 0..5 {
        let [mut one, mut two] = pair(&options);
        one.ask(node(2)).await;
        two.command(Command::Send { to: node(1), count: 1_000, padding: 16 << 10 }).await;
        one.command(Command::Send { to: node(2), count: 100, padding: 16 << 10 }).await;
        let _ = one.stop().await;
        two.wait_for_number(node(1), INCARNATION, 100).await;
    }
}

/// Each message is shorter than the limit of 1 KiB; all together are far longer.
#[tokio::test]
async fn batches_may_be_longer_than_messages() {
    let mut options = NodeOptions { overflow: OverflowPolicy::End, ..NodeOptions::default() };
    options.limits.max_message_bytes = 1 << 10;
    let mut cluster = Cluster::with_fake_peers(2, 2, &options, Cluster::plain).await;
    cluster.nodes[0].command(Command::Send { to: node(2), count: 100, padding: 500 }).await;
    // Node 1 sent two messages when the cluster started.
    cluster.nodes[1].wait_for_number(node(1), INCARNATION, 102).await;
}

#[test]
fn inconsistent_limits_are_rejected() {
    let defaults = quorate_net::Limits::default();
    assert_eq!(defaults.check(), Ok(()));
    for inconsistent in [
        quorate_net::Limits { max_message_bytes: usize::MAX, ..defaults },
        quorate_net::Limits { min_backoff: Duration::ZERO, ..defaults },
        quorate_net::Limits { min_backoff: defaults.max_backoff * 2, ..defaults },
        quorate_net::Limits { idle_timeout: defaults.keepalive_interval, ..defaults },
        quorate_net::Limits { keepalive_interval: Duration::ZERO, ..defaults },
    ] {
        assert!(inconsistent.check().is_err_and(|sentence| sentence.ends_with('.')), "{inconsistent:?}");
    }
}
