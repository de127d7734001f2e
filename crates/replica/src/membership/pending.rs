//! A leader's proposals whose outcome is not known yet.

use super::{Change, TimedRequest};
use crate::command::{Proposal, Ticket};
use quorate_core::NodeId;
use quorate_core::membership::Request;
use std::collections::BTreeMap;

/// A leader's pending proposals: at most one per subject, so that repeated requests do not fill a
/// slow log.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingProposals {
    last_ticket: u64,
    pending: BTreeMap<Ticket, Subject>,
}

/// The subject of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    Founding,
    Tick,
    /// A node's admission, lease or removal.
    Stay(NodeId),
    Suspicion {
        suspected: NodeId,
        by: NodeId,
    },
}

impl Subject {
    const fn of_change(change: &Change) -> Self {
        match change {
            Change::Found { .. } => Self::Founding,
            Change::Request(TimedRequest { request, .. }) => match *request {
                Request::Join { node, .. } | Request::Renew { node, .. } | Request::Leave { node, .. } => {
                    Self::Stay(node)
                }
                Request::Suspect { node, by, .. } => Self::Suspicion { suspected: node, by },
                Request::Tick => Self::Tick,
            },
        }
    }
}

impl PendingProposals {
    /// Returns a proposal of this change, unless one with the same subject is pending.
    pub(super) fn add(&mut self, change: Change) -> Option<Proposal<Change>> {
        let subject = Subject::of_change(&change);
        if self.pending.values().any(|known| *known == subject) {
            return None;
        }
        self.last_ticket += 1;
        let ticket = Ticket(self.last_ticket);
        self.pending.insert(ticket, subject);
        Some(Proposal { ticket, command: change })
    }

    /// Removes a proposal that was answered, refused, or whose outcome is unknown. The requester
    /// repeats it if necessary.
    pub(super) fn remove(&mut self, ticket: Ticket) {
        self.pending.remove(&ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::PendingProposals;
    use crate::membership::{Change, TimedRequest};
    use quorate_core::membership::Request;
    use quorate_core::{Incarnation, NodeId, Time};

    #[test]
    fn a_node_has_one_pending_request_about_its_stay() {
        let mut pending = PendingProposals::default();
        let join = |index| {
            let request = Request::Join { node: NodeId::from_index(index), incarnation: Incarnation::FIRST };
            Change::Request(TimedRequest { request, requested_at: Time::ZERO })
        };
        let first = pending.add(join(0)).map(|proposal| proposal.ticket);
        assert!(first.is_some() && pending.add(join(1)).is_some());
        assert!(pending.add(join(0)).is_none());
        first.into_iter().for_each(|ticket| pending.remove(ticket));
        assert!(pending.add(join(0)).is_some());
    }
}
