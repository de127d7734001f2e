//! Errors of a data folder, as sentences for operators: what happened, which data is safe, what to
//! do.

use crate::identity::{FORMAT, Owner};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

const RESEED: &str = "Re-seed the node from its peers: this moves the log aside and creates an empty one";

/// Why an operation on a store failed.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error(
        "{} is not a data folder: it has no file 'identity'. Create it by founding or joining a cluster, or correct \
         the path.",
        .folder.display()
    )]
    NotFound { folder: PathBuf },
    #[error("{} is already a data folder. It was not changed; open it, or choose another folder.", .folder.display())]
    AlreadyExists { folder: PathBuf },
    #[error("{} must be a folder, but it is a file. Correct the path.", .folder.display())]
    NotAFolder { folder: PathBuf },
    #[error(
        "{} is in use by a running node. Stop that node first; two writers would destroy the log.",
        .folder.display()
    )]
    Locked { folder: PathBuf },
    #[error(
        "{} belongs to {found}, but this is {expected}. No data was changed; start the node with its own data folder.",
        .path.display()
    )]
    Foreign { path: PathBuf, found: Owner, expected: Owner },
    #[error(
        "{} has format {found}; this version reads formats up to {FORMAT}. No data was changed; start a version of \
         Quorate that reads format {found}.",
        .path.display()
    )]
    Newer { path: PathBuf, found: u32 },
    #[error(
        "{} has contents of version {found}; this version reads versions up to {known}. No data was changed; start a \
         version of Quorate that reads version {found}.",
        .path.display()
    )]
    NewerContents { path: PathBuf, found: u32, known: u32 },
    #[error(
        "{} is missing or damaged, so the owner of the log is unknown. No data was changed. Restore the file if you \
         have a copy, or re-seed the node from its peers: this moves the log aside and creates an empty one, with a \
         new identity.",
        .path.display()
    )]
    BadIdentity { path: PathBuf },
    #[error(
        "{} has an identity but no log: the promises that this node made to its peers are lost, and it must not start \
         as if it had made none. {RESEED}.",
        .folder.display()
    )]
    NoLog { folder: PathBuf },
    #[error(
        "{} is damaged at byte {offset}{}: {problem}. The node does not start, because promises to its peers may be \
         missing; no data was changed. {RESEED}.",
        .path.display(), describe_frame(.frame)
    )]
    Damaged {
        path: PathBuf,
        offset: u64,
        /// The number of the frame expected at this offset, if it is known.
        frame: Option<u64>,
        problem: &'static str,
    },
    #[error(
        "{} is intact, but frame {frame} at byte {offset} cannot be decoded ({reason}): another protocol or version \
         wrote the log. No data was changed; start the version that wrote it.",
        .path.display()
    )]
    Unreadable { path: PathBuf, offset: u64, frame: u64, reason: postcard::Error },
    #[error("a write cannot be serialized ({0}). Nothing was written; this is a bug in the program.")]
    Unwritable(postcard::Error),
    #[error(
        "the disk is full: cannot write {} ({source}). No acknowledged data is lost, and no part of this write \
         remains. Free some space; the same write can then be tried again.",
        .path.display()
    )]
    Full { path: PathBuf, source: io::Error },
    #[error(
        "cannot {action} {}: {source}. Data acknowledged before is not affected; fix the cause, then restart the node.",
        .path.display()
    )]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "the store accepts no more writes, because the disk failed earlier ({reason}). After a failed sync the \
         contents of the disk are unknown; restart the node, which then reads what was saved."
    )]
    Poisoned { reason: String },
}

fn describe_frame(frame: &Option<u64>) -> String {
    frame.map_or(String::new(), |number| format!(" (frame {number})"))
}

impl StoreError {
    /// Whether the disk is merely full, so that the same operation can succeed later.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    /// The error for a later error that quotes it: of a failed operation on the disk, without the
    /// advice to the operator, because the later error has its own.
    pub(crate) fn cause_without_advice(&self) -> String {
        match self {
            Self::Io { action, path, source } => format!("cannot {action} {}: {source}", path.display()),
            other => other.to_string(),
        }
    }

    /// The error of a failed write. A full disk becomes [`Full`](Self::Full).
    pub(crate) fn from_write(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::WriteZero => {
                Self::Full { path: path.into(), source }
            }
            _ => Self::Io { action, path: path.into(), source },
        }
    }

    /// The error of an operation other than a write. This includes a sync on a full disk, because
    /// it is unknown which bytes that sync wrote.
    pub(crate) fn from_io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::StoreError;
    use std::io::{self, ErrorKind};
    use std::path::Path;

    fn is_full(error: io::Error) -> bool {
        StoreError::from_write("write", Path::new("log"), error).is_full()
    }

    #[test]
    fn no_space_no_quota_and_a_short_write_mean_a_full_disk() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::WriteZero] {
            assert!(is_full(kind.into()), "{kind}");
        }
        for kind in [ErrorKind::PermissionDenied, ErrorKind::Interrupted, ErrorKind::Other, ErrorKind::NotFound] {
            assert!(!is_full(kind.into()), "{kind}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_reports_a_full_disk_as_expected() {
        use crate::files::{FileSystem, Files, StoreFile};
        let mut file = Files.open(Path::new("/dev/full")).unwrap();
        assert!(is_full(file.write_at(0, b"no space for this").unwrap_err()));
        // These are the numbers of ENOSPC, EDQUOT and EIO.
        assert!(is_full(io::Error::from_raw_os_error(28)));
        assert!(is_full(io::Error::from_raw_os_error(122)));
        assert!(!is_full(io::Error::from_raw_os_error(5)));
    }

    #[test]
    fn a_sync_on_a_full_disk_is_a_failure() {
        let error = StoreError::from_io("sync", Path::new("log"), ErrorKind::StorageFull.into());
        assert!(!error.is_full());
    }
}
