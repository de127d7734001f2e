//! Tests of links whose connections break at any byte, whose frames arrive late, and whose nodes
//! restart at any time.

use super::{DuplicateFilter, Link, LinkError, LinkLimits, LinkStart, Origin, PushError, Receipt};
use crate::frame::{BatchReader, Body, FRAME_LIMIT, Frame, Header};
use crate::group::GroupNumber;
use bytes::BytesMut;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::Config;
use quorate_core::{Epoch, Incarnation, NodeId};
use std::collections::BTreeMap;

const GROUP: GroupNumber = GroupNumber(7);
const EPOCH: Epoch = Epoch(0);

fn link(side: usize, incarnation: u64, limits: LinkLimits) -> Link {
    let origin = Origin { group: GROUP, node: NodeId::from_index(side), incarnation: Incarnation(incarnation) };
    Link::new(origin, NodeId::from_index(1 - side), limits)
}

fn header_of(side: usize, incarnation: u64, acknowledged: u64) -> Header {
    let (sender, incarnation) = (NodeId::from_index(side), Incarnation(incarnation));
    Header { group: GROUP, sender, incarnation, epoch: EPOCH, acknowledged }
}

fn numbers(frame: &[u8]) -> Vec<u64> {
    let frame = Frame::next(&mut BytesMut::from(frame), FRAME_LIMIT).unwrap().unwrap();
    let Body::Batch(body) = frame.body else { panic!("expected a batch") };
    BatchReader::new(&body).map(|message| message.unwrap().0).collect()
}

fn connected_link(limits: LinkLimits) -> Link {
    let mut link = link(0, 0, limits);
    assert_eq!(link.begin_connection(&header_of(1, 0, 0), None), Ok(LinkStart::First));
    link
}

// ------------------------------------------------------------------------- scripts

#[test]
fn messages_wait_for_the_first_connection() {
    let mut link = link(0, 0, LinkLimits::default());
    link.push(3, b"three").unwrap();
    assert!(link.take(EPOCH).is_none() && !link.has_frames());
    assert_eq!(link.begin_connection(&header_of(1, 9, 0), None), Ok(LinkStart::First));
    link.push(5, b"five").unwrap();
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), [3, 5]);
    assert!(link.take(EPOCH).is_none() && !link.has_frames());
}

#[test]
fn unacknowledged_frames_are_sent_again_in_order_before_new_ones() {
    let mut link = connected_link(LinkLimits::default());
    let mut taken = Vec::new();
    for number in 1..=3 {
        link.push(number, b"word").unwrap();
        taken.push(link.take(EPOCH).unwrap());
    }
    link.push(4, b"new").unwrap();
    link.receive_header(&header_of(1, 0, 1)).unwrap();
    assert_eq!(link.begin_connection(&header_of(1, 0, 2), Some(Incarnation(0))), Ok(LinkStart::Resumed));
    assert_eq!(link.take(EPOCH), Some(taken[2].clone()));
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), [4]);
    link.receive_header(&header_of(1, 0, 4)).unwrap();
    assert_eq!((link.held_bytes(), link.has_frames()), (0, false));
}

#[test]
fn an_acknowledgement_during_a_retransmission_leaves_no_gap() {
    let mut link = connected_link(LinkLimits::default());
    for number in 1..=4 {
        link.push(number, b"word").unwrap();
        link.take(EPOCH).unwrap();
    }
    link.begin_connection(&header_of(1, 0, 0), Some(Incarnation(0))).unwrap();
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), [1]);
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), [2]);
    link.receive_header(&header_of(1, 0, 1)).unwrap();
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), [3]);
    link.receive_header(&header_of(1, 0, 4)).unwrap();
    assert_eq!((link.take(EPOCH), link.held_bytes()), (None, 0));
}

#[test]
fn a_partly_acknowledged_frame_stays_whole() {
    let mut link = connected_link(LinkLimits::default());
    (1..=10).for_each(|number| link.push(number, b"word").unwrap());
    let frame = link.take(EPOCH).unwrap();
    link.receive_header(&header_of(1, 0, 9)).unwrap();
    assert_eq!(link.held_bytes(), frame.len());
    link.receive_header(&header_of(1, 0, 10)).unwrap();
    assert_eq!(link.held_bytes(), 0);
}

