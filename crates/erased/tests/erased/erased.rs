//! Durable state of nodes behind the type that all algorithms of a family share.

use crate::disks::lists::ListDisk;
use crate::disks::saving::{erase, state_at_start};
use quorate_core::Durable;
use quorate_erased::AnyDurable;
use std::hash::{DefaultHasher, Hash, Hasher};

fn disk_with(mut disk: AnyDurable, writes: &[u16]) -> AnyDurable {
    writes.iter().for_each(|write| disk.apply(erase::<ListDisk>(*write)));
    disk
}

#[test]
fn a_new_disk_and_a_lost_one_differ_without_a_type() {
    assert_eq!(state_at_start::<ListDisk>(AnyDurable::default()), ListDisk { was_wiped: false, items: vec![1] });
    assert_eq!(state_at_start::<ListDisk>(AnyDurable::wiped()), ListDisk { was_wiped: true, items: vec![] });
}

/// The first write determines the algorithm of the disk, but not whether the disk was new or lost.
#[test]
fn a_lost_disk_remains_lost_after_writes() {
    for (disk, was_wiped, items) in
        [(AnyDurable::default(), false, vec![1, 7, 8]), (AnyDurable::wiped(), true, vec![7, 8])]
    {
        let disk = disk_with(disk, &[7, 8]);
        let list = ListDisk { was_wiped, items };
        assert_eq!(state_at_start::<ListDisk>(disk.clone()), list);
        // A write to a clone does not change the original.
        assert!(state_at_start::<ListDisk>(disk_with(disk.clone(), &[9])).items.ends_with(&[8, 9]));
        assert_eq!(state_at_start::<ListDisk>(disk), list);
    }
}

#[test]
fn disks_are_equal_if_their_states_are() {
    let [new, lost] = [AnyDurable::default(), AnyDurable::wiped()];
    let disks = [
        new.clone(),
        lost.clone(),
        disk_with(new.clone(), &[1]),
        disk_with(new, &[2]),
        disk_with(lost.clone(), &[1]),
        disk_with(lost, &[2]),
    ];
    let hash = |disk: &AnyDurable| {
        let mut hasher = DefaultHasher::new();
        disk.hash(&mut hasher);
        hasher.finish()
    };
    for (index, one) in disks.iter().enumerate() {
        for (other_index, other) in disks.iter().enumerate() {
            assert_eq!(*one == other.clone(), index == other_index, "disks {index} and {other_index}");
            assert_eq!(hash(one) == hash(other), index == other_index, "hashes of {index} and {other_index}");
        }
    }
}
