//! Connections from programs that are not nodes: scanners, browsers, and programs that send too
//! little or too slowly.

use crate::cluster::{Cluster, NodeOptions};
use crate::fake_peer::{FakePeer, hello_frame};
use crate::log::Log;
use crate::within;
use quorate_net::frame::{Body, HANDSHAKE_LIMIT, encode};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Sends bytes to a node and waits until it closes the connection. Returns the answer.
async fn send_and_wait_for_close(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    // A reset during the write counts as a close, too.
    let _ = within("the end of a connection", stream.read_to_end(&mut answer)).await;
    answer
}

#[tokio::test]
async fn bytes_that_are_not_a_frame_are_logged_and_do_not_disturb_the_group() {
    let log = Log::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
    let (header, hello) = hello_frame(2, 1);
    let valid = encode(&header, &Body::Hello(hello));
    let damaged = {
        let mut bytes = valid.to_vec();
        // Within the body, before the four bytes of the checksum.
        let offset = bytes.len() - 6;
        bytes[offset] ^= 0x10;
        bytes
    };
    let cases: [(Vec<u8>, &str); 8] = [
        (b"GET / HTTP/1.1\r\nHost: node-1\r\n\r\n".to_vec(), "the maximum here is 4096"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(), "the maximum here is 4096"),
        (vec![0; 64], "is shorter than any valid frame"),
        (vec![0xFF; 1 << 20], "announced a frame of 4294967295 bytes"),
        ((HANDSHAKE_LIMIT as u32 + 1).to_le_bytes().repeat(20), "announced a frame of 4097 bytes"),
        // The beginning of a TLS handshake.
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "the peer uses TLS"),
        (damaged, "a frame arrived damaged"),
        (encode(&header, &Body::Ping).to_vec(), "another frame than the handshake expects"),
    ];
    for (bytes, expected) in &cases {
        let answer = send_and_wait_for_close(cluster.address(1), bytes).await;
        assert!(answer.is_empty(), "the node answered {bytes:?}");
        log.wait_for_line(&["WARN", "Closed a connection from 127.0.0.1", expected, "not affected."]).await;
        cluster.check_exchange().await;
    }
    // A reason may end with a full stop of its own; the log line must not add a second one.
    assert!(log.all().iter().all(|line| !line.contains("..")), "{:#?}", log.all());
    cluster.stop().await;
}

#[tokio::test]
async fn a_port_scan_is_logged_at_a_limited_rate() {
    let log = Log::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
    for _ in 0..300 {
        drop(TcpStream::connect(cluster.address(1)).await.unwrap());
    }
    log.wait_for_line(&["INFO", "closed by the other side before it sent anything"]).await;
    log.wait_for_line(&["Suppressed", "more lines about connections"]).await;
    cluster.check_exchange().await;
    // The node writes at most ten such lines per second.
    let lines = log.count("before it sent anything");
    assert!(lines <= 100, "{lines} lines about one scan");
    cluster.stop().await;
}

#[tokio::test]
async fn unfinished_handshakes_time_out() {
    let log = Log::new();
    let mut options = NodeOptions::default();
    options.limits.handshake_timeout = Duration::from_millis(300);
    let mut cluster = Cluster::of_three(&options, Cluster::plain).await;
    let (header, hello) = hello_frame(2, 1);
    let bytes = encode(&header, &Body::Hello(hello));
    // One peer sends nothing, one stops in the middle, and one sends byte by byte, too slowly.
    let mut silent = FakePeer::connect(cluster.address(1), header).await;
    let mut halfway = FakePeer::connect(cluster.address(1), header).await;
    halfway.write(&bytes[..bytes.len() / 2]).await;
    let send_slowly = async {
        let mut slow = FakePeer::connect(cluster.address(1), header).await;
        for byte in &bytes[..bytes.len() - 1] {
            if slow.stream.write_all(&[*byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(options.limits.handshake_timeout / 20).await;
        }
        slow.wait_for_close().await;
    };
    tokio::join!(silent.wait_for_close(), halfway.wait_for_close(), send_slowly);
    log.wait_for_lines(3, "did not finish the handshake in time").await;
    cluster.check_exchange().await;
    cluster.stop().await;
}

#[tokio::test]
async fn a_hello_cut_at_any_byte_does_not_disturb_the_group() {
    let log = Log::new();
    let mut cluster = Cluster::of_three(&NodeOptions::default(), Cluster::plain).await;
    let (header, hello) = hello_frame(2, 1);
    let bytes = encode(&header, &Body::Hello(hello));
    for end in 1..bytes.len() {
        let mut stream = TcpStream::connect(cluster.address(1)).await.unwrap();
        stream.write_all(&bytes[..end]).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        within("the end of the connection", stream.read_to_end(&mut answer)).await.unwrap();
        assert!(answer.is_empty());
    }
    log.wait_for_line(&["the connection broke during the handshake"]).await;
    cluster.check_exchange().await;
    cluster.stop().await;
}
