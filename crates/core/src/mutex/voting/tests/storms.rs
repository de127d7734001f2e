//! Storms: users ask what they like, messages arrive in any order, and timers fire at any time.

use super::super::{Asks, Voting, facts};
use crate::bounds::Bounds;
use crate::group::Group;
use crate::mutex::COMMANDS;
use crate::mutex::storm::{GUSTS, sunk, timed_storms};
use crate::node::NodeId;
use crate::time::Duration;
use crate::wrap::OneOfMany;
use proptest::prelude::{prop_assert, proptest};

const BOUNDS: Bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };

proptest! {
    #[test]
    fn voting_stands_every_storm(storm in timed_storms(GUSTS, &COMMANDS)) {
        let node = |me: NodeId, group: Group| Voting::new(me, group, Asks::All, BOUNDS);
        let nodes = storm.strike(node, &facts(Asks::All)).map_err(sunk)?;
        prop_assert!(nodes.iter().all(Voting::is_idle), "something is left behind: {nodes:#?}");
    }

    #[test]
    fn sequential_voting_stands_every_storm(storm in timed_storms(GUSTS, &COMMANDS)) {
        let node = |me: NodeId, group: Group| Voting::new(me, group, Asks::Sequential, BOUNDS);
        let nodes = storm.strike(node, &facts(Asks::Sequential)).map_err(sunk)?;
        prop_assert!(nodes.iter().all(Voting::is_idle), "something is left behind: {nodes:#?}");
    }
}
