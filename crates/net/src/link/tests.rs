//! Tests of links whose connections break at any byte, whose frames arrive late, and whose nodes
//! restart at any time.

use super::{DuplicateFilter, Link, LinkError, LinkLimits, LinkStart, Origin, PushError, Receipt};
use crate::frame::{BatchReader, Body, FRAME_LIMIT, Frame, Generation, Header, LinkEnd};
use crate::group::GroupNumber;
use bytes::BytesMut;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::test_runner::Config;
use quorate_core::{Epoch, Incarnation, NodeId};
use std::collections::BTreeMap;

const GROUP: GroupNumber = GroupNumber(7);
const EPOCH: Epoch = Epoch(0);

/// The first end of a link in this incarnation.
fn end(incarnation: u64) -> LinkEnd {
    LinkEnd::first(Incarnation(incarnation))
}

/// The link of one of two nodes, called sides 0 and 1, to the other.
fn link(side: usize, incarnation: u64, limits: LinkLimits) -> Link {
    let origin = Origin { group: GROUP, node: NodeId::from_index(side), end: end(incarnation) };
    Link::new(origin, NodeId::from_index(1 - side), limits)
}

/// The header of a frame from a side, which acknowledges the messages up to number `acknowledged`.
fn header_of(side: usize, incarnation: u64, acknowledged: u64) -> Header {
    let (sender, incarnation) = (NodeId::from_index(side), Incarnation(incarnation));
    Header { group: GROUP, sender, incarnation, epoch: EPOCH, acknowledged }
}

fn message_numbers(frame: &[u8]) -> Vec<u64> {
    let frame = Frame::next(&mut BytesMut::from(frame), FRAME_LIMIT).unwrap().unwrap();
    let Body::Batch(body) = frame.body else { panic!("expected a batch") };
    BatchReader::new(&body).map(|message| message.unwrap().0).collect()
}

/// The link of side 0 in incarnation 0, connected to incarnation 0 of side 1. The last argument
/// of `begin_connection` is the end of side 0 to which the header's acknowledgement refers.
fn connected_link(limits: LinkLimits) -> Link {
    let mut link = link(0, 0, limits);
    assert_eq!(link.begin_connection(&header_of(1, 0, 0), Generation::FIRST, None), Ok(LinkStart::First));
    link
}

// ------------------------------------------------------------------- single cases

#[test]
fn messages_wait_for_the_first_connection() {
    let mut link = link(0, 0, LinkLimits::default());
    link.push(3, b"three").unwrap();
    assert!(link.take_frame(EPOCH).is_none() && !link.has_frames());
    assert_eq!(link.begin_connection(&header_of(1, 9, 0), Generation::FIRST, None), Ok(LinkStart::First));
    link.push(5, b"five").unwrap();
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), [3, 5]);
    assert!(link.take_frame(EPOCH).is_none() && !link.has_frames());
}

#[test]
fn unacknowledged_frames_are_sent_again_before_new_ones() {
    let mut link = connected_link(LinkLimits::default());
    let mut frames = Vec::new();
    for number in 1..=3 {
        link.push(number, b"word").unwrap();
        frames.push(link.take_frame(EPOCH).unwrap());
    }
    link.push(4, b"new").unwrap();
    link.receive_header(&header_of(1, 0, 1)).unwrap();
    assert_eq!(link.begin_connection(&header_of(1, 0, 2), Generation::FIRST, Some(end(0))), Ok(LinkStart::Resumed));
    assert_eq!(link.take_frame(EPOCH), Some(frames[2].clone()));
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), [4]);
    link.receive_header(&header_of(1, 0, 4)).unwrap();
    assert_eq!((link.held_bytes(), link.has_frames()), (0, false));
}

#[test]
fn an_acknowledgement_during_a_retransmission_leaves_no_gap() {
    let mut link = connected_link(LinkLimits::default());
    for number in 1..=4 {
        link.push(number, b"word").unwrap();
        link.take_frame(EPOCH).unwrap();
    }
    link.begin_connection(&header_of(1, 0, 0), Generation::FIRST, Some(end(0))).unwrap();
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), [1]);
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), [2]);
    link.receive_header(&header_of(1, 0, 1)).unwrap();
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), [3]);
    link.receive_header(&header_of(1, 0, 4)).unwrap();
    assert_eq!((link.take_frame(EPOCH), link.held_bytes()), (None, 0));
}

