//! One file of the log: its header, and the appending of frames.
//!
//! The file is extended with zeros after its last frame ("zeros ahead"), so that an append changes
//! neither the file's length nor its blocks. The sync then has no metadata to write, which makes it
//! up to twice as fast.

use crate::error::StoreError;
use crate::files::StoreFile;
use crate::folder::SegmentNumber;
use crate::frame::{self, FrameNumber, Salt};
use crate::identity::{ClusterId, FORMAT, Owner};
use quorate_core::NodeId;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"quorate\n";
/// The header's fields and their lengths in bytes:
/// magic 8 │ format 4 │ cluster 16 │ node 4 │ segment 8 │ version of the contents 4 │ checksum 4.
pub(crate) const SEGMENT_HEADER_BYTES: usize = 48;

/// Encodes the header. Also returns its checksum, which seeds the checksums of the frames.
pub(crate) fn encode_header(owner: Owner, number: SegmentNumber, contents_version: u32) -> (Vec<u8>, Salt) {
    let mut bytes = Vec::with_capacity(SEGMENT_HEADER_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    bytes.extend_from_slice(&owner.cluster.0.to_le_bytes());
    bytes.extend_from_slice(&owner.node.number().to_le_bytes());
    bytes.extend_from_slice(&number.0.to_le_bytes());
    bytes.extend_from_slice(&contents_version.to_le_bytes());
    let checksum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    (bytes, Salt(checksum))
}

/// Reads the header of the segment with this number. Checks the format first, because a newer one
/// may change the rest.
pub(crate) fn read_header(
    path: &Path,
    bytes: &[u8],
    expected: Owner,
    number: SegmentNumber,
    known_version: u32,
) -> Result<Salt, StoreError> {
    let damaged = |problem| StoreError::Damaged { path: path.into(), offset: 0, frame: None, problem };
    let Some(header) = bytes.get(..SEGMENT_HEADER_BYTES) else {
        return Err(damaged("the file ends inside its header"));
    };
    if &header[..8] != MAGIC {
        return Err(damaged("it does not start with the magic bytes of a log segment"));
    }
    let format = u32::from_le_bytes(field(header, 8));
    if format > FORMAT {
        return Err(StoreError::Newer { path: path.into(), found: format });
    }
    let salt = Salt(crc32c::crc32c(&header[..44]));
    let node = NodeId::new(u32::from_le_bytes(field(header, 28)));
    let (true, Some(node)) = (salt.0 == u32::from_le_bytes(field(header, 44)), node) else {
        return Err(damaged("the checksum of its header is wrong"));
    };
    let found = Owner { cluster: ClusterId(u128::from_le_bytes(field(header, 12))), node };
    if found != expected {
        return Err(StoreError::Foreign { path: path.into(), found, expected });
    }
    if u64::from_le_bytes(field(header, 32)) != number.0 {
        return Err(damaged("its segment number differs from its name"));
    }
    let found = u32::from_le_bytes(field(header, 40));
    if found > known_version {
        return Err(StoreError::NewerContents { path: path.into(), found, known: known_version });
    }
    Ok(salt)
}

/// `N` bytes of the header from offset `begin`, which follows from the layout at
/// [`SEGMENT_HEADER_BYTES`]. Callers stay inside the header, whose length was checked.
fn field<const N: usize>(header: &[u8], begin: usize) -> [u8; N] {
    header.get(begin..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

/// An open log file, to which the store appends.
pub(crate) struct Segment<File> {
    pub(crate) file: File,
    pub(crate) path: PathBuf,
    pub(crate) number: SegmentNumber,
    pub(crate) salt: Salt,
    /// The number of the last frame in the file.
    pub(crate) last_frame: FrameNumber,
    /// Where the next frame begins.
    pub(crate) end: u64,
    /// Length of the file. It contains zeros from `end` to here.
    pub(crate) file_length: u64,
}

impl<File: StoreFile> Segment<File> {
    /// Appends a frame durably. If the file must grow, extends it with `preallocated_bytes` zeros,
    /// unless the frame is longer. If the disk is full, no part of the frame remains in the file.
    pub(crate) fn append(
        &mut self,
        payload: &[u8],
        preallocated_bytes: u64,
        frame_buffer: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        frame_buffer.clear();
        let number = self.last_frame.next();
        frame::encode(self.salt, self.end as usize, number, payload, frame_buffer);
        match self.write(frame_buffer, preallocated_bytes) {
            Ok(()) => {}
            Err(error) if error.is_full() => {
                self.cut_off_tail()?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        self.sync()?;
        self.end += frame_buffer.len() as u64;
        self.file_length = self.file_length.max(self.end);
        self.last_frame = number;
        Ok(())
    }

    /// Writes the frame, after the zeros by which the file grows if it must. The zeros need no sync
    /// of their own: a sector of them that is not on the disk reads as zeros too.
    fn write(&mut self, frame: &[u8], preallocated_bytes: u64) -> Result<(), StoreError> {
        let needed = self.end + frame.len() as u64;
        if needed > self.file_length && (frame.len() as u64) < preallocated_bytes {
            self.write_at(self.file_length, &vec![0; preallocated_bytes as usize])?;
            self.file_length += preallocated_bytes;
        }
        self.write_at(self.end, frame)
    }

    /// Cuts off everything after the last complete frame, durably, so that the next frame cannot
    /// mix with the remains of a torn one.
    pub(crate) fn cut_off_tail(&mut self) -> Result<(), StoreError> {
        self.file.truncate(self.end).map_err(|error| StoreError::from_io("truncate", &self.path, error))?;
        self.file_length = self.end;
        self.sync()
    }

    pub(crate) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_at(offset, bytes).map_err(|error| StoreError::from_write("write", &self.path, error))
    }

    /// Syncs the file. A failed sync is never retried: after it the system considers pages clean
    /// that are not on the disk.
    fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync().map_err(|error| StoreError::from_io("sync", &self.path, error))
    }
}
