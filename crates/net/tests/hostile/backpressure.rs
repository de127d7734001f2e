//! Peers that do not read: the memory held for them is bounded, and clients wait if the protocol
//! needs reliable links. Nodes 1 and 2 of a group of three are real; the tests play node 3.

use crate::chatter::Command;
use crate::cluster::{Cluster, NodeOptions, node};
use crate::fake_peer::{FakePeer, hello_frame};
use crate::log::Log;
use crate::within;
use quorate_net::frame::{Body, encode};
use quorate_net::{Ending, OverflowPolicy};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
/// Maximum number of bytes held for a peer in the test that drops messages: more than the operating
/// system buffers for a connection, so twice as many bytes do not fit.
const MAX_HELD_BYTES: usize = 16 * MIB;

/// Limits that a peer reaches quickly if it does not read.
fn options(overflow: OverflowPolicy) -> NodeOptions {
    let mut options = NodeOptions { overflow, ..NodeOptions::default() };
    (options.limits.crowded_bytes, options.limits.max_held_bytes) = (256 * KIB, MIB);
    options.limits.max_queued_commands = 2;
    options
}

/// A fake node 3 that connects to node 1 and then reads nothing.
async fn connect_without_reading(cluster: &Cluster) -> FakePeer {
    let (header, hello) = hello_frame(3, 1);
    FakePeer::connect_welcomed(cluster.address(1), header, hello).await.0
}

/// Sends keepalives from node 3 until the connection ends.
async fn send_keepalives(mut stream: OwnedWriteHalf, interval: Duration) {
    let (header, _) = hello_frame(3, 1);
    while stream.write_all(&encode(&header, &Body::Ping)).await.is_ok() {
        tokio::time::sleep(interval).await;
    }
}

/// Waits until node 1's link to node 3 is crowded. Meanwhile node 1 must answer node 2.
async fn wait_until_crowded(cluster: &mut Cluster, options: &NodeOptions) {
    let crowding = async {
        while cluster.nodes[0].link(node(3)).held_bytes < options.limits.crowded_bytes {
            cluster.nodes[1].ask(node(1)).await;
        }
    };
    within("a crowded link", crowding).await;
}

#[tokio::test]
async fn messages_to_a_peer_that_does_not_read_are_dropped_and_logged() {
    let log = Log::new();
    let mut options = options(OverflowPolicy::Drop);
    // The node closes a connection whose peer sends keepalives but reads nothing for this long.
    (options.limits.idle_timeout, options.limits.keepalive_interval) =
        (Duration::from_millis(400), Duration::from_millis(100));
    options.limits.max_held_bytes = MAX_HELD_BYTES;
    let mut cluster = Cluster::with_fake_peers(3, 2, &options, Cluster::plain).await;
    // The fake node 3 sends keepalives all the time and never reads.
    let (_unread, writer) = connect_without_reading(&cluster).await.stream.into_split();
    tokio::spawn(send_keepalives(writer, options.limits.idle_timeout / 8));
    // 32 MiB in total, twice the maximum that is held.
    for _ in 0..64 {
        cluster.nodes[0].command(Command::Send { to: node(3), count: 16, padding: 32 * KIB }).await;
        cluster.nodes[0].ask(node(2)).await;
        assert!(cluster.nodes[0].link(node(3)).held_bytes <= MAX_HELD_BYTES);
    }
    // Of the 1,024 messages, the link holds at most 512, and the operating system buffers some.
    log.wait_for_line(&["WARN", "The link to node 3 is full and did not accept", "The node dropped them"]).await;
    assert!(cluster.nodes[0].link(node(3)).dropped_at_overflow > 100, "{:?}", cluster.nodes[0].link(node(3)));
    assert!(log.count("The node dropped them") < 10, "the log must report the loss once until there is room again");
    log.wait_for_line(&["The connection to node 3 ended: the peer read nothing for 400ms", "No message is lost"]).await;
    cluster.check_exchange().await;
    assert!(cluster.nodes[0].link(node(3)).held_bytes <= MAX_HELD_BYTES);
    cluster.stop().await;
}

