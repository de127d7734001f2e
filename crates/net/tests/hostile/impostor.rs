//! Somebody who speaks the language of nodes and says whatever a test wants.

use crate::chatter::Message;
use crate::party::{ALGORITHM, FORMAT, GROUP, node};
use crate::within;
use bytes::{BufMut, Bytes, BytesMut};
use quorate_core::{Epoch, Incarnation};
use quorate_net::GroupName;
use quorate_net::frame::{Birth, Body, Dial, FRAME_LIMIT, Frame, Header, Hello, Welcome, encode};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) fn greeting(me: u32, to: u32) -> (Header, Hello) {
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
        format: FORMAT,
        to: node(to),
        members: 3,
        dial: Dial(1),
        welcomed: Dial::NONE,
        knows: None,
        birth: Birth(4_711),
    };
    (header, hello)
}

pub(crate) struct Impostor {
    pub(crate) stream: TcpStream,
    received: BytesMut,
    pub(crate) header: Header,
}

impl Impostor {
    pub(crate) async fn connect(address: SocketAddr, header: Header) -> Self {
        let stream = within("a connection", TcpStream::connect(address)).await.unwrap();
        Self { stream, received: BytesMut::new(), header }
    }

    /// Introduces itself as a node that is expected, and is welcomed.
    pub(crate) async fn welcomed(address: SocketAddr, header: Header, hello: Hello) -> (Self, Header, Welcome) {
        let mut impostor = Self::connect(address, header).await;
        impostor.say(&Body::Hello(hello)).await;
        match impostor.hear().await {
            Some(Frame { header, body: Body::Welcome(welcome) }) => (impostor, header, welcome),
            other => panic!("the impostor was not welcomed: {other:?}"),
        }
    }

    pub(crate) async fn say(&mut self, body: &Body) {
        self.write(&encode(&self.header, body)).await;
    }

    /// Writes bytes. The other side may have had enough by then.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = within("an end of writing", self.stream.write_all(bytes)).await;
    }

    /// The next frame, or nothing if the connection is over.
    pub(crate) async fn hear(&mut self) -> Option<Frame> {
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

    pub(crate) async fn is_closed(&mut self) {
        while self.hear().await.is_some() {}
    }
}

pub(crate) fn batch(messages: &[(u64, Message)]) -> Bytes {
    let encoded: Vec<_> =
        messages.iter().map(|(number, message)| (*number, postcard::to_stdvec(message).unwrap())).collect();
    raw_batch(&encoded)
}

/// The body of a batch with messages of any bytes. Numbers may go wherever the test wants.
pub(crate) fn raw_batch(messages: &[(u64, Vec<u8>)]) -> Bytes {
    let mut body = BytesMut::new();
    let mut last = messages[0].0;
    body.put_u64_le(last);
    for (number, bytes) in messages {
        varint(&mut body, number.wrapping_sub(last));
        varint(&mut body, bytes.len() as u64);
        body.put_slice(bytes);
        last = *number;
    }
    body.freeze()
}

fn varint(out: &mut BytesMut, mut value: u64) {
    while value >= 0x80 {
        out.put_u8(value as u8 | 0x80);
        value >>= 7;
    }
    out.put_u8(value as u8);
}

pub(crate) fn number(number: u64) -> Message {
    Message::Number { life: 0, number, ballast: Vec::new() }
}
