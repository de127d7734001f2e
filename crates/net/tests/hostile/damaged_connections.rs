//! Connections that break or are damaged at any byte: no message is lost, repeated or reordered.

use crate::certificates::Certificates;
use crate::cluster::{Cluster, Endpoint, NodeOptions, TestNode, node};
use crate::log::Log;
use crate::proxy::{Damage, Direction, Proxy, closing_listener};
use crate::within;
use quorate_net::tls::Security;
use std::collections::BTreeMap;
use std::time::Duration;

/// Two nodes, the first of which dials the second through a faulty proxy.
struct Pair {
    one: TestNode,
    two: TestNode,
    proxy: Proxy,
    /// Number of messages that each node has sent to the other.
    sent: u64,
    is_encrypted: bool,
    _endpoints: [Endpoint; 2],
}

impl Pair {
    async fn new(security: impl Fn(quorate_core::NodeId) -> Security) -> Self {
        let endpoints = [Endpoint::new(), Endpoint::new()];
        let proxy = Proxy::to(endpoints[1].address).await;
        let mut options = NodeOptions::default();
        options.limits.max_backoff = Duration::from_millis(2);
        let peer = |number: u32, address: std::net::SocketAddr| BTreeMap::from([(node(number), address.to_string())]);
        let one = TestNode::start(node(1), 0, &endpoints[0], peer(2, proxy.address), security(node(1)), &options);
        let two =
            TestNode::start(node(2), 0, &endpoints[1], peer(1, closing_listener().await), security(node(2)), &options);
        let is_encrypted = matches!(security(node(1)), Security::Tls(_));
        Self { one, two, proxy, sent: 0, is_encrypted, _endpoints: endpoints }
    }

    /// Exchanges messages until a damaged connection has ended.
    async fn exchange_until_damaged(&mut self) -> Damage {
        // The damage must take effect within this many messages.
        for _ in 0..400 {
            self.one.send(node(2), 1).await;
            self.two.send(node(1), 1).await;
            self.sent += 1;
            let (one, two, sent) = (&mut self.one, &mut self.two, self.sent);
            tokio::select! {
                damage = self.proxy.next_damaged() => return damage,
                _ = async { tokio::join!(one.wait_for_number(node(2), 0, sent), two.wait_for_number(node(1), 0, sent)) } => {}
            }
        }
        // TLS ignores damage to the version in the head of a record, and detects all other damage.
        assert!(self.is_encrypted, "neither node detected the damage, or the proxy never caused it");
        self.proxy.cut_all();
        within("the end of the connection", self.proxy.next_damaged()).await
    }

    /// Exchanges messages over connections with these damages, one after another, and checks that
    /// all messages arrive.
    async fn exchange_under(&mut self, damages: Vec<Damage>) {
        self.proxy.plan(damages.iter().copied());
        for damage in damages {
            assert_eq!(self.exchange_until_damaged().await, damage);
        }
        let sent = self.sent;
        tokio::join!(self.one.wait_for_number(node(2), 0, sent), self.two.wait_for_number(node(1), 0, sent));
        self.one.ask(node(2)).await;
        self.two.ask(node(1)).await;
    }
}

/// The first 400 bytes of each direction hold the handshake and several frames.
const OFFSETS: std::ops::Range<usize> = 0..400;

#[tokio::test]
async fn a_connection_cut_after_any_byte_loses_and_repeats_nothing() {
    let _log = Log::new();
    let mut pair = Pair::new(Cluster::plain).await;
    let damages =
        OFFSETS.flat_map(|after| [Damage::Cut(Direction::ToTarget, after), Damage::Cut(Direction::FromTarget, after)]);
    pair.exchange_under(damages.collect()).await;
    // A cut inside the handshake establishes no connection, but most of the 800 cuts come later.
    assert!(pair.one.link(node(2)).connections > OFFSETS.len() as u64, "{:?}", pair.one.link(node(2)));
}

#[tokio::test]
async fn a_flipped_bit_at_any_offset_is_detected_and_the_frame_is_sent_again() {
    let log = Log::new();
    let mut pair = Pair::new(Cluster::plain).await;
    let flip = |direction| move |offset: usize| Damage::Flip(direction, offset, 1 << (offset % 8));
    let damages = OFFSETS.map(flip(Direction::ToTarget)).zip(OFFSETS.map(flip(Direction::FromTarget)));
    pair.exchange_under(damages.flat_map(|(forward, backward)| [forward, backward]).collect()).await;
    log.wait_for_line(&["Closed the connection to node", "a frame arrived damaged"]).await;
    log.wait_for_line(&["Closed a connection from 127.0.0.1", "a frame arrived damaged", "not affected."]).await;
}

/// A flipped high bit of a length announces millions of bytes that never come. The node must not
/// wait for them.
#[tokio::test]
async fn a_damaged_length_does_not_make_a_node_wait() {
    let log = Log::new();
    let mut pair = Pair::new(Cluster::plain).await;
    let hello_length = {
        pair.one.ask(node(2)).await;
        let sent = pair.proxy.recorded();
        u32::from_le_bytes(*sent[0].first_chunk().unwrap()) as usize
    };
    // The first frame after the Hello begins here, with its length and the length's complement.
    // The length counts the bytes after both.
    let length_begin = 8 + hello_length;
    let damages = (length_begin..length_begin + 8)
        .flat_map(|offset| [0x01, 0x08, 0x80].map(|mask| Damage::Flip(Direction::ToTarget, offset, mask)));
    let damages: Vec<Damage> = damages.collect();
    pair.proxy.plan(damages.iter().copied());
    // The proxy damages only later connections, so end the current one.
    pair.proxy.cut_all();
    for damage in damages {
        assert_eq!(pair.exchange_until_damaged().await, damage);
    }
    pair.one.ask(node(2)).await;
    log.wait_for_line(&["Closed the connection to node 1"]).await;
}

#[tokio::test]
async fn an_encrypted_connection_that_is_cut_or_damaged_loses_and_repeats_nothing() {
    let _log = Log::new();
    let certificates = Certificates::new();
    let mut pair = Pair::new(|node| certificates.security(node)).await;
    // The TLS handshake has too many bytes to try each of them.
    let offsets = (0..4_000).step_by(197);
    let damages = offsets.flat_map(|offset| {
        [
            Damage::Cut(Direction::ToTarget, offset),
            Damage::Cut(Direction::FromTarget, offset),
            Damage::Flip(Direction::ToTarget, offset, 4),
            Damage::Flip(Direction::FromTarget, offset, 4),
        ]
    });
    pair.exchange_under(damages.collect()).await;
}