#[test]
fn a_partly_acknowledged_frame_stays_whole() {
    let mut link = connected_link(LinkLimits::default());
    (1..=10).for_each(|number| link.push(number, b"word").unwrap());
    let frame = link.take_frame(EPOCH).unwrap();
    link.receive_header(&header_of(1, 0, 9)).unwrap();
    assert_eq!(link.held_bytes(), frame.len());
    link.receive_header(&header_of(1, 0, 10)).unwrap();
    assert_eq!(link.held_bytes(), 0);
}

#[test]
fn a_new_incarnation_gets_no_message_for_the_previous_one() {
    let mut link = connected_link(LinkLimits::default());
    (1..=3).for_each(|number| link.push(number, b"in flight").unwrap());
    link.take_frame(EPOCH).unwrap();
    (4..=5).for_each(|number| link.push(number, b"not sent").unwrap());
    link.record_consumed(end(0), 17, 100);
    assert_eq!(
        link.begin_connection(&header_of(1, 1, 0), Generation::FIRST, None),
        Ok(LinkStart::Restarted { dropped: 5 })
    );
    assert_eq!((link.held_bytes(), link.has_frames(), link.last_consumed()), (0, false, 0));
    link.record_consumed(end(0), 18, 100);
    assert_eq!((link.last_consumed(), link.has_unacknowledged()), (0, false));
    link.push(6, b"new").unwrap();
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), [6]);
    let error = LinkError::OlderIncarnation {
        peer: NodeId::from_index(1),
        sender_incarnation: Incarnation(0),
        known_incarnation: Incarnation(1),
    };
    assert_eq!(link.begin_connection(&header_of(1, 0, 0), Generation::FIRST, None), Err(error));
}

#[test]
fn a_peer_that_added_this_node_again_gets_no_message_for_its_previous_link() {
    let mut link = connected_link(LinkLimits::default());
    link.push(1, b"in flight").unwrap();
    link.take_frame(EPOCH).unwrap();
    link.push(2, b"not sent").unwrap();
    link.record_consumed(end(0), 17, 100);
    // The new link has consumed nothing from this one, so its acknowledgement does not count.
    let readded = LinkEnd { generation: Generation(1), ..end(0) };
    assert_eq!(
        link.begin_connection(&header_of(1, 0, 9), readded.generation, None),
        Ok(LinkStart::Readded { dropped: 2 })
    );
    assert_eq!((link.held_bytes(), link.has_frames(), link.last_consumed()), (0, false, 0));
    link.record_consumed(end(0), 18, 100);
    assert_eq!((link.last_consumed(), link.has_unacknowledged()), (0, false));
    link.record_consumed(readded, 19, 100);
    assert_eq!(link.last_consumed(), 19);
    let peer = NodeId::from_index(1);
    let replaced = link.begin_connection(&header_of(1, 0, 0), Generation::FIRST, None);
    assert_eq!(replaced, Err(LinkError::ReplacedLink { peer }));
}

