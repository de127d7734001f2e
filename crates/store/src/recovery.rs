//! Recovery at the start of a node: reads the newest segment up to its last complete frame.
//!
//! Recovery reads and decodes everything before it changes anything, so a refused log is left
//! unchanged.

use crate::error::StoreError;
use crate::files::{FileSystem, StoreFile};
use crate::folder::{Folder, FolderState, IDENTITY, SegmentNumber, is_unfinished};
use crate::frame::{FrameBounds, FrameNumber};
use crate::identity::{Identity, Owner};
use crate::scan::{Damage, Scan, scan};
use crate::segment::{SEGMENT_HEADER_BYTES, Segment, read_header};
use crate::store::Storable;
use quorate_core::Incarnation;
use serde::de::DeserializeOwned;
use std::path::Path;

/// A summary of the recovery when a store was opened, for logs and tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The incarnation of this start of the node. No other start ever gets the same one.
    pub incarnation: Incarnation,
    /// The name of the newest segment.
    pub segment: String,
    /// Number of appends after the checkpoint.
    pub appends: u64,
    /// Number of writes in these appends.
    pub writes: u64,
    /// Number of bytes cut off from an append that was never acknowledged.
    pub torn_bytes: u64,
    /// Files that an interrupted creation or change of segments had left, and that are now removed.
    pub removed_files: Vec<String>,
}

pub(crate) struct Recovered<D, F: FileSystem> {
    pub(crate) identity: Identity,
    pub(crate) segment: Segment<F::File>,
    /// Length of the segment up to the end of its checkpoint.
    pub(crate) checkpoint_bytes: u64,
    pub(crate) contents: D,
    pub(crate) recovery: Recovery,
    pub(crate) lock: F::Lock,
}

/// Reads the newest segment, cuts off a torn tail, and counts this start of the node.
pub(crate) fn recover<D: Storable, F: FileSystem>(
    folder: &Folder<F>,
    owner: Owner,
) -> Result<Recovered<D, F>, StoreError> {
    // Check before locking, which would create the lock file in a folder that is not ours.
    match folder.state()? {
        FolderState::Present => {}
        FolderState::Absent => return Err(StoreError::NotFound { folder: folder.path.clone() }),
        FolderState::Orphaned => return Err(StoreError::BadIdentity { path: folder.path_of(IDENTITY) }),
    }
    let lock = folder.lock()?;
    let identity = folder.identity(owner)?;
    let names = folder.names()?;
    let newest = names.iter().filter_map(|name| SegmentNumber::parse(name)).max();
    let number = newest.ok_or_else(|| StoreError::NoLog { folder: folder.path.clone() })?;
    let name = number.name();
    let path = folder.path_of(&name);
    let bytes = folder.read(&name)?;
    let salt = read_header(&path, &bytes, owner, number, D::VERSION)?;
    let found = scan(salt, &bytes, SEGMENT_HEADER_BYTES).map_err(|damage| damage_error(&path, damage))?;
    let (contents, writes) = replay_frames::<D>(&path, &bytes, &found.frames)?;

    let file = folder.files.open(&path).map_err(|error| StoreError::from_io("open", &path, error))?;
    let last_frame = found.frames.last().map_or(FrameNumber(0), |frame| frame.number);
    let end = found.end() as u64;
    let mut segment = Segment { file, path, number, salt, last_frame, end, file_length: bytes.len() as u64 };
    rewrite_last_frame(&mut segment, &bytes, &found)?;
    let recovery = Recovery {
        incarnation: folder.next_incarnation()?,
        segment: name,
        appends: found.frames.len() as u64 - 1,
        writes,
        torn_bytes: found.torn_bytes as u64,
        removed_files: remove_leftovers(folder, &names, number)?,
    };
    let checkpoint_bytes = found.frames.first().map_or(0, FrameBounds::end) as u64;
    Ok(Recovered { identity, segment, checkpoint_bytes, contents, recovery, lock })
}

fn damage_error(path: &Path, damage: Damage) -> StoreError {
    let Damage { offset, number, problem } = damage;
    StoreError::Damaged { path: path.into(), offset: offset as u64, frame: number.map(|number| number.0), problem }
}

/// The checkpoint, which is the first frame, with all later writes applied, and the number of those
/// writes.
fn replay_frames<D: Storable>(path: &Path, bytes: &[u8], frames: &[FrameBounds]) -> Result<(D, u64), StoreError> {
    let mut contents = D::default();
    let mut count = 0;
    for (index, frame) in frames.iter().enumerate() {
        if index == 0 {
            contents = decode(path, bytes, frame)?;
            continue;
        }
        let writes: Vec<D::Write> = decode(path, bytes, frame)?;
        count += writes.len() as u64;
        for write in writes {
            contents.apply(write);
        }
    }
    Ok((contents, count))
}

fn decode<T: DeserializeOwned>(path: &Path, bytes: &[u8], frame: &FrameBounds) -> Result<T, StoreError> {
    let unreadable = |reason| StoreError::Unreadable {
        path: path.into(),
        offset: frame.offset as u64,
        frame: frame.number.0,
        reason,
    };
    let payload = frame.payload(bytes);
    let (value, rest) = postcard::take_from_bytes(&payload).map_err(unreadable)?;
    // Extra bytes are as wrong as missing ones.
    if rest.is_empty() { Ok(value) } else { Err(unreadable(postcard::Error::DeserializeBadEncoding)) }
}

/// Makes the recovered frames durable, and cuts off a torn tail. The last frame may be only in the
/// system's page cache: its sync may not have happened, or may have failed, after which the system
/// considers the pages clean. So this writes the frame again. All earlier frames were synced before
/// the last one was begun; the checkpoint was synced before the file got its name.
fn rewrite_last_frame<File: StoreFile>(
    segment: &mut Segment<File>,
    bytes: &[u8],
    found: &Scan,
) -> Result<(), StoreError> {
    if let [_, .., last] = &found.frames[..] {
        segment.write_at(last.offset as u64, &last.written_bytes(bytes))?;
    }
    segment.cut_off_tail()
}

/// Removes what an interrupted creation or change of segments left: unfinished files and older
/// segments. The name of the newest segment must be durable before the older ones are removed.
fn remove_leftovers<F: FileSystem>(
    folder: &Folder<F>,
    names: &[String],
    newest: SegmentNumber,
) -> Result<Vec<String>, StoreError> {
    folder.sync()?;
    let is_old = |name: &str| SegmentNumber::parse(name).is_some_and(|number| number < newest);
    let leftovers = names.iter().filter(|name| is_unfinished(name) || is_old(name));
    leftovers.map(|name| folder.remove(name).map(|()| name.clone())).collect()
}
