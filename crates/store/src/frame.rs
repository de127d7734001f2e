//! The encoding of one frame: one append or one checkpoint, with checksums. Its fields, and their
//! lengths in bytes:
//!
//! ```text
//! begin mark 1 │ length 8 │ number 8 │ checksum 4 │ payload (length) │ checksum 4 │ end mark 1
//! ```
//!
//! Integers are little-endian. Both checksums are CRC-32C, seeded with the segment's checksum and
//! the frame's offset in the file, which the frame does not contain. So a copy of a frame is valid
//! nowhere else, not even inside a payload.
//!
//! A sector that was never written reads as zeros, by which a torn frame is recognized. To make
//! every sector of a written frame non-zero, a frame begins with a mark, ends with a mark, and has
//! a mark after every [`CHUNK_BYTES`] bytes of payload. The stored length is that of the payload
//! with the marks in it.

/// The unit that a disk writes atomically.
pub(crate) const SECTOR_BYTES: usize = 512;
pub(crate) const HEADER_BYTES: usize = 21;
const TRAILER_BYTES: usize = 5;
/// Number of payload bytes between two marks: so few that marks are less than a sector apart, even
/// with the header or the checksum between them.
const CHUNK_BYTES: usize = 255;

const BEGIN_MARK: u8 = 0xB7;
const CHUNK_MARK: u8 = 0xC5;
const END_MARK: u8 = 0x7D;

/// The checksum of a segment's header, which seeds the checksums of its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Salt(pub(crate) u32);

impl Salt {
    /// The initial value of the checksums of a frame at this offset.
    fn checksum_seed(self, offset: usize) -> u32 {
        crc32c::crc32c_append(self.0, &(offset as u64).to_le_bytes())
    }
}

/// Grows by one from frame to frame, also across segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FrameNumber(pub(crate) u64);

impl FrameNumber {
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Appends to `out` the encoding of a frame that will begin at `offset` of the file.
pub(crate) fn encode(salt: Salt, offset: usize, number: FrameNumber, payload: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    let length = payload.len() + payload.len() / CHUNK_BYTES;
    out.reserve(HEADER_BYTES + length + TRAILER_BYTES);
    out.push(BEGIN_MARK);
    out.extend_from_slice(&(length as u64).to_le_bytes());
    out.extend_from_slice(&number.0.to_le_bytes());
    let checksum = crc32c::crc32c_append(salt.checksum_seed(offset), &out[begin..]);
    out.extend_from_slice(&checksum.to_le_bytes());
    for chunk in payload.chunks(CHUNK_BYTES) {
        out.extend_from_slice(chunk);
        if chunk.len() == CHUNK_BYTES {
            out.push(CHUNK_MARK);
        }
    }
    let checksum = crc32c::crc32c_append(salt.checksum_seed(offset), &out[begin..]);
    out.extend_from_slice(&checksum.to_le_bytes());
    out.push(END_MARK);
}

/// The position of a frame in the file, from a valid header. [`FrameBounds::is_valid`] checks the
/// rest of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameBounds {
    pub(crate) offset: usize,
    pub(crate) number: FrameNumber,
    payload_end: usize,
}

impl FrameBounds {
    /// The frame that begins at `offset`, if there is a valid header.
    pub(crate) fn read(salt: Salt, bytes: &[u8], offset: usize) -> Option<Self> {
        // As at the top of this file: the mark at 0, the length at 1, the number at 9, the checksum
        // at 17.
        let header = bytes.get(offset..offset.checked_add(HEADER_BYTES)?)?;
        if header[0] != BEGIN_MARK
            || read_u32(&header[17..])? != crc32c::crc32c_append(salt.checksum_seed(offset), &header[..17])
        {
            return None;
        }
        let length = usize::try_from(read_u64(&header[1..])?).ok()?;
        let payload_end = (offset + HEADER_BYTES).checked_add(length)?;
        payload_end.checked_add(TRAILER_BYTES)?;
        Some(Self { offset, number: FrameNumber(read_u64(&header[9..])?), payload_end })
    }

    pub(crate) fn end(&self) -> usize {
        self.payload_end + TRAILER_BYTES
    }

    /// Whether the frame is complete and unchanged. Ignores the end mark, because the checksum
    /// covers everything before.
    pub(crate) fn is_valid(&self, salt: Salt, bytes: &[u8]) -> bool {
        let Some(content) = bytes.get(self.offset..self.payload_end) else { return false };
        let Some(checksum) = bytes.get(self.payload_end..).and_then(read_u32) else { return false };
        self.end() <= bytes.len() && crc32c::crc32c_append(salt.checksum_seed(self.offset), content) == checksum
    }

