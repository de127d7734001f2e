//! Total order by agreement: the ISIS algorithm (Birman and Joseph 1987).
//!
//! There is no sequencer. Each member proposes a priority for a message, greater than all that it
//! has seen, and the sender takes the greatest proposal. All members deliver in the order of the
//! agreed priorities. A message is next when its priority is agreed and no other message in the
//! queue has a smaller priority, agreed or proposed: a priority that is agreed later is never
//! smaller than this member's proposal. Members propose as an inner order (of receipt, FIFO or
//! causal) releases messages, so its guarantees hold for all members as well.
//!
//! ```text
//! IS-1  the inner order releases a
//!       message                       → propose the greatest priority seen, plus one, to its
//!                                       sender; the number of the proposer breaks ties
//! IS-2  all members have proposed     → its sender takes the greatest, and sends it to all
//! IS-3  a priority is agreed          → the message moves back to its position in the queue
//! IS-4  the first message in the queue
//!       has an agreed priority        → deliver it
//! IS-5  all members hold a message
//!       with its agreed priority      → forget the priority
//! IS-6  a view ends                   → deliver messages whose agreed priority any member knows,
//!                                       in the order of priorities; then the others, unless the
//!                                       inner order puts them before some of these
//! ```
//!
//! Cost: 3(n−1) messages per multicast, acknowledgements not counted. The slowest member delivers
//! after three message times, the sender after two.
//!
//! Why all agree when a view ends: an agreed priority is not smaller than any proposal for the
//! message, and all members have made one. So a member that delivered a message had all messages
//! with smaller priorities in its queue, and has delivered them. A member that forgets a priority
//! knew that all members hold the message and its priority, so members that have not delivered it
//! yet report it. No survivor has delivered a message whose agreed priority no survivor knows, so
//! such a message comes after all that any survivor has delivered. If delivery is uniform, it also
//! comes after all that crashed members delivered, since all members knew the agreed priorities of
//! those. No survivor has delivered a message that the inner order puts after one without an agreed
//! priority: every member proposed a smaller priority for that one.
//!
//! Assumes: messages between two members that stay up arrive.
//!
//! When it fails: without views one crashed member stops the whole group, since its proposal never
//! arrives.

use super::{
    Causes, ExpectedCost, Facts, HoldBack, MessageId, OrderGuarantee, OrderMessage, OrderReport, OrderSink, Ordering,
    PartialOrdering, Plan, Survey, causal, fifo, unordered,
};
use crate::about::Profile;
use crate::describe::Describe;
use crate::group::Group;
use crate::node::NodeId;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::fmt;

/// The algorithm's properties and expected costs; see also [`FIFO_FACTS`] and [`CAUSAL_FACTS`].
pub const FACTS: Facts = Facts {
    profile: Profile {
        name: "isis",
        class: "total order",
        summary: "all members propose a priority, the sender takes the greatest, and all deliver in that order",
        source: include_str!("isis.rs"),
        ..unordered::FACTS.profile
    },
    order: OrderGuarantee { fifo: false, causal: false, total: true },
    expected_cost: ExpectedCost::for_agreed_order,
    ..unordered::FACTS
};

/// The properties and expected costs of the variant whose members propose for each sender's
/// messages in sending order.
pub const FIFO_FACTS: Facts = Facts {
    profile: Profile {
        name: "fifo-isis",
        summary: "agreed priorities, proposed for each sender's messages in the order in which they were sent",
        ..FACTS.profile
    },
    order: OrderGuarantee { total: true, ..fifo::FACTS.order },
    ..FACTS
};

/// The properties and expected costs of the variant whose members propose for a message after all
/// its causes.
pub const CAUSAL_FACTS: Facts = Facts {
    profile: Profile {
        name: "causal-isis",
        summary: "agreed priorities, proposed for a message after all that its sender had delivered",
        ..FACTS.profile
    },
    order: OrderGuarantee { total: true, ..causal::FACTS.order },
    ..FACTS
};

/// A position in the order: a number and the member that proposed it, so that no two members
/// propose the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Priority {
    /// The number, from 1.
    pub number: u64,
    pub proposer: NodeId,
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.number, self.proposer)
    }
}

