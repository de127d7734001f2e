//! An in-memory file system whose disk fails as real ones do, for tests of code that writes to
//! disks.
//!
//! It keeps synced and unsynced content and names apart. A test chooses the operation at which the
//! power fails or an error occurs, the size of the disk, and which unsynced bytes survive a crash.
//! With the same seed the same bytes survive.

mod disk;
mod inode;

use crate::files::{FileSystem, StoreFile};
use disk::Disk;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which unsynced changes survive a power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// None: everything unsynced is lost.
    Everything,
    /// Random sectors of 512 bytes and random changes of names, regardless of their order.
    Sectors { seed: u64 },
    /// A random prefix of the changes of each file, with some bytes of its next write, and a random
    /// prefix of the changes of names.
    Prefix { seed: u64 },
}

/// A fault at one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power fails: this and all later operations fail, until [`FaultyFiles::power_on`].
    PowerLoss,
    /// This operation fails with an input/output error. After a failed sync the system considers
    /// the unwritten pages clean, as real systems do.
    Error,
}

/// An in-memory file system. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FaultyFiles {
    disk: Arc<Mutex<Disk>>,
}

impl FaultyFiles {
    /// An empty file system without faults and without a size limit. It has no folder yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of operations so far that changed or synced something, or tried to. Faults refer to
    /// these numbers, from 1.
    pub fn operation_count(&self) -> u64 {
        self.disk().operation_count
    }

    /// Plans a fault at the operation with this number, instead of the fault planned before.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.disk().planned_fault = Some((operation, fault));
    }

    /// Removes the planned fault and the size limit.
    pub fn heal(&self) {
        let mut disk = self.disk();
        disk.planned_fault = None;
        disk.capacity_bytes = None;
    }

    /// Limits the total size of all files.
    pub fn limit_bytes(&self, bytes: u64) {
        self.disk().capacity_bytes = Some(bytes);
    }

    /// Total size of all files in bytes.
    pub fn used_bytes(&self) -> u64 {
        self.disk().used_bytes()
    }

    /// Simulates a power loss, unless the power has failed already, and a restart of the machine:
    /// all locks are released, planned faults are removed, and unsynced changes are lost as `loss`
    /// says. Files and locks opened before become invalid.
    pub fn power_on(&self, loss: Loss) {
        self.disk().power_on(loss);
    }

    /// Simulates the end of the process on a running system: all locks are released, no change is
    /// lost, and planned faults are removed. Files and locks opened before become invalid.
    pub fn restart_process(&self) {
        self.disk().restart_process();
    }

    /// Flips the bits of `mask` in a byte on the disk itself. Returns `false` if there is no such
    /// byte.
    pub fn flip_bits(&self, path: &Path, offset: usize, mask: u8) -> bool {
        self.disk().edit(path, |bytes| match bytes.get_mut(offset) {
            Some(byte) => {
                *byte ^= mask;
                true
            }
            None => false,
        })
    }

    /// Replaces the content of a file on the disk itself. Returns `false` if the file does not
    /// exist.
    pub fn replace(&self, path: &Path, content: &[u8]) -> bool {
        self.disk().edit(path, |bytes| {
            *bytes = content.to_vec();
            true
        })
    }

    /// The paths of all files, sorted.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.disk().paths()
    }

    /// A copy that shares nothing with this file system, and has no planned faults, size limit or
    /// locks.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        let disk = self.disk().clone();
        let copy = Self { disk: Arc::new(Mutex::new(disk)) };
        copy.heal();
        copy.restart_process();
        copy
    }
}

impl FileSystem for FaultyFiles {
    type File = FaultyFile;
    type Lock = FaultyLock;

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.disk().list(folder)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk().create_folder(folder)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.disk().sync_folder(folder)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.disk().read(path)
    }

    fn create(&self, path: &Path) -> io::Result<FaultyFile> {
        let mut disk = self.disk();
        let inode = disk.create(path)?;
        Ok(FaultyFile { files: self.clone(), inode, process: disk.process_number })
    }

    fn open(&self, path: &Path) -> io::Result<FaultyFile> {
        let disk = self.disk();
        let inode = disk.find_file(path)?;
        Ok(FaultyFile { files: self.clone(), inode, process: disk.process_number })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk().remove(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<FaultyLock>> {
        let mut disk = self.disk();
        let process = disk.process_number;
        Ok(disk.lock(path)?.then(|| FaultyLock { files: self.clone(), path: path.into(), process }))
    }
}

/// An open file of [`FaultyFiles`].
#[derive(Debug)]
pub struct FaultyFile {
    files: FaultyFiles,
    inode: usize,
    process: u64,
}

impl StoreFile for FaultyFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.files.disk();
        disk.check_process(self.process)?;
        disk.write_at(self.inode, offset as usize, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.files.disk();
        disk.check_process(self.process)?;
        disk.truncate(self.inode, length as usize)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.files.disk();
        disk.check_process(self.process)?;
        disk.sync(self.inode)
    }
}

/// A lock of [`FaultyFiles`], released on drop.
#[derive(Debug)]
pub struct FaultyLock {
    files: FaultyFiles,
    path: PathBuf,
    process: u64,
}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        let mut disk = self.files.disk();
        if disk.process_number == self.process {
            disk.locked_paths.remove(&self.path);
        }
    }
}
