//! Drives a link with events, one per byte, and checks that no message is lost, repeated or
//! reordered between two ends of the link.

use crate::PathSignature;
use bytes::{Bytes, BytesMut};
use quorate_core::{Epoch, Incarnation, NodeId};
use quorate_net::frame::{BatchReader, Body, FRAME_LIMIT, Frame, Generation, Header, LinkEnd};
use quorate_net::group::GroupNumber;
use quorate_net::link::{DuplicateFilter, Link, LinkLimits, LinkStart, Origin, Receipt};
use std::collections::VecDeque;

const EPOCH: Epoch = Epoch(0);
/// The end of the sender, which never restarts.
const SENDER_END: LinkEnd = LinkEnd::first(Incarnation(0));
const LIMITS: LinkLimits = LinkLimits { crowded_bytes: 2_000, max_held_bytes: 8_000, max_message_bytes: 3_000 };

/// A sender and a receiver with a connection between them, and the messages sent and delivered.
struct Pair {
    sender: Link,
    receiver: Link,
    duplicate_filter: DuplicateFilter,
    receiver_end: LinkEnd,
    /// Number of the last message that the sender tried to push.
    last_number: u64,
    frames_in_flight: VecDeque<Bytes>,
    /// The messages that the current end of the receiver is still to receive, in order.
    expected: VecDeque<u64>,
    /// Number of messages delivered so far.
    delivered: usize,
}

/// Applies the events that these bytes encode to a link: the lower three bits of a byte choose the
/// event, and the upper five are its size.
pub fn drive(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let mut pair = Pair::new();
    for byte in input.iter().take(4_096) {
        pair.apply_event(*byte, &mut signature);
        assert!(pair.sender.held_bytes() <= LIMITS.max_held_bytes, "{} bytes held", pair.sender.held_bytes());
    }
    pair.finish();
    signature.record_magnitude(pair.delivered);
    signature
}

impl Pair {
    fn new() -> Self {
        Self {
            sender: link(0, SENDER_END),
            receiver: link(1, LinkEnd::first(Incarnation(0))),
            duplicate_filter: DuplicateFilter::default(),
            receiver_end: LinkEnd::first(Incarnation(0)),
            last_number: 0,
            frames_in_flight: VecDeque::new(),
            expected: VecDeque::new(),
            delivered: 0,
        }
    }

    fn apply_event(&mut self, byte: u8, signature: &mut PathSignature) {
        let (event, size) = (byte & 7, usize::from(byte >> 3));
        match event {
            // Lengths from 0 to 3,844 bytes, some of which are too long for a message.
            0 | 1 => self.push(1 + u64::from(event), size * size * 4, signature),
            2 => self.send_frame(),
            3 => self.receive_frame(),
            4 => self.acknowledge(),
            5 => self.connect(),
            6 if size > 28 => self.replace_receiver(LinkEnd::first(self.receiver_end.incarnation.next())),
            6 if size > 24 => {
                let generation = self.receiver_end.generation.next();
                self.replace_receiver(LinkEnd { generation, ..self.receiver_end });
            }
            6 => self.forge(size as u64, signature),
            _ => {
                self.send_frame();
                self.receive_frame();
            }
        }
    }

    /// Pushes a message whose number is `distance` above the last one. The link may refuse it.
    fn push(&mut self, distance: u64, length: usize, signature: &mut PathSignature) {
        self.last_number += distance;
        match self.sender.push(self.last_number, &vec![7; length]) {
            Ok(()) => self.expected.push_back(self.last_number),
            Err(error) => signature.record_message(error),
        }
    }

    fn send_frame(&mut self) {
        self.frames_in_flight.extend(self.sender.take_frame(EPOCH));
    }

