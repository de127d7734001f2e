//! One file of a faulty disk: its content on the disk, its content in the page cache, and the
//! changes in between.

use std::collections::BTreeSet;

const SECTOR_BYTES: usize = 512;

/// A SplitMix64 random number generator.
#[derive(Clone, Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A random number from 0 to `max`, inclusive.
    pub(super) fn up_to(&mut self, max: usize) -> usize {
        (self.next() % (max as u64 + 1)) as usize
    }
}

/// An unsynced change.
#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { length: usize },
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
            }
            Self::Truncate { length } => content.truncate(*length),
        }
    }

    /// The change up to a random byte; `None` if nothing of it remains. A truncation is atomic: if
    /// torn, it has no effect.
    fn tear(&self, rng: &mut Rng) -> Option<Self> {
        match self {
            Self::Write { offset, bytes } => {
                let kept_bytes = rng.up_to(bytes.len());
                (kept_bytes > 0).then(|| Self::Write { offset: *offset, bytes: bytes[..kept_bytes].to_vec() })
            }
            Self::Truncate { .. } => None,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Inode {
    disk_content: Vec<u8>,
    cached_content: Vec<u8>,
    /// Changes since the last sync, successful or not, oldest first.
    changes: Vec<Change>,
    /// Content before the first of these changes. After a failed sync it differs from
    /// `disk_content`.
    content_before_changes: Vec<u8>,
    /// Numbers of the sectors that these changes touched.
    dirty_sectors: BTreeSet<usize>,
}

impl Inode {
    pub(super) fn cached_content(&self) -> &Vec<u8> {
        &self.cached_content
    }

    pub(super) fn write_at(&mut self, offset: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.change(Change::Write { offset, bytes: bytes.to_vec() });
        }
    }

    pub(super) fn truncate(&mut self, length: usize) {
        if length < self.cached_content.len() {
            self.change(Change::Truncate { length });
        }
    }

    fn change(&mut self, change: Change) {
        if self.changes.is_empty() {
            self.content_before_changes.clone_from(&self.cached_content);
        }
        let old_length = self.cached_content.len();
        change.apply(&mut self.cached_content);
        let (begin, end) = match &change {
            Change::Write { offset, bytes } => ((*offset).min(old_length), offset + bytes.len()),
            Change::Truncate { length } => (*length, old_length),
        };
        self.dirty_sectors.extend(begin / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES));
        self.changes.push(change);
    }

    pub(super) fn sync(&mut self) {
        let dirty = std::mem::take(&mut self.dirty_sectors);
        self.disk_content.resize(self.cached_content.len(), 0);
        for sector in dirty {
            copy_sector(&self.cached_content, &mut self.disk_content, sector);
        }
        self.changes.clear();
    }

    /// No dirty sector reaches the disk, but the system considers all of them clean.
    pub(super) fn fail_to_sync(&mut self) {
        self.dirty_sectors.clear();
        self.changes.clear();
    }

    /// Sets the content on the disk and in the page cache.
    pub(super) fn replace(&mut self, content: Vec<u8>) {
        *self = Self { disk_content: content.clone(), cached_content: content, ..Self::default() };
    }

    pub(super) fn lose_unsynced(&mut self) {
        self.replace(self.disk_content.clone());
    }

    /// Each dirty sector reaches the disk with its content after a random number of changes, and
    /// the length likewise.
    pub(super) fn keep_sectors(&mut self, rng: &mut Rng) {
        let versions = self.versions();
        let mut content = self.disk_content.clone();
        let change_count = rng.up_to(versions.len());
        let length = if change_count == 0 { content.len() } else { versions[change_count - 1].len() };
        content.resize(length, 0);
        for sector in &self.dirty_sectors {
            let change_count = rng.up_to(versions.len());
            if change_count > 0 {
                copy_sector(&versions[change_count - 1], &mut content, *sector);
            }
        }
        self.replace(content);
    }

    /// A random prefix of the changes takes effect, and some bytes of the next one.
    pub(super) fn keep_prefix(&mut self, rng: &mut Rng) {
        let kept_count = rng.up_to(self.changes.len());
        let next = self.changes.get(kept_count).and_then(|change| change.tear(rng));
        let mut content = self.disk_content.clone();
        for change in self.changes[..kept_count].iter().chain(&next) {
            change.apply(&mut content);
        }
        self.replace(content);
    }

    /// The content after each unsynced change.
    fn versions(&self) -> Vec<Vec<u8>> {
        let mut content = self.content_before_changes.clone();
        let after = |change: &Change| {
            change.apply(&mut content);
            content.clone()
        };
        self.changes.iter().map(after).collect()
    }
}

/// Copies the part of a sector that the target has. Bytes beyond the source's end become zero.
fn copy_sector(from: &[u8], to: &mut [u8], sector: usize) {
    let begin = (sector * SECTOR_BYTES).min(to.len());
    let end = (begin + SECTOR_BYTES).min(to.len());
    for (index, byte) in to[begin..end].iter_mut().enumerate() {
        *byte = from.get(begin + index).copied().unwrap_or(0);
    }
}