#[test]
fn an_acknowledgement_of_a_message_never_sent_releases_nothing() {
    let mut link = connected_link(LinkLimits::default());
    link.push(8, b"sent").unwrap();
    let sent_bytes = link.take_frame(EPOCH).unwrap().len();
    link.push(9, b"not sent").unwrap();
    let error = LinkError::NeverSent { peer: NodeId::from_index(1), acknowledged: 9, last_sent: 8 };
    assert_eq!(link.receive_header(&header_of(1, 0, 9)), Err(error.clone()));
    assert_eq!(link.begin_connection(&header_of(1, 0, 9), Generation::FIRST, Some(end(0))), Err(error));
    assert!(link.receive_header(&header_of(1, 0, u64::MAX)).is_err());
    // Nothing at all was sent to another incarnation.
    assert!(link.begin_connection(&header_of(1, 1, 1), Generation::FIRST, Some(end(0))).is_err());
    assert!(link.held_bytes() > sent_bytes && link.peer_end() == Some(end(0)));
    // An acknowledgement that does not refer to this incarnation of side 0 is ignored.
    assert_eq!(
        link.begin_connection(&header_of(1, 1, 99), Generation::FIRST, None),
        Ok(LinkStart::Restarted { dropped: 2 })
    );
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
    let limits = LinkLimits { crowded_bytes: 500, max_held_bytes: 1_000, max_message_bytes: 300 };
    let mut link = connected_link(limits);
    assert_eq!(link.push(1, &[0; 301]), Err(PushError::TooLong { length: 301, limit: 300 }));
    let accepted = (1..).take_while(|number| link.push(*number, &[0; 100]).is_ok()).last().unwrap();
    // Up to nine messages of 100 bytes, each with its head, and the frame fit into 1,000 bytes.
    assert!((7..=9).contains(&accepted) && link.is_crowded() && link.held_bytes() <= 1_000);
    assert!(matches!(link.push(90, &[0; 100]), Err(PushError::Overflow { .. })));
    assert_eq!(link.push(accepted, b""), Err(PushError::OutOfOrder { number: accepted, last: accepted }));
    assert_eq!(message_numbers(&link.take_frame(EPOCH).unwrap()), (1..=accepted).collect::<Vec<_>>());
    link.receive_header(&header_of(1, 0, accepted)).unwrap();
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
    let frames: Vec<_> = std::iter::from_fn(|| link.take_frame(EPOCH)).collect();
    let (last, rest) = frames.split_last().unwrap();
    let (long, rest) = rest.split_last().unwrap();
    assert_eq!((message_numbers(last), message_numbers(long)), (vec![3_002], vec![3_001]));
    // The short messages have about 306,000 bytes, which need five batches of 64 KiB; one more is
    // allowed.
    assert!(rest.iter().all(|frame| frame.len() <= 65_536) && rest.len() <= 6, "{}", rest.len());
    assert_eq!(
        rest.iter().flat_map(|frame| message_numbers(frame)).collect::<Vec<_>>(),
        (1..=3_000).collect::<Vec<_>>()
    );
    assert_eq!(link.held_bytes(), frames.iter().map(|frame| frame.len()).sum::<usize>());
}

#[test]
fn an_acknowledgement_is_owed_until_it_is_put_into_a_frame() {
    let mut link = connected_link(LinkLimits::default());
    link.record_consumed(end(0), 5, 10);
    assert!(link.has_unacknowledged() && !link.must_acknowledge_now());
    // More than 64 KiB are unacknowledged now.
    link.record_consumed(end(0), 6, 70_000);
    assert!(link.must_acknowledge_now());
    let frame = link.frame(EPOCH, &Body::Ack);
    assert_eq!(Frame::next(&mut frame.into(), FRAME_LIMIT).unwrap().unwrap().header.acknowledged, 6);
    assert!(!link.must_acknowledge_now() && !link.has_unacknowledged());
    // A retransmitted frame carries an old acknowledgement, so the new one is still owed.
    link.push(1, b"word").unwrap();
    link.take_frame(EPOCH).unwrap();
    link.begin_connection(&header_of(1, 0, 0), Generation::FIRST, None).unwrap();
    link.record_consumed(end(0), 7, 10);
    link.take_frame(EPOCH).unwrap();
    assert!(link.has_unacknowledged());
    link.push(2, b"word").unwrap();
    link.take_frame(EPOCH).unwrap();
    assert!(!link.has_unacknowledged());
}

// ---------------------------------------------------------------------- properties

