//! The smallest disks: one that distinguishes a lost disk from a new one, and one that is empty.

use super::saving::{check, codec, erase, read_back, read_write, state_at_start, step};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::Durable;
use quorate_erased::{AnyDurable, AnyWrite};
use serde::{Deserialize, Serialize};

/// A list, so that the order and number of writes are visible in the state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ListDisk {
    pub(crate) was_wiped: bool,
    pub(crate) items: Vec<u16>,
}

impl Default for ListDisk {
    fn default() -> Self {
        Self { was_wiped: false, items: vec![1] }
    }
}

impl Durable for ListDisk {
    type Write = u16;
    fn apply(&mut self, write: u16) {
        self.items.push(write);
    }
    fn wiped() -> Self {
        Self { was_wiped: true, items: vec![] }
    }
}

proptest! {
    #[test]
    fn a_list_always_holds_the_fold_of_its_writes(
        was_lost: bool,
        steps in vec(step(any::<u16>()), 0..30),
    ) {
        check::<ListDisk>(was_lost, steps);
    }
}

#[test]
fn a_new_disk_and_a_lost_one_are_read_back_as_such() {
    assert_eq!(state_at_start::<ListDisk>(read_back(&AnyDurable::default())), ListDisk::default());
    assert_eq!(state_at_start::<ListDisk>(read_back(&AnyDurable::wiped())), ListDisk::wiped());
    assert!(read_back(&AnyDurable::wiped()) == AnyDurable::wiped());
    for disk in [AnyDurable::default(), AnyDurable::wiped()] {
        assert!(codec::<ListDisk>().unseal(disk.clone()).unwrap() == disk);
        // No algorithm has written to it, so every algorithm can open it.
        assert!(codec::<()>().unseal(disk.clone()).unwrap() == disk);
    }
}

/// A journal has the write in its text form; only a log has it as sealed bytes.
#[test]
fn journals_have_the_text_form_of_a_write() {
    let write = erase::<ListDisk>(300);
    assert_eq!(serde_json::to_string(&write).unwrap(), "300");
    let bytes = postcard::to_allocvec(&write).unwrap();
    assert_eq!(bytes, [1, 2, 0xAC, 2], "version 1, two bytes, which are 300");
    assert!(serde_json::from_str::<AnyWrite>("300").is_err());
}

#[test]
fn a_sealed_write_is_written_unchanged() {
    let write = erase::<ListDisk>(300);
    let bytes = postcard::to_allocvec(&write).unwrap();
    assert_eq!(postcard::to_allocvec(&read_write(&write)).unwrap(), bytes);
    assert!(read_write(&write) == read_write(&write) && read_write(&write) != read_write(&erase::<ListDisk>(301)));
}