#[test]
fn a_new_incarnation_gets_no_message_for_the_previous_one() {
    let mut link = connected_link(LinkLimits::default());
    (1..=3).for_each(|number| link.push(number, b"under way").unwrap());
    link.take(EPOCH).unwrap();
    (4..=5).for_each(|number| link.push(number, b"waiting").unwrap());
    link.record_consumed(Incarnation(0), 17, 100);
    assert_eq!(link.begin_connection(&header_of(1, 1, 0), None), Ok(LinkStart::Restarted { dropped: 5 }));
    assert_eq!((link.held_bytes(), link.has_frames(), link.last_received()), (0, false, 0));
    link.record_consumed(Incarnation(0), 18, 100);
    assert_eq!((link.last_received(), link.has_unacknowledged()), (0, false));
    link.push(6, b"new").unwrap();
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), [6]);
    let error =
        LinkError::OlderIncarnation { peer: NodeId::from_index(1), found: Incarnation(0), known: Incarnation(1) };
    assert_eq!(link.begin_connection(&header_of(1, 0, 0), None), Err(error));
}

#[test]
fn an_acknowledgement_of_a_message_never_sent_releases_nothing() {
    let mut link = connected_link(LinkLimits::default());
    link.push(8, b"sent").unwrap();
    let held = link.take(EPOCH).unwrap().len();
    link.push(9, b"not sent").unwrap();
    let error = LinkError::NeverSent { peer: NodeId::from_index(1), acknowledged: 9, sent: 8 };
    assert_eq!(link.receive_header(&header_of(1, 0, 9)), Err(error.clone()));
    assert_eq!(link.begin_connection(&header_of(1, 0, 9), Some(Incarnation(0))), Err(error));
    assert!(link.receive_header(&header_of(1, 0, u64::MAX)).is_err());
    // Nothing at all was sent to another incarnation.
    assert!(link.begin_connection(&header_of(1, 1, 1), Some(Incarnation(0))).is_err());
    assert!(link.held_bytes() > held && link.peer_incarnation() == Some(Incarnation(0)));
    // An acknowledgement to an older incarnation of ours is ignored.
    assert_eq!(link.begin_connection(&header_of(1, 1, 99), None), Ok(LinkStart::Restarted { dropped: 2 }));
}

#[test]
fn frames_that_do_not_belong_to_the_link_are_rejected() {
    let mut link = connected_link(LinkLimits::default());
    let header = header_of(1, 0, 0);
    assert!(matches!(
        link.receive_header(&Header { group: GroupNumber(8), ..header }),
        Err(LinkError::OtherGroup { .. })
    ));
    assert!(matches!(link.receive_header(&header_of(0, 0, 0)), Err(LinkError::OtherSender { .. })));
    assert!(matches!(link.receive_header(&header_of(1, 1, 0)), Err(LinkError::OtherIncarnation { .. })));
}

#[test]
fn a_full_link_accepts_nothing_more_and_loses_nothing() {
    let limits = LinkLimits { crowded_bytes: 500, held_bytes: 1_000, message_bytes: 300 };
    let mut link = connected_link(limits);
    assert_eq!(link.push(1, &[0; 301]), Err(PushError::TooLong { length: 301, limit: 300 }));
    let taken = (1..).take_while(|number| link.push(*number, &[0; 100]).is_ok()).last().unwrap();
    assert!((7..=9).contains(&taken) && link.is_crowded() && link.held_bytes() <= 1_000);
    assert!(matches!(link.push(90, &[0; 100]), Err(PushError::Overflow { .. })));
    assert_eq!(link.push(taken, b""), Err(PushError::OutOfOrder { number: taken, last: taken }));
    assert_eq!(numbers(&link.take(EPOCH).unwrap()), (1..=taken).collect::<Vec<_>>());
    link.receive_header(&header_of(1, 0, taken)).unwrap();
    assert!(!link.is_crowded());
    // The numbers of rejected messages may be skipped.
    link.push(91, &[0; 100]).unwrap();
}