    fn receive_frame(&mut self) {
        let Some(bytes) = self.frames_in_flight.pop_front() else { return };
        let frame = Frame::next(&mut BytesMut::from(&bytes[..]), FRAME_LIMIT)
            .expect("a valid frame")
            .expect("a complete frame");
        self.receiver.receive_header(&frame.header).expect("a frame of the peer");
        let Body::Batch(body) = frame.body else { panic!("a link takes batches only") };
        assert!(self.duplicate_filter.begin_batch(SENDER_END), "the sender has one end");
        for message in BatchReader::new(&body) {
            let (number, _) = message.expect("a valid batch");
            if self.duplicate_filter.receive(number) == Receipt::New {
                assert_eq!(self.expected.pop_front(), Some(number), "lost, repeated or out of order");
                self.delivered += 1;
            }
        }
        self.receiver.record_consumed(SENDER_END, self.duplicate_filter.last_number(), body.len());
    }

    fn acknowledge(&mut self) {
        if self.sender.peer_end().is_some() {
            let header = self.receiver.header(EPOCH);
            self.sender.receive_header(&header).expect("a valid acknowledgement");
        }
    }

    /// Replaces the connection. All frames on the old one are lost.
    fn connect(&mut self) {
        self.frames_in_flight.clear();
        let (ours, theirs) = (self.sender.header(EPOCH), self.receiver.header(EPOCH));
        // Each end also learns to which of its own ends the acknowledgement of its peer refers.
        let known_end = self.receiver.peer_end();
        self.introduce_sender(&ours);
        let start = self.sender.begin_connection(&theirs, self.receiver_end.generation, known_end);
        if let LinkStart::Restarted { dropped } | LinkStart::Readded { dropped } =
            start.expect("the receiver's handshake")
        {
            assert_eq!(dropped as usize, self.expected.len(), "the messages for the old end are dropped");
            self.expected.clear();
        }
    }

    fn introduce_sender(&mut self, header: &Header) {
        let acknowledged_end = Some(self.receiver_end);
        let start = self.receiver.begin_connection(header, Generation::FIRST, acknowledged_end);
        start.expect("the sender's handshake");
    }

    /// Replaces the receiver: it restarts, or removes the sender from its peers and adds it again.
    fn replace_receiver(&mut self, end: LinkEnd) {
        let has_connected = self.sender.peer_end().is_some();
        self.frames_in_flight.clear();
        self.receiver_end = end;
        self.receiver = link(1, end);
        self.duplicate_filter = DuplicateFilter::default();
        // The sender also drops messages that the old end received without acknowledging them, so
        // it may drop more than `expected`.
        if has_connected {
            let dropped = match self.sender.begin_connection(&self.receiver.header(EPOCH), end.generation, None) {
                Ok(LinkStart::Restarted { dropped } | LinkStart::Readded { dropped }) => dropped as usize,
                other => panic!("the sender does not notice the new end: {other:?}"),
            };
            assert!(dropped >= self.expected.len(), "{dropped} dropped of {}", self.expected.len());
            self.expected.clear();
            let ours = self.sender.header(EPOCH);
            self.introduce_sender(&ours);
        }
    }

    /// Passes a forged frame to the sender, which must reject it without any change.
    fn forge(&mut self, kind: u64, signature: &mut PathSignature) {
        let honest = self.receiver.header(EPOCH);
        let forged = match kind {
            0..8 => Header { sender: NodeId::from_index(2), ..honest },
            8..16 => Header { incarnation: Incarnation(honest.incarnation.0 + 9), ..honest },
            _ => Header { acknowledged: self.last_number + 1 + kind, ..honest },
        };
        let before = (self.sender.held_bytes(), self.sender.has_frames());
        let error = self.sender.receive_header(&forged).expect_err("a forged frame was accepted");
        signature.record_message(error);
        assert_eq!(before, (self.sender.held_bytes(), self.sender.has_frames()), "a forged frame changed the link");
    }

    fn finish(&mut self) {
        self.connect();
        while self.sender.has_frames() || !self.frames_in_flight.is_empty() {
            self.send_frame();
            self.receive_frame();
        }
        assert!(self.expected.is_empty(), "{} messages are lost", self.expected.len());
        self.acknowledge();
        assert_eq!(self.sender.held_bytes(), 0, "delivered messages are still held");
    }
}

fn link(index: usize, end: LinkEnd) -> Link {
    let origin = Origin { group: GroupNumber(7), node: NodeId::from_index(index), end };
    Link::new(origin, NodeId::from_index(1 - index), LIMITS)
}
