//! The members of a group: voters and learners, and the joint configuration during a change.

use quorate_core::{Group, NodeId};
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2, ConfState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;

/// The members of a group, as clients specify them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Members {
    pub voters: BTreeSet<NodeId>,
    /// Members that receive the log but do not vote.
    pub learners: BTreeSet<NodeId>,
}

impl Members {
    /// Members without learners: all nodes of the group vote.
    pub fn voters(group: &Group) -> Self {
        Self { voters: group.iter().collect(), learners: BTreeSet::new() }
    }

    /// Whether these are valid members: at least one voter, and no node that is both voter and
    /// learner.
    pub fn is_valid(&self) -> bool {
        !self.voters.is_empty() && self.voters.is_disjoint(&self.learners)
    }
}

impl fmt::Display for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "voters {}", self.voters.iter().copied().collect::<Group>())?;
        if !self.learners.is_empty() {
            write!(f, ", learners {}", self.learners.iter().copied().collect::<Group>())?;
        }
        Ok(())
    }
}

/// The members as the log records them: two sets of voters during a joint change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Configuration {
    /// The current members, or the new ones during a joint change.
    pub incoming: Members,
    /// The old voters during a joint change. Until it ends, a majority of them must agree too.
    pub outgoing: BTreeSet<NodeId>,
    /// Old voters that become learners when the joint change ends.
    pub demoted: BTreeSet<NodeId>,
    /// Whether raft ends the joint change by itself.
    pub auto_leave: bool,
}

impl Configuration {
    /// The first configuration of a group.
    pub fn founding(members: Members) -> Self {
        Self { incoming: members, ..Self::default() }
    }

    /// Whether a joint change is in progress.
    pub fn is_joint(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether a node is a current or new member, or an old voter during a joint change.
    pub fn contains(&self, node: NodeId) -> bool {
        let Members { voters, learners } = &self.incoming;
        [voters, learners, &self.outgoing].iter().any(|set| set.contains(&node))
    }

    /// All nodes for which [`contains`](Self::contains) holds.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        let Members { voters, learners } = &self.incoming;
        voters.iter().chain(learners).copied().chain(self.outgoing.difference(voters).copied())
    }

    /// Whether a node is a voter, old or new.
    pub fn is_voter(&self, node: NodeId) -> bool {
        self.incoming.voters.contains(&node) || self.outgoing.contains(&node)
    }

    /// Whether raft would accept the configuration. Configurations from peers are checked before
    /// raft sees them.
    pub fn is_valid(&self) -> bool {
        self.incoming.is_valid()
            && self.incoming.learners.is_disjoint(&self.outgoing)
            && self.demoted.is_subset(&self.outgoing)
            && self.demoted.is_disjoint(&self.incoming.voters)
            && (self.is_joint() || !self.auto_leave)
    }

    pub(crate) fn from_raft(state: &ConfState) -> Self {
        let set = |ids: &[u64]| ids.iter().filter_map(|id| node_of_raft_id(*id)).collect();
        Self {
            incoming: Members { voters: set(&state.voters), learners: set(&state.learners) },
            outgoing: set(&state.voters_outgoing),
            demoted: set(&state.learners_next),
            auto_leave: state.auto_leave,
        }
    }

    pub(crate) fn to_raft(&self) -> ConfState {
        let list = |set: &BTreeSet<NodeId>| set.iter().map(|node| raft_id(*node)).collect();
        ConfState {
            voters: list(&self.incoming.voters),
            learners: list(&self.incoming.learners),
            voters_outgoing: list(&self.outgoing),
            learners_next: list(&self.demoted),
            auto_leave: self.auto_leave,
            ..ConfState::default()
        }
    }
}

/// A change of members. Raft changes several members by a joint configuration, and a single one
/// directly.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Change(Vec<MemberChange>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum MemberChange {
    #[serde(rename = "Voter")]
    AddVoter(NodeId),
    #[serde(rename = "Learner")]
    AddLearner(NodeId),
    #[serde(rename = "Gone")]
    Remove(NodeId),
}

impl Change {
    /// The change from the current members to the wanted ones.
    pub(crate) fn between(current: &Members, wanted: &Members) -> Self {
        let voters = wanted.voters.difference(&current.voters).copied().map(MemberChange::AddVoter);
        let learners = wanted.learners.difference(&current.learners).copied().map(MemberChange::AddLearner);
        let present = current.voters.union(&current.learners);
        let removed = present.filter(|node| !wanted.voters.contains(node) && !wanted.learners.contains(node));
        Self(voters.chain(learners).chain(removed.copied().map(MemberChange::Remove)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn to_raft(&self) -> ConfChangeV2 {
        let mut change = ConfChangeV2::default();
        for member_change in &self.0 {
            let (kind, node) = match member_change {
                MemberChange::AddVoter(node) => (ConfChangeType::AddNode, node),
                MemberChange::AddLearner(node) => (ConfChangeType::AddLearnerNode, node),
                MemberChange::Remove(node) => (ConfChangeType::RemoveNode, node),
            };
            let mut single = ConfChangeSingle { node_id: raft_id(*node), ..ConfChangeSingle::default() };
            single.set_change_type(kind);
            change.changes.push(single);
        }
        change
    }
}

pub(crate) fn raft_id(node: NodeId) -> u64 {
    u64::from(node.number())
}

/// The node with this raft id; `None` for raft's 0, which means no node.
pub(crate) fn node_of_raft_id(id: u64) -> Option<NodeId> {
    u32::try_from(id).ok().and_then(NodeId::new)
}

#[cfg(test)]
mod tests {
    use super::{Change, Configuration, MemberChange, Members};
    use quorate_core::NodeId;
    use std::collections::BTreeSet;

    fn set(numbers: &[u32]) -> BTreeSet<NodeId> {
        numbers.iter().copied().filter_map(NodeId::new).collect()
    }

    fn members(voters: &[u32], learners: &[u32]) -> Members {
        Members { voters: set(voters), learners: set(learners) }
    }

    #[test]
    fn a_change_contains_only_differences() {
        let Change(member_changes) = Change::between(&members(&[1, 2, 3], &[4]), &members(&[1, 3, 4], &[5]));
        let [two, four, five] = [2, 4, 5].map(|number| NodeId::new(number).unwrap());
        assert_eq!(
            member_changes,
            [MemberChange::AddVoter(four), MemberChange::AddLearner(five), MemberChange::Remove(two)]
        );
        assert!(Change::between(&members(&[1], &[]), &members(&[1], &[])).is_empty());
    }

    #[test]
    fn configurations_round_trip_through_raft() {
        let configuration = Configuration {
            incoming: members(&[1, 4], &[5]),
            outgoing: set(&[1, 2, 3]),
            demoted: set(&[2]),
            auto_leave: true,
        };
        assert!(configuration.is_valid() && configuration.is_joint());
        assert_eq!(Configuration::from_raft(&configuration.to_raft()), configuration);
    }

    #[test]
    fn invalid_members_are_detected() {
        assert!(!members(&[], &[1]).is_valid());
        assert!(!members(&[1, 2], &[2]).is_valid());
        let demoted = Configuration { demoted: set(&[1]), ..Configuration::founding(members(&[1], &[])) };
        assert!(!demoted.is_valid());
    }
}