/// One action of a node or the network. `side` is 0 or 1.
#[derive(Clone, Debug)]
enum Action {
    /// Pushes a message of `length` bytes whose number leaves a gap of `skipped` numbers.
    Push {
        side: usize,
        skipped: u64,
        length: usize,
    },
    Write {
        side: usize,
        frames: usize,
    },
    /// Pushes and writes messages of one byte, each in a frame of its own.
    PushAndWrite {
        side: usize,
        frames: usize,
    },
    /// Delivers bytes in flight.
    Read {
        side: usize,
        bytes: usize,
        is_from_earlier_connection: bool,
    },
    Acknowledge {
        side: usize,
    },
    /// The connection breaks. Bytes in flight may still be read later.
    Cut,
    /// The side dials the other.
    Connect {
        side: usize,
        breaks_before_welcome: bool,
    },
    Restart {
        side: usize,
    },
    /// The side removes the other from its peers, and adds it again with a new link.
    Readd {
        side: usize,
    },
}

fn actions() -> impl Strategy<Value = Action> {
    let side = 0..2_usize;
    let length = prop_oneof![20 => 0..300_usize, 1 => 60_000..70_000_usize];
    let bytes = prop_oneof![2 => 0..200_usize, 2 => 0..5_000_usize, 4 => 100_000..200_000_usize];
    let is_from_earlier_connection = prop_oneof![3 => Just(false), 1 => Just(true)];
    prop_oneof![
        12 => (side.clone(), 0..3_u64, length).prop_map(|(side, skipped, length)| Action::Push { side, skipped, length }),
        6 => (side.clone(), 1..4_usize).prop_map(|(side, frames)| Action::Write { side, frames }),
        4 => (side.clone(), 2..6_usize).prop_map(|(side, frames)| Action::PushAndWrite { side, frames }),
        9 => (side.clone(), bytes, is_from_earlier_connection).prop_map(|(side, bytes, is_from_earlier_connection)| Action::Read { side, bytes, is_from_earlier_connection }),
        5 => side.clone().prop_map(|side| Action::Acknowledge { side }),
        1 => Just(Action::Cut),
        2 => (side.clone(), any::<bool>()).prop_map(|(side, breaks_before_welcome)| Action::Connect { side, breaks_before_welcome }),
        1 => side.clone().prop_map(|side| Action::Restart { side }),
        1 => side.prop_map(|side| Action::Readd { side }),
    ]
}

/// One direction of a connection: bytes in flight, and received bytes that do not form a whole
/// frame yet.
struct Wire {
    sender_end: LinkEnd,
    in_flight: BytesMut,
    arrived: BytesMut,
}

struct Side {
    link: Link,
    duplicate_filter: DuplicateFilter,
    end: LinkEnd,
    /// The last number that this incarnation has pushed.
    last_number: u64,
    /// The numbers that this end has pushed, in order.
    pushed: Vec<u64>,
    /// For each end of the peer that connected, the number of messages that were pushed for earlier
    /// ends.
    pushed_before: BTreeMap<LinkEnd, usize>,
    /// The numbers received from each end of the peer.
    consumed: BTreeMap<LinkEnd, Vec<u64>>,
}

struct Pair {
    sides: [Side; 2],
    /// The bytes that each side receives on the current connection, if there is one.
    wires: Option<[Wire; 2]>,
    /// The bytes that each side may still receive from earlier connections.
    earlier_wires: [Vec<Wire>; 2],
}

/// The content of a message, which depends on the sender, its incarnation and the number.
fn content(side: usize, Incarnation(incarnation): Incarnation, number: u64, length: usize) -> Vec<u8> {
    (0..length).map(|index| (index as u64 ^ number ^ (incarnation << 4) ^ ((side as u64) << 7)) as u8).collect()
}

impl Side {
    /// A side whose process has pushed messages up to number `last_number` before.
    fn new(side: usize, end: LinkEnd, last_number: u64) -> Self {
        let limits = LinkLimits { crowded_bytes: 1 << 20, max_held_bytes: 1 << 30, max_message_bytes: 1 << 20 };
        let origin = Origin { group: GROUP, node: NodeId::from_index(side), end };
        let link = Link::new(origin, NodeId::from_index(1 - side), limits);
        let (pushed, pushed_before, consumed) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { link, duplicate_filter: DuplicateFilter::default(), end, last_number, pushed, pushed_before, consumed }
    }

