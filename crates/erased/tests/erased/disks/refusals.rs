//! What cannot be read is refused with a sentence, lost by nobody, and taken for nothing by nobody.

use super::keeper::{Kept, codec, erase, found, read_back, sealed};
use super::shelves::Shelf;
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::{Durable, Malformed};
use quorate_erased::{AnyDurable, AnyWrite, Unreadable};
use quorate_replica::durable::Ballot;
use quorate_replica::{Durable as ReplicaDisk, Write};
use serde::{Deserialize, Serialize};

/// The shelf of a release to come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct NewShelf(Shelf);

impl Durable for NewShelf {
    const VERSION: u32 = 2;
    type Write = u16;
    fn apply(&mut self, write: u16) {
        self.0.apply(write);
    }
    fn wiped() -> Self {
        Self(Shelf::wiped())
    }
}

const NEWER: Unreadable = Unreadable::Newer { found: 2, known: 1 };

fn ballot(term: u64) -> Write {
    Write::Ballot(Ballot { term, vote: 3, commit: 0 })
}

/// What comes back from a log of these on an empty disk, with or without a checkpoint at its end.
fn logs<D: Kept>(writes: Vec<D::Write>) -> [AnyDurable; 2] {
    let mut read = AnyDurable::default();
    let mut kept = AnyDurable::default();
    for write in writes {
        let write = erase::<D>(write);
        read.apply(sealed(&write));
        kept.apply(write);
    }
    [read, read_back(&kept)]
}

#[test]
fn a_newer_disk_is_refused_whether_its_log_has_a_checkpoint_or_not() {
    for disk in logs::<NewShelf>(vec![7]) {
        assert_eq!(codec::<Shelf>().unseal(disk.clone()).err(), Some(NEWER));
        assert!(codec::<NewShelf>().unseal(disk.clone()).is_ok());
        // Whoever does not ask finds a lost disk, not an empty one.
        assert_eq!(found::<Shelf>(disk), Shelf::wiped());
    }
    assert_eq!(
        NEWER.to_string(),
        "What this algorithm keeps on the disk has format version 2, and this release reads versions up to 1. Nothing was \
         changed; run a release that knows version 2."
    );
}

#[test]
fn an_older_disk_is_read() {
    for disk in logs::<Shelf>(vec![7]) {
        let disk = codec::<NewShelf>().unseal(disk).unwrap();
        assert_eq!(found::<NewShelf>(disk).0.books, [1, 7]);
    }
}

#[test]
fn the_disk_of_another_algorithm_is_refused() {
    for disk in logs::<ReplicaDisk>(vec![ballot(1), ballot(2)]) {
        for error in [codec::<Shelf>().unseal(disk.clone()).err(), codec::<()>().unseal(disk.clone()).err()] {
            let error = error.expect("a replica's disk is none of theirs");
            assert!(matches!(error, Unreadable::Foreign(_)), "{error}");
            let text = error.to_string();
            assert!(text.starts_with("What is on the disk is not of this algorithm: "), "{text}");
            assert!(text.contains("Nothing was changed"), "{text}");
        }
        assert_eq!(found::<Shelf>(disk), Shelf::wiped());
    }
    let mut written = AnyDurable::default();
    written.apply(erase::<ReplicaDisk>(ballot(1)));
    let foreign = Unreadable::Foreign(Malformed("another one wrote to it".into()));
    assert_eq!(codec::<Shelf>().unseal(written).err(), Some(foreign));
}

/// A driver that does not ask, and lets an old release write on: what was there is there still.
#[test]
fn writes_to_a_disk_that_cannot_be_read_lose_nothing() {
    for mut disk in logs::<NewShelf>(vec![7]) {
        disk.apply(erase::<Shelf>(8));
        assert_eq!(codec::<Shelf>().unseal(disk.clone()).err(), Some(NEWER));
        let disk = codec::<NewShelf>().unseal(read_back(&disk)).unwrap();
        assert_eq!(found::<NewShelf>(disk).0.books, [1, 7, 8]);
    }
}

/// Garbage is read as some disk or refused, and whatever it is, it can be asked for its type.
fn try_everything(bytes: &[u8]) {
    let Ok(mut disk) = postcard::from_bytes::<AnyDurable>(bytes) else { return };
    let _ = codec::<Shelf>().unseal(disk.clone());
    let _ = codec::<ReplicaDisk>().unseal(disk.clone());
    let _ = codec::<()>().unseal(disk.clone());
    let _ = found::<Shelf>(disk.clone());
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
        place: usize,
        flip in 1_u8..,
        end: usize,
    ) {
        for disk in logs::<ReplicaDisk>(writes) {
            let mut bytes = postcard::to_allocvec(&disk).unwrap();
            let place = place % bytes.len();
            bytes[place] ^= flip;
            try_everything(&bytes);
            bytes.truncate(end % bytes.len());
            try_everything(&bytes);
        }
    }
}
