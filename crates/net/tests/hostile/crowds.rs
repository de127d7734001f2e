//! A thousand connections at once.

use crate::impostor::{Impostor, greeting};
use crate::log::Log;
use crate::memory;
use crate::party::{Party, Style, node};
use crate::within;
use quorate_net::frame::{Body, HANDSHAKE_LIMIT};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How many connections one process may try here: each costs a file descriptor on either side until it is closed.
const CROWD: usize = 1_000;
const STRANGERS: usize = 32;
/// What each of them would like to have kept for it.
const BAGGAGE: usize = 1 << 20;

#[tokio::test]
async fn a_thousand_strangers_find_few_chairs_and_the_group_goes_on() {
    let log = Log::new();
    let mut style = Style::default();
    style.limits.strangers = STRANGERS;
    // Nobody is closed for being late here, only for being one too many.
    style.limits.introduction = Duration::from_secs(600);
    let mut party = Party::of_three(&style, Party::plain).await;
    let before = memory::now();
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let mut stream = TcpStream::connect(party.address(1)).await.unwrap();
        // The promise of a frame that is just short enough, and most of it.
        let length = HANDSHAKE_LIMIT as u32;
        stream.write_all(&[length.to_le_bytes(), (!length).to_le_bytes()].concat()).await.unwrap();
        let _ = stream.try_write(&[1; HANDSHAKE_LIMIT - 100]);
        crowd.push(stream);
        if number % 250 == 249 {
            party.goes_on().await;
        }
    }
    // Whoever came early has been shown the door; only the last few still have a chair.
    let (early, late) = crowd.split_at_mut(CROWD - STRANGERS);
    for stream in early {
        let mut answer = Vec::new();
        let _ = within("a closed door", stream.read_to_end(&mut answer)).await;
        assert!(answer.is_empty());
    }
    assert_eq!(late.len(), STRANGERS);
    log.line(&["WARN", "Too many connections have not introduced themselves; the oldest was closed"]).await;
    party.goes_on().await;
    let lines = log.count("have not introduced themselves");
    assert!(lines < CROWD / 2, "{lines} lines about one crowd");
    let grown = memory::peak().saturating_sub(before);
    assert!(grown < 200 << 20, "{CROWD} strangers cost {grown} bytes");
    assert_eq!(party.members[0].link(node(2)).connections, 1, "the group's own connection made way for a stranger");
    drop(crowd);
    party.goes_on().await;
    party.stop().await;
}

/// Each promises a long frame and sends as much of it as anybody will take.
#[tokio::test]
async fn promises_of_long_frames_cost_no_memory() {
    let log = Log::new();
    let mut party = Party::of_three(&Style::default(), Party::plain).await;
    let before = memory::now();
    let baggage = vec![1; BAGGAGE];
    let mut crowd = Vec::new();
    for _ in 0..CROWD / 4 {
        let mut stream = TcpStream::connect(party.address(1)).await.unwrap();
        stream.write_all(&(16_u32 << 20).to_le_bytes()).await.unwrap();
        while let Ok(1..) = stream.try_write(&baggage) {}
        crowd.push(stream);
    }
    log.line(&["A frame of 16777216 bytes was announced"]).await;
    party.goes_on().await;
    let grown = memory::peak().saturating_sub(before);
    assert!(grown < 200 << 20, "{} promises cost {grown} bytes", CROWD / 4);
    party.stop().await;
}

/// Even a peer that was welcomed has only promised what it has not sent: its frame is as large as what has come of it.
#[tokio::test]
async fn a_peer_that_promises_much_and_sends_little_costs_little() {
    let _log = Log::new();
    let mut party = Party::with_guests(3, 2, &Style::default(), Party::plain).await;
    let before = memory::now();
    let mut peers = Vec::new();
    for dial in 1..=50 {
        let (header, mut hello) = greeting(3, 1);
        hello.dial.0 = dial;
        hello.knows = Some(quorate_core::Incarnation(0));
        let (mut peer, _, _) = Impostor::welcomed(party.address(1), header, hello).await;
        let whole = quorate_net::frame::encode(&header, &Body::Batch(vec![0; 15 << 20].into()));
        peer.write(&whole[..1_000]).await;
        peers.push(peer);
    }
    party.goes_on().await;
    let grown = memory::peak().saturating_sub(before);
    // One frame of 15 MiB at a time is made here, by the attacker.
    assert!(grown < 200 << 20, "50 promises cost {grown} bytes");
    party.stop().await;
}
