//! Bytes on a connection.

use crate::Trail;
use bytes::BytesMut;
use quorate_core::{Epoch, Incarnation, NodeId};
use quorate_net::frame::{BatchReader, Body, FRAME_LIMIT, Frame, FrameError, HANDSHAKE_LIMIT, Header, encode};
use quorate_net::group::GroupNumber;

/// Whatever arrives, in pieces: the first byte says in which, and whether the two ends have met.
///
/// The pieces must not matter, what is read must be written as it was read, and nothing is held beyond what arrived.
pub fn frames(input: &[u8]) -> Trail {
    let (first, bytes) = input.split_first().unwrap_or((&0, &[]));
    let limit = if first & 1 == 0 { HANDSHAKE_LIMIT } else { FRAME_LIMIT };
    let (whole, end) = read(bytes, bytes.len().max(1), limit);
    let (in_pieces, other_end) = read(bytes, 1 + usize::from(first >> 1) % 64, limit);
    assert_eq!((&whole, &end), (&in_pieces, &other_end), "the pieces matter");
    let mut trail = Trail::default();
    whole.iter().for_each(|frame| check(frame, limit));
    whole.iter().take(8).for_each(|frame| trail.step(kind(&frame.body)));
    if let Err(error) = end {
        trail.say(error);
    }
    trail
}

/// A frame of any kind with any body under a right checksum: the first byte is the kind.
pub fn sealed(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let (kind_byte, body) = input.split_first().unwrap_or((&5, &[]));
    let (frames, end) = read(&seal(*kind_byte, body), usize::MAX, FRAME_LIMIT);
    for frame in &frames {
        check(frame, FRAME_LIMIT);
        trail.step(kind(&frame.body));
        if let Body::Refuse(refusal) = &frame.body {
            // A sentence of one line, whatever names are in it.
            assert!(!refusal.to_string().contains('\n'), "a peer can write into our log: {refusal:?}");
            // The beginning says which it is, before any name.
            trail.say(refusal.to_string().chars().take(18).collect::<String>());
        }
    }
    if let Err(error) = end {
        trail.say(error);
    }
    trail
}

pub fn batch(input: &[u8]) -> Trail {
    let mut trail = Trail::default();
    let (mut last, mut bytes, mut messages) = (0, 0, 0_usize);
    let mut reader = BatchReader::new(input);
    for message in reader.by_ref() {
        match message {
            Ok((number, message)) => {
                assert!(number > last, "number {number} after {last}");
                last = number;
                bytes += message.len();
                messages += 1;
            }
            Err(error) => trail.say(error),
        }
    }
    assert!(reader.next().is_none(), "a batch that was over goes on");
    assert!(bytes <= input.len(), "{bytes} bytes of messages in {}", input.len());
    assert!(messages <= input.len(), "{messages} messages in {} bytes", input.len());
    trail.about(messages);
    trail.about(bytes);
    trail
}

/// A frame with this kind and body, as an honest node would write it.
pub(crate) fn seal(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut content = encode(&header(), &Body::Ack).to_vec();
    // The layout is that of the module `frame`: twice the length, version, kind, header, body, check.
    let head = content.len() - 4;
    content.truncate(head);
    content.extend_from_slice(body);
    let length = (content.len() - 8 + 4) as u32;
    content[..4].copy_from_slice(&length.to_le_bytes());
    content[4..8].copy_from_slice(&(!length).to_le_bytes());
    content[9] = kind;
    let check = crc32c::crc32c(&content[8..]);
    content.extend_from_slice(&check.to_le_bytes());
    content
}

pub(crate) fn header() -> Header {
    Header {
        group: GroupNumber(7),
        sender: NodeId::from_index(1),
        incarnation: Incarnation(3),
        epoch: Epoch(2),
        acknowledged: 40,
    }
}

fn read(bytes: &[u8], piece: usize, limit: usize) -> (Vec<Frame>, Result<(), FrameError>) {
    let (mut received, mut frames) = (BytesMut::new(), Vec::new());
    for piece in bytes.chunks(piece) {
        received.extend_from_slice(piece);
        loop {
            match Frame::next(&mut received, limit) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
        assert!(received.capacity() <= 2 * bytes.len() + (256 << 10), "{} bytes held", received.capacity());
    }
    (frames, Ok(()))
}

fn check(frame: &Frame, limit: usize) {
    let written = frame.encode();
    let again = Frame::next(&mut BytesMut::from(&written[..]), limit.max(HANDSHAKE_LIMIT));
    assert_eq!(again.as_ref().ok().and_then(Option::as_ref), Some(frame), "it does not read as it was written");
}

fn kind(body: &Body) -> u64 {
    match body {
        Body::Hello(_) => 1,
        Body::Welcome(_) => 2,
        Body::Refuse(_) => 3,
        Body::Batch(_) => 4,
        Body::Ack => 5,
        Body::Ping => 6,
        Body::Bye(_) => 7,
    }
}
