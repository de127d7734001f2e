//! Whoever connects without being a node: scanners, browsers, and those who say nothing for a long time.

use crate::impostor::{Impostor, greeting};
use crate::log::Log;
use crate::party::{Party, Style};
use crate::within;
use quorate_net::frame::{Body, HANDSHAKE_LIMIT, encode};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Says something at a node's door and waits until it is closed. Tells what was answered.
async fn knock(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    // A door that is slammed while we still speak is a closed door, too.
    let _ = within("the end of a connection", stream.read_to_end(&mut answer)).await;
    answer
}

#[tokio::test]
async fn what_is_no_frame_is_named_and_the_group_goes_on() {
    let log = Log::new();
    let mut party = Party::of_three(&Style::default(), Party::plain).await;
    let (header, hello) = greeting(2, 1);
    let good = encode(&header, &Body::Hello(hello));
    let damaged = |place: usize| {
        let mut bytes = good.to_vec();
        let place = place % bytes.len();
        bytes[place] ^= 0x10;
        bytes
    };
    let cases: [(Vec<u8>, &str); 8] = [
        (b"GET / HTTP/1.1\r\nHost: node-1\r\n\r\n".to_vec(), "at most 4096 are allowed here"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(), "at most 4096 are allowed here"),
        (vec![0; 64], "is too short for any"),
        (vec![0xFF; 1 << 20], "A frame of 4294967295 bytes was announced"),
        ((HANDSHAKE_LIMIT as u32 + 1).to_le_bytes().repeat(20), "A frame of 4097 bytes was announced"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "The other end begins with TLS"),
        (damaged(good.len() - 6), "A frame arrived damaged"),
        (encode(&header, &Body::Ping).to_vec(), "it began with something else than an introduction"),
    ];
    for (bytes, expected) in &cases {
        let answer = knock(party.address(1), bytes).await;
        assert!(answer.is_empty(), "a stranger who said {bytes:?} was answered");
        log.line(&["WARN", "A connection from 127.0.0.1", expected, "The group goes on."]).await;
        party.goes_on().await;
    }
    assert!(log.all().iter().all(|line| !line.contains("..")), "{:#?}", log.all());
    party.stop().await;
}

#[tokio::test]
async fn a_port_scanner_is_mentioned_and_fills_no_log() {
    let log = Log::new();
    let mut party = Party::of_three(&Style::default(), Party::plain).await;
    for _ in 0..300 {
        drop(TcpStream::connect(party.address(1)).await.unwrap());
    }
    log.line(&["INFO", "closed by the other side before it said anything"]).await;
    log.line(&["more", "about connections were left out"]).await;
    party.goes_on().await;
    let lines = log.count("before it said anything");
    assert!(lines <= 100, "{lines} lines about one scanner");
    party.stop().await;
}

#[tokio::test]
async fn who_introduces_itself_byte_by_byte_is_given_up() {
    let log = Log::new();
    let mut style = Style::default();
    style.limits.introduction = Duration::from_millis(300);
    let mut party = Party::of_three(&style, Party::plain).await;
    let (header, hello) = greeting(2, 1);
    let bytes = encode(&header, &Body::Hello(hello));
    // One says nothing, one stops in the middle, one goes on and on, never fast enough.
    let mut silent = Impostor::connect(party.address(1), header).await;
    let mut halfway = Impostor::connect(party.address(1), header).await;
    halfway.write(&bytes[..bytes.len() / 2]).await;
    let dripping = async {
        let mut slow = Impostor::connect(party.address(1), header).await;
        for byte in &bytes[..bytes.len() - 1] {
            if slow.stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(style.limits.introduction / 20).await;
        }
        slow.is_closed().await;
    };
    tokio::join!(silent.is_closed(), halfway.is_closed(), dripping);
    log.lines(3, "it did not introduce itself in time").await;
    party.goes_on().await;
    party.stop().await;
}

#[tokio::test]
async fn a_greeting_cut_at_any_byte_is_survived() {
    let log = Log::new();
    let mut party = Party::of_three(&Style::default(), Party::plain).await;
    let (header, hello) = greeting(2, 1);
    let bytes = encode(&header, &Body::Hello(hello));
    for end in 1..bytes.len() {
        let mut stream = TcpStream::connect(party.address(1)).await.unwrap();
        stream.write_all(&bytes[..end]).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        within("the end", stream.read_to_end(&mut answer)).await.unwrap();
        assert!(answer.is_empty());
    }
    log.line(&["the connection broke during the introduction"]).await;
    party.goes_on().await;
    party.stop().await;
}
