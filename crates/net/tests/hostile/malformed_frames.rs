//! A connected peer that sends malformed or duplicate frames.

use crate::chatter::Message;
use crate::cluster::{Cluster, NodeOptions, node};
use crate::fake_peer::{FakePeer, batch, hello_frame, number_message, raw_batch};
use crate::log::Log;
use bytes::Bytes;
use quorate_core::Incarnation;
use quorate_net::frame::{Body, Dial, Header, LinkEnd, encode};

/// The incarnation of the fake node.
const INCARNATION: u64 = 0;

/// Nodes 1 and 2 of a group of three, and a fake node 3.
struct MalformedFrameTest {
    log: Log,
    cluster: Cluster,
    /// The number of the fake node's last dial.
    last_dial: u64,
}

impl MalformedFrameTest {
    async fn new() -> Self {
        let log = Log::new();
        let cluster = Cluster::with_fake_peers(3, 2, &NodeOptions::default(), Cluster::plain).await;
        Self { log, cluster, last_dial: 0 }
    }

    /// Connects a fake node 3 to node 1, with a higher dial number each time, as if it had been
    /// connected to node 1's incarnation 0 before.
    async fn connect(&mut self) -> FakePeer {
        self.last_dial += 1;
        let (header, mut hello) = hello_frame(3, 1);
        (hello.dial, hello.known_end) = (Dial(self.last_dial), Some(LinkEnd::first(Incarnation(0))));
        FakePeer::connect_welcomed(self.cluster.address(1), header, hello).await.0
    }

    /// Checks that node 1 closes the connection after these bytes, and that one log line contains
    /// all of these parts.
    async fn check_closes_after(&mut self, bytes: &[u8], parts: &[&str]) {
        let mut fake_peer = self.connect().await;
        fake_peer.write(bytes).await;
        fake_peer.wait_for_close().await;
        self.log.wait_for_line(parts).await;
        self.cluster.check_exchange().await;
    }
}

/// A valid header of node 3 with this change.
fn header(change: impl FnOnce(&mut Header)) -> Header {
    let (mut header, _) = hello_frame(3, 1);
    change(&mut header);
    header
}

#[tokio::test]
async fn malformed_frames_end_the_connection_and_do_not_disturb_the_group() {
    let (valid_header, hello) = hello_frame(3, 1);
    let ping = |change: &dyn Fn(&mut Header)| encode(&header(change), &Body::Ping).to_vec();
    let damaged = {
        let mut bytes = encode(&valid_header, &Body::Batch(batch(&[(1, number_message(1))]))).to_vec();
        // Within the last message, before the four bytes of the checksum.
        let index = bytes.len() - 7;
        bytes[index] ^= 1;
        bytes
    };
    let kind_99 = {
        let mut bytes = ping(&|_| {});
        // A frame without a body ends with 38 bytes of header, whose second byte is the kind, and
        // four bytes of checksum.
        let begin = bytes.len() - 42;
        bytes[begin + 1] = 99;
        let end = bytes.len() - 4;
        let check = crc32c::crc32c(&bytes[begin..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&check);
        bytes
    };
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![0xFF; 200], "announced a frame of 4294967295 bytes"),
        (vec![0; 200], "is shorter than any valid frame"),
        (b"GET / HTTP/1.1\r\n\r\n and something more so that it is long enough".to_vec(), "announced a frame of"),
        (damaged, "a frame arrived damaged"),
        (kind_99, "unknown kind 99"),
        (ping(&|header| header.acknowledged = 1_000_000), "acknowledges message 1000000"),
        (ping(&|header| header.acknowledged = u64::MAX), "acknowledges message 18446744073709551615"),
        (ping(&|header| header.sender = node(2)), "a frame from node 2 arrived on the connection to node 3"),
        (ping(&|header| header.group.0 ^= 1), "node 3 sent a frame of another group"),
        (ping(&|header| header.incarnation = Incarnation(1)), "a frame from incarnation 1 of node 3 arrived"),
        (encode(&valid_header, &Body::Hello(hello)).to_vec(), "sent a second handshake"),
        (encode(&valid_header, &Body::Batch(Bytes::new())).to_vec(), "a malformed batch: it has no first number"),
        (encode(&valid_header, &Body::Batch(Bytes::from_static(&[0; 8]))).to_vec(), "its first number is 0"),
        (
            encode(&valid_header, &Body::Batch(raw_batch(&[(9, vec![0; 3]), (9, vec![0; 3])]))).to_vec(),
            "its message numbers do not increase",
        ),
        (
            // A batch encodes the differences of its numbers. From 9 to 8 the difference is
            // 2^64 - 1, which overflows when the node adds it.
            encode(&valid_header, &Body::Batch(raw_batch(&[(9, vec![0; 3]), (8, vec![0; 3])]))).to_vec(),
            "its message numbers exceed 64 bits",
        ),
        (
            // First number 1, difference 0 and length 200 of a message that has only one byte.
            encode(&valid_header, &Body::Batch(Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 200, 1, 7]))).to_vec(),
            "it ends inside a message",
        ),
    ];
    // A node writes at most ten warnings per second, so a new group starts every eight cases.
    for cases in cases.chunks(8) {
        let mut test = MalformedFrameTest::new().await;
        for (bytes, expected) in cases {
            let parts = ["WARN", "Closed the connection to node 3", expected, "Reconnecting."];
            test.check_closes_after(bytes, &parts).await;
        }
        // A reason may end with a full stop of its own; the log line must not add a second one.
        assert!(test.log.all().iter().all(|line| !line.contains("..")), "{:#?}", test.log.all());
        test.cluster.stop().await;
    }
}

