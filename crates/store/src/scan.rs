//! Reads the frames of a segment, and distinguishes a torn tail from damage.
//!
//! A frame is written only when the one before it is durable, so a crash can tear only the last
//! frame. An invalid frame is therefore either a torn, unacknowledged write, or damage. A written
//! frame has no sector of zeros and ends with a non-zero byte, the end mark:
//!
//! ```text
//! invalid, and a valid frame follows anywhere                            damage
//! invalid, last: an unwritten sector, no end mark, or file too short     torn; never acknowledged
//! invalid, last: written to its end, but a checksum is wrong             damage
//! ```

use crate::frame::{FrameBounds, FrameNumber, HEADER_BYTES, SECTOR_BYTES, Salt, has_zeroed_sector, is_zeroed};

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scan {
    /// The valid frames, the checkpoint first.
    pub(crate) frames: Vec<FrameBounds>,
    /// Number of bytes of a torn frame after the valid ones; 0 if there is none.
    pub(crate) torn_bytes: usize,
}

impl Scan {
    pub(crate) fn end(&self) -> usize {
        self.frames.last().map_or(0, FrameBounds::end)
    }
}

/// A difference from what was written that no crash can explain.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) offset: usize,
    /// The number of the frame that should begin at `offset`, if it is known.
    pub(crate) number: Option<FrameNumber>,
    pub(crate) problem: &'static str,
}

/// Reads all frames from `begin` on. The first is the checkpoint, which cannot be torn because it
/// was durable before the file got its name.
pub(crate) fn scan(salt: Salt, bytes: &[u8], begin: usize) -> Result<Scan, Damage> {
    let checkpoint =
        FrameBounds::read(salt, bytes, begin).filter(|frame| frame.is_valid(salt, bytes)).ok_or(Damage {
            offset: begin,
            number: None,
            problem: "the checkpoint at the start of the segment is not valid",
        })?;
    let mut expected = checkpoint.number.next();
    let mut offset = checkpoint.end();
    let mut frames = vec![checkpoint];
    while !is_zeroed(&bytes[offset..]) {
        match FrameBounds::read(salt, bytes, offset).filter(|frame| frame.is_valid(salt, bytes)) {
            Some(frame) if frame.number == expected => {
                offset = frame.end();
                expected = expected.next();
                frames.push(frame);
            }
            Some(_) => return Err(damage_at(offset, expected, "a frame with another number is there")),
            None => {
                return classify_invalid_frame(salt, bytes, offset, expected)
                    .map(|torn_bytes| Scan { frames, torn_bytes });
            }
        }
    }
    Ok(Scan { frames, torn_bytes: 0 })
}

fn damage_at(offset: usize, number: FrameNumber, problem: &'static str) -> Damage {
    Damage { offset, number: Some(number), problem }
}

/// Decides whether the invalid frame at `offset` is torn, and returns the number of torn bytes.
fn classify_invalid_frame(salt: Salt, bytes: &[u8], offset: usize, expected: FrameNumber) -> Result<usize, Damage> {
    if is_followed_by_frame(salt, bytes, offset) {
        return Err(damage_at(offset, expected, "the frame is not valid, and valid frames follow it"));
    }
    let is_torn = match FrameBounds::read(salt, bytes, offset) {
        Some(frame) => frame.is_torn(bytes),
        None => has_torn_header(bytes, offset),
    };
    let written_end = bytes.iter().rposition(|byte| *byte != 0).map_or(offset, |last| last + 1);
    if is_torn {
        Ok(written_end.saturating_sub(offset))
    } else {
        Err(damage_at(offset, expected, "the frame was written to its end, but a checksum is wrong"))
    }
}

/// Whether a valid frame begins anywhere after `offset`.
fn is_followed_by_frame(salt: Salt, bytes: &[u8], offset: usize) -> bool {
    (offset + 1..bytes.len())
        .any(|later| FrameBounds::read(salt, bytes, later).is_some_and(|frame| frame.is_valid(salt, bytes)))
}

