//! Tests of complete, truncated, damaged and forged frames.

use super::{
    BATCH_TAIL, BatchReader, Body, CHECKSUM_BYTES, Dial, FRAME_LIMIT, Frame, FrameError, Generation, HANDSHAKE_LIMIT,
    HEAD_BYTES, HandshakeTerms, Header, Hello, Kind, LENGTH_FIELD_BYTES, LinkEnd, ProcessNonce, Refusal, Welcome,
    append_message, begin_batch, encode, seal, seal_batch,
};
use crate::group::{GroupName, GroupNumber};
use bytes::{Bytes, BytesMut};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use quorate_core::{Epoch, Incarnation, NodeId};

fn header() -> Header {
    Header {
        group: GroupNumber(0x0102_0304_0506_0708),
        sender: NodeId::from_index(2),
        incarnation: Incarnation(4),
        epoch: Epoch(5),
        acknowledged: 6,
    }
}

fn hello() -> Hello {
    Hello {
        group: "orders".into(),
        algorithm: "ricart-agrawala".into(),
        message_format: 1,
        to: NodeId::from_index(0),
        group_size: 3,
        dial: Dial(7),
        last_welcomed_dial: Dial(2),
        known_end: Some(LinkEnd { incarnation: Incarnation(1), generation: Generation(3) }),
        process_nonce: ProcessNonce(99),
        generation: Generation(2),
    }
}

fn batch(messages: &[(u64, &[u8])]) -> BytesMut {
    let mut frame = BytesMut::new();
    begin_batch(&mut frame, messages[0].0);
    let mut last = messages[0].0;
    for (number, message) in messages {
        append_message(&mut frame, number - last, message);
        last = *number;
    }
    frame.extend_from_slice(&BATCH_TAIL);
    seal_batch(&mut frame, &header());
    frame
}

/// Returns a frame of any kind and body with a valid checksum.
fn forge_frame(kind: u8, body: &[u8]) -> BytesMut {
    let mut frame = [&[0; HEAD_BYTES], body, &[0; CHECKSUM_BYTES]].concat();
    seal(&mut frame, Kind::Ack, &header());
    frame[LENGTH_FIELD_BYTES + 1] = kind;
    reseal(&frame)
}

/// Returns the same bytes with a valid checksum.
fn reseal(frame: &[u8]) -> BytesMut {
    let (content, _) = frame.split_at(frame.len() - CHECKSUM_BYTES);
    BytesMut::from(&[content, &crc32c::crc32c(&content[LENGTH_FIELD_BYTES..]).to_le_bytes()].concat()[..])
}

fn one_body_of_each_kind() -> Vec<Body> {
    vec![
        Body::Hello(hello()),
        Body::Welcome(Welcome {
            dial: Dial(7),
            receiver_end: LinkEnd { incarnation: Incarnation(4), generation: Generation(1) },
            process_nonce: ProcessNonce(u64::MAX),
            generation: Generation(u64::MAX),
        }),
        Body::Refuse(Refusal::OtherGroup { group: "west".into() }),
        Body::Refuse(Refusal::Crossed),
        Body::Refuse(Refusal::NotAPeer),
        // One message: number 9 in eight bytes, difference 0, length 1, and the byte 7.
        Body::Batch(Bytes::from_static(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 1, 7])),
        Body::Ack,
        Body::Ping,
        Body::Bye("the node stops".into()),
    ]
}

fn read_one(mut bytes: BytesMut) -> Result<Option<Frame>, FrameError> {
    Frame::next(&mut bytes, FRAME_LIMIT)
}

