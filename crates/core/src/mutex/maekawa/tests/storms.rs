//! Storms: users ask what they like, and messages arrive in any order.

use super::super::{FACTS, Form, Maekawa, facts};
use super::node;
use crate::group::Group;
use crate::mutex::COMMANDS;
use crate::mutex::quorum::Quorums;
use crate::mutex::storm::{GUSTS, storms, sunk};
use crate::node::NodeId;
use crate::wrap::OneOfMany;
use proptest::prelude::{prop_assert, proptest};

proptest! {
    #[test]
    fn maekawa_stands_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let nodes = storm.strike(node, &FACTS).map_err(sunk)?;
        prop_assert!(nodes.iter().all(Maekawa::is_idle), "something is left behind: {nodes:#?}");
    }

    /// Three nodes are a triangle; other groups stand in a grid.
    #[test]
    fn lines_of_a_plane_stand_every_storm(storm in storms(GUSTS, &COMMANDS)) {
        let node = |me: NodeId, group: Group| Maekawa::new(me, group, Form::DeadlockFree, Quorums::Plane);
        let nodes = storm.strike(node, &facts(Form::DeadlockFree, Quorums::Plane)).map_err(sunk)?;
        prop_assert!(nodes.iter().all(Maekawa::is_idle), "something is left behind: {nodes:#?}");
    }
}
