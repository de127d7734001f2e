//! The placement of a resource's replicas: each replica has one vote on who may enter, and a hash
//! of its name selects the node that casts it.

use crate::mutex::prelude::*;
use core::fmt;

/// One replica of a resource, numbered from 1: replica 2 of `printer` is called `printer-2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Replica(pub u32);

impl Replica {
    /// Returns the replica with this index; the first has index 0.
    pub(super) const fn from_index(index: usize) -> Self {
        Self(index as u32 + 1)
    }

    /// Returns the index of the replica; the first has index 0. The invalid number 0, which only a
    /// faulty peer sends, gets an index beyond all replicas.
    pub(super) const fn index(self) -> usize {
        (self.0 as usize).wrapping_sub(1)
    }
}

impl fmt::Display for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Returns the voter of each replica of this resource. There are as many replicas as members. A
/// member may cast the votes of several replicas or of none.
pub fn place_replicas(resource: &str, group: &Group) -> Vec<NodeId> {
    let members = group.as_slice();
    let voter = |index| {
        let position = hash(resource, Replica::from_index(index)) % members.len() as u64;
        members.get(position as usize).copied()
    };
    (0..members.len()).filter_map(voter).collect()
}

/// Hashes a replica's name, with the same result on every machine and in every version: FNV-1a with
/// the final mixing step of `MurmurHash3`, because names that differ only in their last character
/// would be spread too regularly otherwise.
fn hash(resource: &str, Replica(number): Replica) -> u64 {
    let name = alloc::format!("{resource}-{number}");
    let mut hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::super::RESOURCE;
    use super::{Replica, hash, place_replicas};
    use crate::group::Group;
    use std::string::ToString;
    use std::vec::Vec;

    /// Nodes of different versions must agree on the voters, so these values never change.
    #[test]
    fn the_placement_never_changes() {
        let voters_of = |resource, nodes| {
            let voters: Vec<_> =
                place_replicas(resource, &Group::of_size(nodes)).iter().map(ToString::to_string).collect();
            voters.join(" ")
        };
        assert_eq!(hash("printer", Replica(1)), 11_235_832_458_518_647_460);
        assert_eq!(voters_of("plotter", 3), "1 3 2");
        assert_eq!(voters_of("resource", 7), "4 1 5 3 2 3 7");
        assert_eq!(voters_of("printer", 7), "6 6 6 6 4 2 1");
    }

    /// This holds for the default resource in groups of up to 100 nodes, except that a node alone
    /// has the only vote.
    #[test]
    fn every_replica_has_a_voter_and_no_node_casts_a_majority_of_the_votes() {
        for nodes in 1..=100 {
            let group = Group::of_size(nodes);
            let voters = place_replicas(RESOURCE, &group);
            assert!(voters.len() == nodes && voters.iter().all(|voter| group.contains(*voter)));
            let max_votes = group.iter().map(|node| voters.iter().filter(|voter| **voter == node).count()).max();
            assert!(nodes == 1 || max_votes < Some(group.majority()), "{nodes}: one node has a majority: {voters:?}");
        }
        assert_eq!(place_replicas("resource", &Group::of_size(0)), []);
    }

    /// With ten times as many replicas as members, every member has at least one and none has three
    /// times the average.
    #[test]
    fn replicas_are_spread_over_all_members() {
        const MEMBERS: u32 = 50;
        let mut replicas_per_member = [0; MEMBERS as usize];
        for number in 1..=10 * MEMBERS {
            replicas_per_member[(hash("resource", Replica(number)) % u64::from(MEMBERS)) as usize] += 1;
        }
        assert!(replicas_per_member.iter().all(|replicas| (1..30).contains(replicas)), "{replicas_per_member:?}");
    }
}
