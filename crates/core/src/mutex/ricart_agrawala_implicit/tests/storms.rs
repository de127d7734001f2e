//! Silence in any weather that the synchronous model knows, and in one that it does not.

use super::super::{FACTS, RicartAgrawalaImplicit};
use super::BOUNDS;
use crate::mutex::COMMANDS;
use crate::mutex::storm::{GUSTS, sunk, timed_storms};
use crate::wrap::OneOfMany;
use proptest::prelude::{prop_assert, proptest};

proptest! {
    #[test]
    fn silence_stands_every_storm_in_which_nothing_is_late(storm in timed_storms(GUSTS, &COMMANDS)) {
        let make = |me, group| RicartAgrawalaImplicit::new(me, group, BOUNDS);
        let nodes = storm.strike(make, &FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(RicartAgrawalaImplicit::is_idle), "something is left behind: {nodes:#?}");
    }
}