/// The order of agreed priorities. Members propose in the order in which the inner order `I`
/// releases messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Isis<I> {
    inner: I,
    me: NodeId,
    members: Group,
    /// The greatest number of a priority that this member has seen.
    greatest_number: u64,
    /// The priority of each message. Forgotten when all members hold the message and its priority.
    priority_states: BTreeMap<MessageId, PriorityState>,
    /// The messages that were not delivered yet, sorted by their proposed or agreed priorities.
    pending: BTreeSet<(Priority, MessageId)>,
    /// The proposals for each of this member's own messages, until all of them have arrived.
    open_proposals: BTreeMap<MessageId, Proposals>,
}

/// The priority of a message, as far as a member knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum PriorityState {
    /// This member's own proposal.
    Proposed(Priority),
    Agreed(Priority),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Proposals {
    /// Members that have not proposed yet.
    missing: BTreeSet<NodeId>,
    /// The greatest proposal so far.
    greatest: Priority,
}

/// A message about priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum PriorityMessage {
    /// The member that sends this proposes a priority with this number.
    Proposal { id: MessageId, number: u64 },
    /// The sender of the multicast has agreed on this priority.
    Agreed { id: MessageId, priority: Priority },
}

/// `4 for 2#1` is a proposal, and `2#1 at 4.3` an agreed priority.
impl fmt::Display for PriorityMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proposal { id, number } => write!(f, "{number} for {id}"),
            Self::Agreed { id, priority } => write!(f, "{id} at {priority}"),
        }
    }
}

impl Describe for PriorityMessage {
    fn kind(&self) -> &'static str {
        match self {
            Self::Proposal { .. } => "proposal",
            Self::Agreed { .. } => "agreed",
        }
    }

    fn label(&self) -> Option<&dyn fmt::Display> {
        Some(self)
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        match self {
            Self::Proposal { id, .. } | Self::Agreed { id, .. } => Some(id.sender),
        }
    }
}

/// The priorities that a member knows when a view ends, for its report.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Priorities {
    #[cfg_attr(feature = "serde", serde(rename = "standing", with = "crate::pairs"))]
    pub priority_states: BTreeMap<MessageId, PriorityState>,
    /// Always empty. Kept for compatibility with existing journals.
    pub inner: (),
}

impl<I> Isis<I> {
    /// Returns the messages that were not delivered yet, sorted by their proposed or agreed
    /// priorities.
    pub fn pending(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.pending.iter().map(|(_, id)| *id)
    }
}

impl<I: PartialOrdering> Isis<I> {
    /// IS-1, for all messages that the inner order releases now.
    fn propose(&mut self, queue: &HoldBack, sink: &mut dyn OrderSink) {
        while let Some(id) = self.inner.next_deliverable(queue) {
            self.inner.on_delivered(id, queue);
            self.greatest_number = self.greatest_number.saturating_add(1);
            let own_proposal = Priority { number: self.greatest_number, proposer: self.me };
            self.priority_states.insert(id, PriorityState::Proposed(own_proposal));
            self.pending.insert((own_proposal, id));
            sink.note("IS-1", format_args!("proposes {own_proposal} for {id}"));
            if id.sender == self.me {
                let missing = self.members.others(self.me).collect();
                self.open_proposals.insert(id, Proposals { missing, greatest: own_proposal });
                self.agree_if_complete(id, sink);
            } else {
                sink.send(
                    id.sender,
                    OrderMessage::Priority(PriorityMessage::Proposal { id, number: own_proposal.number }),
                );
            }
        }
    }

    /// IS-2. Ignores unexpected and repeated proposals.
    fn receive_proposal(&mut self, from: NodeId, id: MessageId, number: u64, sink: &mut dyn OrderSink) {
        let Some(proposals) = self.open_proposals.get_mut(&id) else { return };
        if proposals.missing.remove(&from) {
            proposals.greatest = proposals.greatest.max(Priority { number, proposer: from });
            self.agree_if_complete(id, sink);
        }
    }

    /// IS-2, if all members have proposed.
    fn agree_if_complete(&mut self, id: MessageId, sink: &mut dyn OrderSink) {
        let Some(proposals) = self.open_proposals.get(&id).filter(|proposals| proposals.missing.is_empty()) else {
            return;
        };
        let priority = proposals.greatest;
        self.open_proposals.remove(&id);
        sink.note("IS-2", format_args!("{id} has priority {priority}"));
        sink.multicast(OrderMessage::Priority(PriorityMessage::Agreed { id, priority }));
        self.agree(id, priority, sink);
    }