    fn begin_connection(&mut self, header: &Header, peer_end: LinkEnd, acknowledged_end: Option<LinkEnd>) {
        let start = self.link.begin_connection(header, peer_end.generation, acknowledged_end).unwrap();
        match start {
            LinkStart::First => assert!(self.pushed_before.insert(peer_end, 0).is_none()),
            LinkStart::Resumed => assert!(self.pushed_before.contains_key(&peer_end)),
            LinkStart::Restarted { dropped } | LinkStart::Readded { dropped } => {
                let (known_end, pushed_for_older) = self.pushed_before.last_key_value().unwrap();
                let is_restart = matches!(start, LinkStart::Restarted { .. });
                assert_eq!(is_restart, known_end.incarnation < peer_end.incarnation);
                assert!(dropped as usize <= self.pushed.len() - *pushed_for_older);
                assert!(self.pushed_before.insert(peer_end, self.pushed.len()).is_none());
                assert_eq!(self.link.held_bytes(), 0);
            }
        }
    }

    /// Consumes every whole frame, except frames of an end that is gone. A batch of an earlier
    /// generation may still wait for the node when the link has continued with the next one.
    fn consume(&mut self, side: usize, sender_end: LinkEnd, arrived: &mut BytesMut) {
        while let Some(frame) = Frame::next(arrived, FRAME_LIMIT).unwrap() {
            let peer_end = self.link.peer_end().unwrap();
            if peer_end.incarnation != sender_end.incarnation {
                let error = self.link.receive_header(&frame.header).unwrap_err();
                assert!(matches!(error, LinkError::OtherIncarnation { .. }), "{error}");
                continue;
            }
            if peer_end == sender_end {
                self.link.receive_header(&frame.header).unwrap();
            }
            let Body::Batch(body) = frame.body else { continue };
            if !self.duplicate_filter.begin_batch(sender_end) {
                assert!(sender_end < peer_end, "only batches of an earlier end may be discarded");
                continue;
            }
            let consumed = self.consumed.entry(sender_end).or_default();
            for message in BatchReader::new(&body) {
                let (number, bytes) = message.unwrap();
                assert_eq!(bytes, content(1 - side, sender_end.incarnation, number, bytes.len()));
                if self.duplicate_filter.receive(number) == Receipt::New {
                    consumed.push(number);
                }
            }
            self.link.record_consumed(sender_end, self.duplicate_filter.last_number(), body.len());
        }
    }
}

