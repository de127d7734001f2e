//! What a store asks of a file system, and the one of the operating system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The few things a store asks of a file system. [`FaultyFiles`](crate::faults::FaultyFiles) is the other one.
pub trait FileSystem {
    /// A file open for writing.
    type File: StoreFile;
    /// Holds a lock until it is dropped, or until the process ends in whatever way.
    type Lock;

    /// The names of everything in a folder, in no order.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes a folder, and those above it, durably. One that is there is left as it is.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// Makes what happened to the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// The whole content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// A new, empty file in the place of whatever has that name.
    fn create(&self, path: &Path) -> io::Result<Self::File>;
    /// A file that is there.
    fn open(&self, path: &Path) -> io::Result<Self::File>;
    /// Gives a file another name, at once and in the place of whatever has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Locks a file, which is created if it is not there; nothing if somebody else holds the lock.
    fn lock(&self, path: &Path) -> io::Result<Option<Self::Lock>>;
}

/// A file open for writing.
pub trait StoreFile {
    /// Writes all of it at this place. If it fails, any part of it may have been written.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file off at this length.
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

    /// Only Unix lets a folder be opened and synced. Elsewhere the file system's own journal has to do.
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
        // The length is part of what it takes to read the data, so this form makes it durable too.
        self.sync_data()
    }
}
