//! A disk that cannot be read is refused with a sentence, and is neither lost nor treated as empty.

use super::lists::ListDisk;
use super::saving::{Savable, codec, erase, read_back, read_write, state_at_start};
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

/// Returns the disks that a log of these writes yields, without and with a checkpoint at its end.
fn logs<D: Savable>(writes: Vec<D::Write>) -> [AnyDurable; 2] {
    let mut read = AnyDurable::default();
    let mut kept = AnyDurable::default();
    for write in writes {
        let write = erase::<D>(write);
        read.apply(read_write(&write));
        kept.apply(write);
    }
    [read, read_back(&kept)]
}

#[test]
fn a_newer_disk_is_refused_whether_its_log_has_a_checkpoint_or_not() {
    for disk in logs::<NewListDisk>(vec![7]) {
        assert_eq!(codec::<ListDisk>().unseal(disk.clone()).err(), Some(NEWER));
        assert!(codec::<NewListDisk>().unseal(disk.clone()).is_ok());
        // A node that is started without this check finds a lost disk, not an empty one.
        assert_eq!(state_at_start::<ListDisk>(disk), ListDisk::wiped());
    }
    assert_eq!(
        NEWER.to_string(),
        "The data on the disk has format version 2, but this release reads versions up to 1. Nothing was \
         changed; run a release that knows version 2."
    );
}

#[test]
fn an_older_disk_is_read() {
    for disk in logs::<ListDisk>(vec![7]) {
        let disk = codec::<NewListDisk>().unseal(disk).unwrap();
        assert_eq!(state_at_start::<NewListDisk>(disk).0.items, [1, 7]);
    }
}

#[test]
fn the_disk_of_another_algorithm_is_refused() {
    for disk in logs::<ReplicaDisk>(vec![ballot(1), ballot(2)]) {
        for error in [codec::<ListDisk>().unseal(disk.clone()).err(), codec::<()>().unseal(disk.clone()).err()] {
            let error = error.expect("the disk belongs to a replica");
            assert!(matches!(error, Unreadable::Foreign(_)), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("The data on the disk belongs to another algorithm: "), "{text}");
            assert!(text.contains("Nothing was changed"), "{text}");
        }
        assert_eq!(state_at_start::<ListDisk>(disk), ListDisk::wiped());
    }
    let mut written = AnyDurable::default();
    written.apply(erase::<ReplicaDisk>(ballot(1)));
    let foreign = Unreadable::Foreign(Malformed("another algorithm wrote to it".into()));
    assert_eq!(codec::<ListDisk>().unseal(written).err(), Some(foreign));
}

/// A driver without this check lets an old release write: the earlier data is still there.
#[test]
fn writes_to_an_unreadable_disk_lose_nothing() {
    for mut disk in logs::<NewListDisk>(vec![7]) {
        disk.apply(erase::<ListDisk>(8));
        assert_eq!(codec::<ListDisk>().unseal(disk.clone()).err(), Some(NEWER));
        let disk = codec::<NewListDisk>().unseal(read_back(&disk)).unwrap();
        assert_eq!(state_at_start::<NewListDisk>(disk).0.items, [1, 7, 8]);
    }
}

/// Random bytes are read as a disk or refused. If they are read, opening the disk as any type must
/// not panic.
fn try_everything(bytes: &[u8]) {
    let Ok(mut disk) = postcard::from_bytes::<AnyDurable>(bytes) else { return };
    let _ = codec::<ListDisk>().unseal(disk.clone());
    let _ = codec::<ReplicaDisk>().unseal(disk.clone());
    let _ = codec::<()>().unseal(disk.clone());
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
        try_everything(&bytes);
    }

    #[test]
    fn a_damaged_disk_never_panics(
        writes in vec(super::replicas::write(), 1..5),
        index: usize,
        flip in 1_u8..,
        end: usize,
    ) {
        for disk in logs::<ReplicaDisk>(writes) {
            let mut bytes = postcard::to_allocvec(&disk).unwrap();
            let index = index % bytes.len();
            bytes[index] ^= flip;
            try_everything(&bytes);
            bytes.truncate(end % bytes.len());
            try_everything(&bytes);
        }
    }
}