#[test]
fn batches_end_at_about_64_kilobytes_and_long_messages_go_alone() {
    let mut link = connected_link(LinkLimits::default());
    (1..=3_000).for_each(|number| link.push(number, &[1; 100]).unwrap());
    link.push(3_001, &[2; 200_000]).unwrap();
    link.push(3_002, b"after").unwrap();
    let frames: Vec<_> = std::iter::from_fn(|| link.take(EPOCH)).collect();
    let (last, rest) = frames.split_last().unwrap();
    let (long, rest) = rest.split_last().unwrap();
    assert_eq!((numbers(last), numbers(long)), (vec![3_002], vec![3_001]));
    assert!(rest.iter().all(|frame| frame.len() <= 65_536) && rest.len() <= 6, "{}", rest.len());
    assert_eq!(rest.iter().flat_map(|frame| numbers(frame)).collect::<Vec<_>>(), (1..=3_000).collect::<Vec<_>>());
    assert_eq!(link.held_bytes(), frames.iter().map(|frame| frame.len()).sum::<usize>());
}

#[test]
fn an_acknowledgement_is_owed_until_it_is_put_into_a_frame() {
    let mut link = connected_link(LinkLimits::default());
    link.record_consumed(Incarnation(0), 5, 10);
    assert!(link.has_unacknowledged() && !link.owes_acknowledgement());
    link.record_consumed(Incarnation(0), 6, 70_000);
    assert!(link.owes_acknowledgement());
    let frame = link.frame(EPOCH, &Body::Ack);
    assert_eq!(Frame::next(&mut frame.into(), FRAME_LIMIT).unwrap().unwrap().header.acknowledged, 6);
    assert!(!link.owes_acknowledgement() && !link.has_unacknowledged());
    // A retransmitted frame carries an old acknowledgement, so the new one is still owed.
    link.push(1, b"word").unwrap();
    link.take(EPOCH).unwrap();
    link.begin_connection(&header_of(1, 0, 0), None).unwrap();
    link.record_consumed(Incarnation(0), 7, 10);
    link.take(EPOCH).unwrap();
    assert!(link.has_unacknowledged());
    link.push(2, b"word").unwrap();
    link.take(EPOCH).unwrap();
    assert!(!link.has_unacknowledged());
}

// ---------------------------------------------------------------------- properties

/// One action of the nodes or the network, in any order. `side` is 0 or 1.
#[derive(Clone, Debug)]
enum Move {
    Push {
        side: usize,
        skipped: u64,
        length: usize,
    },
    Write {
        side: usize,
        frames: usize,
    },
    /// Pushes and writes short messages, each in a frame of its own.
    Chat {
        side: usize,
        frames: usize,
    },
    /// Delivers bytes; late ones come from a connection before the current one.
    Read {
        side: usize,
        bytes: usize,
        is_late: bool,
    },
    Acknowledge {
        side: usize,
    },
    Cut,
    /// Connects. Half a connection breaks before the dialler receives the Welcome.
    Connect {
        side: usize,
        is_half: bool,
    },
    Restart {
        side: usize,
    },
}

fn moves() -> impl Strategy<Value = Move> {
    let side = 0..2_usize;
    let length = prop_oneof![20 => 0..300_usize, 1 => 60_000..70_000_usize];
    let bytes = prop_oneof![2 => 0..200_usize, 2 => 0..5_000_usize, 4 => 100_000..200_000_usize];
    let is_late = prop_oneof![3 => Just(false), 1 => Just(true)];
    prop_oneof![
        12 => (side.clone(), 0..3_u64, length).prop_map(|(side, skipped, length)| Move::Push { side, skipped, length }),
        6 => (side.clone(), 1..4_usize).prop_map(|(side, frames)| Move::Write { side, frames }),
        4 => (side.clone(), 2..6_usize).prop_map(|(side, frames)| Move::Chat { side, frames }),
        9 => (side.clone(), bytes, is_late).prop_map(|(side, bytes, is_late)| Move::Read { side, bytes, is_late }),
        5 => side.clone().prop_map(|side| Move::Acknowledge { side }),
        1 => Just(Move::Cut),
        2 => (side.clone(), any::<bool>()).prop_map(|(side, is_half)| Move::Connect { side, is_half }),
        1 => side.prop_map(|side| Move::Restart { side }),
    ]
}

