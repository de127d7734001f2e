//! A disk that cannot be read is refused with an explanation. Its data is neither discarded nor
//! treated as empty.

use super::lists::ListDisk;
use super::saving::{Savable, codec_for, disk_through_bytes, erase, state_at_start, write_through_bytes};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::{Durable, Malformed};
use quorate_erased::{AnyDurable, AnyWrite, Unreadable};
use quorate_replica::durable::Ballot;
use quorate_replica::{Durable as ReplicaDisk, Write};
use serde::{Deserialize, Serialize};

/// The disk format of a later release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct NewListDisk(ListDisk);

impl Durable for NewListDisk {
    const VERSION: u32 = 2;
    type Write = u16;
    fn apply(&mut self, write: u16) {
        self.0.apply(write);
    }
    fn wiped() -> Self {
        Self(ListDisk::wiped())
    }
}

const NEWER: Unreadable = Unreadable::Newer { found: 2, known: 1 };

fn ballot(term: u64) -> Write {
    Write::Ballot(Ballot { term, vote: 3, commit: 0 })
}

/// Returns the disks that a store yields for a log of these writes: without a checkpoint, and with
/// a checkpoint at its end.
fn disks_with<D: Savable>(writes: Vec<D::Write>) -> [AnyDurable; 2] {
    let mut read_from_log = AnyDurable::default();
    let mut in_memory = AnyDurable::default();
    for write in writes {
        let write = erase::<D>(write);
        read_from_log.apply(write_through_bytes(&write));
        in_memory.apply(write);
    }
    [read_from_log, disk_through_bytes(&in_memory)]
}

#[test]
fn a_newer_disk_is_refused_whether_its_log_has_a_checkpoint_or_not() {
    for disk in disks_with::<NewListDisk>(vec![7]) {
        assert_eq!(codec_for::<ListDisk>().unseal(disk.clone()).err(), Some(NEWER));
        assert!(codec_for::<NewListDisk>().unseal(disk.clone()).is_ok());
        // A node that is started without `unseal` finds a lost disk, not an empty one.
        assert_eq!(state_at_start::<ListDisk>(disk), ListDisk::wiped());
    }
    assert_eq!(
        NEWER.to_string(),
        "the data on the disk has format version 2, but this release reads versions up to 1. Nothing was \
         changed; run a release that knows version 2."
    );
}

/// A new `ListDisk` begins with the item 1, a wiped one begins empty.
#[test]
fn an_older_disk_is_read() {
    for disk in disks_with::<ListDisk>(vec![7]) {
        let disk = codec_for::<NewListDisk>().unseal(disk).unwrap();
        assert_eq!(state_at_start::<NewListDisk>(disk).0.items, [1, 7]);
    }
}

#[test]
fn the_disk_of_another_algorithm_is_refused() {
    for disk in disks_with::<ReplicaDisk>(vec![ballot(1), ballot(2)]) {
        for error in [codec_for::<ListDisk>().unseal(disk.clone()).err(), codec_for::<()>().unseal(disk.clone()).err()]
        {
            let error = error.expect("the disk belongs to a replica");
            assert!(matches!(error, Unreadable::Foreign(_)), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("the data on the disk belongs to another algorithm: "), "{text}");
            assert!(text.contains("Nothing was changed"), "{text}");
        }
        assert_eq!(state_at_start::<ListDisk>(disk), ListDisk::wiped());
    }
    let mut written = AnyDurable::default();
    written.apply(erase::<ReplicaDisk>(ballot(1)));
    let foreign = Unreadable::Foreign(Malformed("another algorithm wrote to it".into()));
    assert_eq!(codec_for::<ListDisk>().unseal(written).err(), Some(foreign));
}

/// If the driver of an old release does not call `unseal`, the release writes to a newer disk, but
/// the earlier data remains. A new `ListDisk` begins with the item 1.
#[test]
fn writes_to_an_unreadable_disk_lose_nothing() {
    for mut disk in disks_with::<NewListDisk>(vec![7]) {
        disk.apply(erase::<ListDisk>(8));
        assert_eq!(codec_for::<ListDisk>().unseal(disk.clone()).err(), Some(NEWER));
        let disk = codec_for::<NewListDisk>().unseal(disk_through_bytes(&disk)).unwrap();
        assert_eq!(state_at_start::<NewListDisk>(disk).0.items, [1, 7, 8]);
    }
}

/// Reads bytes as a disk. If that succeeds, opening the disk as any type must not panic.
fn open_as_every_type(bytes: &[u8]) {
    let Ok(mut disk) = postcard::from_bytes::<AnyDurable>(bytes) else { return };
    let _ = codec_for::<ListDisk>().unseal(disk.clone());
    let _ = codec_for::<ReplicaDisk>().unseal(disk.clone());
    let _ = codec_for::<()>().unseal(disk.clone());
    let _ = state_at_start::<ListDisk>(disk.clone());
    if let Ok(write) = postcard::from_bytes::<AnyWrite>(bytes) {
        disk.apply(write);
    }
    disk.apply(erase::<ReplicaDisk>(ballot(1)));
    assert!(postcard::to_allocvec(&disk).is_ok());
}

proptest! {
    #[test]
    fn garbage_never_panics(bytes in vec(any::<u8>(), 0..200)) {
        open_as_every_type(&bytes);
    }

    #[test]
    fn a_damaged_disk_never_panics(
        writes in vec(super::replicas::any_write(), 1..5),
        index: usize,
        flipped_bits in 1_u8..,
        length: usize,
    ) {
        for disk in disks_with::<ReplicaDisk>(writes) {
            let mut bytes = postcard::to_allocvec(&disk).unwrap();
            let index = index % bytes.len();
            bytes[index] ^= flipped_bits;
            open_as_every_type(&bytes);
            bytes.truncate(length % bytes.len());
            open_as_every_type(&bytes);
        }
    }
}
