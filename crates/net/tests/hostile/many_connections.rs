//! Attacks with many connections at once.

use crate::cluster::{Cluster, NodeOptions, node};
use crate::fake_peer::{FakePeer, hello_frame};
use crate::log::Log;
use crate::memory;
use crate::within;
use quorate_core::Incarnation;
use quorate_net::frame::{Body, HANDSHAKE_LIMIT, LinkEnd};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Number of connections that the first test opens; the second opens a quarter. Each costs a file
/// descriptor on both sides until it is closed.
const CONNECTIONS: usize = 1_000;
/// Maximum number of unfinished handshakes of a node.
const MAX_PENDING: usize = 32;
/// Number of bytes that a connection tries to send in one write.
const PAYLOAD_BYTES: usize = 1 << 20;
/// Maximum growth of this process's memory in a test. The long frames in these tests announce far
/// more.
const MAX_GROWN_BYTES: u64 = 200 << 20;

#[tokio::test]
async fn a_thousand_unfinished_handshakes_do_not_disturb_the_group() {
    let log = Log::new();
    let mut options = NodeOptions::default();
    options.limits.max_pending_connections = MAX_PENDING;
    // The handshake does not time out here; the node closes connections only because there are too
    // many.
    options.limits.handshake_timeout = Duration::from_secs(600);
    let mut cluster = Cluster::of_three(&options, Cluster::plain).await;
    let initial_bytes = memory::current();
    let mut streams = Vec::new();
    for number in 0..CONNECTIONS {
        let mut stream = TcpStream::connect(cluster.address(1)).await.unwrap();
        // Announce the longest frame that is allowed, and send most of it. Its first byte is a
        // valid version.
        let length = HANDSHAKE_LIMIT as u32;
        stream.write_all(&[length.to_le_bytes(), (!length).to_le_bytes()].concat()).await.unwrap();
        let _ = stream.try_write(&[1; HANDSHAKE_LIMIT - 100]);
        streams.push(stream);
        if number % 250 == 249 {
            cluster.check_exchange().await;
        }
    }
    // The node has closed all but the last `MAX_PENDING` connections.
    for stream in &mut streams[..CONNECTIONS - MAX_PENDING] {
        let mut answer = Vec::new();
        let _ = within("the end of the connection", stream.read_to_end(&mut answer)).await;
        assert!(answer.is_empty());
    }
    log.wait_for_line(&["WARN", "Too many connections have not finished their handshake; closed the oldest"]).await;
    cluster.check_exchange().await;
    let lines = log.count("have not finished their handshake");
    assert!(lines < CONNECTIONS / 2, "{lines} lines about one flood");
    let grown_bytes = memory::peak().saturating_sub(initial_bytes);
    assert!(grown_bytes < MAX_GROWN_BYTES, "{CONNECTIONS} connections cost {grown_bytes} bytes");
    assert_eq!(cluster.nodes[0].link(node(2)).connections, 1, "the group must keep its connection");
    drop(streams);
    cluster.check_exchange().await;
    cluster.stop().await;
}

/// Each connection announces a long frame and sends as much of it as the node reads.
#[tokio::test]
async fn announced_long_frames_cost_little_memory() {
    let log = Log::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
    let initial_bytes = memory::current();
    let payload = vec![1; PAYLOAD_BYTES];
    let mut streams = Vec::new();
    for _ in 0..CONNECTIONS / 4 {
        let mut stream = TcpStream::connect(cluster.address(1)).await.unwrap();
        // 16 MiB; a frame of the handshake may have 4 KiB.
        stream.write_all(&(16_u32 << 20).to_le_bytes()).await.unwrap();
        while let Ok(1..) = stream.try_write(&payload) {}
        streams.push(stream);
    }
    log.wait_for_line(&["announced a frame of 16777216 bytes"]).await;
    cluster.check_exchange().await;
    let grown_bytes = memory::peak().saturating_sub(initial_bytes);
    assert!(grown_bytes < MAX_GROWN_BYTES, "{} announced frames cost {grown_bytes} bytes", CONNECTIONS / 4);
    cluster.stop().await;
}

/// The memory for a frame grows with the bytes received, not with the announced length, even for a
/// connected peer.
#[tokio::test]
async fn a_peer_that_announces_much_and_sends_little_costs_little() {
    let _log = Log::new();
    let (size, real_nodes) = (3, 2);
    let mut cluster = Cluster::with_fake_peers(size, real_nodes, &NodeOptions::default(), Cluster::plain).await;
    let initial_bytes = memory::current();
    let mut peers = Vec::new();
    // The test dials node 1 in place of node 3, as if it had been connected to it before.
    for dial in 1..=50 {
        let (header, mut hello) = hello_frame(3, 1);
        hello.dial.0 = dial;
        hello.known_end = Some(LinkEnd::first(Incarnation(0)));
        let (mut peer, _, _) = FakePeer::connect_welcomed(cluster.address(1), header, hello).await;
        let frame = quorate_net::frame::encode(&header, &Body::Batch(vec![0; 15 << 20].into()));
        peer.write(&frame[..1_000]).await;
        peers.push(peer);
    }
    cluster.check_exchange().await;
    let grown_bytes = memory::peak().saturating_sub(initial_bytes);
    // The attacker itself allocates one frame of 15 MiB at a time in this process.
    assert!(grown_bytes < MAX_GROWN_BYTES, "50 announced frames cost {grown_bytes} bytes");
    cluster.stop().await;
}