    /// Whether a crash before the sync can have left the frame like this.
    pub(crate) fn is_torn(&self, bytes: &[u8]) -> bool {
        bytes.len() < self.end() || bytes[self.end() - 1] == 0 || has_zeroed_sector(&bytes[..self.end()], self.offset)
    }

    /// The bytes of the frame as it was written, with the end mark, which a valid frame may lack.
    pub(crate) fn written_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut written = bytes[self.offset..self.end()].to_vec();
        if let Some(last) = written.last_mut() {
            *last = END_MARK;
        }
        written
    }

    /// The payload without the marks.
    pub(crate) fn payload(&self, bytes: &[u8]) -> Vec<u8> {
        let marked = &bytes[self.offset + HEADER_BYTES..self.payload_end];
        let mut payload = Vec::with_capacity(marked.len());
        for chunk in marked.chunks(CHUNK_BYTES + 1) {
            payload.extend_from_slice(&chunk[..chunk.len().min(CHUNK_BYTES)]);
        }
        payload
    }
}

/// Whether `bytes` contain an all-zero sector from `offset` on. Of the first and the last sector,
/// only the part within these bounds counts.
pub(crate) fn has_zeroed_sector(bytes: &[u8], offset: usize) -> bool {
    let mut begin = offset;
    while begin < bytes.len() {
        let end = ((begin / SECTOR_BYTES + 1) * SECTOR_BYTES).min(bytes.len());
        if is_zeroed(&bytes[begin..end]) {
            return true;
        }
        begin = end;
    }
    false
}

pub(crate) fn is_zeroed(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn read_u32(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn read_u64(bytes: &[u8]) -> Option<u64> {
    bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::{FrameBounds, FrameNumber, HEADER_BYTES, SECTOR_BYTES, Salt, encode, has_zeroed_sector};

    const SALT: Salt = Salt(77);

    fn file_with_frame(offset: usize, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; offset];
        encode(SALT, offset, FrameNumber(9), payload, &mut bytes);
        bytes
    }

    #[test]
    fn a_payload_of_any_length_round_trips() {
        for length in (0..2_000).chain([65_536, 100_000]) {
            let payload: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
            let bytes = file_with_frame(44, &payload);
            let frame = FrameBounds::read(SALT, &bytes, 44).unwrap();
            assert!(frame.is_valid(SALT, &bytes));
            assert_eq!((frame.payload(&bytes), frame.end()), (payload, bytes.len()));
        }
    }

    #[test]
    fn no_sector_of_a_frame_is_all_zeros_even_if_its_payload_is() {
        for offset in 0..SECTOR_BYTES {
            for length in [0, 1, 254, 255, 256, 490, 511, 512, 513, 1_024, 5_000] {
                assert!(!has_zeroed_sector(&file_with_frame(offset, &vec![0; length]), offset), "{offset} {length}");
            }
        }
    }

    #[test]
    fn a_frame_is_valid_only_at_its_own_offset_and_segment() {
        let mut bytes = file_with_frame(44, b"here");
        assert!(FrameBounds::read(Salt(78), &bytes, 44).is_none());
        bytes.insert(0, 0);
        assert!(FrameBounds::read(SALT, &bytes, 45).is_none());
    }

    #[test]
    fn every_changed_byte_but_the_end_mark_is_detected() {
        let bytes = file_with_frame(500, &[0; 700]);
        for offset in 500..bytes.len() - 1 {
            // The last mask makes the byte zero.
            for mask in [1, 0x80, 0xFF, bytes[offset]].into_iter().filter(|mask| *mask != 0) {
                let mut changed = bytes.clone();
                changed[offset] ^= mask;
                let is_valid =
                    FrameBounds::read(SALT, &changed, 500).is_some_and(|frame| frame.is_valid(SALT, &changed));
                assert!(!is_valid, "byte {offset} mask {mask}");
            }
        }
    }

    #[test]
    fn an_overflowing_length_is_rejected() {
        let mut header = vec![super::BEGIN_MARK];
        header.extend_from_slice(&u64::MAX.to_le_bytes());
        header.extend_from_slice(&1_u64.to_le_bytes());
        let checksum = crc32c::crc32c_append(SALT.checksum_seed(0), &header);
        header.extend_from_slice(&checksum.to_le_bytes());
        assert_eq!(header.len(), HEADER_BYTES);
        assert_eq!(FrameBounds::read(SALT, &header, 0), None);
    }
}
