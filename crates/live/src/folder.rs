//! The folder for the files of a run.

use crate::error::LiveError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder that is either temporary, and removed with its contents when its `Folder` is dropped,
/// or kept.
pub(crate) enum Folder {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Folder {
    /// Uses `kept_folder`, and creates it if it does not exist; with `None`, creates a temporary
    /// folder. Fails if `kept_folder` is a file or not empty.
    pub(crate) fn new(kept_folder: Option<&Path>) -> Result<Self, LiveError> {
        let Some(path) = kept_folder else {
            let file_error = |reason| LiveError::File { path: std::env::temp_dir(), reason };
            return tempfile::Builder::new().prefix("quorate-run-").tempdir().map(Self::Temporary).map_err(file_error);
        };
        let file_error = |reason: io::Error| LiveError::File { path: path.to_owned(), reason };
        if path.is_file() {
            return Err(LiveError::NotAFolder(path.to_owned()));
        }
        fs::create_dir_all(path).map_err(file_error)?;
        if fs::read_dir(path).map_err(file_error)?.next().is_some() {
            return Err(LiveError::FolderNotEmpty(path.to_owned()));
        }
        // Processes may have other working directories, so they need an absolute path.
        path.canonicalize().map(Self::Kept).map_err(file_error)
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Temporary(folder) => folder.path(),
            Self::Kept(path) => path,
        }
    }

    /// Keeps the folder even if it is temporary, and returns its path.
    pub(crate) fn keep(self) -> PathBuf {
        match self {
            Self::Temporary(folder) => folder.keep(),
            Self::Kept(path) => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Folder;
    use crate::error::LiveError;

    #[test]
    fn a_folder_with_other_files_is_refused() {
        let outer = tempfile::tempdir().unwrap();
        let kept = outer.path().join("a/b");
        assert!(Folder::new(Some(&kept)).unwrap().path().ends_with("a/b"));
        std::fs::write(kept.join("precious"), "x").unwrap();
        assert!(matches!(Folder::new(Some(&kept)), Err(LiveError::FolderNotEmpty(_))));
        assert!(kept.join("precious").exists());
        assert!(matches!(Folder::new(Some(&kept.join("precious"))), Err(LiveError::NotAFolder(_))));
    }

    #[test]
    fn a_temporary_folder_is_removed() {
        let folder = Folder::new(None).unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("file"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_temporary_folder_can_be_kept() {
        let path = Folder::new(None).unwrap().keep();
        assert!(path.is_dir());
        std::fs::remove_dir(path).unwrap();
    }
}
