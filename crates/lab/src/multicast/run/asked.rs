//! What a node's user has asked it to send, and what came of it.

use quorate_core::multicast::{Command, GroupId, Payload};
use std::collections::{BTreeMap, VecDeque};

/// The requests of one node that are not yet answered.
///
/// An answer does not say what was asked. But requests of a group are answered in the order in which they were made, and that is how
/// one knows what a message says.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    groups: BTreeMap<GroupId, VecDeque<Payload>>,
    current: Current,
}

#[derive(Clone, Copy, Debug, Default)]
enum Current {
    #[default]
    Nothing,
    Send(GroupId),
    Leave,
}

impl Asked {
    pub(super) fn asks(&mut self, command: &Command) {
        self.current = match command {
            Command::Send { group, payload } => {
                self.groups.entry(*group).or_default().push_back(payload.clone());
                Current::Send(*group)
            }
            Command::Leave { .. } => Current::Leave,
        };
    }

    pub(super) fn step(&mut self) {
        self.current = Current::Nothing;
    }

    /// `Sent` or `Wait`: the oldest request of the group is answered. Tells what it was.
    pub(super) fn answered(&mut self, group: GroupId) -> Option<Payload> {
        self.groups.get_mut(&group)?.pop_front()
    }

    /// A refusal does not say of which group it is. It answers what is asked in this step; else the oldest of whichever group waits.
    pub(super) fn refused(&mut self) {
        let group = match self.current {
            Current::Leave => None,
            Current::Send(group) => Some(group),
            Current::Nothing => self.groups.iter().find(|(_, asked)| !asked.is_empty()).map(|(group, _)| *group),
        };
        if let Some(group) = group {
            self.answered(group);
        }
    }

    pub(super) fn forgets(&mut self) {
        *self = Self::default();
    }

    /// What is asked of a group and not yet answered.
    pub(super) fn oldest(&self, group: GroupId) -> Option<&Payload> {
        self.groups.get(&group)?.front()
    }
}
