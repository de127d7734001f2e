//! The file system operations that a store needs, and their implementation by the operating system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The operations on files and folders that a store needs. [`Files`] implements them with the
/// operating system, and [`FaultyFiles`](crate::faults::FaultyFiles) in memory for tests.
pub trait FileSystem {
    /// A file that is open for writing.
    type File: StoreFile;
    /// A held lock. It is released on drop, and also when the process ends or crashes.
    type Lock;

    /// Returns the names of all entries of a folder, in no particular order.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Creates a folder and its parents durably. Succeeds if the folder already exists.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// Makes created, renamed and removed entries of a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Returns the whole content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Creates an empty file, or truncates an existing one.
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens an existing file for writing.
    fn open(&self, path: &Path) -> io::Result<Self::File>;
    /// Renames a file atomically, and replaces a file that has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file, durably only after [`sync_folder`](Self::sync_folder).
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Locks a file, which is created if it does not exist. Returns `None` if the file is already
    /// locked, by another process or by this one.
    fn lock(&self, path: &Path) -> io::Result<Option<Self::Lock>>;
}

/// A file open for writing.
pub trait StoreFile {
    /// Writes all bytes at this offset. After an error, any part of them may have been written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Shortens the file to this length.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
    /// Makes content and length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// The file system of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl FileSystem for Files {
    type File = File;
    type Lock = File;

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        if let Some(parent) = parent {
            self.create_folder(parent)?;
        }
        fs::create_dir(folder)?;
        self.sync_folder(parent.unwrap_or(Path::new(".")))
    }

    #[cfg(unix)]
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    /// Does nothing: only Unix can sync a folder. Elsewhere we rely on the file system's own
    /// journal.
    #[cfg(not(unix))]
    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn create(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(path)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).open(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<File>> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl StoreFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        // `sync_data` also makes a changed length durable, because the data cannot be read without
        // it.
        self.sync_data()
    }
}
