//! Creates data folders: for a node of a new cluster, for one that joins, and for one that lost its
//! log.
//!
//! A folder is a data folder once it has the file `identity`. That file gets its name last, so
//! after a crash during the creation the folder can be created again.

use crate::error::StoreError;
use crate::files::{FileSystem, Files};
use crate::folder::{Folder, FolderState, IDENTITY, SET_ASIDE_PREFIX, SegmentNumber, is_unfinished};
use crate::frame::FrameNumber;
use crate::identity::{Identity, Origin, Owner};
use crate::store::{Storable, encode_segment};
use quorate_core::Incarnation;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Creates the folder of a node of a new cluster. Its contents are the default, those of a new
/// node.
pub fn create_founder<D: Storable>(folder: &Path, owner: Owner) -> Result<(), StoreError> {
    create_in::<D, _>(Files, folder, Identity { owner, origin: Origin::Founded }, Incarnation::FIRST)
}

/// Creates the folder of a node that joins a cluster, or that rejoins after it lost its folder. The
/// contents are [`wiped`](quorate_core::Durable::wiped), because a node with this id may have made
/// promises before.
pub fn create_joiner<D: Storable>(folder: &Path, owner: Owner) -> Result<(), StoreError> {
    create_in::<D, _>(Files, folder, Identity { owner, origin: Origin::Joined }, incarnation_from_clock())
}

/// Re-seeds a node: moves its log into `set-aside-1` or the next such folder that is free, and
/// creates a new log with [`wiped`](quorate_core::Durable::wiped) contents, which tell the node
/// that it may have made promises that it lost. Returns the folder with the old log. After an error
/// the node may have no log, and then does not start until it is re-seeded again.
pub fn replace_lost_log<D: Storable>(folder: &Path, owner: Owner) -> Result<PathBuf, StoreError> {
    replace_lost_log_in::<D, _>(Files, folder, owner, incarnation_from_clock())
}

/// Returns the Unix time in milliseconds. Each start adds one to the incarnation, so this one is
/// later than any that a node with this id had in another folder, unless the clock was set back. A
/// time beyond the range becomes half of the maximum, so that later starts can add to it.
fn incarnation_from_clock() -> Incarnation {
    let unix_time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Incarnation(u64::try_from(unix_time.as_millis()).unwrap_or(u64::MAX >> 1))
}

/// Creates a data folder in any file system, like [`create_founder`] or [`create_joiner`],
/// depending on the identity's origin. The first start of the node gets the given incarnation.
/// Fails if the folder is already a data folder, even one that lacks its identity, and does not
/// change it.
pub fn create_in<D: Storable, F: FileSystem>(
    files: F,
    folder: &Path,
    identity: Identity,
    incarnation: Incarnation,
) -> Result<(), StoreError> {
    let folder = Folder::new(files, folder);
    folder.files.create_folder(&folder.path).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
            StoreError::NotAFolder { folder: folder.path.clone() }
        }
        _ => StoreError::from_write("create", &folder.path, error),
    })?;
    // Check before locking, which would create the lock file in a folder that is not ours, and
    // again after it, because another process may have created the data folder in between.
    refuse_if_present(&folder)?;
    let _lock = folder.lock()?;
    refuse_if_present(&folder)?;
    // The identity has its unfinished name until the log exists. This distinguishes an interrupted
    // creation from a log whose identity was removed.
    folder.prepare(IDENTITY, identity.to_string().as_bytes())?;
    folder.sync()?;
    let contents = match identity.origin {
        Origin::Founded => D::default(),
        Origin::Joined | Origin::Reseeded => D::wiped(),
    };
    begin_log(&folder, identity.owner, &contents)?;
    folder.create_incarnation_file(incarnation)?;
    folder.publish(IDENTITY)
}

/// Works like [`replace_lost_log`] in any file system. If the folder has no incarnation file, the
/// next start of the node gets the given incarnation.
pub fn replace_lost_log_in<D: Storable, F: FileSystem>(
    files: F,
    folder: &Path,
    owner: Owner,
    incarnation: Incarnation,
) -> Result<PathBuf, StoreError> {
    let folder = Folder::new(files, folder);
    let state = folder.state()?;
    if state == FolderState::Absent {
        return Err(StoreError::NotFound { folder: folder.path.clone() });
    }
    let _lock = folder.lock()?;
    if state == FolderState::Present {
        // Re-seeding also repairs a damaged identity, but refuses the folder of another node.
        match folder.identity(owner) {
            Ok(_) | Err(StoreError::BadIdentity { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // There is no log until the last step, and a store does not open without one. So after an
    // interruption the operator has to re-seed again.
    let aside = set_aside(&folder)?;
    if !folder.has_incarnation_file()? {
        folder.create_incarnation_file(incarnation)?;
    }
    let identity = Identity { owner, origin: Origin::Reseeded };
    folder.prepare(IDENTITY, identity.to_string().as_bytes())?;
    folder.publish(IDENTITY)?;
    begin_log(&folder, owner, &D::wiped())?;
    Ok(aside)
}

fn refuse_if_present<F: FileSystem>(folder: &Folder<F>) -> Result<(), StoreError> {
    match folder.state()? {
        FolderState::Absent => Ok(()),
        FolderState::Present => Err(StoreError::AlreadyExists { folder: folder.path.clone() }),
        FolderState::Orphaned => Err(StoreError::BadIdentity { path: folder.path_of(IDENTITY) }),
    }
}

/// Creates the first segment, with a checkpoint of these contents.
fn begin_log<D: Storable, F: FileSystem>(folder: &Folder<F>, owner: Owner, contents: &D) -> Result<(), StoreError> {
    let number = SegmentNumber::FIRST;
    let (bytes, _) = encode_segment(owner, number, FrameNumber(0), contents)?;
    folder.prepare(&number.name(), &bytes)?;
    folder.publish(&number.name())
}

/// Moves all segments into a folder of their own, durably, and removes unfinished files.
fn set_aside<F: FileSystem>(folder: &Folder<F>) -> Result<PathBuf, StoreError> {
    let names = folder.names()?;
    let is_free = |name: &String| !names.contains(name);
    let name = (1_u64..).map(|number| format!("{SET_ASIDE_PREFIX}{number}")).find(is_free).unwrap_or_default();
    let aside = folder.path_of(&name);
    folder.files.create_folder(&aside).map_err(|error| StoreError::from_write("create", &aside, error))?;
    folder.sync()?;
    for name in names.iter().filter(|name| is_unfinished(name)) {
        folder.remove(name)?;
    }
    for name in names.iter().filter(|name| SegmentNumber::parse(name).is_some()) {
        let (from, to) = (folder.path_of(name), aside.join(name));
        folder.files.rename(&from, &to).map_err(|error| StoreError::from_write("move", &from, error))?;
    }
    folder.files.sync_folder(&aside).map_err(|error| StoreError::from_io("sync", &aside, error))?;
    folder.sync()?;
    Ok(aside)
}
