//! The directory tree of a faulty disk, its planned fault, and the effect of a crash.

use super::inode::{Inode, Rng};
use super::{Fault, Loss};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// A file, with the index of its inode.
    File(usize),
    Folder,
}

/// All files and folders of the disk, by their paths.
type Names = BTreeMap<PathBuf, Entry>;

/// An unsynced change of names.
#[derive(Clone, Debug)]
enum Change {
    Add(PathBuf, Entry),
    Move(PathBuf, PathBuf),
    Remove(PathBuf),
}

impl Change {
    /// Applies the change. A move does nothing if its source was created by a change that was lost.
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Add(path, entry) => {
                names.insert(path.clone(), *entry);
            }
            Self::Move(from, to) => {
                if let Some(entry) = names.remove(from) {
                    names.insert(to.clone(), entry);
                }
            }
            Self::Remove(path) => {
                names.remove(path);
            }
        }
    }

    fn is_in(&self, folder: &Path) -> bool {
        match self {
            Self::Add(path, _) | Self::Remove(path) => path.parent() == Some(folder),
            Self::Move(from, to) => from.parent() == Some(folder) || to.parent() == Some(folder),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    inodes: Vec<Inode>,
    /// Names as processes see them.
    names: Names,
    /// Names as they are on the disk.
    durable_names: Names,
    /// The unsynced changes from `durable_names` to `names`, oldest first.
    changes: Vec<Change>,
    pub(super) locked_paths: BTreeSet<PathBuf>,
    pub(super) operation_count: u64,
    /// The number of an operation, and the fault that occurs there.
    pub(super) planned_fault: Option<(u64, Fault)>,
    pub(super) capacity_bytes: Option<u64>,
    is_without_power: bool,
    /// The number of the current process. File handles of earlier processes are invalid.
    pub(super) process_number: u64,
}

/// The outcome of the next operation.
enum Outcome {
    Succeeds,
    /// The power fails before the operation returns. A change still takes effect; a sync does not.
    LosesPower,
    Fails,
}

fn input_output_error() -> io::Error {
    // EIO, so that it prints as in production.
    io::Error::from_raw_os_error(5)
}

fn no_power() -> io::Error {
    io::Error::other("the power is gone")
}

impl Disk {
    /// Counts an operation and returns its planned outcome. Fails if the power is gone.
    fn count_operation(&mut self) -> io::Result<Outcome> {
        self.check_power()?;
        self.operation_count += 1;
        match self.planned_fault {
            Some((operation, Fault::PowerLoss)) if operation == self.operation_count => {
                self.is_without_power = true;
                Ok(Outcome::LosesPower)
            }
            Some((operation, Fault::Error)) if operation == self.operation_count => Ok(Outcome::Fails),
            _ => Ok(Outcome::Succeeds),
        }
    }

    fn check_power(&self) -> io::Result<()> {
        if self.is_without_power { Err(no_power()) } else { Ok(()) }
    }

    pub(super) fn check_process(&self, process: u64) -> io::Result<()> {
        if process == self.process_number { Ok(()) } else { Err(io::Error::other("this process has ended")) }
    }

    /// Counts an operation that changes names, and applies it unless it fails.
    fn change_names(&mut self, change: Change) -> io::Result<()> {
        let outcome = self.count_operation()?;
        if let Outcome::Fails = outcome {
            return Err(input_output_error());
        }
        change.apply(&mut self.names);
        self.changes.push(change);
        if let Outcome::LosesPower = outcome { Err(no_power()) } else { Ok(()) }
    }

    pub(super) fn used_bytes(&self) -> u64 {
        let lengths = self.names.values().map(|entry| match entry {
            Entry::File(inode) => self.inodes[*inode].cached_content().len() as u64,
            Entry::Folder => 0,
        });
        lengths.sum()
    }

    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let files = self.names.iter().filter(|(_, entry)| matches!(entry, Entry::File(_)));
        files.map(|(path, _)| path.clone()).collect()
    }

    pub(super) fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        self.check_power()?;
        match self.names.get(folder) {
            None => Err(ErrorKind::NotFound.into()),
            Some(Entry::File(_)) => Err(ErrorKind::NotADirectory.into()),
            Some(Entry::Folder) => {
                let paths = self.names.keys().filter(|path| path.parent() == Some(folder));
                Ok(paths.filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned())).collect())
            }
        }
    }

    /// Creates a folder. Its parents need no entries of their own.
    pub(super) fn create_folder(&mut self, folder: &Path) -> io::Result<()> {
        self.check_power()?;
        match self.names.get(folder) {
            Some(Entry::Folder) => return Ok(()),
            Some(Entry::File(_)) => return Err(ErrorKind::AlreadyExists.into()),
            None => {}
        }
        self.change_names(Change::Add(folder.into(), Entry::Folder))?;
        // `FileSystem::create_folder` promises a durable folder, so this operation includes a sync.
        self.make_names_durable(folder.parent().unwrap_or(folder));
        Ok(())
    }

    fn make_names_durable(&mut self, folder: &Path) {
        let (synced, unsynced): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|change| change.is_in(folder));
        self.changes = unsynced;
        for change in synced {
            change.apply(&mut self.durable_names);
        }
    }

    pub(super) fn sync_folder(&mut self, folder: &Path) -> io::Result<()> {
        match self.count_operation()? {
            Outcome::Succeeds => {
                self.make_names_durable(folder);
                Ok(())
            }
            Outcome::LosesPower => Err(no_power()),
            Outcome::Fails => Err(input_output_error()),
        }
    }

    pub(super) fn find_file(&self, path: &Path) -> io::Result<usize> {
        self.check_power()?;
        match self.names.get(path) {
            None => Err(ErrorKind::NotFound.into()),
            Some(Entry::Folder) => Err(ErrorKind::IsADirectory.into()),
            Some(Entry::File(inode)) => Ok(*inode),
        }
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(self.inodes[self.find_file(path)?].cached_content().clone())
    }

    pub(super) fn create(&mut self, path: &Path) -> io::Result<usize> {
        if let Ok(inode) = self.find_file(path) {
            self.truncate(inode, 0)?;
            return Ok(inode);
        }
        self.forget_unsynced(path);
        let inode = self.free_inode();
        self.change_names(Change::Add(path.into(), Entry::File(inode)))?;
        Ok(inode)
    }

    /// Forgets unsynced additions and removals of a name that is not durable, unless it was moved,
    /// so that they do not accumulate.
    fn forget_unsynced(&mut self, path: &Path) {
        let is_moved =
            self.changes.iter().any(|change| matches!(change, Change::Move(from, to) if from == path || to == path));
        if !is_moved && !self.durable_names.contains_key(path) {
            let is_about =
                |change: &Change| matches!(change, Change::Add(name, _) | Change::Remove(name) if name == path);
            self.changes.retain(|change| !is_about(change));
        }
    }

    /// The index of an empty inode; reuses one that no name refers to any more.
    fn free_inode(&mut self) -> usize {
        let pending = self.changes.iter().filter_map(|change| match change {
            Change::Add(_, entry) => Some(entry),
            Change::Move(..) | Change::Remove(_) => None,
        });
        let entries = self.names.values().chain(self.durable_names.values()).chain(pending);
        let used_inodes: BTreeSet<usize> = entries
            .filter_map(|entry| match entry {
                Entry::File(inode) => Some(*inode),
                Entry::Folder => None,
            })
            .collect();
        match (0..self.inodes.len()).find(|inode| !used_inodes.contains(inode)) {
            Some(inode) => {
                self.inodes[inode] = Inode::default();
                inode
            }
            None => {
                self.inodes.push(Inode::default());
                self.inodes.len() - 1
            }
        }
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        self.find_file(from)?;
        self.change_names(Change::Move(from.into(), to.into()))
    }

    pub(super) fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.find_file(path)?;
        self.change_names(Change::Remove(path.into()))
    }

    pub(super) fn lock(&mut self, path: &Path) -> io::Result<bool> {
        if self.find_file(path).is_err() {
            self.create(path)?;
        }
        Ok(self.locked_paths.insert(path.into()))
    }

    /// Writes these bytes; if the disk is full, only as many as fit.
    pub(super) fn write_at(&mut self, inode: usize, offset: usize, bytes: &[u8]) -> io::Result<()> {
        let outcome = self.count_operation()?;
        if let Outcome::Fails = outcome {
            return Err(input_output_error());
        }
        let growth = (offset + bytes.len()).saturating_sub(self.inodes[inode].cached_content().len());
        let free_bytes =
            self.capacity_bytes.map_or(usize::MAX, |capacity| capacity.saturating_sub(self.used_bytes()) as usize);
        let missing_bytes = growth.saturating_sub(free_bytes).min(bytes.len());
        self.inodes[inode].write_at(offset, &bytes[..bytes.len() - missing_bytes]);
        match outcome {
            Outcome::LosesPower => Err(no_power()),
            Outcome::Succeeds | Outcome::Fails if missing_bytes > 0 => Err(ErrorKind::StorageFull.into()),
            Outcome::Succeeds | Outcome::Fails => Ok(()),
        }
    }

    pub(super) fn truncate(&mut self, inode: usize, length: usize) -> io::Result<()> {
        let outcome = self.count_operation()?;
        if let Outcome::Fails = outcome {
            return Err(input_output_error());
        }
        self.inodes[inode].truncate(length);
        if let Outcome::LosesPower = outcome { Err(no_power()) } else { Ok(()) }
    }

    pub(super) fn sync(&mut self, inode: usize) -> io::Result<()> {
        match self.count_operation()? {
            Outcome::Succeeds => {
                self.inodes[inode].sync();
                Ok(())
            }
            Outcome::LosesPower => Err(no_power()),
            Outcome::Fails => {
                self.inodes[inode].fail_to_sync();
                Err(input_output_error())
            }
        }
    }

    /// Edits the content of a file on the disk and in the page cache. Returns whether `edit`
    /// changed it; if so, unsynced changes of the file become durable too.
    pub(super) fn edit(&mut self, path: &Path, edit: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let Ok(inode) = self.find_file(path) else { return false };
        let mut content = self.inodes[inode].cached_content().clone();
        let changed = edit(&mut content);
        if changed {
            self.inodes[inode].replace(content);
        }
        changed
    }

    pub(super) fn restart_process(&mut self) {
        self.locked_paths.clear();
        self.planned_fault = None;
        self.process_number += 1;
    }

    pub(super) fn power_on(&mut self, loss: Loss) {
        self.restart_process();
        self.is_without_power = false;
        let (Loss::Sectors { seed } | Loss::Prefix { seed }) = loss else {
            self.inodes.iter_mut().for_each(Inode::lose_unsynced);
            self.keep_names(|_, _| false);
            return;
        };
        let mut rng = Rng::new(seed);
        if let Loss::Sectors { .. } = loss {
            // Each change survives with probability 1/2.
            self.keep_names(|_, _| rng.up_to(1) == 1);
            self.inodes.iter_mut().for_each(|inode| inode.keep_sectors(&mut rng));
        } else {
            let kept_count = rng.up_to(self.changes.len());
            self.keep_names(|index, _| index < kept_count);
            self.inodes.iter_mut().for_each(|inode| inode.keep_prefix(&mut rng));
        }
    }

    /// Makes those unsynced changes of names durable that `is_kept` selects by their index, and
    /// drops the others.
    fn keep_names(&mut self, mut is_kept: impl FnMut(usize, &Change) -> bool) {
        for (index, change) in std::mem::take(&mut self.changes).into_iter().enumerate() {
            if is_kept(index, &change) {
                change.apply(&mut self.durable_names);
            }
        }
        self.names = self.durable_names.clone();
    }
}