/// One direction of a connection: bytes in flight, and received bytes that do not form a whole
/// frame yet.
#[derive(Default)]
struct Wire {
    in_flight: BytesMut,
    arrived: BytesMut,
}

struct Side {
    link: Link,
    duplicate_filter: DuplicateFilter,
    incarnation: u64,
    /// The numbers that this incarnation has pushed, in order.
    pushed: Vec<u64>,
    /// For each incarnation of the peer that connected: how many messages were pushed before, and
    /// are not for it.
    pushed_before: BTreeMap<u64, usize>,
    /// The numbers received from each incarnation of the peer.
    consumed: BTreeMap<u64, Vec<u64>>,
}

struct Pair {
    sides: [Side; 2],
    /// The bytes that each side receives on the current connection, if there is one.
    wires: Option<[Wire; 2]>,
    /// The bytes that each side may still receive from earlier connections.
    late: [Vec<Wire>; 2],
}

/// The content of a message, which depends on the sender, its incarnation and the number.
fn content(side: usize, incarnation: u64, number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|index| (index as u64 ^ number ^ (incarnation << 4) ^ ((side as u64) << 7)) as u8).collect()
}

impl Side {
    fn new(side: usize, incarnation: u64) -> Self {
        let limits = LinkLimits { crowded_bytes: 1 << 20, held_bytes: 1 << 30, message_bytes: 1 << 20 };
        let (link, duplicate_filter) = (link(side, incarnation, limits), DuplicateFilter::default());
        let (pushed, pushed_before, consumed) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { link, duplicate_filter, incarnation, pushed, pushed_before, consumed }
    }

    fn begin_connection(&mut self, header: &Header, knows: Option<Incarnation>) {
        let incarnation = header.incarnation.0;
        let start = self.link.begin_connection(header, knows).unwrap();
        match start {
            LinkStart::First => assert!(self.pushed_before.insert(incarnation, 0).is_none()),
            LinkStart::Resumed => assert!(self.pushed_before.contains_key(&incarnation)),
            LinkStart::Restarted { dropped } => {
                let old = self.pushed_before.last_key_value().map_or(0, |(_, before)| *before);
                assert!(dropped as usize <= self.pushed.len() - old);
                assert!(self.pushed_before.insert(incarnation, self.pushed.len()).is_none());
                assert_eq!(self.link.held_bytes(), 0);
            }
        }
    }

    /// Consumes every whole frame, except frames of an incarnation that has ended.
    fn consume(&mut self, side: usize, arrived: &mut BytesMut) {
        while let Some(frame) = Frame::next(arrived, FRAME_LIMIT).unwrap() {
            if let Err(error) = self.link.receive_header(&frame.header) {
                assert!(matches!(error, LinkError::OtherIncarnation { .. }), "{error}");
                continue;
            }
            let Body::Batch(body) = frame.body else { continue };
            let incarnation = frame.header.incarnation;
            assert!(self.duplicate_filter.begin_batch(incarnation));
            let log = self.consumed.entry(incarnation.0).or_default();
            for message in BatchReader::new(&body) {
                let (number, bytes) = message.unwrap();
                assert_eq!(bytes, content(1 - side, incarnation.0, number, bytes.len()));
                if self.duplicate_filter.receive(number) == Receipt::New {
                    log.push(number);
                }
            }
            self.link.record_consumed(incarnation, self.duplicate_filter.last_number(), body.len());
        }
    }
}

impl Pair {
    fn new() -> Self {
        Self { sides: [Side::new(0, 0), Side::new(1, 0)], wires: None, late: [Vec::new(), Vec::new()] }
    }

    fn perform(&mut self, action: Move) {
        match action {
            Move::Push { side, skipped, length } => self.push(side, skipped, length),
            Move::Write { side, frames } => self.write(side, frames),
            Move::Chat { side, frames } => {
                for _ in 0..frames {
                    self.push(side, 0, 1);
                    self.write(side, 1);
                }
            }
            Move::Read { side, bytes, is_late } => self.read(side, bytes, is_late),
            Move::Acknowledge { side } => {
                if let Some(wires) = &mut self.wires {
                    let frame = self.sides[side].link.frame(EPOCH, &Body::Ack);
                    wires[1 - side].in_flight.extend_from_slice(&frame);
                }
            }
            Move::Cut => self.cut(),
            Move::Connect { side, is_half } => self.connect(side, is_half),
            Move::Restart { side } => {
                self.cut();
                self.late[side].clear();
                let incarnation = self.sides[side].incarnation + 1;
                self.sides[side] = Side::new(side, incarnation);
            }
        }
    }