impl Pair {
    fn new() -> Self {
        let sides = [0, 1].map(|side| Side::new(side, end(0), 0));
        Self { sides, wires: None, earlier_wires: [Vec::new(), Vec::new()] }
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::Push { side, skipped, length } => self.push(side, skipped, length),
            Action::Write { side, frames } => self.write(side, frames),
            Action::PushAndWrite { side, frames } => {
                for _ in 0..frames {
                    self.push(side, 0, 1);
                    self.write(side, 1);
                }
            }
            Action::Read { side, bytes, is_from_earlier_connection } => {
                self.read(side, bytes, is_from_earlier_connection);
            }
            Action::Acknowledge { side } => {
                if let Some(wires) = &mut self.wires {
                    let frame = self.sides[side].link.frame(EPOCH, &Body::Ack);
                    wires[1 - side].in_flight.extend_from_slice(&frame);
                }
            }
            Action::Cut => self.cut(),
            Action::Connect { side, breaks_before_welcome } => self.connect(side, breaks_before_welcome),
            Action::Restart { side } => {
                let incarnation = self.sides[side].end.incarnation.next();
                self.replace_link(side, LinkEnd::first(incarnation), 0);
            }
            Action::Readd { side } => {
                let Side { end: LinkEnd { incarnation, generation }, last_number, .. } = self.sides[side];
                self.replace_link(side, LinkEnd { incarnation, generation: generation.next() }, last_number);
            }
        }
    }

    fn replace_link(&mut self, side: usize, end: LinkEnd, last_number: u64) {
        self.cut();
        // Bytes to the old end are lost; bytes from it may still arrive.
        self.earlier_wires[side].clear();
        self.sides[side] = Side::new(side, end, last_number);
    }

    fn push(&mut self, side: usize, skipped: u64, length: usize) {
        let sender = &mut self.sides[side];
        let number = sender.last_number + 1 + skipped;
        sender.link.push(number, &content(side, sender.end.incarnation, number, length)).unwrap();
        sender.pushed.push(number);
        sender.last_number = number;
    }

    fn write(&mut self, side: usize, frames: usize) {
        let Some(wires) = &mut self.wires else { return };
        for _ in 0..frames {
            let Some(frame) = self.sides[side].link.take_frame(EPOCH) else { break };
            wires[1 - side].in_flight.extend_from_slice(&frame);
        }
    }

    fn read(&mut self, side: usize, bytes: usize, is_from_earlier_connection: bool) {
        let current = self.wires.as_mut().map(|wires| &mut wires[side]);
        let wire = if is_from_earlier_connection { self.earlier_wires[side].first_mut() } else { current };
        let Some(wire) = wire else { return };
        let bytes = bytes.min(wire.in_flight.len());
        wire.arrived.extend_from_slice(&wire.in_flight.split_to(bytes));
        self.sides[side].consume(side, wire.sender_end, &mut wire.arrived);
    }

    fn cut(&mut self) {
        for (earlier, wire) in self.earlier_wires.iter_mut().zip(self.wires.take().into_iter().flatten()) {
            earlier.insert(0, wire);
        }
    }

    fn connect(&mut self, dialler: usize, breaks_before_welcome: bool) {
        self.cut();
        self.introduce(dialler);
        if breaks_before_welcome {
            return;
        }
        self.introduce(1 - dialler);
        let wire = |receiver: usize| Wire {
            sender_end: self.sides[1 - receiver].end,
            in_flight: BytesMut::new(),
            arrived: BytesMut::new(),
        };
        self.wires = Some([wire(0), wire(1)]);
    }

    /// Sends the Hello or Welcome of a side.
    fn introduce(&mut self, side: usize) {
        let Side { link, end, .. } = &self.sides[side];
        let (header, end, acknowledged_end) = (link.header(EPOCH), *end, link.peer_end());
        self.sides[1 - side].begin_connection(&header, end, acknowledged_end);
    }

    /// Checks that the messages that `receiver` consumed from `sender` are a prefix of the messages
    /// that `sender` pushed for it; all of them if `is_complete`.
    fn check(&self, sender: &Side, receiver: &Side, is_complete: bool) {
        let Some(consumed) = receiver.consumed.get(&sender.end) else {
            let addressed = sender.pushed_before.get(&receiver.end).map_or(&[][..], |before| &sender.pushed[*before..]);
            assert!(!is_complete || addressed.is_empty());
            return;
        };
        let before = sender.pushed_before[&receiver.end];
        let addressed = &sender.pushed[before..];
        assert!(addressed.starts_with(consumed), "{consumed:?} is not a prefix of {addressed:?}");
        assert!(!is_complete || consumed.len() == addressed.len());
    }

    fn check_both(&self, is_complete: bool) {
        let [one, other] = &self.sides;
        self.check(one, other, is_complete);
        self.check(other, one, is_complete);
    }

    /// Checks that all messages arrive once there are no more faults, and that the links then
    /// release all frames.
    fn settle(&mut self) {
        let breaks_before_welcome = false;
        self.connect(0, breaks_before_welcome);
        // In the first round side 0 acknowledges before it has read the messages of side 1.
        for _ in 0..2 {
            for side in [0, 1] {
                self.write(side, usize::MAX);
                self.perform(Action::Acknowledge { side });
                let is_from_earlier_connection = false;
                self.read(1 - side, usize::MAX, is_from_earlier_connection);
            }
        }
        let is_complete = true;
        self.check_both(is_complete);
        assert_eq!(self.sides.each_ref().map(|side| side.link.held_bytes()), [0, 0]);
    }
}

proptest! {
    #![proptest_config(Config { cases: 1_500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn between_two_ends_no_message_is_lost_repeated_or_reordered(
        actions in proptest::collection::vec(actions(), 0..150),
    ) {
        let mut pair = Pair::new();
        for action in actions {
            pair.perform(action);
            let is_complete = false;
            pair.check_both(is_complete);
        }
        pair.settle();
    }
}
