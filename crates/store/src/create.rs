//! The making of data folders: for a node of a new cluster, for one that joins, for one that lost its log.
//!
//! A folder is a data folder when it has its identity. That file appears last, so a crash in between leaves a folder
//! that can be created again.

use crate::error::StoreError;
use crate::files::{FileSystem, Files};
use crate::folder::{Folder, IDENTITY, SET_ASIDE, SegmentNumber, Stage, is_unfinished};
use crate::frame::FrameNumber;
use crate::identity::{Identity, Origin, Owner};
use crate::store::{Storable, encode_segment};
use quorate_core::Incarnation;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Creates the folder of a node that founds a cluster. It begins with nothing.
pub fn found<D: Storable>(folder: &Path, owner: Owner) -> Result<(), StoreError> {
    create_in::<D, _>(Files, folder, Identity { owner, origin: Origin::Founded }, Incarnation::FIRST)
}

/// Creates the folder of a node that joins a cluster, or comes back to one without its folder. It begins with
/// [`wiped`](quorate_core::Durable::wiped): for all that can be known, a node of this name may have made promises before.
pub fn join<D: Storable>(folder: &Path, owner: Owner) -> Result<(), StoreError> {
    create_in::<D, _>(Files, folder, Identity { owner, origin: Origin::Joined }, life_of_today())
}

/// Sets the log of a node aside, into `set-aside-1` or the next such folder that is free, and begins a new one with
/// [`wiped`](quorate_core::Durable::wiped): the node knows that it may have made promises which it does not remember.
/// Yields the folder that the old log is in now.
pub fn reseed<D: Storable>(folder: &Path, owner: Owner) -> Result<PathBuf, StoreError> {
    reseed_in::<D, _>(Files, folder, owner, life_of_today())
}

/// A life later than any that a node of this name can have had, in whatever folder: they are counted by ones, and this is
/// the time in milliseconds.
fn life_of_today() -> Incarnation {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Incarnation(u64::try_from(since.as_millis()).unwrap_or(u64::MAX >> 1))
}

/// [`found`] or [`join`], by what the identity says, in any file system. Lives are counted from this one on.
pub fn create_in<D: Storable, F: FileSystem>(
    files: F,
    folder: &Path,
    identity: Identity,
    life: Incarnation,
) -> Result<(), StoreError> {
    let folder = Folder::new(files, folder);
    folder.files.create_folder(&folder.path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
            StoreError::NotAFolder { folder: folder.path.clone() }
        }
        _ => StoreError::of_write("create", &folder.path, error),
    })?;
    refuse_if_there(&folder)?;
    let _lock = folder.lock()?;
    refuse_if_there(&folder)?;
    // The identity stands there under its unfinished name until the log is there, which tells an interrupted
    // creation from a log whose identity somebody removed.
    folder.prepare(IDENTITY, identity.to_string().as_bytes())?;
    folder.sync()?;
    let contents = match identity.origin {
        Origin::Founded => D::default(),
        Origin::Joined | Origin::Reseeded => D::wiped(),
    };
    begin_log(&folder, identity.owner, &contents)?;
    folder.begin_lives(life)?;
    folder.publish(IDENTITY)
}

/// [`reseed`] in any file system. Where lives were not counted, they are from this one on.
pub fn reseed_in<D: Storable, F: FileSystem>(
    files: F,
    folder: &Path,
    owner: Owner,
    life: Incarnation,
) -> Result<PathBuf, StoreError> {
    let folder = Folder::new(files, folder);
    let stage = folder.stage()?;
    if stage == Stage::Absent {
        return Err(StoreError::NotThere { folder: folder.path.clone() });
    }
    let _lock = folder.lock()?;
    if stage == Stage::Present {
        match folder.identity(owner) {
            Ok(_) | Err(StoreError::BadIdentity { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // Until the last step there is no log, and a store does not open without one: whenever this is interrupted, it is
    // begun again.
    let aside = set_aside(&folder)?;
    if !folder.has_lives()? {
        folder.begin_lives(life)?;
    }
    let identity = Identity { owner, origin: Origin::Reseeded };
    folder.prepare(IDENTITY, identity.to_string().as_bytes())?;
    folder.publish(IDENTITY)?;
    begin_log(&folder, owner, &D::wiped())?;
    Ok(aside)
}

fn refuse_if_there<F: FileSystem>(folder: &Folder<F>) -> Result<(), StoreError> {
    match folder.stage()? {
        Stage::Absent => Ok(()),
        Stage::Present => Err(StoreError::AlreadyThere { folder: folder.path.clone() }),
        Stage::Orphaned => Err(StoreError::BadIdentity { path: folder.at(IDENTITY) }),
    }
}

fn begin_log<D: Storable, F: FileSystem>(folder: &Folder<F>, owner: Owner, contents: &D) -> Result<(), StoreError> {
    let number = SegmentNumber::FIRST;
    let (content, _) = encode_segment(owner, number, FrameNumber(0), contents)?;
    folder.prepare(&number.name(), &content)?;
    folder.publish(&number.name())
}

/// Moves all segments into a folder of their own, durably, and removes what never got its name.
fn set_aside<F: FileSystem>(folder: &Folder<F>) -> Result<PathBuf, StoreError> {
    let names = folder.names()?;
    let is_free = |name: &String| !names.contains(name);
    let name = (1_u64..).map(|number| format!("{SET_ASIDE}{number}")).find(is_free).unwrap_or_default();
    let aside = folder.at(&name);
    folder.files.create_folder(&aside).map_err(|error| StoreError::of_write("create", &aside, error))?;
    folder.sync()?;
    for name in names.iter().filter(|name| is_unfinished(name)) {
        folder.remove(name)?;
    }
    for name in names.iter().filter(|name| SegmentNumber::parse(name).is_some()) {
        let (from, to) = (folder.at(name), aside.join(name));
        folder.files.rename(&from, &to).map_err(|error| StoreError::of_write("move", &from, error))?;
    }
    folder.files.sync_folder(&aside).map_err(|error| StoreError::of_io("sync", &aside, error))?;
    folder.sync()?;
    Ok(aside)
}
