//! The send requests of a node's client, and their answers.

use quorate_core::multicast::{Command, GroupId, Payload};
use std::collections::{BTreeMap, VecDeque};

/// The unanswered requests of one node.
///
/// An answer does not contain the payload. But a node answers the requests of a group in order, so
/// an answer belongs to the oldest one.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingRequests {
    /// The payloads of the unanswered requests of each group, oldest first.
    groups: BTreeMap<GroupId, VecDeque<Payload>>,
    current_command: CurrentCommand,
}

/// The command of the current step.
#[derive(Clone, Copy, Debug, Default)]
enum CurrentCommand {
    #[default]
    None,
    Send(GroupId),
    Leave,
}

impl PendingRequests {
    pub(super) fn record_command(&mut self, command: &Command) {
        self.current_command = match command {
            Command::Send { group, payload } => {
                self.groups.entry(*group).or_default().push_back(payload.clone());
                CurrentCommand::Send(*group)
            }
            Command::Leave { .. } => CurrentCommand::Leave,
        };
    }

    pub(super) fn begin_step(&mut self) {
        self.current_command = CurrentCommand::None;
    }

    /// Removes the oldest request of a group, which a `Sent` or `Wait` event or a refusal answers,
    /// and returns its payload.
    pub(super) fn answer_oldest(&mut self, group: GroupId) -> Option<Payload> {
        self.groups.get_mut(&group)?.pop_front()
    }

    /// Removes the send request that a refusal answers, if any. A refusal does not name its group.
    /// It answers the command of this step, which may be a leave; in a step without a command, it
    /// answers the oldest pending request of the first group that has one.
    pub(super) fn record_refusal(&mut self) {
        let group = match self.current_command {
            CurrentCommand::Leave => None,
            CurrentCommand::Send(group) => Some(group),
            CurrentCommand::None => {
                self.groups.iter().find(|(_, payloads)| !payloads.is_empty()).map(|(group, _)| *group)
            }
        };
        if let Some(group) = group {
            self.answer_oldest(group);
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
