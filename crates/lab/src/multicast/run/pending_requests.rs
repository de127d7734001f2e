//! The send requests of a node's client, and their answers.

use quorate_core::multicast::{Command, GroupId, Payload};
use std::collections::{BTreeMap, VecDeque};

/// The unanswered requests of one node.
///
/// An answer does not contain the payload. But the requests of a group are answered in order, so
/// that the payload of a message is known.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingRequests {
    groups: BTreeMap<GroupId, VecDeque<Payload>>,
    current: Current,
}

/// The command of the current step.
#[derive(Clone, Copy, Debug, Default)]
enum Current {
    #[default]
    Nothing,
    Send(GroupId),
    Leave,
}

impl PendingRequests {
    pub(super) fn push(&mut self, command: &Command) {
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

    /// `Sent` or `Wait`: the oldest request of the group is answered. Returns its payload.
    pub(super) fn answered(&mut self, group: GroupId) -> Option<Payload> {
        self.groups.get_mut(&group)?.pop_front()
    }

    /// A refusal does not name its group. It answers the request of this step, else the oldest
    /// pending request of any group.
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

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// The payload of the oldest unanswered request of a group.
    pub(super) fn oldest(&self, group: GroupId) -> Option<&Payload> {
        self.groups.get(&group)?.front()
    }
}
