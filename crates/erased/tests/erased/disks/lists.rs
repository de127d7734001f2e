//! The smallest disks: one that distinguishes a lost disk from a new one, and `()`, which holds
//! nothing.

use super::saving::{
    any_step, assert_states_match, codec_for, disk_through_bytes, erase, state_at_start, write_through_bytes,
};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::Durable;
use quorate_erased::{AnyDurable, AnyWrite};
use serde::{Deserialize, Serialize};

/// A list of all writes, so the state shows their order and number. A new list begins with a 1; the
/// list of a lost disk begins empty.
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
    fn a_list_always_holds_all_writes_in_order(
        was_lost: bool,
        steps in vec(any_step(any::<u16>()), 0..30),
    ) {
        assert_states_match::<ListDisk>(was_lost, steps);
    }
}

#[test]
fn a_new_disk_and_a_lost_one_are_read_back_as_such() {
    assert_eq!(state_at_start::<ListDisk>(disk_through_bytes(&AnyDurable::default())), ListDisk::default());
    assert_eq!(state_at_start::<ListDisk>(disk_through_bytes(&AnyDurable::wiped())), ListDisk::wiped());
    assert!(disk_through_bytes(&AnyDurable::wiped()) == AnyDurable::wiped());
    for disk in [AnyDurable::default(), AnyDurable::wiped()] {
        assert!(codec_for::<ListDisk>().unseal(disk.clone()).unwrap() == disk);
        // No algorithm has written to it, so every algorithm can open it.
        assert!(codec_for::<()>().unseal(disk.clone()).unwrap() == disk);
    }
}

/// A journal has a write in its text form. Only a log has it sealed: as bytes that do not tell
/// their type.
#[test]
fn journals_have_the_text_form_of_a_write() {
    let write = erase::<ListDisk>(300);
    assert_eq!(serde_json::to_string(&write).unwrap(), "300");
    let bytes = postcard::to_allocvec(&write).unwrap();
    assert_eq!(bytes, [1, 2, 0xAC, 2], "the version 1, the length 2, and 300 in two bytes");
    assert!(serde_json::from_str::<AnyWrite>("300").is_err());
}

#[test]
fn a_sealed_write_is_written_unchanged() {
    let write = erase::<ListDisk>(300);
    let bytes = postcard::to_allocvec(&write).unwrap();
    assert_eq!(postcard::to_allocvec(&write_through_bytes(&write)).unwrap(), bytes);
    assert!(
        write_through_bytes(&write) == write_through_bytes(&write)
            && write_through_bytes(&write) != write_through_bytes(&erase::<ListDisk>(301))
    );
}
