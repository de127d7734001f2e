//! The smallest disks: one that tells a lost one from a new one, and one that holds nothing.

use super::keeper::{check, codec, erase, found, read_back, sealed, step};
use proptest::collection::vec;
use proptest::prelude::{any, proptest};
use quorate_core::Durable;
use quorate_erased::{AnyDurable, AnyWrite};
use serde::{Deserialize, Serialize};

/// Its fold is not that of a set: order and number of the writes show.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Shelf {
    pub(crate) was_wiped: bool,
    pub(crate) books: Vec<u16>,
}

impl Default for Shelf {
    fn default() -> Self {
        Self { was_wiped: false, books: vec![1] }
    }
}

impl Durable for Shelf {
    type Write = u16;
    fn apply(&mut self, write: u16) {
        self.books.push(write);
    }
    fn wiped() -> Self {
        Self { was_wiped: true, books: vec![] }
    }
}

proptest! {
    #[test]
    fn whatever_befalls_a_shelf_it_holds_the_fold_of_its_writes(
        was_lost: bool,
        steps in vec(step(any::<u16>()), 0..30),
    ) {
        check::<Shelf>(was_lost, steps);
    }
}

#[test]
fn a_new_disk_and_a_lost_one_are_read_back_as_such() {
    assert_eq!(found::<Shelf>(read_back(&AnyDurable::default())), Shelf::default());
    assert_eq!(found::<Shelf>(read_back(&AnyDurable::wiped())), Shelf::wiped());
    assert!(read_back(&AnyDurable::wiped()) == AnyDurable::wiped());
    for disk in [AnyDurable::default(), AnyDurable::wiped()] {
        assert!(codec::<Shelf>().unseal(disk.clone()).unwrap() == disk);
        // Nobody has written to it, so it is everybody's.
        assert!(codec::<()>().unseal(disk.clone()).unwrap() == disk);
    }
}

/// A journal has the write itself, as people read it, and only a log has it in bytes.
#[test]
fn journals_have_the_write_itself() {
    let write = erase::<Shelf>(300);
    assert_eq!(serde_json::to_string(&write).unwrap(), "300");
    let bytes = postcard::to_allocvec(&write).unwrap();
    assert_eq!(bytes, [1, 2, 0xAC, 2], "version 1, two bytes, which are 300");
    assert!(serde_json::from_str::<AnyWrite>("300").is_err());
}

#[test]
fn a_sealed_write_is_written_again_as_it_was_read() {
    let write = erase::<Shelf>(300);
    let bytes = postcard::to_allocvec(&write).unwrap();
    assert_eq!(postcard::to_allocvec(&sealed(&write)).unwrap(), bytes);
    assert!(sealed(&write) == sealed(&write) && sealed(&write) != sealed(&erase::<Shelf>(301)));
}
