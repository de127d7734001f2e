//! Bytes on a connection.

use crate::PathSignature;
use bytes::BytesMut;
use quorate_core::{Epoch, Incarnation, NodeId};
use quorate_net::frame::{BatchReader, Body, FRAME_LIMIT, Frame, FrameError, HANDSHAKE_LIMIT, Header, encode};
use quorate_net::group::GroupNumber;

/// Parses bytes that arrive in pieces. The first byte chooses the size of the pieces and whether
/// the handshake is complete.
///
/// The result must not depend on the pieces, every frame must read back as written, and memory must
/// be limited by the number of bytes received.
pub fn read_in_pieces(input: &[u8]) -> PathSignature {
    let (first, bytes) = input.split_first().unwrap_or((&0, &[]));
    let limit = if first & 1 == 0 { HANDSHAKE_LIMIT } else { FRAME_LIMIT };
    let (whole, end) = read_frames(bytes, bytes.len().max(1), limit);
    let (in_pieces, other_end) = read_frames(bytes, 1 + usize::from(first >> 1) % 64, limit);
    assert_eq!((&whole, &end), (&in_pieces, &other_end), "the result depends on the pieces");
    let mut signature = PathSignature::default();
    whole.iter().for_each(|frame| assert_round_trip(frame, limit));
    // The first frames suffice to tell one path from another.
    whole.iter().take(8).for_each(|frame| signature.record(kind_number(&frame.body)));
    if let Err(error) = end {
        signature.record_message(error);
    }
    signature
}

/// Parses a frame with an arbitrary kind, given by the first byte, an arbitrary body and a valid
/// checksum.
pub fn read_sealed(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
    let ack_kind = 5;
    let (kind_byte, body) = input.split_first().unwrap_or((&ack_kind, &[]));
    let (frames, end) = read_frames(&seal(*kind_byte, body), usize::MAX, FRAME_LIMIT);
    for frame in &frames {
        assert_round_trip(frame, FRAME_LIMIT);
        signature.record(kind_number(&frame.body));
        if let Body::Refuse(refusal) = &frame.body {
            // The message must be one line, whatever names it contains.
            assert!(!refusal.to_string().contains('\n'), "a peer can write into our log: {refusal:?}");
            // The first characters identify the kind of refusal and precede any name.
            signature.record_message(refusal.to_string().chars().take(18).collect::<String>());
        }
    }
    if let Err(error) = end {
        signature.record_message(error);
    }
    signature
}

/// Parses the messages of a batch.
pub fn read_batch(input: &[u8]) -> PathSignature {
    let mut signature = PathSignature::default();
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
            Err(error) => signature.record_message(error),
        }
    }
    assert!(reader.next().is_none(), "a batch continues after its end");
    assert!(bytes <= input.len(), "{bytes} bytes of messages in {}", input.len());
    assert!(messages <= input.len(), "{messages} messages in {} bytes", input.len());
    signature.record_magnitude(messages);
    signature.record_magnitude(bytes);
    signature
}

/// Returns a frame with this kind and body and a valid checksum.
pub(crate) fn seal(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut content = encode(&header(), &Body::Ack).to_vec();
    // The layout, as the module `frame` describes it: the length and its complement, version, kind,
    // header, body, checksum.
    let checksum_start = content.len() - 4;
    content.truncate(checksum_start);
    content.extend_from_slice(body);
    // The length counts neither itself nor its complement (8 bytes), but the checksum (4 bytes).
    let length = (content.len() - 8 + 4) as u32;
    content[..4].copy_from_slice(&length.to_le_bytes());
    content[4..8].copy_from_slice(&(!length).to_le_bytes());
    content[9] = kind;
    let checksum = crc32c::crc32c(&content[8..]);
    content.extend_from_slice(&checksum.to_le_bytes());
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

/// Reads frames of up to `limit` bytes from bytes that arrive in pieces. Returns the frames before
/// the first error, and the error, if any.
fn read_frames(bytes: &[u8], piece_bytes: usize, limit: usize) -> (Vec<Frame>, Result<(), FrameError>) {
    let (mut received, mut frames) = (BytesMut::new(), Vec::new());
    for piece in bytes.chunks(piece_bytes) {
        received.extend_from_slice(piece);
        loop {
            match Frame::next(&mut received, limit) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Err(error)),
            }
        }
        // A buffer may double when it grows, and reserves space for one read.
        assert!(received.capacity() <= 2 * bytes.len() + (256 << 10), "{} bytes held", received.capacity());
    }
    (frames, Ok(()))
}

/// Asserts that an encoded frame reads back as the same frame.
fn assert_round_trip(frame: &Frame, limit: usize) {
    let written = frame.encode();
    let reread = Frame::next(&mut BytesMut::from(&written[..]), limit);
    assert_eq!(reread.as_ref().ok().and_then(Option::as_ref), Some(frame), "the frame does not read back as written");
}

fn kind_number(body: &Body) -> u64 {
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
