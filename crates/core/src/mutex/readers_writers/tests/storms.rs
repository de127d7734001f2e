//! Readers and writers in any weather.

use super::super::{FACTS, ReadersWriters};
use crate::mutex::COMMANDS;
use crate::mutex::storm::{GUSTS, storms, sunk};
use crate::wrap::OneOfMany;
use proptest::prelude::{prop_assert, proptest};

proptest! {
    #[test]
    fn readers_and_writers_stand_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(ReadersWriters::new, &FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(ReadersWriters::is_idle), "something is left behind: {nodes:#?}");
    }
}
