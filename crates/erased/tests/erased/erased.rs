//! What a node finds on its disk, behind the type that all algorithms of a family share.

use crate::disks::keeper::{erase, found};
use crate::disks::shelves::Shelf;
use quorate_core::Durable;
use quorate_erased::AnyDurable;
use std::hash::{DefaultHasher, Hash, Hasher};

fn written(mut disk: AnyDurable, writes: &[u16]) -> AnyDurable {
    writes.iter().for_each(|write| disk.apply(erase::<Shelf>(*write)));
    disk
}

#[test]
fn a_new_disk_and_a_lost_one_are_told_apart_without_a_type() {
    assert_eq!(found::<Shelf>(AnyDurable::default()), Shelf { was_wiped: false, books: vec![1] });
    assert_eq!(found::<Shelf>(AnyDurable::wiped()), Shelf { was_wiped: true, books: vec![] });
}

/// The first write tells of which algorithm the disk is; what it was before, wiped or new, it still is.
#[test]
fn a_disk_that_is_written_to_remembers_that_it_was_lost() {
    for (disk, was_wiped, books) in
        [(AnyDurable::default(), false, vec![1, 7, 8]), (AnyDurable::wiped(), true, vec![7, 8])]
    {
        let disk = written(disk, &[7, 8]);
        let shelf = Shelf { was_wiped, books };
        assert_eq!(found::<Shelf>(disk.clone()), shelf);
        // A copy is another disk.
        assert!(found::<Shelf>(written(disk.clone(), &[9])).books.ends_with(&[8, 9]));
        assert_eq!(found::<Shelf>(disk), shelf);
    }
}

#[test]
fn disks_are_equal_if_what_nodes_find_there_is() {
    let [new, lost] = [AnyDurable::default(), AnyDurable::wiped()];
    let disks = [
        new.clone(),
        lost.clone(),
        written(new.clone(), &[1]),
        written(new, &[2]),
        written(lost.clone(), &[1]),
        written(lost, &[2]),
    ];
    let hash = |disk: &AnyDurable| {
        let mut hasher = DefaultHasher::new();
        disk.hash(&mut hasher);
        hasher.finish()
    };
    for (place, one) in disks.iter().enumerate() {
        for (other_place, other) in disks.iter().enumerate() {
            assert_eq!(*one == other.clone(), place == other_place, "disks {place} and {other_place}");
            assert_eq!(hash(one) == hash(other), place == other_place, "hashes of {place} and {other_place}");
        }
    }
}