#[test]
fn the_layout_matches_the_module_header() {
    let frame = encode(&header(), &Body::Ack);
    // Version and kind, group, sender, incarnation, epoch, acknowledged.
    let content = [
        &[1, 5][..],
        &[8, 7, 6, 5, 4, 3, 2, 1],
        &[3, 0, 0, 0],
        &[4, 0, 0, 0, 0, 0, 0, 0],
        &[5, 0, 0, 0, 0, 0, 0, 0],
        &[6, 0, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    // The length counts the 38 bytes above and the checksum; its complement follows.
    assert_eq!(frame[..8], [42, 0, 0, 0, !42, 255, 255, 255]);
    assert_eq!(frame[8..46], content);
    assert_eq!(frame[46..], crc32c::crc32c(&content).to_le_bytes());
}

#[test]
fn every_body_round_trips_in_pieces_of_any_size() {
    let frames: Vec<Frame> = one_body_of_each_kind().into_iter().map(|body| Frame { header: header(), body }).collect();
    let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.encode()).collect();
    for piece_bytes in [1, 2, 3, 5, 7, 41, 64, bytes.len()] {
        let (mut received, mut read) = (BytesMut::new(), Vec::new());
        for piece in bytes.chunks(piece_bytes) {
            received.extend_from_slice(piece);
            while let Some(frame) = Frame::next(&mut received, HANDSHAKE_LIMIT).unwrap() {
                read.push(frame);
            }
        }
        assert_eq!((read, received.len()), (frames.clone(), 0), "in pieces of {piece_bytes} bytes");
    }
}

#[test]
fn every_flipped_bit_is_detected() {
    for body in one_body_of_each_kind() {
        let bytes = encode(&header(), &body);
        for index in 0..bytes.len() {
            for bit in 0..8 {
                let mut changed = BytesMut::from(&bytes[..]);
                changed[index] ^= 1 << bit;
                // Waiting for more bytes would be as wrong as accepting the frame: they would never
                // arrive.
                assert!(read_one(changed).is_err(), "byte {index}, bit {bit} of {body:?}");
            }
        }
    }
}

#[test]
fn a_length_is_checked_before_anything_is_allocated() {
    let mut received = BytesMut::with_capacity(64);
    let initial_capacity = received.capacity();
    received.extend_from_slice(&(HANDSHAKE_LIMIT as u32 + 1).to_le_bytes());
    let error = Frame::next(&mut received, HANDSHAKE_LIMIT).unwrap_err();
    assert_eq!(error, FrameError::TooLong { length: HANDSHAKE_LIMIT + 1, limit: HANDSHAKE_LIMIT });
    assert_eq!(received.capacity(), initial_capacity);
    // The shortest frame has 38 bytes of header and 4 of checksum.
    assert!(matches!(read_one(BytesMut::from(&[41, 0, 0, 0][..])), Err(FrameError::TooShort { length: 41 })));
}

#[test]
fn an_announced_length_reserves_little_memory() {
    // At most 64 KiB are reserved at once; the allocator may round up.
    let mut received = BytesMut::from(&(FRAME_LIMIT as u32).to_le_bytes()[..]);
    assert_eq!(Frame::next(&mut received, FRAME_LIMIT), Ok(None));
    assert!(received.capacity() <= 256 * 1024, "{}", received.capacity());
}

#[test]
fn an_unknown_version_is_rejected_before_the_rest_of_the_frame_arrives() {
    let first_bytes = |version: u8| BytesMut::from(&[200, 0, 0, 0, !200, 255, 255, 255, version][..]);
    let error = read_one(first_bytes(2)).unwrap_err();
    assert_eq!(error, FrameError::Newer { found_version: 2, known_version: 1 });
    assert!(error.to_string().contains("a release that supports version 2"));
    assert!(matches!(read_one(first_bytes(0)), Err(FrameError::Malformed { .. })));
}

#[test]
fn tls_on_a_plain_port_is_recognised() {
    let mut received = BytesMut::from(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01][..]);
    let error = Frame::next(&mut received, HANDSHAKE_LIMIT).unwrap_err();
    assert_eq!(error, FrameError::SpeaksTls);
}

#[test]
fn another_protocol_is_rejected() {
    let mut received = BytesMut::from(&b"GET / HTTP/1.1\r\n"[..]);
    assert!(matches!(Frame::next(&mut received, HANDSHAKE_LIMIT), Err(FrameError::TooLong { .. })));
}