#[tokio::test]
async fn a_connection_to_a_silent_peer_is_closed() {
    let log = Log::new();
    let mut options = NodeOptions::default();
    (options.limits.idle_timeout, options.limits.keepalive_interval) =
        (Duration::from_millis(300), Duration::from_millis(50));
    let mut cluster = Cluster::with_fake_peers(3, 2, &options, Cluster::plain).await;
    let mut fake_peer = connect_without_reading(&cluster).await;
    fake_peer.wait_for_close().await;
    log.wait_for_line(&["The connection to node 3 ended: the peer sent nothing for 300ms", "No message is lost"]).await;
    cluster.check_exchange().await;
    cluster.stop().await;
}

#[tokio::test]
async fn clients_wait_for_a_peer_that_does_not_read_before_the_node_ends() {
    let _log = Log::new();
    let options = options(OverflowPolicy::End);
    let mut cluster = Cluster::with_fake_peers(3, 2, &options, Cluster::plain).await;
    let _fake_peer = connect_without_reading(&cluster).await;
    // The node accepts commands until the link is crowded. Then the client waits, while the node
    // itself continues.
    let handle = cluster.nodes[0].handle.clone();
    let client = tokio::spawn(async move {
        for _ in 0..10_000 {
            let sent = handle.command(Command::Send { to: node(3), count: 1, padding: 32 * KIB }).await;
            if sent.is_err() {
                return;
            }
        }
    });
    wait_until_crowded(&mut cluster, &options).await;
    // Until the operating system's buffers are full, the link may become less crowded again.
    let mut held_bytes = 0;
    for _ in 0..200 {
        cluster.nodes[1].ask(node(1)).await;
        held_bytes = cluster.nodes[0].link(node(3)).held_bytes;
        // One turn may carry out both queued commands, of 32 KiB each, before the link is crowded.
        let max_bytes = options.limits.crowded_bytes + 64 * KIB;
        assert!(held_bytes < max_bytes, "{held_bytes} bytes are held, and clients still send");
    }
    assert!(held_bytes >= options.limits.crowded_bytes, "the client waits although only {held_bytes} bytes are held");
    assert!(!client.is_finished(), "the client must wait while the link is crowded");
    // Node 2 makes node 1 send 2 MiB more, until the link overflows its maximum of 1 MiB.
    let [one, two] = &mut cluster.nodes[..] else { panic!() };
    for _ in 0..64 {
        two.command(Command::Forward { via: node(1), to: node(3), padding: 32 * KIB }).await;
    }
    let ending = within("the end of node 1", &mut one.running).await.unwrap();
    let Ending::MessageLost(sentence) = ending else { panic!("{ending:?}") };
    assert!(sentence.contains("The link to node 3 is full"), "{sentence}");
    within("the end of the client", client).await.unwrap();
}

/// Clients of a crowded link continue once the peer restarts and reads.
#[tokio::test]
async fn clients_continue_when_the_peer_reads_again() {
    let _log = Log::new();
    let options = options(OverflowPolicy::End);
    let mut cluster = Cluster::with_fake_peers(3, 2, &options, Cluster::plain).await;
    let fake_peer = connect_without_reading(&cluster).await;
    let handle = cluster.nodes[0].handle.clone();
    let client = tokio::spawn(async move {
        for _ in 0..500 {
            handle.command(Command::Send { to: node(3), count: 1, padding: 32 * KIB }).await.unwrap();
        }
    });
    wait_until_crowded(&mut cluster, &options).await;
    // Start a real incarnation of node 3, which reads and acknowledges.
    drop(fake_peer);
    let peers = crate::cluster::addresses(node(3), &cluster.endpoints);
    let (incarnation, security) = (1, quorate_net::tls::Security::Plain);
    let three = crate::cluster::TestNode::start(node(3), incarnation, &cluster.endpoints[2], peers, security, &options);
    within("the end of the client", client).await.unwrap();
    cluster.nodes.push(three);
    cluster.check_exchange().await;
    cluster.stop().await;
}