    fn push(&mut self, side: usize, skipped: u64, length: usize) {
        let sender = &mut self.sides[side];
        let number = sender.pushed.last().copied().unwrap_or(0) + 1 + skipped;
        sender.link.push(number, &content(side, sender.incarnation, number, length)).unwrap();
        sender.pushed.push(number);
    }

    fn write(&mut self, side: usize, frames: usize) {
        let Some(wires) = &mut self.wires else { return };
        for _ in 0..frames {
            let Some(frame) = self.sides[side].link.take(EPOCH) else { break };
            wires[1 - side].in_flight.extend_from_slice(&frame);
        }
    }

    fn read(&mut self, side: usize, bytes: usize, is_late: bool) {
        let current = self.wires.as_mut().map(|wires| &mut wires[side]);
        let wire = if is_late { self.late[side].first_mut() } else { current };
        let Some(wire) = wire else { return };
        let bytes = bytes.min(wire.in_flight.len());
        wire.arrived.extend_from_slice(&wire.in_flight.split_to(bytes));
        self.sides[side].consume(side, &mut wire.arrived);
    }

    fn cut(&mut self) {
        for (late, wire) in self.late.iter_mut().zip(self.wires.take().into_iter().flatten()) {
            late.insert(0, wire);
        }
    }

    fn connect(&mut self, dialler: usize, is_half: bool) {
        self.cut();
        let dialling = &self.sides[dialler].link;
        let (hello, knows) = (dialling.header(EPOCH), dialling.peer_incarnation());
        self.sides[1 - dialler].begin_connection(&hello, knows);
        if is_half {
            return;
        }
        let acceptor = &self.sides[1 - dialler].link;
        let (welcome, knows) = (acceptor.header(EPOCH), acceptor.peer_incarnation());
        self.sides[dialler].begin_connection(&welcome, knows);
        self.wires = Some([Wire::default(), Wire::default()]);
    }

    /// Checks that the messages that one incarnation consumed from another are a prefix of those
    /// addressed to it; all of them if `is_complete`.
    fn check(&self, sender: &Side, receiver: &Side, is_complete: bool) {
        let Some(consumed) = receiver.consumed.get(&sender.incarnation) else {
            let addressed =
                sender.pushed_before.get(&receiver.incarnation).map_or(&[][..], |before| &sender.pushed[*before..]);
            assert!(!is_complete || addressed.is_empty());
            return;
        };
        let before = sender.pushed_before[&receiver.incarnation];
        let addressed = &sender.pushed[before..];
        assert!(addressed.starts_with(consumed), "{consumed:?} is not a prefix of {addressed:?}");
        assert!(!is_complete || consumed.len() == addressed.len());
    }

    fn check_both(&self, is_complete: bool) {
        let [one, other] = &self.sides;
        self.check(one, other, is_complete);
        self.check(other, one, is_complete);
    }

    /// The faults stop: all messages arrive, and the links release all frames.
    fn settle(&mut self) {
        self.connect(0, false);
        for _ in 0..2 {
            for side in [0, 1] {
                self.write(side, usize::MAX);
                self.perform(Move::Acknowledge { side });
                self.read(1 - side, usize::MAX, false);
            }
        }
        self.check_both(true);
        assert_eq!(self.sides.each_ref().map(|side| side.link.held_bytes()), [0, 0]);
    }
}

proptest! {
    #![proptest_config(Config { cases: 1_500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn between_two_incarnations_no_message_is_lost_repeated_or_reordered(
        moves in proptest::collection::vec(moves(), 0..150),
    ) {
        let mut pair = Pair::new();
        for action in moves {
            pair.perform(action);
            pair.check_both(false);
        }
        pair.settle();
    }
}
