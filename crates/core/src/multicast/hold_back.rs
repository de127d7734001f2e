//! The hold-back queue: a view's messages that a member has received, kept until all members hold
//! them.

use super::{Causes, MessageId, Payload};
use crate::group::{Epoch, Group};
use crate::multicast::GroupId;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The messages of one view that a member holds. All orderings use the same queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HoldBack {
    group: GroupId,
    view: Epoch,
    members: Group,
    /// One per member, in the order of the group.
    queues: Vec<SenderQueue>,
    /// Number of messages that were received and not delivered.
    waiting: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct SenderQueue {
    /// Messages up to this number were delivered, are held by all members, and have been removed.
    forgotten: u64,
    /// All messages up to this number were received.
    received: u64,
    /// Number of payload bytes in `kept`.
    bytes: usize,
    /// Messages that were received and not removed, by number.
    kept: BTreeMap<u64, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    tag: Causes,
    payload: Payload,
    is_delivered: bool,
}

impl HoldBack {
    /// Creates an empty queue for this view of these members.
    pub fn new(group: GroupId, view: Epoch, members: Group) -> Self {
        let queues = members.iter().map(|_| SenderQueue::default()).collect();
        Self { group, view, members, queues, waiting: 0 }
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
        self.queues.get(self.members.place_of(sender)?)
    }

    fn sender_queue_mut(&mut self, sender: NodeId) -> Option<&mut SenderQueue> {
        self.queues.get_mut(self.members.place_of(sender)?)
    }

    fn entry(&self, id: MessageId) -> Option<&Entry> {
        if (id.group, id.view) != (self.group, self.view) {
            return None;
        }
        self.sender_queue(id.sender)?.kept.get(&id.number)
    }

    /// Adds a message if it belongs to this view, is sent by a member, and is new. Returns whether
    /// it was added.
    pub fn receive(&mut self, id: MessageId, tag: Causes, payload: Payload) -> bool {
        if (id.group, id.view) != (self.group, self.view) || id.number == 0 {
            return false;
        }
        let Some(sender_queue) = self.sender_queue_mut(id.sender) else { return false };
        if id.number <= sender_queue.forgotten || sender_queue.kept.contains_key(&id.number) {
            return false;
        }
        sender_queue.bytes = sender_queue.bytes.saturating_add(payload.len());
        sender_queue.kept.insert(id.number, Entry { tag, payload, is_delivered: false });
        while sender_queue.kept.contains_key(&(sender_queue.received + 1)) {
            sender_queue.received += 1;
        }
        self.waiting += 1;
        true
    }

    /// Returns whether the message was received, even if it was removed since.
    pub fn has(&self, id: MessageId) -> bool {
        self.entry(id).is_some()
            || ((id.group, id.view) == (self.group, self.view)
                && self.sender_queue(id.sender).is_some_and(|sender_queue| id.number <= sender_queue.forgotten))
    }

    /// Returns whether the message was received and not yet delivered.
    pub fn is_waiting(&self, id: MessageId) -> bool {
        self.entry(id).is_some_and(|entry| !entry.is_delivered)
    }

    /// Returns whether the message was received and delivered.
    pub fn is_delivered(&self, id: MessageId) -> bool {
        self.has(id) && !self.is_waiting(id)
    }

    /// Returns the tag of a message that is still kept.
    pub fn tag(&self, id: MessageId) -> Option<&Causes> {
        self.entry(id).map(|entry| &entry.tag)
    }

    /// Returns the payload of a message that is still kept.
    pub fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.entry(id).map(|entry| &entry.payload)
    }

    /// Marks a message as delivered and returns its payload; `None` if it is not waiting.
    pub fn deliver(&mut self, id: MessageId) -> Option<Payload> {
        if !self.is_waiting(id) {
            return None;
        }
        let entry = self.sender_queue_mut(id.sender)?.kept.get_mut(&id.number)?;
        entry.is_delivered = true;
        let payload = entry.payload.clone();
        self.waiting -= 1;
        Some(payload)
    }

    /// Returns the number of messages that were received and not delivered.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns the ids of the messages that were received and not delivered, by sender.
    pub fn queue(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.kept().filter(|(_, _, is_delivered)| !is_delivered).map(|(id, _, _)| id)
    }

    /// Returns all kept messages: id, tag, and whether it was delivered.
    pub fn kept(&self) -> impl Iterator<Item = (MessageId, &Causes, bool)> + '_ {
        self.members.iter().zip(&self.queues).flat_map(move |(sender, sender_queue)| {
            let id_of = move |number: u64| self.id(sender, number);
            sender_queue.kept.iter().map(move |(number, entry)| (id_of(*number), &entry.tag, entry.is_delivered))
        })
    }

    /// Returns the number up to which all messages of a sender were received.
    pub fn received(&self, sender: NodeId) -> u64 {
        self.sender_queue(sender).map_or(0, |sender_queue| sender_queue.received)
    }

    /// Returns the number up to which all messages of a sender were removed.
    pub fn forgotten(&self, sender: NodeId) -> u64 {
        self.sender_queue(sender).map_or(0, |sender_queue| sender_queue.forgotten)
    }

    /// Returns the number of payload bytes of a sender that are kept.
    pub fn bytes(&self, sender: NodeId) -> usize {
        self.sender_queue(sender).map_or(0, |sender_queue| sender_queue.bytes)
    }

    /// Removes a sender's delivered messages up to this number, which all members hold. Returns
    /// their ids.
    pub fn forget(&mut self, sender: NodeId, upto: u64) -> Vec<MessageId> {
        let Some(sender_queue) = self.sender_queue_mut(sender) else { return Vec::new() };
        let before = sender_queue.forgotten;
        while sender_queue.forgotten < upto {
            let number = sender_queue.forgotten + 1;
            if !sender_queue.kept.get(&number).is_some_and(|entry| entry.is_delivered) {
                break;
            }
            let removed_bytes = sender_queue.kept.remove(&number).map_or(0, |entry| entry.payload.len());
            sender_queue.bytes = sender_queue.bytes.saturating_sub(removed_bytes);
            sender_queue.forgotten = number;
        }
        let after = sender_queue.forgotten;
        (before + 1..=after).map(|number| self.id(sender, number)).collect()
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

    /// An empty queue, and a function that returns the id of node 1's message with a number.
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
        assert_eq!((queue.received(id(1).sender), queue.waiting()), (0, 1));
        assert_eq!(queue.deliver(id(2)), Some(payload.clone()));
        assert_eq!(queue.deliver(id(2)), None);
        assert!(queue.forget(id(1).sender, 2).is_empty(), "the first is missing");
        assert!(queue.receive(id(1), Causes::none(), payload.clone()));
        assert_eq!(queue.received(id(1).sender), 2);
        assert!(queue.forget(id(1).sender, 2).is_empty(), "the first still waits");
        queue.deliver(id(1));
        assert_eq!(queue.forget(id(1).sender, 9), [id(1), id(2)]);
        assert!(!queue.receive(id(1), Causes::none(), payload), "a late copy");
        assert!(queue.has(id(2)) && !queue.has(id(3)));
    }

    #[test]
    fn messages_of_other_views_and_non_members_are_not_received() {
        let (mut queue, id) = queue();
        let later = MessageId { view: crate::group::Epoch(2), ..id(1) };
        let nonmember = MessageId { sender: NodeId::from_index(7), ..id(1) };
        let other = MessageId { group: GroupId(3), ..id(1) };
        for id in [later, nonmember, other, id(0)] {
            assert!(!queue.receive(id, Causes::none(), Payload::from("x")), "{id}");
        }
        assert_eq!(queue.queue().collect::<Vec<_>>(), []);
    }
}
