//! What a leader has put into the log for others and does not know the outcome of yet.

use super::{Ask, Change};
use crate::command::{Proposal, Ticket};
use quorate_core::NodeId;
use quorate_core::membership::Request;
use std::collections::BTreeMap;

/// What a leader has under way: at most one thing of a kind and node, so that a slow log never fills with repetitions.
#[derive(Clone, Debug, Default)]
pub(super) struct Desk {
    last: u64,
    under_way: BTreeMap<Ticket, Matter>,
}

/// What a proposal is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matter {
    Founding,
    Time,
    Stay(NodeId),
    Suspicion { of: NodeId, by: NodeId },
}

impl Matter {
    const fn of(change: &Change) -> Self {
        match change {
            Change::Found { .. } => Self::Founding,
            Change::Ask(Ask { request, .. }) => match *request {
                Request::Join { node, .. } | Request::Renew { node, .. } | Request::Leave { node, .. } => {
                    Self::Stay(node)
                }
                Request::Suspect { node, by, .. } => Self::Suspicion { of: node, by },
                Request::Tick => Self::Time,
            },
        }
    }
}

impl Desk {
    /// A proposal of this, unless one about the same matter is under way.
    pub(super) fn take(&mut self, change: Change) -> Option<Proposal<Change>> {
        let matter = Matter::of(&change);
        if self.under_way.values().any(|known| *known == matter) {
            return None;
        }
        self.last += 1;
        let ticket = Ticket(self.last);
        self.under_way.insert(ticket, matter);
        Some(Proposal { ticket, command: change })
    }

    /// Something came of a proposal, or it is unknown what: whoever asked asks again if need be.
    pub(super) fn settle(&mut self, ticket: Ticket) {
        self.under_way.remove(&ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::Desk;
    use crate::membership::{Ask, Change};
    use quorate_core::membership::Request;
    use quorate_core::{Incarnation, NodeId, Time};

    #[test]
    fn a_node_has_one_request_under_way_at_a_time() {
        let mut desk = Desk::default();
        let join = |index| {
            let request = Request::Join { node: NodeId::from_index(index), incarnation: Incarnation::FIRST };
            Change::Ask(Ask { request, asked: Time::ZERO })
        };
        let first = desk.take(join(0)).map(|proposal| proposal.ticket);
        assert!(first.is_some() && desk.take(join(1)).is_some());
        assert!(desk.take(join(0)).is_none());
        first.into_iter().for_each(|ticket| desk.settle(ticket));
        assert!(desk.take(join(0)).is_some());
    }
}
