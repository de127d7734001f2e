//! The state of a member in one view.

use super::super::{
    AckMatrix, AnyOrdering, Causes, GroupId, HoldBack, MakeOrdering, MessageId, OrderReport, Payload, Plan,
};
use crate::group::Group;
use crate::node::NodeId;
use crate::view::View;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// A member's state in one view. Each view has a new one, so that a message or acknowledgement that
/// was lost in an old view cannot affect a new one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ViewState {
    pub(super) view: View,
    pub(super) ordering: AnyOrdering,
    pub(super) queue: HoldBack,
    pub(super) acks: AckMatrix,
    /// Number of messages that this member has sent in this view.
    pub(super) sent_count: u64,
    /// For each sender, the number of its messages that this member has delivered to its client.
    pub(super) delivered_counts: Vec<u64>,
    /// For each sender, the number of its messages that this member can acknowledge: it holds them,
    /// knows their positions, and has not too many undelivered ones.
    pub(super) ackable_counts: Vec<u64>,
    /// The counts that this member sent in its last acknowledgement.
    pub(super) sent_ack_counts: Vec<u64>,
    /// Members that want to leave, each with the number of its messages that this member must hold
    /// before it acknowledges them.
    pub(super) drain_requests: BTreeMap<NodeId, u64>,
}

impl ViewState {
    pub(super) fn new(plan: &Plan, me: NodeId, view: View, make_ordering: MakeOrdering) -> Self {
        let members = view.members().clone();
        let zeros = vec![0; members.len()];
        Self {
            ordering: make_ordering(plan, me, &members),
            queue: HoldBack::new(plan.id, view.epoch(), members.clone()),
            acks: AckMatrix::new(&members),
            view,
            sent_count: 0,
            delivered_counts: zeros.clone(),
            ackable_counts: zeros.clone(),
            sent_ack_counts: zeros,
            drain_requests: BTreeMap::new(),
        }
    }

    pub(super) const fn members(&self) -> &Group {
        self.view.members()
    }

    /// Returns whether all members hold the message and know its position.
    pub(super) fn is_stable(&self, id: MessageId) -> bool {
        id.number <= self.acks.held_by_all(self.members(), id.sender)
    }

    /// Returns the number of this member's messages that not all members hold, and the number of
    /// bytes of its messages that are kept for that reason.
    pub(super) fn unacknowledged(&self, me: NodeId) -> (u64, usize) {
        let messages = self.sent_count.saturating_sub(self.acks.held_by_all(self.members(), me));
        (messages, if messages == 0 { 0 } else { self.queue.kept_bytes(me) })
    }

    pub(super) fn count_delivered(&mut self, id: MessageId) {
        if id.view == self.view.epoch()
            && let Some(delivered) =
                self.members().index_of(id.sender).and_then(|index| self.delivered_counts.get_mut(index))
        {
            *delivered += 1;
        }
    }

    /// Returns the number of a sender's messages that this member has delivered to its client.
    pub(super) fn delivered_count(&self, sender: NodeId) -> u64 {
        self.members().index_of(sender).and_then(|index| self.delivered_counts.get(index)).copied().unwrap_or(0)
    }

    /// Counts the messages that this member can now acknowledge: of each sender at most
    /// `max_undelivered` that it has not delivered, so that a member with a slow client, or without
    /// a state yet, slows the senders down. Returns whether there are new ones.
    pub(super) fn advance_acks(&mut self, me: NodeId, max_undelivered: u64, is_loaded: bool) -> bool {
        let mut has_new = false;
        // The limit must not hold back the message that is next to be delivered: uniform delivery
        // waits for its acknowledgement, and only deliveries raise the limit. While a state loads,
        // no exception is needed: the buffered deliveries raise the limit once it is loaded.
        let head = self.ordering.next_deliverable(&self.queue).filter(|_| is_loaded);
        for (index, sender) in self.members().clone().iter().enumerate() {
            let limit = self.delivered_counts.get(index).copied().unwrap_or(0).saturating_add(max_undelivered);
            let limit = head.filter(|head| head.sender == sender).map_or(limit, |head| limit.max(head.number));
            let Some(ackable) = self.ackable_counts.get_mut(index) else { continue };
            while *ackable < limit {
                let id = self.queue.id(sender, *ackable + 1);
                if !self.queue.has_received(id) || !self.ordering.is_position_known(id) {
                    break;
                }
                *ackable += 1;
                has_new = true;
            }
        }
        if has_new {
            self.acks.record(self.view.members(), me, &self.ackable_counts);
        }
        has_new
    }

