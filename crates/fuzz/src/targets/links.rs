//! Events of a link, one per byte: no message is lost, repeated or reordered within an incarnation.

use crate::PathSignature;
use bytes::{Bytes, BytesMut};
use quorate_core::{Epoch, Incarnation, NodeId};
use quorate_net::frame::{BatchReader, Body, FRAME_LIMIT, Frame, Header};
use quorate_net::group::GroupNumber;
use quorate_net::link::{DuplicateFilter, Link, LinkLimits, LinkStart, Origin, Receipt};
use std::collections::VecDeque;

const EPOCH: Epoch = Epoch(0);
const ROOM: LinkLimits = LinkLimits { crowded_bytes: 2_000, held_bytes: 8_000, message_bytes: 3_000 };

/// A sender and a receiver with a connection between them, and the messages sent and delivered.
struct Pair {
    sender: Link,
    receiver: Link,
    duplicate_filter: DuplicateFilter,
    incarnation: u64,
    number: u64,
    wire: VecDeque<Bytes>,
    /// The messages that the current incarnation of the receiver is still to receive, in order.
    expected: VecDeque<u64>,
    delivered: usize,
}

/// Applies the events that these bytes encode to a link.
pub fn drive(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let mut pair = Pair::new();
    for byte in input.iter().take(4_096) {
        pair.event(*byte, &mut signature);
        assert!(pair.sender.held_bytes() <= ROOM.held_bytes, "{} bytes held", pair.sender.held_bytes());
    }
    pair.finish();
    signature.record_magnitude(pair.delivered);
    signature
}

impl Pair {
    fn new() -> Self {
        Self {
            sender: link(0, 0),
            receiver: link(1, 0),
            duplicate_filter: DuplicateFilter::default(),
            incarnation: 0,
            number: 0,
            wire: VecDeque::new(),
            expected: VecDeque::new(),
            delivered: 0,
        }
    }

    fn event(&mut self, byte: u8, signature: &mut PathSignature) {
        let (event, size) = (byte & 7, usize::from(byte >> 3));
        match event {
            0 | 1 => self.push(1 + u64::from(event), size * size * 4, signature),
            2 => self.take(),
            3 => self.arrive(),
            4 => self.acknowledge(),
            5 => self.connect(),
            6 if size > 24 => self.restart(),
            6 => self.forge(size as u64, signature),
            _ => {
                self.take();
                self.arrive();
            }
        }
    }

    fn push(&mut self, distance: u64, length: usize, signature: &mut PathSignature) {
        self.number += distance;
        match self.sender.push(self.number, &vec![7; length]) {
            Ok(()) => self.expected.push_back(self.number),
            Err(error) => signature.record_message(error),
        }
    }

    fn take(&mut self) {
        self.wire.extend(self.sender.take(EPOCH));
    }

    fn arrive(&mut self) {
        let Some(bytes) = self.wire.pop_front() else { return };
        let frame = Frame::next(&mut BytesMut::from(&bytes[..]), FRAME_LIMIT)
            .expect("a valid frame")
            .expect("a complete frame");
        self.receiver.receive_header(&frame.header).expect("a frame of the peer");
        let Body::Batch(body) = frame.body else { panic!("a link takes batches only") };
        assert!(self.duplicate_filter.begin_batch(Incarnation(0)), "the sender has one incarnation");
        for message in BatchReader::new(&body) {
            let (number, _) = message.expect("a valid batch");
            if self.duplicate_filter.receive(number) == Receipt::New {
                assert_eq!(self.expected.pop_front(), Some(number), "lost, repeated or out of order");
                self.delivered += 1;
            }
        }
        self.receiver.record_consumed(Incarnation(0), self.duplicate_filter.last_number(), body.len());
    }

    fn acknowledge(&mut self) {
        if self.sender.peer_incarnation().is_some() {
            let header = self.receiver.header(EPOCH);
            self.sender.receive_header(&header).expect("a valid acknowledgement");
        }
    }

    /// Replaces the connection. All frames on the old one are lost.
    fn connect(&mut self) {
        self.wire.clear();
        let (ours, theirs) = (self.sender.header(EPOCH), self.receiver.header(EPOCH));
        let knows = self.receiver.peer_incarnation();
        self.receiver.begin_connection(&ours, Some(Incarnation(self.incarnation))).expect("the sender's handshake");
        let met = self.sender.begin_connection(&theirs, knows).expect("the receiver's handshake");
        if let LinkStart::Restarted { dropped } = met {
            assert_eq!(dropped as usize, self.expected.len(), "the messages for the old incarnation are dropped");
            self.expected.clear();
        }
    }

    fn restart(&mut self) {
        let was_met = self.sender.peer_incarnation().is_some();
        self.wire.clear();
        self.incarnation += 1;
        self.receiver = link(1, self.incarnation);
        self.duplicate_filter = DuplicateFilter::default();
        // Messages that the old incarnation received without acknowledging them are dropped with
        // the others.
        if was_met {
            let dropped = match self.sender.begin_connection(&self.receiver.header(EPOCH), None) {
                Ok(LinkStart::Restarted { dropped }) => dropped as usize,
                other => panic!("a new incarnation was met as {other:?}"),
            };
            assert!(dropped >= self.expected.len(), "{dropped} dropped of {}", self.expected.len());
            self.expected.clear();
            let ours = self.sender.header(EPOCH);
            self.receiver.begin_connection(&ours, Some(Incarnation(self.incarnation))).expect("the sender's handshake");
        }
    }

    /// Passes a forged frame to the sender, which must reject it without any change.
    fn forge(&mut self, kind: u64, signature: &mut PathSignature) {
        let honest = self.receiver.header(EPOCH);
        let forged = match kind {
            0..8 => Header { sender: NodeId::from_index(2), ..honest },
            8..16 => Header { incarnation: Incarnation(self.incarnation + 9), ..honest },
            _ => Header { acknowledged: self.number + 1 + kind, ..honest },
        };
        let before = (self.sender.held_bytes(), self.sender.has_frames());
        let error = self.sender.receive_header(&forged).expect_err("a forged frame was accepted");
        signature.record_message(error);
        assert_eq!(before, (self.sender.held_bytes(), self.sender.has_frames()), "a forged frame changed the link");
    }

    fn finish(&mut self) {
        self.connect();
        while self.sender.has_frames() || !self.wire.is_empty() {
            self.take();
            self.arrive();
        }
        assert!(self.expected.is_empty(), "{} messages are lost", self.expected.len());
        self.acknowledge();
        assert_eq!(self.sender.held_bytes(), 0, "delivered messages are still held");
    }
}

fn link(index: usize, incarnation: u64) -> Link {
    let origin =
        Origin { group: GroupNumber(7), node: NodeId::from_index(index), incarnation: Incarnation(incarnation) };
    Link::new(origin, NodeId::from_index(1 - index), ROOM)
}
