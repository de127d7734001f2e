//! Random schedules of Roucairol–Carvalho.

use super::super::{FACTS, RoucairolCarvalho};
use crate::mutex::COMMANDS;
use crate::mutex::random_schedule::{MAX_ACTIONS, schedules, test_error};
use proptest::prelude::{prop_assert, proptest};

proptest! {
    #[test]
    fn every_schedule_is_safe_and_leaves_permissions_one_sided(schedule in schedules(MAX_ACTIONS, &COMMANDS)) {
        let nodes = schedule.run(RoucairolCarvalho::new, &FACTS).map_err(test_error)?;
        prop_assert!(nodes.iter().all(|node| node.consent.is_idle()), "a node is not idle: {nodes:#?}");
        for node in &nodes {
            for giver in &node.permissions {
                let mutual = nodes[giver.index()].permissions.contains(&node.consent.me());
                prop_assert!(!mutual, "two nodes have each other's permission: {nodes:#?}");
            }
        }
    }
}