    /// Removes delivered messages that all members hold.
    pub(super) fn forget(&mut self) {
        for sender in self.members().clone().iter() {
            let upto = self.acks.held_by_all(self.members(), sender);
            for id in self.queue.forget(sender, upto) {
                self.ordering.forget(id);
            }
        }
    }

    /// Returns whether to send an acknowledgement. It is due if `min_messages` of one sender are
    /// not acknowledged yet, or at least one while `min_bytes` of that sender's messages are kept,
    /// or if a member that leaves waits for it.
    pub(super) fn must_acknowledge(&self, min_messages: u64, min_bytes: usize) -> bool {
        let mut counts = self.ackable_counts.iter().zip(&self.sent_ack_counts).zip(self.members().iter());
        let has_enough = counts.any(|((ackable, sent), sender)| {
            let new_count = ackable.saturating_sub(*sent);
            new_count >= min_messages || (new_count > 0 && self.queue.kept_bytes(sender) >= min_bytes)
        });
        has_enough || self.drain_requests.iter().any(|(sender, upto)| self.ackable_count(*sender) >= *upto)
    }

    /// Returns the counts of an acknowledgement, and records that the caller sends it: removes the
    /// drain requests that it answers.
    pub(super) fn take_acks(&mut self) -> Vec<u64> {
        self.sent_ack_counts.clone_from(&self.ackable_counts);
        let ackable: BTreeMap<_, _> =
            self.drain_requests.keys().map(|sender| (*sender, self.ackable_count(*sender))).collect();
        self.drain_requests.retain(|sender, upto| ackable.get(sender).is_none_or(|ackable| ackable < upto));
        self.ackable_counts.clone()
    }

    fn ackable_count(&self, sender: NodeId) -> u64 {
        self.members().index_of(sender).and_then(|index| self.ackable_counts.get(index)).copied().unwrap_or(0)
    }

    /// Returns the messages that this member holds, for its report when the view ends.
    pub(super) fn holdings(&self) -> Holdings {
        Holdings {
            held: self.queue.kept_messages().map(|(id, tag, _)| (id, tag.clone())).collect(),
            stable_counts: self.members().iter().map(|sender| (sender, self.queue.forgotten_upto(sender))).collect(),
            order_report: self.ordering.report(),
            view: self.view.epoch(),
        }
    }

    /// Counts a message of this member as sent, and returns its id.
    pub(super) fn next_id(&mut self, group: GroupId, me: NodeId) -> MessageId {
        self.sent_count += 1;
        MessageId { group, view: self.view.epoch(), sender: me, number: self.sent_count }
    }

    /// Marks a message in the queue as delivered and returns its payload; `None` if it is not
    /// waiting.
    pub(super) fn release(&mut self, id: MessageId) -> Option<Payload> {
        let payload = self.queue.deliver(id)?;
        self.ordering.on_delivered(id, &self.queue);
        Some(payload)
    }
}

/// The messages of a view that a member holds, as it reports them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Holdings {
    pub view: crate::group::Epoch,
    /// Messages that the member still keeps, with their tags.
    #[cfg_attr(feature = "serde", serde(with = "crate::pairs"))]
    pub held: BTreeMap<MessageId, Causes>,
    /// For each sender, the number of its messages that the member has removed, because it has
    /// delivered them and all members hold them.
    #[cfg_attr(feature = "serde", serde(rename = "floor"))]
    pub stable_counts: BTreeMap<NodeId, u64>,
    #[cfg_attr(feature = "serde", serde(rename = "notes"))]
    pub order_report: OrderReport,
}

impl Holdings {
    /// Returns whether the member has received the message, even if it was removed because all
    /// members hold it.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.held.contains_key(&id) || self.stable_counts.get(&id.sender).is_some_and(|count| id.number <= *count)
    }
}
