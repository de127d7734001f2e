//! A data folder: its file names, its lock, and the atomic creation of files.

use crate::error::StoreError;
use crate::files::{FileSystem, StoreFile};
use crate::identity::{Identity, Owner};
use quorate_core::Incarnation;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) const IDENTITY: &str = "identity";
const LOCK: &str = "lock";
const UNFINISHED_SUFFIX: &str = ".new";
const SEGMENT_PREFIX: &str = "log-";
/// Prefix of the folders into which `replace_lost_log` moves the segments of the old log.
pub(crate) const SET_ASIDE_PREFIX: &str = "set-aside-";
/// Prefix of the name of an empty file; the rest of the name is the node's next incarnation. A
/// start renames the file to count up, which works even on a full disk.
const INCARNATION_PREFIX: &str = "life-";

/// The number of a log segment, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentNumber(pub(crate) u64);

impl SegmentNumber {
    pub(crate) const FIRST: Self = Self(1);

    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    pub(crate) fn name(self) -> String {
        format!("{SEGMENT_PREFIX}{:08}", self.0)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let number = Self(name.strip_prefix(SEGMENT_PREFIX)?.parse().ok()?);
        (number.name() == name).then_some(number)
    }
}

/// The state of a folder, according to the names in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FolderState {
    /// The folder is not a data folder, or its creation was interrupted.
    Absent,
    /// The folder has an identity, so it is a data folder.
    Present,
    /// The folder has a log but no identity.
    Orphaned,
}

#[derive(Clone, Debug)]
pub(crate) struct Folder<F> {
    pub(crate) files: F,
    pub(crate) path: PathBuf,
}

impl<F: FileSystem> Folder<F> {
    pub(crate) fn new(files: F, path: &Path) -> Self {
        Self { files, path: path.into() }
    }

    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The sorted names of all entries of the folder.
    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.files.list(&self.path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => StoreError::NotFound { folder: self.path.clone() },
            ErrorKind::NotADirectory => StoreError::NotAFolder { folder: self.path.clone() },
            _ => StoreError::from_io("list", &self.path, error),
        })?;
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) fn state(&self) -> Result<FolderState, StoreError> {
        let names = self.names()?;
        let has_name = |wanted: &str| names.iter().any(|name| name == wanted);
        let is_log_name = |name: &String| SegmentNumber::parse(name).is_some() || name.starts_with(SET_ASIDE_PREFIX);
        let has_log = names.iter().any(is_log_name);
        // A folder whose creation was interrupted may have a log and an unfinished identity.
        let was_created = has_log && !has_name(&unfinished_name(IDENTITY));
        Ok(match (has_name(IDENTITY), was_created) {
            (true, _) => FolderState::Present,
            (false, true) => FolderState::Orphaned,
            (false, false) => FolderState::Absent,
        })
    }

    /// Locks the folder against other processes until the lock is dropped.
    pub(crate) fn lock(&self) -> Result<F::Lock, StoreError> {
        let path = self.path_of(LOCK);
        let lock = self.files.lock(&path).map_err(|error| StoreError::from_write("lock", &path, error))?;
        lock.ok_or_else(|| StoreError::Locked { folder: self.path.clone() })
    }

    /// Reads the identity, and fails if the folder belongs to another owner.
    pub(crate) fn identity(&self, expected: Owner) -> Result<Identity, StoreError> {
        let path = self.path_of(IDENTITY);
        let identity = Identity::parse(&path, &self.read(IDENTITY)?)?;
        if identity.owner == expected {
            Ok(identity)
        } else {
            Err(StoreError::Foreign { path, found: identity.owner, expected })
        }
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.path_of(name);
        self.files.read(&path).map_err(|error| StoreError::from_io("read", &path, error))
    }

    /// Writes a file under its unfinished name and makes its content durable.
    pub(crate) fn prepare(&self, name: &str, content: &[u8]) -> Result<F::File, StoreError> {
        let path = self.path_of(&unfinished_name(name));
        let mut file = self.files.create(&path).map_err(|error| StoreError::from_write("create", &path, error))?;
        file.write_at(0, content).map_err(|error| StoreError::from_write("write", &path, error))?;
        file.sync().map_err(|error| StoreError::from_io("sync", &path, error))?;
        Ok(file)
    }

    /// Gives a prepared file its final name, durably.
    pub(crate) fn publish(&self, name: &str) -> Result<(), StoreError> {
        let (from, to) = (self.path_of(&unfinished_name(name)), self.path_of(name));
        self.files.rename(&from, &to).map_err(|error| StoreError::from_write("rename", &from, error))?;
        self.sync()
    }

    /// Counts this start of the node, durably, and returns its incarnation, which no other start
    /// gets.
    pub(crate) fn next_incarnation(&self) -> Result<Incarnation, StoreError> {
        let newest = self.names()?.iter().filter_map(|name| parse_incarnation_file(name)).max();
        // Without an incarnation file, two starts could get the same incarnation.
        let incarnation = newest.ok_or_else(|| StoreError::BadIdentity { path: self.path_of(INCARNATION_PREFIX) })?;
        let (from, to) = (
            self.path_of(&incarnation_file_name(incarnation)),
            self.path_of(&incarnation_file_name(incarnation.next())),
        );
        self.files.rename(&from, &to).map_err(|error| StoreError::from_write("rename", &from, error))?;
        self.sync()?;
        Ok(incarnation)
    }

    pub(crate) fn has_incarnation_file(&self) -> Result<bool, StoreError> {
        Ok(self.names()?.iter().any(|name| parse_incarnation_file(name).is_some()))
    }

    /// Creates the file that gives the next start of the node this incarnation.
    pub(crate) fn create_incarnation_file(&self, first: Incarnation) -> Result<(), StoreError> {
        let name = incarnation_file_name(first);
        self.prepare(&name, b"")?;
        self.publish(&name)
    }

    /// Removes a prepared file that was not published, if it exists.
    pub(crate) fn discard(&self, name: &str) -> Result<(), StoreError> {
        match self.remove(&unfinished_name(name)) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path_of(name);
        self.files.remove(&path).map_err(|error| StoreError::from_io("remove", &path, error))
    }

    /// Makes created, renamed and removed names durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.files.sync_folder(&self.path).map_err(|error| StoreError::from_io("sync", &self.path, error))
    }
}

fn unfinished_name(name: &str) -> String {
    format!("{name}{UNFINISHED_SUFFIX}")
}

/// Whether the name is that of one of our files whose writing a crash interrupted.
pub(crate) fn is_unfinished(name: &str) -> bool {
    let final_name = name.strip_suffix(UNFINISHED_SUFFIX);
    final_name.is_some_and(|name| {
        name == IDENTITY || SegmentNumber::parse(name).is_some() || parse_incarnation_file(name).is_some()
    })
}

fn incarnation_file_name(incarnation: Incarnation) -> String {
    format!("{INCARNATION_PREFIX}{:08}", incarnation.0)
}

fn parse_incarnation_file(name: &str) -> Option<Incarnation> {
    let incarnation = Incarnation(name.strip_prefix(INCARNATION_PREFIX)?.parse().ok()?);
    (incarnation_file_name(incarnation) == name).then_some(incarnation)
}
