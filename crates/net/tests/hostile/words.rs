//! A peer that is let in and then talks nonsense.

use crate::chatter::Message;
use crate::impostor::{Impostor, batch, greeting, number, raw_batch};
use crate::log::Log;
use crate::party::{Party, Style, node};
use bytes::Bytes;
use quorate_core::Incarnation;
use quorate_net::frame::{Body, Dial, Header, encode};

/// A group of two, and node 3, which is somebody else.
struct Stage {
    log: Log,
    party: Party,
    dials: u64,
}

impl Stage {
    async fn new() -> Self {
        let log = Log::new();
        let party = Party::with_guests(3, 2, &Style::default(), Party::plain).await;
        Self { log, party, dials: 0 }
    }

    async fn enter(&mut self) -> Impostor {
        self.dials += 1;
        let (header, mut hello) = greeting(3, 1);
        (hello.dial, hello.knows) = (Dial(self.dials), Some(Incarnation(0)));
        Impostor::welcomed(self.party.address(1), header, hello).await.0
    }

    /// Node 3 says this, and the connection is over. The log has these parts in one line.
    async fn thrown_out(&mut self, bytes: &[u8], parts: &[&str]) {
        let mut impostor = self.enter().await;
        impostor.write(bytes).await;
        impostor.is_closed().await;
        self.log.line(parts).await;
        self.party.goes_on().await;
    }
}

fn header(change: impl FnOnce(&mut Header)) -> Header {
    let (mut header, _) = greeting(3, 1);
    change(&mut header);
    header
}

#[tokio::test]
async fn nonsense_after_a_welcome_ends_the_connection_and_nothing_else() {
    let (as_is, hello) = greeting(3, 1);
    let ping = |change: &dyn Fn(&mut Header)| encode(&header(change), &Body::Ping).to_vec();
    let damaged = {
        let mut bytes = encode(&as_is, &Body::Batch(batch(&[(1, number(1))]))).to_vec();
        let middle = bytes.len() - 7;
        bytes[middle] ^= 1;
        bytes
    };
    let kind_99 = {
        let mut bytes = ping(&|_| {});
        let begin = bytes.len() - 42;
        bytes[begin + 1] = 99;
        let end = bytes.len() - 4;
        let check = crc32c::crc32c(&bytes[begin..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&check);
        bytes
    };
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![0xFF; 200], "A frame of 4294967295 bytes was announced"),
        (vec![0; 200], "is too short for any"),
        (b"GET / HTTP/1.1\r\n\r\n and something more so that it is long enough".to_vec(), "bytes was announced"),
        (damaged, "A frame arrived damaged"),
        (kind_99, "unknown kind 99"),
        (ping(&|header| header.acknowledged = 1_000_000), "acknowledges message 1000000"),
        (ping(&|header| header.acknowledged = u64::MAX), "acknowledges message 18446744073709551615"),
        (ping(&|header| header.sender = node(2)), "A frame of node 2 arrived on the connection to node 3"),
        (ping(&|header| header.group.0 ^= 1), "A frame of another group arrived from node 3"),
        (ping(&|header| header.incarnation = Incarnation(1)), "A frame of life 1 of node 3 arrived"),
        (encode(&as_is, &Body::Hello(hello)).to_vec(), "introduced itself a second time"),
        (encode(&as_is, &Body::Batch(Bytes::new())).to_vec(), "This batch cannot be read: it has no number"),
        (encode(&as_is, &Body::Batch(Bytes::from_static(&[0; 8]))).to_vec(), "it begins with number 0"),
        (
            encode(&as_is, &Body::Batch(raw_batch(&[(9, vec![0; 3]), (9, vec![0; 3])]))).to_vec(),
            "its numbers do not grow",
        ),
        (
            encode(&as_is, &Body::Batch(raw_batch(&[(9, vec![0; 3]), (8, vec![0; 3])]))).to_vec(),
            "its numbers grow beyond all measure",
        ),
        (
            encode(&as_is, &Body::Batch(Bytes::from_static(&[1, 0, 0, 0, 0, 0, 0, 0, 0, 200, 1, 7]))).to_vec(),
            "it ends inside a message",
        ),
    ];
    // One node writes only so many lines a second.
    for cases in cases.chunks(8) {
        let mut stage = Stage::new().await;
        for (bytes, expected) in cases {
            let parts = ["WARN", "The connection to node 3 is closed", expected, "It will be made again."];
            stage.thrown_out(bytes, &parts).await;
        }
        assert!(stage.log.all().iter().all(|line| !line.contains("..")), "{:#?}", stage.log.all());
        stage.party.stop().await;
    }
}

#[tokio::test]
async fn a_peer_that_repeats_itself_is_heard_once() {
    let mut stage = Stage::new().await;
    let mut impostor = stage.enter().await;
    let first = Body::Batch(batch(&[(1, number(1)), (2, number(2)), (5, number(3))]));
    impostor.say(&first).await;
    impostor.say(&first).await;
    // Numbers that go back between batches are repetitions, too, whatever they carry.
    impostor.say(&Body::Batch(batch(&[(3, number(99)), (6, number(4))]))).await;
    let one = &mut stage.party.members[0];
    one.hear(node(3), 0, 4).await;
    drop(impostor);
    let mut impostor = stage.enter().await;
    impostor.say(&first).await;
    impostor.say(&Body::Batch(batch(&[(7, number(5)), (8, Message::Question(1))]))).await;
    while !matches!(impostor.hear().await.expect("no answer").body, Body::Batch(_)) {}
    let one = &mut stage.party.members[0];
    one.hear(node(3), 0, 5).await;
    assert_eq!(one.link(node(3)).repeated, 3 + 1 + 3);
    stage.party.goes_on().await;
    stage.party.stop().await;
}

#[tokio::test]
async fn messages_that_cannot_be_read_are_skipped_with_a_line_and_no_flood() {
    let mut stage = Stage::new().await;
    let mut impostor = stage.enter().await;
    let nonsense: Vec<(u64, Vec<u8>)> = (1..=2_000).map(|number| (number, vec![0xEE; 5])).collect();
    impostor.say(&Body::Batch(raw_batch(&nonsense))).await;
    impostor.say(&Body::Batch(batch(&[(2_001, number(1))]))).await;
    stage.party.members[0].hear(node(3), 0, 1).await;
    stage.log.line(&["ERROR", "Message 1 from node 3 cannot be read"]).await;
    assert!(stage.log.count("cannot be read") < 20, "{} lines", stage.log.count("cannot be read"));
    stage.party.goes_on().await;
    stage.party.stop().await;
}

/// Each time it is let in, and each time it talks nonsense at once.
#[tokio::test]
async fn a_peer_that_never_learns_fills_no_log() {
    let mut stage = Stage::new().await;
    for _ in 0..150 {
        let mut impostor = stage.enter().await;
        impostor.write(&[0; 100]).await;
        impostor.is_closed().await;
    }
    stage.log.line(&["more", "about connections were left out"]).await;
    let lines = stage.log.count("is too short for any");
    assert!(lines <= 100, "{lines} lines about one fool");
    stage.party.goes_on().await;
    stage.party.stop().await;
}