/// Whether a crash can have left this invalid header: the file is too short for it, everything from
/// the header's last byte on is unwritten, or a sector with a part of the header is unwritten.
fn has_torn_header(bytes: &[u8], offset: usize) -> bool {
    let header_end = offset + HEADER_BYTES;
    if bytes.len() < header_end || is_zeroed(&bytes[header_end - 1..]) {
        return true;
    }
    let sectors_end = ((header_end - 1) / SECTOR_BYTES + 1) * SECTOR_BYTES;
    has_zeroed_sector(&bytes[..sectors_end.min(bytes.len())], offset)
}

#[cfg(test)]
mod tests {
    use super::scan;
    use crate::frame::{FrameNumber, SECTOR_BYTES, Salt, encode};

    const SALT: Salt = Salt(3);

    /// A checkpoint and two frames with payloads of these lengths, and the offset of the last
    /// frame.
    fn segment(lengths: [usize; 2]) -> (Vec<u8>, usize) {
        let mut bytes = Vec::new();
        let mut last = 0;
        for (number, length) in [0, lengths[0], lengths[1]].into_iter().enumerate() {
            last = bytes.len();
            encode(SALT, last, FrameNumber(number as u64), &vec![number as u8; length], &mut bytes);
        }
        (bytes, last)
    }

    /// The number of frames; `None` for damage.
    fn frame_count(bytes: &[u8]) -> Option<usize> {
        scan(SALT, bytes, 0).ok().map(|scan| scan.frames.len())
    }

    #[test]
    fn a_last_frame_that_lacks_more_than_its_end_mark_is_torn_with_or_without_zeros_after_it() {
        let (complete, last) = segment([40, 1_500]);
        for cut in last..complete.len() - 1 {
            assert_eq!(frame_count(&complete[..cut]), Some(2), "cut at {cut}");
            let mut zeroed = complete[..cut].to_vec();
            zeroed.resize(complete.len() + 600, 0);
            assert_eq!(frame_count(&zeroed), Some(2), "zeros from {cut}");
        }
    }

    #[test]
    fn a_last_frame_with_an_unwritten_sector_is_torn() {
        for first_length in 0..600 {
            let (complete, last) = segment([first_length, 1_500]);
            for sector in last / SECTOR_BYTES..=(complete.len() - 1) / SECTOR_BYTES {
                let mut torn = complete.clone();
                let begin = (sector * SECTOR_BYTES).max(last);
                let end = ((sector + 1) * SECTOR_BYTES).min(complete.len());
                torn[begin..end].fill(0);
                // A frame that lacks only its end mark is valid: the checksum covers all bytes
                // before the mark.
                let expected = if end - begin == 1 && end == complete.len() { 3 } else { 2 };
                assert_eq!(frame_count(&torn), Some(expected), "first length {first_length}, sector {sector}");
            }
        }
    }

    #[test]
    fn a_changed_byte_is_damage_in_the_last_frame_and_in_every_other() {
        let (complete, last) = segment([700, 700]);
        // No checksum covers end marks. The frame of the empty checkpoint has 26 bytes: a header of
        // 21 and a trailer of 5.
        let end_marks = [25, last - 1, complete.len() - 1];
        for offset in (0..complete.len()).filter(|offset| !end_marks.contains(offset)) {
            // The last mask makes the byte zero.
            for mask in [1, 0xFF, complete[offset]].into_iter().filter(|mask| *mask != 0) {
                let mut changed = complete.clone();
                changed[offset] ^= mask;
                changed.resize(4_096, 0);
                assert_eq!(frame_count(&changed), None, "byte {offset} mask {mask}");
            }
        }
    }

    #[test]
    fn an_invalid_frame_before_complete_ones_is_damage_even_if_it_looks_torn() {
        let (mut bytes, last) = segment([2_000, 40]);
        bytes[SECTOR_BYTES..2 * SECTOR_BYTES].fill(0);
        let error = scan(SALT, &bytes, 0).unwrap_err();
        assert_eq!(error.number, Some(FrameNumber(1)));
        assert!(error.offset < last);
    }
}
