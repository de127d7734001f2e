//! A data folder: the names in it, the lock on it, and files that appear whole or not at all.

use crate::error::StoreError;
use crate::files::{FileSystem, StoreFile};
use crate::identity::{Identity, Owner};
use quorate_core::Incarnation;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) const IDENTITY: &str = "identity";
const LOCK: &str = "lock";
const UNFINISHED: &str = ".new";
const SEGMENT: &str = "log-";
pub(crate) const SET_ASIDE: &str = "set-aside-";
/// The one file of this kind has the node's next life in its name, which can change where there is no room for content.
const LIFE: &str = "life-";

/// Which segment of the log; they are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentNumber(pub(crate) u64);

impl SegmentNumber {
    pub(crate) const FIRST: Self = Self(1);

    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    pub(crate) fn name(self) -> String {
        format!("{SEGMENT}{:08}", self.0)
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let number = Self(name.strip_prefix(SEGMENT)?.parse().ok()?);
        (number.name() == name).then_some(number)
    }
}

/// What the names in a folder say about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It is no data folder, or the making of one was interrupted.
    Absent,
    Present,
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

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(crate) fn names(&self) -> Result<Vec<String>, StoreError> {
        let mut names = self.files.list(&self.path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => StoreError::NotThere { folder: self.path.clone() },
            ErrorKind::NotADirectory => StoreError::NotAFolder { folder: self.path.clone() },
            _ => StoreError::of_io("list", &self.path, error),
        })?;
        names.sort_unstable();
        Ok(names)
    }

    pub(crate) fn stage(&self) -> Result<Stage, StoreError> {
        let names = self.names()?;
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let is_of_log = |name: &String| SegmentNumber::parse(name).is_some() || name.starts_with(SET_ASIDE);
        let has_log = names.iter().any(is_of_log);
        Ok(match (has(IDENTITY), has_log && !has(&unfinished(IDENTITY))) {
            (true, _) => Stage::Present,
            (false, true) => Stage::Orphaned,
            (false, false) => Stage::Absent,
        })
    }

    /// Nobody else may touch the folder while what this yields is held.
    pub(crate) fn lock(&self) -> Result<F::Lock, StoreError> {
        let path = self.at(LOCK);
        let lock = self.files.lock(&path).map_err(|error| StoreError::of_write("lock", &path, error))?;
        lock.ok_or_else(|| StoreError::Locked { folder: self.path.clone() })
    }

    /// What the folder says about itself, if that is what its owner expects.
    pub(crate) fn identity(&self, expected: Owner) -> Result<Identity, StoreError> {
        let path = self.at(IDENTITY);
        let identity = Identity::parse(&path, &self.read(IDENTITY)?)?;
        if identity.owner == expected {
            Ok(identity)
        } else {
            Err(StoreError::Foreign { path, found: identity.owner, expected })
        }
    }

    pub(crate) fn read(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        let path = self.at(name);
        self.files.read(&path).map_err(|error| StoreError::of_io("read", &path, error))
    }

    /// Writes a file under a name that nobody takes for whole, and makes its content durable.
    pub(crate) fn prepare(&self, name: &str, content: &[u8]) -> Result<F::File, StoreError> {
        let path = self.at(&unfinished(name));
        let mut file = self.files.create(&path).map_err(|error| StoreError::of_write("create", &path, error))?;
        file.write_at(0, content).map_err(|error| StoreError::of_write("write", &path, error))?;
        file.sync().map_err(|error| StoreError::of_io("sync", &path, error))?;
        Ok(file)
    }

    pub(crate) fn publish(&self, name: &str) -> Result<(), StoreError> {
        let (from, to) = (self.at(&unfinished(name)), self.at(name));
        self.files.rename(&from, &to).map_err(|error| StoreError::of_write("rename", &from, error))?;
        self.sync()
    }

    /// The life that begins now: no two starts of a node ever have the same.
    pub(crate) fn next_life(&self) -> Result<Incarnation, StoreError> {
        let lives = self.names()?.iter().filter_map(|name| life_of(name)).max();
        // Without it a life might be lived twice.
        let life = lives.ok_or_else(|| StoreError::BadIdentity { path: self.at(LIFE) })?;
        let (from, to) = (self.at(&life_name(life)), self.at(&life_name(life.next())));
        self.files.rename(&from, &to).map_err(|error| StoreError::of_write("rename", &from, error))?;
        self.sync()?;
        Ok(life)
    }

    pub(crate) fn has_lives(&self) -> Result<bool, StoreError> {
        Ok(self.names()?.iter().any(|name| life_of(name).is_some()))
    }

    pub(crate) fn begin_lives(&self, first: Incarnation) -> Result<(), StoreError> {
        let name = life_name(first);
        self.prepare(&name, b"")?;
        self.publish(&name)
    }

    pub(crate) fn discard(&self, name: &str) -> Result<(), StoreError> {
        match self.remove(&unfinished(name)) {
            Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(()),
            result => result,
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.at(name);
        self.files.remove(&path).map_err(|error| StoreError::of_io("remove", &path, error))
    }

    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.files.sync_folder(&self.path).map_err(|error| StoreError::of_io("sync", &self.path, error))
    }
}

fn unfinished(name: &str) -> String {
    format!("{name}{UNFINISHED}")
}

/// Was a file of ours being written under this name when a crash came?
pub(crate) fn is_unfinished(name: &str) -> bool {
    let whole = name.strip_suffix(UNFINISHED);
    whole.is_some_and(|name| name == IDENTITY || SegmentNumber::parse(name).is_some() || life_of(name).is_some())
}

fn life_name(life: Incarnation) -> String {
    format!("{LIFE}{:08}", life.0)
}

fn life_of(name: &str) -> Option<Incarnation> {
    let life = Incarnation(name.strip_prefix(LIFE)?.parse().ok()?);
    (life_name(life) == name).then_some(life)
}
