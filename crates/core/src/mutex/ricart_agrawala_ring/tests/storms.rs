//! The ring in any weather.

use super::super::{FACTS, RicartAgrawalaRing};
use crate::mutex::COMMANDS;
use crate::mutex::storm::{GUSTS, storms, sunk};
use crate::wrap::OneOfMany;
use proptest::prelude::{prop_assert, proptest};

proptest! {
    #[test]
    fn the_ring_stands_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(RicartAgrawalaRing::new, &FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(RicartAgrawalaRing::is_idle), "something is left behind: {nodes:#?}");
    }
}
