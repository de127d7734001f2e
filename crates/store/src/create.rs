//! The making of data folders: for a node of a new cluster, for one that joins, for one that lost its log.
//!
//! A folder is a data folder when it has its identity. That file appears last, so a crash in between leaves a folder
//! that can be created again.

use crate::error::StoreError;
use crate::files::{FileSystem, Files};
use crate::folder::{Folder, IDENTITY, SegmentNumber, Stage, is_unfinished};
use crate::frame::FrameNumber;
use crate::identity::{Identity, Origin, Owner};
use crate::store::{Storable, encode_segment};
use quorate_core::Incarnation;
use std::path::{Path, PathBuf};

/// Creates the folder of a node that founds a cluster. It begins with nothing.
pub fn found<D: Storable>(folder: &Path, owner: Owner) -> Result<(), StoreError> {
    create_in::<D, _>(Files, folder, Identity { owner, origin: Origin::Founded })
}

/// Creates the folder of a node that joins a cluster. It begins with nothing.
pub fn join<D: Storable>(folder: &Path, owner: Owner) -> Result<(), StoreError> {
    create_in::<D, _>(Files, folder, Identity { owner, origin: Origin::Joined })
}

/// Sets the log of a node aside, into `set-aside-1` or the next such folder that is free, and begins a new one with
/// [`wiped`](quorate_core::Durable::wiped): the node knows that it may have made promises which it does not remember.
/// Yields the folder that the old log is in now.
pub fn reseed<D: Storable>(folder: &Path, owner: Owner) -> Result<PathBuf, StoreError> {
    reseed_in::<D, _>(Files, folder, owner)
}

/// [`found`] or [`join`], by what the identity says, in any file system.
pub fn create_in<D: Storable, F: FileSystem>(files: F, folder: &Path, identity: Identity) -> Result<(), StoreError> {
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
    begin_log(&folder, identity.owner, &D::default())?;
    folder.begin_lives(Incarnation::FIRST)?;
    folder.publish(IDENTITY)
}

/// [`reseed`] in any file system.
pub fn reseed_in<D: Storable, F: FileSystem>(files: F, folder: &Path, owner: Owner) -> Result<PathBuf, StoreError> {
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
    let identity = Identity { owner, origin: Origin::Reseeded };
    folder.prepare(IDENTITY, identity.to_string().as_bytes())?;
    folder.publish(IDENTITY)?;
    begin_log(&folder, owner, &D::wiped())?;
    Ok(aside)
}

/// Is there a data folder already, or the log of one?
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
    let name = (1_u64..).map(|number| format!("set-aside-{number}")).find(is_free).unwrap_or_default();
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
