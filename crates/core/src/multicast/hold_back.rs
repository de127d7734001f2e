//! The hold-back queue: what a member has received of a view's messages, delivered or not, until everyone holds it.

use super::{Causes, MessageId, Payload};
use crate::group::{Epoch, Group};
use crate::multicast::GroupId;
use crate::node::NodeId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// All that a member holds of one view's messages. There is one such queue, whatever the order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HoldBack {
    group: GroupId,
    view: Epoch,
    members: Group,
    /// One for each member, in the order of the group.
    stocks: Vec<Stock>,
    waiting: usize,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Stock {
    /// All up to here were delivered, are held by everyone, and forgotten.
    forgotten: u64,
    /// All up to here were received.
    received: u64,
    bytes: usize,
    kept: BTreeMap<u64, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entry {
    tag: Causes,
    payload: Payload,
    delivered: bool,
}

impl HoldBack {
    /// Nothing was received yet in this view of these members.
    pub fn new(group: GroupId, view: Epoch, members: Group) -> Self {
        let stocks = members.iter().map(|_| Stock::default()).collect();
        Self { group, view, members, stocks, waiting: 0 }
    }

    /// The members whose messages these are.
    pub const fn members(&self) -> &Group {
        &self.members
    }

    /// The name of a sender's message with this number.
    pub const fn id(&self, sender: NodeId, number: u64) -> MessageId {
        MessageId { group: self.group, view: self.view, sender, number }
    }

    fn stock(&self, sender: NodeId) -> Option<&Stock> {
        self.stocks.get(self.members.place_of(sender)?)
    }

    fn stock_mut(&mut self, sender: NodeId) -> Option<&mut Stock> {
        self.stocks.get_mut(self.members.place_of(sender)?)
    }

    fn entry(&self, id: MessageId) -> Option<&Entry> {
        if (id.group, id.view) != (self.group, self.view) {
            return None;
        }
        self.stock(id.sender)?.kept.get(&id.number)
    }

    /// Takes a message in, if it is of this view, by a member, and not here already. Says whether it did.
    pub fn receive(&mut self, id: MessageId, tag: Causes, payload: Payload) -> bool {
        if (id.group, id.view) != (self.group, self.view) || id.number == 0 {
            return false;
        }
        let Some(stock) = self.stock_mut(id.sender) else { return false };
        if id.number <= stock.forgotten || stock.kept.contains_key(&id.number) {
            return false;
        }
        stock.bytes = stock.bytes.saturating_add(payload.len());
        stock.kept.insert(id.number, Entry { tag, payload, delivered: false });
        while stock.kept.contains_key(&(stock.received + 1)) {
            stock.received += 1;
        }
        self.waiting += 1;
        true
    }

    /// Whether it was received, whatever became of it since.
    pub fn has(&self, id: MessageId) -> bool {
        self.entry(id).is_some()
            || ((id.group, id.view) == (self.group, self.view)
                && self.stock(id.sender).is_some_and(|stock| id.number <= stock.forgotten))
    }

    /// Whether it was received and waits.
    pub fn waits(&self, id: MessageId) -> bool {
        self.entry(id).is_some_and(|entry| !entry.delivered)
    }

    /// Whether it was received and has left the queue for its user.
    pub fn is_delivered(&self, id: MessageId) -> bool {
        self.has(id) && !self.waits(id)
    }

    /// What came with it for its order, while it is kept.
    pub fn tag(&self, id: MessageId) -> Option<&Causes> {
        self.entry(id).map(|entry| &entry.tag)
    }

    /// What it says, while it is kept.
    pub fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.entry(id).map(|entry| &entry.payload)
    }

    /// It leaves the queue for its user. Says what it says, once.
    pub fn deliver(&mut self, id: MessageId) -> Option<Payload> {
        if !self.waits(id) {
            return None;
        }
        let entry = self.stock_mut(id.sender)?.kept.get_mut(&id.number)?;
        entry.delivered = true;
        let payload = entry.payload.clone();
        self.waiting -= 1;
        Some(payload)
    }

    /// How many were received and wait.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Those that were received and wait, by sender.
    pub fn queue(&self) -> impl Iterator<Item = MessageId> + '_ {
        self.kept().filter(|(_, _, delivered)| !delivered).map(|(id, _, _)| id)
    }

    /// All that is kept: its name, what came with it for its order, and whether it was delivered.
    pub fn kept(&self) -> impl Iterator<Item = (MessageId, &Causes, bool)> + '_ {
        self.members.iter().zip(&self.stocks).flat_map(move |(sender, stock)| {
            let name = move |number: u64| self.id(sender, number);
            stock.kept.iter().map(move |(number, entry)| (name(*number), &entry.tag, entry.delivered))
        })
    }

    /// Up to which message all of a sender's were received.
    pub fn received(&self, sender: NodeId) -> u64 {
        self.stock(sender).map_or(0, |stock| stock.received)
    }

    /// Up to which message all of a sender's are forgotten.
    pub fn forgotten(&self, sender: NodeId) -> u64 {
        self.stock(sender).map_or(0, |stock| stock.forgotten)
    }

    /// How many bytes of a sender's are kept.
    pub fn bytes(&self, sender: NodeId) -> usize {
        self.stock(sender).map_or(0, |stock| stock.bytes)
    }

    /// Forgets what was delivered of a sender's messages up to this one, which everyone holds. Says what it forgot.
    pub fn forget(&mut self, sender: NodeId, upto: u64) -> Vec<MessageId> {
        let Some(stock) = self.stock_mut(sender) else { return Vec::new() };
        let before = stock.forgotten;
        while stock.forgotten < upto {
            let number = stock.forgotten + 1;
            if !stock.kept.get(&number).is_some_and(|entry| entry.delivered) {
                break;
            }
            let gone = stock.kept.remove(&number).map_or(0, |entry| entry.payload.len());
            stock.bytes = stock.bytes.saturating_sub(gone);
            stock.forgotten = number;
        }
        let after = stock.forgotten;
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

    fn queue() -> (HoldBack, impl Fn(u64) -> MessageId) {
        let queue = HoldBack::new(GroupId::ONLY, View::FIRST, Group::of_size(2));
        let sender = NodeId::from_index(0);
        (queue, move |number| MessageId { group: GroupId::ONLY, view: View::FIRST, sender, number })
    }

    #[test]
    fn a_message_is_received_once_delivered_once_and_forgotten_in_order() {
        let (mut queue, id) = queue();
        let says = Payload::from("x");
        assert!(queue.receive(id(2), Causes::none(), says.clone()));
        assert!(!queue.receive(id(2), Causes::none(), says.clone()), "a copy");
        assert_eq!((queue.received(id(1).sender), queue.waiting()), (0, 1));
        assert_eq!(queue.deliver(id(2)), Some(says.clone()));
        assert_eq!(queue.deliver(id(2)), None);
        assert!(queue.forget(id(1).sender, 2).is_empty(), "the first is missing");
        assert!(queue.receive(id(1), Causes::none(), says.clone()));
        assert_eq!(queue.received(id(1).sender), 2);
        assert!(queue.forget(id(1).sender, 2).is_empty(), "the first still waits");
        queue.deliver(id(1));
        assert_eq!(queue.forget(id(1).sender, 9), [id(1), id(2)]);
        assert!(!queue.receive(id(1), Causes::none(), says), "a late copy");
        assert!(queue.has(id(2)) && !queue.has(id(3)));
    }

    #[test]
    fn what_is_of_another_view_or_of_a_stranger_is_not_received() {
        let (mut queue, id) = queue();
        let later = MessageId { view: crate::group::Epoch(2), ..id(1) };
        let stranger = MessageId { sender: NodeId::from_index(7), ..id(1) };
        let other = MessageId { group: GroupId(3), ..id(1) };
        for id in [later, stranger, other, id(0)] {
            assert!(!queue.receive(id, Causes::none(), Payload::from("x")), "{id}");
        }
        assert_eq!(queue.queue().collect::<Vec<_>>(), []);
    }
}
