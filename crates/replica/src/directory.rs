//! What a group has recorded about its members, beside raft's configuration: who was admitted,
//! where each member listens, and which format levels it understands.

use crate::members::Configuration;
use quorate_core::{Incarnation, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Members that started without a log and were admitted as learners, each with the incarnation that
/// was admitted.
pub type AdmittedLearners = BTreeMap<NodeId, Incarnation>;

/// Addresses of members, as the network driver understands them.
pub type Addresses = BTreeMap<NodeId, String>;

/// The recorded facts about the members. All replicas have the same ones at the same index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// The members that the log admitted as learners. Some may be voters by now.
    pub admitted: AdmittedLearners,
    records: BTreeMap<NodeId, MemberRecord>,
    /// See [`level`](Self::level).
    agreed_level: u32,
}

/// What a member reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemberRecord {
    /// Where other members reach it; `None` if they know that by other means.
    pub address: Option<String>,
    /// The newest format level that it understands.
    pub level: u32,
}

/// A fact about a member, which the leader appends to the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// This learner, which asked for its admission in this incarnation, is admitted.
    Admitted { learner: NodeId, incarnation: Incarnation },
    /// The member has reported this about itself.
    Recorded { member: NodeId, record: MemberRecord },
}

impl Notice {
    /// The member that the fact is about.
    pub(crate) fn member(&self) -> NodeId {
        match self {
            Self::Admitted { learner: member, .. } | Self::Recorded { member, .. } => *member,
        }
    }
}

/// The format level that every release understands.
pub const FIRST_LEVEL: u32 = 1;

impl Directory {
    /// The format level up to which commands may be proposed: every member has reported that it
    /// understands this level. It never falls, so a release that does not understand the entries in
    /// the log is not admitted later.
    pub fn level(&self) -> u32 {
        self.agreed_level.max(FIRST_LEVEL)
    }

    pub(crate) fn record(&self, member: NodeId) -> Option<&MemberRecord> {
        self.records.get(&member)
    }

    /// Whether a member may be of a release that does not understand all entries. A node that
    /// becomes a member counts as such until it has reported its level.
    pub(crate) fn may_be_outdated(&self, member: NodeId) -> bool {
        self.level() > self.records.get(&member).map_or(FIRST_LEVEL, |record| record.level.max(FIRST_LEVEL))
    }

    /// The addresses of the members that have one.
    pub fn addresses(&self) -> Addresses {
        let with_address = |(member, record): (&NodeId, &MemberRecord)| Some((*member, record.address.clone()?));
        self.records.iter().filter_map(with_address).collect()
    }

    /// The notice that a member listens at another address.
    pub(crate) fn notice_of_address(&self, member: NodeId, address: String) -> Notice {
        let record = self.record(member).cloned().unwrap_or_default();
        Notice::Recorded { member, record: MemberRecord { address: Some(address), ..record } }
    }

    /// RP-10 and RP-17. Records a notice. A learner is admitted only if it is one at this entry,
    /// and a record counts only for a member: every replica decides the same, because all have the
    /// same members here. Returns whether the directory changed.
    pub(crate) fn apply(&mut self, notice: Notice, members: &Configuration) -> bool {
        let before = self.clone();
        match notice {
            Notice::Admitted { learner, incarnation } => {
                let is_newer = self.admitted.get(&learner) < Some(&incarnation);
                if members.incoming.learners.contains(&learner) && is_newer {
                    self.admitted.insert(learner, incarnation);
                }
            }
            Notice::Recorded { member, mut record } => {
                if members.contains(member) {
                    // A record from before the level rose must not make the member outdated: it
                    // would get no entries, and thus no newer record either.
                    if let Some(known) = self.record(member).filter(|_| record.level < self.level()) {
                        record.level = record.level.max(known.level);
                    }
                    self.records.insert(member, record);
                }
            }
        }
        self.update_level(members);
        *self != before
    }

    /// Forgets former members, and records addresses that came with the change of members.
    pub(crate) fn change_members(&mut self, members: &Configuration, addresses: Addresses) {
        for (member, address) in addresses {
            self.records.entry(member).or_default().address = Some(address);
        }
        self.admitted.retain(|member, _| members.contains(*member));
        self.records.retain(|member, _| members.contains(*member));
        self.update_level(members);
    }

    /// Raises the level to the lowest one among the members. A member without a record may be of
    /// any release.
    fn update_level(&mut self, members: &Configuration) {
        let level_of = |member| self.records.get(&member).map_or(FIRST_LEVEL, |record| record.level);
        let lowest = members.nodes().map(level_of).min().unwrap_or(FIRST_LEVEL);
        if lowest > self.level() {
            self.agreed_level = lowest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Addresses, Directory, MemberRecord, Notice};
    use crate::members::{Configuration, Members};
    use quorate_core::{Group, Incarnation, NodeId};

    fn recorded(index: usize, level: u32) -> Notice {
        let record = MemberRecord { address: Some(format!("host-{index}:7400")), level };
        Notice::Recorded { member: NodeId::from_index(index), record }
    }

    fn group_of(size: usize) -> Configuration {
        Configuration::founding(Members::voters(&Group::of_size(size)))
    }

    /// Rule RP-17, at the head of `replica.rs`.
    #[test]
    fn rp_17_the_level_is_the_lowest_of_all_members_and_never_falls() {
        let mut directory = Directory::default();
        for (index, level) in [(0, 3), (1, 2)] {
            assert!(directory.apply(recorded(index, level), &group_of(3)));
            assert_eq!(directory.level(), 1, "a member has not reported its level");
        }
        directory.apply(recorded(2, 4), &group_of(3));
        assert_eq!(directory.level(), 2);
        assert!(!directory.apply(recorded(2, 4), &group_of(3)), "nothing new");
        directory.apply(recorded(2, 1), &group_of(3));
        assert_eq!(directory.level(), 2, "the log may have entries of level 2");
        assert!(!directory.may_be_outdated(NodeId::from_index(2)), "that record was older");
        directory.change_members(&group_of(1), [].into());
        assert_eq!(directory.level(), 3);
        assert_eq!(directory.addresses().len(), 1, "former members are forgotten");
    }

    #[test]
    fn strangers_are_not_recorded() {
        let mut directory = Directory::default();
        assert!(!directory.apply(recorded(5, 1), &group_of(3)));
        let learner = NodeId::from_index(1);
        let admitted = Notice::Admitted { learner, incarnation: Incarnation(7) };
        assert!(!directory.apply(admitted.clone(), &group_of(3)), "a voter is not admitted");
        let members = Members { learners: [learner].into(), ..Members::voters(&Group::of_size(1)) };
        let members = Configuration::founding(members);
        assert!(directory.apply(admitted, &members));
        let older = Notice::Admitted { learner, incarnation: Incarnation(6) };
        assert!(!directory.apply(older, &members), "the learner lost its disk after that incarnation");
        assert_eq!(directory.admitted.get(&learner), Some(&Incarnation(7)));
        directory.change_members(&group_of(1), Addresses::new());
        assert!(directory.admitted.is_empty(), "it is no member any more");
    }
}
