//! What can go wrong with a data folder, in sentences: what happened, what is safe, what to do.

use crate::identity::{FORMAT, Owner};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

const RESEED: &str = "Re-seed the node from its peers: that sets the log aside and begins an empty one";

/// Why a store could not do what it was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    #[error(
        "{} is not a data folder: it has no file 'identity'. Found a cluster or join one to create it, or correct the \
         path.",
        .folder.display()
    )]
    NotThere { folder: PathBuf },
    #[error("{} is a data folder already. It was left as it is; open it, or choose another folder.", .folder.display())]
    AlreadyThere { folder: PathBuf },
    #[error("{} is a file, and the data of a node needs a folder. Correct the path.", .folder.display())]
    NotAFolder { folder: PathBuf },
    #[error(
        "{} is in use by a running node. Stop that one first; two writers would destroy the log.",
        .folder.display()
    )]
    Locked { folder: PathBuf },
    #[error(
        "{} belongs to {found}, but this is {expected}. Nothing was changed; start the node with its own data folder.",
        .path.display()
    )]
    Foreign { path: PathBuf, found: Owner, expected: Owner },
    #[error(
        "{} has format {found}, and this version knows formats up to {FORMAT}. Nothing was changed; start a version of \
         Quorate that knows it.",
        .path.display()
    )]
    Newer { path: PathBuf, found: u32 },
    #[error(
        "{} holds contents of version {found}, and this version reads them up to {known}. Nothing was changed; start a \
         version of Quorate that knows them.",
        .path.display()
    )]
    NewerContents { path: PathBuf, found: u32, known: u32 },
    #[error(
        "{} is missing or damaged, so that nobody knows whose log this is. Nothing was changed. Put its text back if you \
         have it. {RESEED}, with a new identity.",
        .path.display()
    )]
    BadIdentity { path: PathBuf },
    #[error(
        "{} has an identity, but no log: what this node promised its peers is gone, and it must not start as if it had \
         promised nothing. {RESEED}.",
        .folder.display()
    )]
    NoLog { folder: PathBuf },
    #[error(
        "{} is damaged at byte {offset}{}: {what}. The node does not start, because something it promised its peers \
         may be missing; nothing was changed on the disk. {RESEED}.",
        .path.display(), frame_words(.frame)
    )]
    Damaged {
        path: PathBuf,
        offset: u64,
        /// The number of the frame that should stand there, if it is known.
        frame: Option<u64>,
        what: &'static str,
    },
    #[error(
        "{} is whole, but frame {frame} at byte {offset} means nothing to this program ({reason}): another protocol or \
         another version of it wrote the log. Nothing was changed; start the version that wrote it.",
        .path.display()
    )]
    Unreadable { path: PathBuf, offset: u64, frame: u64, reason: postcard::Error },
    #[error("A write cannot be turned into bytes ({0}). Nothing was written; this is an error in the program.")]
    Unwritable(postcard::Error),
    #[error(
        "The disk is full: {} could not be written ({source}). Nothing that was acknowledged is lost, and nothing of \
         this write remains. Make room; the same write can then be tried again.",
        .path.display()
    )]
    Full { path: PathBuf, source: io::Error },
    #[error(
        "Cannot {action} {}: {source}. What was acknowledged before is not touched; repair the cause, then start the \
         node again.",
        .path.display()
    )]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "The store takes nothing more, because the disk failed earlier ({reason}). After a failed sync nothing is \
         known; restart the node, which then reads what is really there."
    )]
    Poisoned { reason: String },
}

fn frame_words(frame: &Option<u64>) -> String {
    frame.map_or(String::new(), |number| format!(" (frame {number})"))
}

impl StoreError {
    /// Is there merely no room, so that the same can succeed later?
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Full { .. })
    }

    pub(crate) fn cause(&self) -> String {
        match self {
            Self::Io { action, path, source } => format!("cannot {action} {}: {source}", path.display()),
            other => other.to_string(),
        }
    }

    /// An error of a write: being full is told apart.
    pub(crate) fn of_write(action: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::WriteZero => {
                Self::Full { path: path.into(), source }
            }
            _ => Self::Io { action, path: path.into(), source },
        }
    }

    /// An error of anything else. A sync that finds the disk full is among them: nobody knows what it wrote.
    pub(crate) fn of_io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::StoreError;
    use std::io::{self, ErrorKind};
    use std::path::Path;

    fn is_full(error: io::Error) -> bool {
        StoreError::of_write("write", Path::new("log"), error).is_full()
    }

    #[test]
    fn no_space_no_quota_and_a_short_write_are_a_full_disk() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::WriteZero] {
            assert!(is_full(kind.into()), "{kind}");
        }
        for kind in [ErrorKind::PermissionDenied, ErrorKind::Interrupted, ErrorKind::Other, ErrorKind::NotFound] {
            assert!(!is_full(kind.into()), "{kind}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells_a_full_disk_as_we_expect() {
        use crate::files::{FileSystem, Files, StoreFile};
        let mut file = Files.open(Path::new("/dev/full")).unwrap();
        assert!(is_full(file.write_at(0, b"no room for this").unwrap_err()));
        // These are the numbers of ENOSPC, EDQUOT and EIO.
        assert!(is_full(io::Error::from_raw_os_error(28)));
        assert!(is_full(io::Error::from_raw_os_error(122)));
        assert!(!is_full(io::Error::from_raw_os_error(5)));
    }

    #[test]
    fn a_sync_that_finds_the_disk_full_is_a_failure() {
        let error = StoreError::of_io("sync", Path::new("log"), ErrorKind::StorageFull.into());
        assert!(!error.is_full());
    }
}
