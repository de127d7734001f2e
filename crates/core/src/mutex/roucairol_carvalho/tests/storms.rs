//! Roucairol–Carvalho in any weather, alone and for many names.

use super::super::{FACTS, RoucairolCarvalho};
use crate::mutex::COMMANDS;
use crate::mutex::storm::{GUSTS, storms, sunk};
use proptest::prelude::{prop_assert, proptest};

proptest! {
    #[test]
    fn roucairol_carvalho_stands_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(RoucairolCarvalho::new, &FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(|node| node.consent.is_idle()), "something is left behind: {nodes:#?}");
        for node in &nodes {
            for giver in &node.permissions {
                let mutual = nodes[giver.index()].permissions.contains(&node.consent.me());
                prop_assert!(!mutual, "each of two has the other's permission: {nodes:#?}");
            }
        }
    }
}