#[test]
fn malformed_bodies_with_a_valid_checksum_are_rejected() {
    // The kinds are 1 to 7.
    for kind in [0, 8, 255] {
        assert_eq!(read_one(forge_frame(kind, &[])), Err(FrameError::UnknownKind(kind)));
    }
    // Names have at most 128 bytes.
    let long_name = Hello { algorithm: "x".repeat(129), ..hello() };
    let long_refusal = Refusal::OtherAlgorithm { algorithm: "x".repeat(129) };
    // The body of a Hello, followed by one byte too many.
    let mut trailing = encode(&header(), &Body::Hello(hello()))[HEAD_BYTES..].to_vec();
    let end = trailing.len() - CHECKSUM_BYTES;
    trailing.truncate(end);
    trailing.push(0);
    for bytes in [
        forge_frame(Kind::Hello as u8, &[]),
        forge_frame(Kind::Hello as u8, &trailing),
        forge_frame(Kind::Welcome as u8, &[1]),
        forge_frame(Kind::Refuse as u8, &[200]),
        forge_frame(Kind::Ack as u8, &[0]),
        forge_frame(Kind::Ping as u8, &[0]),
        forge_frame(Kind::Bye as u8, &[0xFF]),
        encode(&header(), &Body::Hello(long_name)).into(),
        encode(&header(), &Body::Refuse(long_refusal)).into(),
    ] {
        assert!(matches!(read_one(bytes.clone()), Err(FrameError::Malformed { .. })), "{bytes:?}");
    }
}

#[test]
fn only_batches_may_exceed_the_handshake_limit() {
    // The length of a frame counts 38 bytes of header and 4 of checksum, too.
    let text = [b'a'; 5_000];
    let error = read_one(forge_frame(Kind::Bye as u8, &text)).unwrap_err().to_string();
    assert!(error.contains("it has 5042 bytes; the maximum for its kind is 4096"), "{error}");
    assert!(matches!(read_one(batch(&[(1, &text)])), Ok(Some(_))));
}

#[test]
fn a_frame_from_node_0_is_rejected() {
    let mut frame = encode(&header(), &Body::Ack).to_vec();
    // The sender, node 3, is at offset 10 of the header; its upper bytes are 0 already.
    frame[LENGTH_FIELD_BYTES + 10] = 0;
    assert!(matches!(read_one(reseal(&frame)), Err(FrameError::Malformed { .. })));
}

#[test]
fn a_bye_reason_cannot_forge_log_lines() {
    // A reason is shortened to at most 512 bytes.
    let reason = format!("stop\n\u{1b}[2Jroot: all is well{}", "ä".repeat(600));
    let Ok(Some(Frame { body: Body::Bye(read), .. })) = read_one(forge_frame(Kind::Bye as u8, reason.as_bytes()))
    else {
        panic!("expected a Bye");
    };
    assert!(read.starts_with("stop  [2Jroot") && read.len() <= 512, "{read}");
    let Ok(Some(Frame { body: Body::Bye(written), .. })) = read_one(encode(&header(), &Body::Bye(reason)).into())
    else {
        panic!("expected a Bye");
    };
    assert_eq!(written, read);
}

#[test]
fn malformed_batches_fail_at_the_first_malformed_message() {
    // A batch whose first message has number 1. Then each message has the difference to the number
    // before it, a length and its bytes.
    const FIRST_IS_1: [u8; 8] = [1, 0, 0, 0, 0, 0, 0, 0];
    // The number of valid messages before the malformed one, and the body.
    let cases: [(usize, Vec<u8>); 13] = [
        // No complete first number, or no message.
        (0, vec![]),
        (0, FIRST_IS_1[..7].to_vec()),
        (0, FIRST_IS_1.to_vec()),
        // The first number is 0, or the first difference is not.
        (0, [&[0; 8][..], &[0, 0]].concat()),
        (0, [&FIRST_IS_1[..], &[1, 0]].concat()),
        // The batch ends before a length, inside a message, inside a length.
        (0, [&FIRST_IS_1[..], &[0]].concat()),
        (0, [&FIRST_IS_1[..], &[0, 2, 7]].concat()),
        (0, [&FIRST_IS_1[..], &[0, 0x80]].concat()),
        // The length is 2^64 - 1, or does not fit into 64 bits.
        (0, [&FIRST_IS_1[..], &[0], &[0xFF; 9], &[1, 7]].concat()),
        (0, [&FIRST_IS_1[..], &[0], &[0xFF; 9], &[2, 7]].concat()),
        // The second difference is 0.
        (1, [&FIRST_IS_1[..], &[0, 1, 7, 0, 1, 7]].concat()),
        // The third message has only a difference.
        (2, [&FIRST_IS_1[..], &[0, 1, 7, 1, 1, 7, 1]].concat()),
        // The second number does not fit into 64 bits.
        (1, [&[0xFF; 8][..], &[0, 1, 7, 1, 1, 7]].concat()),
    ];
    for (valid_messages, body) in cases {
        let read: Vec<_> = BatchReader::new(&body).collect();
        let (last, others) = read.split_last().unwrap();
        assert!(
            last.is_err() && others.len() == valid_messages && others.iter().all(Result::is_ok),
            "{body:?}: {read:?}"
        );
    }
}