#[tokio::test]
async fn duplicate_messages_are_delivered_once() {
    let mut test = MalformedFrameTest::new().await;
    let mut fake_peer = test.connect().await;
    // Numbers of a link may have gaps; those inside the messages may not.
    let first = Body::Batch(batch(&[(1, number_message(1)), (2, number_message(2)), (5, number_message(3))]));
    fake_peer.send(&first).await;
    fake_peer.send(&first).await;
    // A lower number than the last one counts as a duplicate, whatever the message contains.
    fake_peer.send(&Body::Batch(batch(&[(3, number_message(99)), (6, number_message(4))]))).await;
    let one = &mut test.cluster.nodes[0];
    one.wait_for_number(node(3), INCARNATION, 4).await;
    drop(fake_peer);
    let mut fake_peer = test.connect().await;
    fake_peer.send(&first).await;
    fake_peer.send(&Body::Batch(batch(&[(7, number_message(5)), (8, Message::Question(1))]))).await;
    while !matches!(fake_peer.receive().await.expect("no answer").body, Body::Batch(_)) {}
    let one = &mut test.cluster.nodes[0];
    one.wait_for_number(node(3), INCARNATION, 5).await;
    // The first batch again, message 3, and the first batch a third time.
    assert_eq!(one.link(node(3)).duplicates, 3 + 1 + 3);
    test.cluster.check_exchange().await;
    test.cluster.stop().await;
}

#[tokio::test]
async fn undecodable_messages_are_skipped_and_logged_at_a_limited_rate() {
    let mut test = MalformedFrameTest::new().await;
    let mut fake_peer = test.connect().await;
    let undecodable: Vec<(u64, Vec<u8>)> = (1..=2_000).map(|number| (number, vec![0xEE; 5])).collect();
    fake_peer.send(&Body::Batch(raw_batch(&undecodable))).await;
    fake_peer.send(&Body::Batch(batch(&[(2_001, number_message(1))]))).await;
    test.cluster.nodes[0].wait_for_number(node(3), INCARNATION, 1).await;
    test.log.wait_for_line(&["ERROR", "Cannot decode message 1 from node 3"]).await;
    // The node writes at most ten such lines per second. This takes less than two seconds.
    assert!(test.log.count("Cannot decode") < 20, "{} lines", test.log.count("Cannot decode"));
    test.cluster.check_exchange().await;
    test.cluster.stop().await;
}

/// The peer connects and sends malformed bytes again and again.
#[tokio::test]
async fn a_peer_that_keeps_sending_malformed_bytes_is_logged_at_a_limited_rate() {
    let mut test = MalformedFrameTest::new().await;
    for _ in 0..150 {
        let mut fake_peer = test.connect().await;
        fake_peer.write(&[0; 100]).await;
        fake_peer.wait_for_close().await;
    }
    test.log.wait_for_line(&["Suppressed", "more lines about connections"]).await;
    // The node writes at most ten such lines per second. This takes less than ten seconds.
    let lines = test.log.count("is shorter than any valid frame");
    assert!(lines <= 100, "{lines} lines about one peer");
    test.cluster.check_exchange().await;
    test.cluster.stop().await;
}
