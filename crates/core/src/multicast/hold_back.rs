//! The hold-back queue of a view: a member keeps each message that it has received until it has
//! delivered the message and all members hold it.

use super::{Causes, MessageId, Payload};
use crate::group::{Epoch, Group};
use crate::multicast::GroupId;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The messages of one view that a member keeps. All orderings use the same queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HoldBack {
    group: GroupId,
    view: Epoch,
    members: Group,
    /// One per member, in the order of the group.
    sender_queues: Vec<SenderQueue>,
    /// Number of messages that were received and not delivered yet.
    waiting_count: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct SenderQueue {
    /// Messages up to this number have been removed: this member has delivered them, and all
    /// members hold them.
    forgotten_upto: u64,
    /// All messages up to this number have been received.
    received_upto: u64,
    /// Number of payload bytes in `kept`.
    kept_bytes: usize,
    /// Messages that have been received and not removed, by number.
    kept: BTreeMap<u64, KeptMessage>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct KeptMessage {
    tag: Causes,
    payload: Payload,
    is_delivered: bool,
}

impl HoldBack {
    /// Creates an empty queue for this view of these members.
    pub fn new(group: GroupId, view: Epoch, members: Group) -> Self {
        let sender_queues = members.iter().map(|_| SenderQueue::default()).collect();
        Self { group, view, members, sender_queues, waiting_count: 0 }
    }

    /// Returns the members of the view.
    pub const fn members(&self) -> &Group {
        &self.members
    }

    /// Returns the id of a sender's message with this number.
    pub const fn id(&self, sender: NodeId, number: u64) -> MessageId {
        MessageId { group: self.group, view: self.view, sender, number }
    }

    fn sender_queue(&self, sender: NodeId) -> Option<&SenderQueue> {
        self.sender_queues.get(self.members.index_of(sender)?)
    }

    fn sender_queue_mut(&mut self, sender: NodeId) -> Option<&mut SenderQueue> {
        self.sender_queues.get_mut(self.members.index_of(sender)?)
    }

    fn kept_message(&self, id: MessageId) -> Option<&KeptMessage> {
        if (id.group, id.view) != (self.group, self.view) {
            return None;
        }
        self.sender_queue(id.sender)?.kept.get(&id.number)
    }

    /// Adds a message if it belongs to this view, its sender is a member, its number is not 0, and
    /// it is no copy. Returns whether it was added.
    pub fn receive(&mut self, id: MessageId, tag: Causes, payload: Payload) -> bool {
        if (id.group, id.view) != (self.group, self.view) || id.number == 0 {
            return false;
        }
        let Some(sender_queue) = self.sender_queue_mut(id.sender) else { return false };
        if id.number <= sender_queue.forgotten_upto || sender_queue.kept.contains_key(&id.number) {
            return false;
        }
        sender_queue.kept_bytes = sender_queue.kept_bytes.saturating_add(payload.len());
        sender_queue.kept.insert(id.number, KeptMessage { tag, payload, is_delivered: false });
        while sender_queue.kept.contains_key(&(sender_queue.received_upto + 1)) {
            sender_queue.received_upto += 1;
        }
        self.waiting_count += 1;
        true
    }

    /// Returns whether the message was received, even if it has been removed since.
    pub fn has_received(&self, id: MessageId) -> bool {
        self.kept_message(id).is_some()
            || ((id.group, id.view) == (self.group, self.view)
                && self.sender_queue(id.sender).is_some_and(|sender_queue| id.number <= sender_queue.forgotten_upto))
    }

    /// Returns whether the message was received and not yet delivered.
    pub fn is_waiting(&self, id: MessageId) -> bool {
        self.kept_message(id).is_some_and(|kept| !kept.is_delivered)
    }

    /// Returns whether the message was received and delivered.
    pub fn is_delivered(&self, id: MessageId) -> bool {
        self.has_received(id) && !self.is_waiting(id)
    }

    /// Returns the tag of a message that is still kept.
    pub fn tag(&self, id: MessageId) -> Option<&Causes> {
        self.kept_message(id).map(|kept| &kept.tag)
    }

    /// Returns the payload of a message that is still kept.
    pub fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.kept_message(id).map(|kept| &kept.payload)
    }

    /// Marks a message as delivered and returns its payload; `None` if it is not waiting.
    pub fn deliver(&mut self, id: MessageId) -> Option<Payload> {
        if !self.is_waiting(id) {
            return None;
        }
        let kept = self.sender_queue_mut(id.sender)?.kept.get_mut(&id.number)?;
        kept.is_delivered = true;
        let payload = kept.payload.clone();
        self.waiting_count -= 1;
        Some(payload)
    }

    /// Returns the number of messages that were received and not delivered.
    pub const fn waiting_count(&self) -> usize {
        self.waiting_count
    }

    /// Returns the ids of the messages that were received and not delivered, sorted by sender and
    /// number.
    pub fn waiting_ids(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.kept_messages().filter(|(_, _, is_delivered)| !is_delivered).map(|(id, _, _)| id)
    }

    /// Returns all kept messages: id, tag, and whether it was delivered.
    pub fn kept_messages(&self) -> impl Iterator<Item = (MessageId, &Causes, bool)> + '_ {
        self.members.iter().zip(&self.sender_queues).flat_map(move |(sender, sender_queue)| {
            let id_of = move |number: u64| self.id(sender, number);
            sender_queue.kept.iter().map(move |(number, kept)| (id_of(*number), &kept.tag, kept.is_delivered))
        })
    }

    /// Returns the number up to which all messages of a sender were received.
    pub fn received_upto(&self, sender: NodeId) -> u64 {
        self.sender_queue(sender).map_or(0, |sender_queue| sender_queue.received_upto)
    }

    /// Returns the number up to which all messages of a sender were removed.
    pub fn forgotten_upto(&self, sender: NodeId) -> u64 {
        self.sender_queue(sender).map_or(0, |sender_queue| sender_queue.forgotten_upto)
    }

    /// Returns the number of payload bytes of a sender that are kept.
    pub fn kept_bytes(&self, sender: NodeId) -> usize {
        self.sender_queue(sender).map_or(0, |sender_queue| sender_queue.kept_bytes)
    }

    /// Removes a sender's messages up to number `upto`, which all members hold, but stops before
    /// the first one that is not delivered. Returns their ids.
    pub fn forget(&mut self, sender: NodeId, upto: u64) -> Vec<MessageId> {
        let Some(sender_queue) = self.sender_queue_mut(sender) else { return Vec::new() };
        let upto_before = sender_queue.forgotten_upto;
        while sender_queue.forgotten_upto < upto {
            let number = sender_queue.forgotten_upto + 1;
            if !sender_queue.kept.get(&number).is_some_and(|kept| kept.is_delivered) {
                break;
            }
            let removed_bytes = sender_queue.kept.remove(&number).map_or(0, |kept| kept.payload.len());
            sender_queue.kept_bytes = sender_queue.kept_bytes.saturating_sub(removed_bytes);
            sender_queue.forgotten_upto = number;
        }
        let upto_after = sender_queue.forgotten_upto;
        (upto_before + 1..=upto_after).map(|number| self.id(sender, number)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::HoldBack;
    use crate::group::Group;
    use crate::multicast::{Causes, GroupId, MessageId, Payload};
    use crate::node::NodeId;
    use crate::view::View;
    use alloc::vec::Vec;

    /// Returns an empty queue, and a function that returns the id of node 1's message with a
    /// number.
    fn queue() -> (HoldBack, impl Fn(u64) -> MessageId) {
        let queue = HoldBack::new(GroupId::ONLY, View::FIRST, Group::of_size(2));
        let sender = NodeId::from_index(0);
        (queue, move |number| MessageId { group: GroupId::ONLY, view: View::FIRST, sender, number })
    }

    #[test]
    fn a_message_is_received_once_delivered_once_and_forgotten_in_order() {
        let (mut queue, id) = queue();
        let payload = Payload::from("x");
        assert!(queue.receive(id(2), Causes::none(), payload.clone()));
        assert!(!queue.receive(id(2), Causes::none(), payload.clone()), "a copy");
        assert_eq!((queue.received_upto(id(1).sender), queue.waiting_count()), (0, 1));
        assert_eq!(queue.deliver(id(2)), Some(payload.clone()));
        assert_eq!(queue.deliver(id(2)), None);
        assert!(queue.forget(id(1).sender, 2).is_empty(), "message 1 is missing");
        assert!(queue.receive(id(1), Causes::none(), payload.clone()));
        assert_eq!(queue.received_upto(id(1).sender), 2);
        assert!(queue.forget(id(1).sender, 2).is_empty(), "message 1 is not delivered");
        queue.deliver(id(1));
        assert_eq!(queue.forget(id(1).sender, 9), [id(1), id(2)]);
        assert!(!queue.receive(id(1), Causes::none(), payload), "a late copy");
        assert!(queue.has_received(id(2)) && !queue.has_received(id(3)));
    }

    #[test]
    fn messages_of_other_views_groups_and_nonmembers_or_without_a_number_are_not_received() {
        let (mut queue, id) = queue();
        let of_later_view = MessageId { view: crate::group::Epoch(2), ..id(1) };
        let of_nonmember = MessageId { sender: NodeId::from_index(7), ..id(1) };
        let of_other_group = MessageId { group: GroupId(3), ..id(1) };
        for id in [of_later_view, of_nonmember, of_other_group, id(0)] {
            assert!(!queue.receive(id, Causes::none(), Payload::from("x")), "{id}");
        }
        assert_eq!(queue.waiting_ids().collect::<Vec<_>>(), []);
    }
}