    /// IS-3. Ignores a priority smaller than this member's proposal, which cannot be the greatest
    /// one.
    fn agree(&mut self, id: MessageId, priority: Priority, sink: &mut dyn OrderSink) {
        let Some(PriorityState::Proposed(own_proposal)) = self.priority_states.get(&id).copied() else { return };
        if priority < own_proposal {
            return;
        }
        self.greatest_number = self.greatest_number.max(priority.number);
        self.pending.remove(&(own_proposal, id));
        self.pending.insert((priority, id));
        self.priority_states.insert(id, PriorityState::Agreed(priority));
        sink.note("IS-3", format_args!("{id} is at {priority}"));
    }
}

impl<I: PartialOrdering> Ordering for Isis<I> {
    fn create(plan: &Plan, me: NodeId, members: &Group) -> Self {
        Self {
            inner: I::create(plan, me, members),
            me,
            members: members.clone(),
            greatest_number: 0,
            priority_states: BTreeMap::new(),
            pending: BTreeSet::new(),
            open_proposals: BTreeMap::new(),
        }
    }

    fn next_tag(&mut self) -> Causes {
        self.inner.next_tag()
    }

    fn on_received(&mut self, id: MessageId, queue: &HoldBack, sink: &mut dyn OrderSink) {
        self.inner.on_received(id, queue, sink);
        self.propose(queue, sink);
    }

    fn handle_message(&mut self, from: NodeId, message: OrderMessage, _queue: &HoldBack, sink: &mut dyn OrderSink) {
        match message {
            OrderMessage::Priority(PriorityMessage::Proposal { id, number }) => {
                self.receive_proposal(from, id, number, sink);
            }
            OrderMessage::Priority(PriorityMessage::Agreed { id, priority }) if id.sender == from => {
                self.agree(id, priority, sink);
            }
            // Only the sender of a message announces its priority, and there is no sequencer.
            OrderMessage::Priority(PriorityMessage::Agreed { .. }) | OrderMessage::Position(_) => {}
        }
    }

    /// IS-4.
    fn next_deliverable(&self, _queue: &HoldBack) -> Option<MessageId> {
        self.pending().next().filter(|id| self.is_position_known(*id))
    }

    /// IS-4.
    fn on_delivered(&mut self, id: MessageId, _queue: &HoldBack) {
        if let Some(PriorityState::Proposed(priority) | PriorityState::Agreed(priority)) = self.priority_states.get(&id)
        {
            self.pending.remove(&(*priority, id));
        }
    }

    fn is_position_known(&self, id: MessageId) -> bool {
        matches!(self.priority_states.get(&id), Some(PriorityState::Agreed(_)))
    }

    /// IS-5.
    fn forget(&mut self, id: MessageId) {
        self.priority_states.remove(&id);
        self.inner.forget(id);
    }

    fn report(&self) -> OrderReport {
        OrderReport::Priorities(Priorities { priority_states: self.priority_states.clone(), inner: () })
    }

    /// IS-6. Messages without an agreed priority are inserted in the inner order, before the first
    /// that must follow them.
    fn settle(&self, survey: &Survey) -> Vec<MessageId> {
        let members = survey.members();
        let all = self.inner.settle(survey);
        let mut agreed: Vec<_> = all.iter().filter_map(|id| Some((agreed_priority(survey, *id)?, *id))).collect();
        agreed.sort_unstable();
        let mut order: Vec<MessageId> = agreed.into_iter().map(|(_, id)| id).collect();
        for id in all.into_iter().filter(|id| agreed_priority(survey, *id).is_none()) {
            let tag_of = |other: MessageId| survey.held.get(&other).map(|tag| (other, tag));
            let precedes = |other: &MessageId| {
                tag_of(id).zip(tag_of(*other)).is_some_and(|(this, other)| self.inner.precedes(this, other, &members))
            };
            let index = order.iter().position(precedes).unwrap_or(order.len());
            order.insert(index, id);
        }
        self.inner.prune(order, survey)
    }

    /// IS-6.
    fn prune(&self, settled: Vec<MessageId>, survey: &Survey) -> Vec<MessageId> {
        self.inner.prune(settled, survey)
    }
}

/// Returns the agreed priority of a message, if any survivor knows it.
fn agreed_priority(survey: &Survey, id: MessageId) -> Option<Priority> {
    survey.order_reports.values().filter_map(OrderReport::priorities).find_map(|known| {
        match known.priority_states.get(&id) {
            Some(PriorityState::Agreed(priority)) => Some(*priority),
            Some(PriorityState::Proposed(_)) | None => None,
        }
    })
}

#[cfg(test)]
mod tests;
