//! A file system in memory whose disk fails as real ones do, for tests of whatever keeps something on a disk.
//!
//! What was synced and what was not are kept apart, names too. A test says at which operation the power goes, the disk
//! fails or the room ends, and what of the unsynced bytes the crash leaves. The same seed leaves the same bytes.

mod disk;
mod inode;

use crate::files::{FileSystem, StoreFile};
use disk::Disk;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What becomes of everything that was not synced when the power goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// All of it is lost.
    Everything,
    /// Any sectors of 512 bytes, and any changes of names, are there, whatever their order was.
    Sectors { seed: u64 },
    /// Everything up to some point is there, and the write that was under way then up to some byte.
    Prefix { seed: u64 },
}

/// What goes wrong at an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The power goes: this operation and all after it fail, until [`FaultyFiles::power_on`].
    PowerLoss,
    /// This operation fails with an input/output error. If it was a sync, the system takes what it should have written
    /// for written from then on, as real ones do, although it is not on the disk.
    Error,
}

/// A file system in memory. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FaultyFiles {
    disk: Arc<Mutex<Disk>>,
}

impl FaultyFiles {
    /// An empty one with endless room, on which nothing goes wrong. It has no folder yet.
    pub fn new() -> Self {
        Self::default()
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many operations changed something, or tried to: these are what faults are numbered by, from 1.
    pub fn operations(&self) -> u64 {
        self.disk().operations
    }

    /// Lets something go wrong at the operation with this number.
    pub fn fail_at(&self, operation: u64, fault: Fault) {
        self.disk().plan = Some((operation, fault));
    }

    /// Nothing goes wrong any more, and there is endless room.
    pub fn heal(&self) {
        let mut disk = self.disk();
        disk.plan = None;
        disk.capacity = None;
    }

    /// Only so many bytes in all files together fit on the disk.
    pub fn limit(&self, bytes: u64) {
        self.disk().capacity = Some(bytes);
    }

    /// How many bytes all files have together.
    pub fn used(&self) -> u64 {
        self.disk().used()
    }

    /// The power goes, now if it has not yet, and comes back: all locks are free, and what was unsynced is lost in this
    /// way. Open files and held locks of before are dead.
    pub fn power_on(&self, loss: Loss) {
        self.disk().power_on(loss);
    }

    /// The process ends and the system goes on: all locks are free, and nothing is lost. Planned faults are forgotten.
    pub fn restart_process(&self) {
        self.disk().restart_process();
    }

    /// Changes a byte, on the disk itself. False if there is no such byte.
    pub fn flip(&self, path: &Path, offset: usize, mask: u8) -> bool {
        self.disk().change(path, |bytes| match bytes.get_mut(offset) {
            Some(byte) => {
                *byte ^= mask;
                true
            }
            None => false,
        })
    }

    /// Puts other content into a file that is there, on the disk itself. False if it is not there.
    pub fn replace(&self, path: &Path, content: &[u8]) -> bool {
        self.disk().change(path, |bytes| {
            *bytes = content.to_vec();
            true
        })
    }

    /// Every file that is there, in order of path.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.disk().paths()
    }

    /// A copy that shares nothing with this one and has no faults planned.
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
        Ok(FaultyFile { files: self.clone(), inode, life: disk.life })
    }

    fn open(&self, path: &Path) -> io::Result<FaultyFile> {
        let disk = self.disk();
        let inode = disk.find(path)?;
        Ok(FaultyFile { files: self.clone(), inode, life: disk.life })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.disk().rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.disk().remove(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<FaultyLock>> {
        let mut disk = self.disk();
        let life = disk.life;
        Ok(disk.lock(path)?.then(|| FaultyLock { files: self.clone(), path: path.into(), life }))
    }
}

/// A file of a [`FaultyFiles`].
#[derive(Debug)]
pub struct FaultyFile {
    files: FaultyFiles,
    inode: usize,
    life: u64,
}

impl StoreFile for FaultyFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.files.disk();
        disk.check_life(self.life)?;
        disk.write_at(self.inode, offset as usize, bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.files.disk();
        disk.check_life(self.life)?;
        disk.truncate(self.inode, length as usize)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.files.disk();
        disk.check_life(self.life)?;
        disk.sync(self.inode)
    }
}

/// A lock on a file of a [`FaultyFiles`].
#[derive(Debug)]
pub struct FaultyLock {
    files: FaultyFiles,
    path: PathBuf,
    life: u64,
}

impl Drop for FaultyLock {
    fn drop(&mut self) {
        let mut disk = self.files.disk();
        if disk.life == self.life {
            disk.locked.remove(&self.path);
        }
    }
}
