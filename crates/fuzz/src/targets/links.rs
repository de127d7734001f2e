//! What happens to a link, a byte an event: nothing is lost, repeated or reordered within a life.

use crate::Trail;
use bytes::{Bytes, BytesMut};
use quorate_core::{Epoch, Incarnation, NodeId};
use quorate_net::frame::{BatchReader, Body, FRAME_LIMIT, Frame, Header};
use quorate_net::group::GroupNumber;
use quorate_net::link::{Link, Met, Origin, Receipt, Reception, Room};
use std::collections::VecDeque;

const EPOCH: Epoch = Epoch(0);
const ROOM: Room = Room { crowded_bytes: 2_000, held_bytes: 8_000, message_bytes: 3_000 };

/// Two nodes, a connection between them, and what was sent and heard.
struct Pair {
    sender: Link,
    receiver: Link,
    reception: Reception,
    life: u64,
    number: u64,
    wire: VecDeque<Bytes>,
    /// What the present life of the receiver is still to hear, in order.
    owed: VecDeque<u64>,
    heard: usize,
}

/// Lets a link live through what these bytes say.
pub fn drive(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let mut pair = Pair::new();
    for byte in input.iter().take(4_096) {
        pair.event(*byte, &mut trail);
        assert!(pair.sender.held_bytes() <= ROOM.held_bytes, "{} bytes held", pair.sender.held_bytes());
    }
    pair.finish();
    trail.about(pair.heard);
    trail
}

impl Pair {
    fn new() -> Self {
        Self {
            sender: link(0, 0),
            receiver: link(1, 0),
            reception: Reception::default(),
            life: 0,
            number: 0,
            wire: VecDeque::new(),
            owed: VecDeque::new(),
            heard: 0,
        }
    }

    fn event(&mut self, byte: u8, trail: &mut Trail) {
        let (event, size) = (byte & 7, usize::from(byte >> 3));
        match event {
            0 | 1 => self.push(1 + u64::from(event), size * size * 4, trail),
            2 => self.take(),
            3 => self.arrive(),
            4 => self.acknowledge(),
            5 => self.connect(),
            6 if size > 24 => self.restart(),
            6 => self.lie(size as u64, trail),
            _ => {
                self.take();
                self.arrive();
            }
        }
    }

    fn push(&mut self, distance: u64, length: usize, trail: &mut Trail) {
        self.number += distance;
        match self.sender.push(self.number, &vec![7; length]) {
            Ok(()) => self.owed.push_back(self.number),
            Err(error) => trail.say(error),
        }
    }

    fn take(&mut self) {
        self.wire.extend(self.sender.take(EPOCH));
    }

    fn arrive(&mut self) {
        let Some(bytes) = self.wire.pop_front() else { return };
        let frame =
            Frame::next(&mut BytesMut::from(&bytes[..]), FRAME_LIMIT).expect("a good frame").expect("a whole one");
        self.receiver.hear(&frame.header).expect("a frame of the peer");
        let Body::Batch(body) = frame.body else { panic!("a link takes batches only") };
        assert!(self.reception.open(Incarnation(0)), "the sender has one life");
        for message in BatchReader::new(&body) {
            let (number, _) = message.expect("a good batch");
            if self.reception.receive(number) == Receipt::Fresh {
                assert_eq!(self.owed.pop_front(), Some(number), "lost, repeated or out of order");
                self.heard += 1;
            }
        }
        self.receiver.heard(Incarnation(0), self.reception.last(), body.len());
    }

    fn acknowledge(&mut self) {
        if self.sender.life().is_some() {
            let header = self.receiver.header(EPOCH);
            self.sender.hear(&header).expect("an honest acknowledgement");
        }
    }

    /// A connection takes the place of the one before, and whatever was on it is gone.
    fn connect(&mut self) {
        self.wire.clear();
        let (ours, theirs) = (self.sender.header(EPOCH), self.receiver.header(EPOCH));
        let knows = self.receiver.life();
        self.receiver.meet(&ours, Some(Incarnation(self.life))).expect("the sender's greeting");
        let met = self.sender.meet(&theirs, knows).expect("the receiver's greeting");
        if let Met::Reborn { dropped } = met {
            assert_eq!(dropped as usize, self.owed.len(), "what the old life was still to hear is dropped");
            self.owed.clear();
        }
    }

    fn restart(&mut self) {
        let was_met = self.sender.life().is_some();
        self.wire.clear();
        self.life += 1;
        self.receiver = link(1, self.life);
        self.reception = Reception::default();
        // What the old life took in without saying so is dropped with the rest: nobody knows.
        if was_met {
            let dropped = match self.sender.meet(&self.receiver.header(EPOCH), None) {
                Ok(Met::Reborn { dropped }) => dropped as usize,
                other => panic!("a new life was met as {other:?}"),
            };
            assert!(dropped >= self.owed.len(), "{dropped} dropped of {}", self.owed.len());
            self.owed.clear();
            let ours = self.sender.header(EPOCH);
            self.receiver.meet(&ours, Some(Incarnation(self.life))).expect("the sender's greeting");
        }
    }

    /// Frames that are not the peer's change nothing.
    fn lie(&mut self, kind: u64, trail: &mut Trail) {
        let honest = self.receiver.header(EPOCH);
        let lie = match kind {
            0..8 => Header { sender: NodeId::from_index(2), ..honest },
            8..16 => Header { incarnation: Incarnation(self.life + 9), ..honest },
            _ => Header { acknowledged: self.number + 1 + kind, ..honest },
        };
        let before = (self.sender.held_bytes(), self.sender.has_frames());
        let error = self.sender.hear(&lie).expect_err("a lie was believed");
        trail.say(error);
        assert_eq!(before, (self.sender.held_bytes(), self.sender.has_frames()), "a lie changed something");
    }

    fn finish(&mut self) {
        self.connect();
        while self.sender.has_frames() || !self.wire.is_empty() {
            self.take();
            self.arrive();
        }
        assert!(self.owed.is_empty(), "{} messages are lost", self.owed.len());
        self.acknowledge();
        assert_eq!(self.sender.held_bytes(), 0, "what has arrived is let go of");
    }
}

fn link(place: usize, life: u64) -> Link {
    let origin = Origin { group: GroupNumber(7), node: NodeId::from_index(place), incarnation: Incarnation(life) };
    Link::new(origin, NodeId::from_index(1 - place), ROOM)
}
