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

/// A member's knowledge of one view's messages. Each view has its own, so that a message or
/// acknowledgement lost in an old view cannot affect a new one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ViewState {
    pub(super) view: View,
    pub(super) order: AnyOrdering,
    pub(super) queue: HoldBack,
    pub(super) acks: AckMatrix,
    /// Number of messages that this member has sent.
    pub(super) sent: u64,
    /// For each member, the number of its messages delivered to the client here.
    pub(super) delivered: Vec<u64>,
    /// For each member, the number of messages that this member can acknowledge: it holds them,
    /// knows their positions, and has room for more.
    pub(super) ackable: Vec<u64>,
    /// The part of `ackable` that was last sent to the others.
    pub(super) sent_acks: Vec<u64>,
    /// Members that want to leave, each with the number of its messages that this member must
    /// acknowledge.
    pub(super) drain_requests: BTreeMap<NodeId, u64>,
}

impl ViewState {
    pub(super) fn new(plan: &Plan, me: NodeId, view: View, make_ordering: MakeOrdering) -> Self {
        let members = view.members().clone();
        let zeros = vec![0; members.len()];
        Self {
            order: make_ordering(plan, me, &members),
            queue: HoldBack::new(plan.id, view.epoch(), members.clone()),
            acks: AckMatrix::new(&members),
            view,
            sent: 0,
            delivered: zeros.clone(),
            ackable: zeros.clone(),
            sent_acks: zeros,
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

    /// Returns the number of own messages, and of their bytes, that not all members hold.
    pub(super) fn unacknowledged(&self, me: NodeId) -> (u64, usize) {
        let messages = self.sent.saturating_sub(self.acks.held_by_all(self.members(), me));
        (messages, if messages == 0 { 0 } else { self.queue.bytes(me) })
    }

    pub(super) fn count_delivered(&mut self, id: MessageId) {
        if id.view == self.view.epoch()
            && let Some(delivered) = self.members().place_of(id.sender).and_then(|index| self.delivered.get_mut(index))
        {
            *delivered += 1;
        }
    }

    /// Returns the number of a member's messages that were delivered to the client.
    pub(super) fn delivered_of(&self, sender: NodeId) -> u64 {
        self.members().place_of(sender).and_then(|index| self.delivered.get(index)).copied().unwrap_or(0)
    }

    /// Counts the messages that can now be acknowledged. A member acknowledges at most `room`
    /// messages of a sender that it has not delivered, so that a member with a slow client, or
    /// without a state yet, slows the senders down. Returns whether there are new ones.
    pub(super) fn advance_acks(&mut self, me: NodeId, room: u64, is_loaded: bool) -> bool {
        let mut is_new = false;
        // The message that is next for all members must not wait for room: nothing else makes room,
        // unless a state is still loading.
        let head = self.order.next(&self.queue).filter(|_| is_loaded);
        for (index, sender) in self.members().clone().iter().enumerate() {
            let limit = self.delivered.get(index).copied().unwrap_or(0).saturating_add(room);
            let limit = head.filter(|head| head.sender == sender).map_or(limit, |head| limit.max(head.number));
            let Some(ackable) = self.ackable.get_mut(index) else { continue };
            while *ackable < limit {
                let id = self.queue.id(sender, *ackable + 1);
                if !self.queue.has(id) || !self.order.is_position_known(id) {
                    break;
                }
                *ackable += 1;
                is_new = true;
            }
        }
        if is_new {
            self.acks.record(self.view.members(), me, &self.ackable);
        }
        is_new
    }

    /// Removes delivered messages that all members hold.
    pub(super) fn forget(&mut self) {
        for sender in self.members().clone().iter() {
            let upto = self.acks.held_by_all(self.members(), sender);
            for id in self.queue.forget(sender, upto) {
                self.order.forget(id);
            }
        }
    }

    /// Returns whether to send an acknowledgement: this number of messages or bytes of one sender
    /// is unacknowledged, or a member that leaves waits for one.
    pub(super) fn must_acknowledge(&self, messages: u64, bytes: usize) -> bool {
        let mut counts = self.ackable.iter().zip(&self.sent_acks).zip(self.members().iter());
        let has_enough = counts.any(|((ackable, sent), sender)| {
            let new = ackable.saturating_sub(*sent);
            new >= messages || (new > 0 && self.queue.bytes(sender) >= bytes)
        });
        has_enough || self.drain_requests.iter().any(|(sender, upto)| self.ackable_of(*sender) >= *upto)
    }

    /// Returns the acknowledgement, and assumes that the caller sends it: requests that it answers
    /// are removed.
    pub(super) fn take_acks(&mut self) -> Vec<u64> {
        self.sent_acks.clone_from(&self.ackable);
        let ackable: BTreeMap<_, _> =
            self.drain_requests.keys().map(|sender| (*sender, self.ackable_of(*sender))).collect();
        self.drain_requests.retain(|sender, upto| ackable.get(sender).is_none_or(|ackable| ackable < upto));
        self.ackable.clone()
    }

    fn ackable_of(&self, sender: NodeId) -> u64 {
        self.members().place_of(sender).and_then(|index| self.ackable.get(index)).copied().unwrap_or(0)
    }

    /// Returns the messages that this member holds, for its report when the view ends.
    pub(super) fn holdings(&self) -> Holdings {
        Holdings {
            held: self.queue.kept().map(|(id, tag, _)| (id, tag.clone())).collect(),
            floor: self.members().iter().map(|sender| (sender, self.queue.forgotten(sender))).collect(),
            order_report: self.order.report(),
            view: self.view.epoch(),
        }
    }

    /// Counts a message as sent and returns its id.
    pub(super) fn next_id(&mut self, group: GroupId, me: NodeId) -> MessageId {
        self.sent += 1;
        MessageId { group, view: self.view.epoch(), sender: me, number: self.sent }
    }

    /// Delivers a message from the queue; `None` if it was already delivered.
    pub(super) fn release(&mut self, id: MessageId) -> Option<Payload> {
        let payload = self.queue.deliver(id)?;
        self.order.delivered(id, &self.queue);
        Some(payload)
    }
}

/// The messages of a view that a member holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Holdings {
    pub view: crate::group::Epoch,
    /// Messages that the member still keeps, with their tags.
    #[cfg_attr(feature = "serde", serde(with = "crate::pairs"))]
    pub held: BTreeMap<MessageId, Causes>,
    /// For each sender, the number of its messages that all members hold.
    pub floor: BTreeMap<NodeId, u64>,
    #[cfg_attr(feature = "serde", serde(rename = "notes"))]
    pub order_report: OrderReport,
}

impl Holdings {
    /// Returns whether the member has received the message, even if it was removed because all
    /// members hold it.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.held.contains_key(&id) || self.floor.get(&id.sender).is_some_and(|floor| id.number <= *floor)
    }
}