#[test]
fn a_hello_that_does_not_fit_the_configuration_is_refused() {
    let group: GroupName = "orders".parse().unwrap();
    let header = Header { group: group.number(), ..header() };
    let me = NodeId::from_index(0);
    let (algorithm, group_size) = ("ricart-agrawala".into(), Some(3));
    let terms = HandshakeTerms { group, algorithm, message_format: 1, me, group_size };
    assert_eq!(terms.check(&header, &hello()), Ok(()));
    let check = |hello: Hello| terms.check(&header, &hello);
    assert_eq!(check(Hello { group: "a".into(), ..hello() }), Err(Refusal::OtherGroup { group: "orders".into() }));
    assert_eq!(check(Hello { to: NodeId::from_index(1), ..hello() }), Err(Refusal::WrongNode { receiver: me }));
    assert_eq!(check(Hello { group_size: 4, ..hello() }), Err(Refusal::OtherSize { group_size: 3 }));
    assert_eq!(check(Hello { message_format: 2, ..hello() }), Err(Refusal::OtherFormat { format: 1 }));
    let refusal = Refusal::OtherAlgorithm { algorithm: "ricart-agrawala".into() };
    assert_eq!(check(Hello { algorithm: "central".into(), ..hello() }), Err(refusal));
    let check_sender = |sender| terms.check(&Header { sender, ..header }, &hello());
    assert_eq!(check_sender(me), Err(Refusal::SameNode { receiver: me }));
    assert_eq!(check_sender(NodeId::from_index(3)), Err(Refusal::NotAMember { group_size: 3 }));
    let wrong_number = Header { group: GroupNumber(1), ..header };
    assert!(matches!(terms.check(&wrong_number, &hello()), Err(Refusal::OtherGroup { .. })));
    // Sizes and numbers do not matter if the peers may change.
    let changing_terms = HandshakeTerms { group_size: None, ..terms.clone() };
    let newcomer = Header { sender: NodeId::from_index(3), ..header };
    assert_eq!(changing_terms.check(&newcomer, &Hello { group_size: 4, ..hello() }), Ok(()));
    let wrong_receiver = Hello { to: NodeId::from_index(1), ..hello() };
    assert_eq!(changing_terms.check(&newcomer, &wrong_receiver), Err(Refusal::WrongNode { receiver: me }));
}

proptest! {
    #[test]
    fn messages_round_trip_through_a_batch(
        messages in proptest::collection::vec((1..u64::from(u32::MAX), proptest::collection::vec(any::<u8>(), 0..300)), 1..40),
    ) {
        let mut number = 0;
        let numbered: Vec<(u64, &[u8])> =
            messages.iter().map(|(difference, bytes)| { number += difference; (number, bytes.as_slice()) }).collect();
        let frame = read_one(batch(&numbered)).unwrap().unwrap();
        let Body::Batch(body) = frame.body else { panic!("expected a batch") };
        let read: Vec<(u64, &[u8])> = BatchReader::new(&body).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read, numbered);
    }

    #[test]
    fn a_batch_reader_survives_any_bytes(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let read: Vec<_> = BatchReader::new(&body).collect();
        prop_assert!(!read.is_empty());
        let numbers: Vec<u64> = read.iter().flatten().map(|(number, _)| *number).collect();
        prop_assert!(numbers.is_sorted_by(|earlier, later| earlier < later) && numbers.first() != Some(&0));
        prop_assert!(read.iter().rev().skip(1).all(Result::is_ok));
    }

    #[test]
    fn a_frame_reader_survives_any_bytes(
        kind in 0_u8..10, body in proptest::collection::vec(any::<u8>(), 0..200), cut in any::<usize>(),
    ) {
        let complete = forge_frame(kind, &body);
        let mut part = BytesMut::from(&complete[..cut % complete.len()]);
        prop_assert_eq!(Frame::next(&mut part, FRAME_LIMIT), Ok(None));
        let _ = read_one(complete);
        let _ = read_one(BytesMut::from(&body[..]));
    }
}
