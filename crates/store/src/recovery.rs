//! What a node finds when it starts: the newest segment, read to its last whole frame.
//!
//! Everything is read and understood before anything is changed, so that a log that is refused is left as it is.

use crate::error::StoreError;
use crate::files::{FileSystem, StoreFile};
use crate::folder::{Folder, IDENTITY, SegmentNumber, Stage, is_unfinished};
use crate::frame::{FrameNumber, Outline};
use crate::identity::{Identity, Owner};
use crate::scan::{Damage, Scan, scan};
use crate::segment::{SEGMENT_HEADER, Segment, read_header};
use crate::store::Storable;
use quorate_core::Incarnation;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What was found when a store was opened, for people and for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Which life of the node begins with this. No other start of it ever has the same.
    pub incarnation: Incarnation,
    pub segment: String,
    pub appends: u64,
    pub writes: u64,
    /// How many bytes of an append that was never acknowledged were cut off.
    pub torn_bytes: u64,
    /// What an interrupted change of segments had left behind, and is gone now.
    pub removed: Vec<String>,
}

pub(crate) struct Recovered<D, F: FileSystem> {
    pub(crate) identity: Identity,
    pub(crate) segment: Segment<F::File>,
    pub(crate) checkpoint_bytes: u64,
    pub(crate) contents: D,
    pub(crate) recovery: Recovery,
    pub(crate) lock: F::Lock,
}

pub(crate) fn recover<D: Storable, F: FileSystem>(
    folder: &Folder<F>,
    owner: Owner,
) -> Result<Recovered<D, F>, StoreError> {
    // Looked for before the lock, which would else be created in a folder that is none of ours.
    match folder.stage()? {
        Stage::Present => {}
        Stage::Absent => return Err(StoreError::NotThere { folder: folder.path.clone() }),
        Stage::Orphaned => return Err(StoreError::BadIdentity { path: folder.at(IDENTITY) }),
    }
    let lock = folder.lock()?;
    let identity = folder.identity(owner)?;
    let names = folder.names()?;
    let newest = names.iter().filter_map(|name| SegmentNumber::parse(name)).max();
    let number = newest.ok_or_else(|| StoreError::NoLog { folder: folder.path.clone() })?;
    let name = number.name();
    let path = folder.at(&name);
    let bytes = folder.read(&name)?;
    let salt = read_header(&path, &bytes, owner, number, D::VERSION)?;
    let found = scan(salt, &bytes, SEGMENT_HEADER).map_err(|damage| damaged(&path, damage))?;
    let (contents, writes) = fold::<D>(&path, &bytes, &found.frames)?;

    let file = folder.files.open(&path).map_err(|error| StoreError::of_io("open", &path, error))?;
    let last = found.frames.last().map_or(FrameNumber(0), |outline| outline.number);
    let end = found.end() as u64;
    let mut segment = Segment { file, path, number, salt, last, end, room: bytes.len() as u64 };
    settle(&mut segment, &bytes, &found)?;
    let recovery = Recovery {
        incarnation: folder.next_life()?,
        segment: name,
        appends: found.frames.len() as u64 - 1,
        writes,
        torn_bytes: found.torn_bytes as u64,
        removed: tidy(folder, &names, number)?,
    };
    let checkpoint_bytes = found.frames.first().map_or(0, Outline::end) as u64;
    Ok(Recovered { identity, segment, checkpoint_bytes, contents, recovery, lock })
}

fn damaged(path: &Path, damage: Damage) -> StoreError {
    let Damage { offset, number, what } = damage;
    StoreError::Damaged { path: path.into(), offset: offset as u64, frame: number.map(|number| number.0), what }
}

/// The checkpoint with all writes after it, and how many these are.
fn fold<D: Storable>(path: &Path, bytes: &[u8], frames: &[Outline]) -> Result<(D, u64), StoreError> {
    let mut contents = D::default();
    let mut count = 0;
    for (place, outline) in frames.iter().enumerate() {
        if place == 0 {
            contents = decode(path, bytes, outline)?;
            continue;
        }
        let writes: Vec<D::Write> = decode(path, bytes, outline)?;
        count += writes.len() as u64;
        for write in writes {
            contents.apply(write);
        }
    }
    Ok((contents, count))
}

fn decode<T: DeserializeOwned>(path: &Path, bytes: &[u8], outline: &Outline) -> Result<T, StoreError> {
    let unreadable = |reason| StoreError::Unreadable {
        path: path.into(),
        offset: outline.offset as u64,
        frame: outline.number.0,
        reason,
    };
    let payload = outline.payload(bytes);
    let (value, rest) = postcard::take_from_bytes(&payload).map_err(unreadable)?;
    // Bytes that nobody asked for are as bad as bytes that are missing.
    if rest.is_empty() { Ok(value) } else { Err(unreadable(postcard::Error::DeserializeBadEncoding)) }
}

/// Makes durable what was found. The last frame may have been read from the system's memory and not be on the disk:
/// its sync may never have been asked for, or have failed, after which the system believes it written. So it is
/// written again. All frames before it were synced before it was begun, and so was a checkpoint.
fn settle<File: StoreFile>(segment: &mut Segment<File>, bytes: &[u8], found: &Scan) -> Result<(), StoreError> {
    if let [_, .., last] = &found.frames[..] {
        segment.write_at(last.offset as u64, &last.written(bytes))?;
    }
    segment.cut()
}

/// Removes what an interrupted change of segments left: files that never got their name, and older segments. Before
/// the older ones go, the name of the newest must be durable.
fn tidy<F: FileSystem>(folder: &Folder<F>, names: &[String], newest: SegmentNumber) -> Result<Vec<String>, StoreError> {
    folder.sync()?;
    let is_old = |name: &str| SegmentNumber::parse(name).is_some_and(|number| number < newest);
    let leftovers = names.iter().filter(|name| is_unfinished(name) || is_old(name));
    leftovers.map(|name| folder.remove(name).map(|()| name.clone())).collect()
}
