//! A fake peer that uses the real wire format and sends any frames or bytes that a test chooses.

use crate::chatter::Message;
use crate::cluster::{ALGORITHM, GROUP, MESSAGE_FORMAT, node};
use crate::within;
use bytes::{BufMut, Bytes, BytesMut};
use quorate_core::{Epoch, Incarnation};
use quorate_net::GroupName;
use quorate_net::frame::{Body, Dial, FRAME_LIMIT, Frame, Generation, Header, Hello, ProcessNonce, Welcome, encode};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The header and the contents of a valid Hello from one node to another.
pub(crate) fn hello_frame(me: u32, to: u32) -> (Header, Hello) {
    let header = Header {
        group: GROUP.parse::<GroupName>().unwrap().number(),
        sender: node(me),
        incarnation: Incarnation(0),
        epoch: Epoch(0),
        acknowledged: 0,
    };
    let hello = Hello {
        group: GROUP.into(),
        algorithm: ALGORITHM.into(),
        message_format: MESSAGE_FORMAT,
        to: node(to),
        group_size: 3,
        dial: Dial(1),
        last_welcomed_dial: Dial::NONE,
        known_end: None,
        process_nonce: ProcessNonce(4_711),
        generation: Generation::FIRST,
    };
    (header, hello)
}

/// A connection that the test opened in the name of a node.
pub(crate) struct FakePeer {
    pub(crate) stream: TcpStream,
    /// Bytes that arrived and were not decoded yet.
    received: BytesMut,
    pub(crate) header: Header,
}

impl FakePeer {
    pub(crate) async fn connect(address: SocketAddr, header: Header) -> Self {
        let stream = within("a connection", TcpStream::connect(address)).await.unwrap();
        Self { stream, received: BytesMut::new(), header }
    }

    /// Connects, sends the Hello and receives a Welcome.
    pub(crate) async fn connect_welcomed(address: SocketAddr, header: Header, hello: Hello) -> (Self, Header, Welcome) {
        let mut fake_peer = Self::connect(address, header).await;
        fake_peer.send(&Body::Hello(hello)).await;
        match fake_peer.receive().await {
            Some(Frame { header, body: Body::Welcome(welcome) }) => (fake_peer, header, welcome),
            other => panic!("the fake peer was not welcomed: {other:?}"),
        }
    }

    pub(crate) async fn send(&mut self, body: &Body) {
        self.write(&encode(&self.header, body)).await;
    }

    /// Writes bytes. Ignores errors, because the node may have closed the connection.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = within("the end of writing", self.stream.write_all(bytes)).await;
    }

    /// The next frame, or `None` if the connection has ended.
    pub(crate) async fn receive(&mut self) -> Option<Frame> {
        within("a frame or the end", async {
            loop {
                if let Some(frame) = Frame::next(&mut self.received, FRAME_LIMIT).unwrap() {
                    return Some(frame);
                }
                if !matches!(self.stream.read_buf(&mut self.received).await, Ok(1..)) {
                    return None;
                }
            }
        })
        .await
    }

    pub(crate) async fn wait_for_close(&mut self) {
        while self.receive().await.is_some() {}
    }
}

/// The body of a batch with these messages and their numbers.
pub(crate) fn batch(messages: &[(u64, Message)]) -> Bytes {
    let encoded: Vec<_> =
        messages.iter().map(|(number, message)| (*number, postcard::to_stdvec(message).unwrap())).collect();
    raw_batch(&encoded)
}

/// The body of a batch with arbitrary messages and numbers, valid or not.
pub(crate) fn raw_batch(messages: &[(u64, Vec<u8>)]) -> Bytes {
    let mut body = BytesMut::new();
    let mut last = messages[0].0;
    body.put_u64_le(last);
    for (number, bytes) in messages {
        put_varint(&mut body, number.wrapping_sub(last));
        put_varint(&mut body, bytes.len() as u64);
        body.put_slice(bytes);
        last = *number;
    }
    body.freeze()
}

fn put_varint(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

pub(crate) fn number_message(number: u64) -> Message {
    Message::Number { incarnation: 0, number, padding: Vec::new() }
}
