//! One view of a group, as one member lives it.

use super::super::{AnyOrdering, Begin, Causes, GroupId, HoldBack, MessageId, Notes, Payload, Plan, Told};
use crate::group::Group;
use crate::node::NodeId;
use crate::view::View;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

/// All that a member knows of one view's messages. A new view begins with a new chapter, so that nothing lost in an old one, message
/// or credit, can matter in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Chapter {
    pub(super) view: View,
    pub(super) order: AnyOrdering,
    pub(super) queue: HoldBack,
    pub(super) told: Told,
    pub(super) sent: u64,
    /// Of each member, how many messages its user was told of here.
    pub(super) heard: Vec<u64>,
    /// Of each member, up to which message we hold all, know their places, and have room for more.
    pub(super) ripe: Vec<u64>,
    /// What of that we told the others last.
    pub(super) announced: Vec<u64>,
    /// Up to which message those who leave want to know that we hold theirs.
    pub(super) owed: BTreeMap<NodeId, u64>,
}

impl Chapter {
    pub(super) fn new(plan: &Plan, me: NodeId, view: View, begin: Begin) -> Self {
        let members = view.members().clone();
        let none = vec![0; members.len()];
        Self {
            order: begin(plan, me, &members),
            queue: HoldBack::new(plan.id, view.epoch(), members.clone()),
            told: Told::nothing(&members),
            view,
            sent: 0,
            heard: none.clone(),
            ripe: none.clone(),
            announced: none,
            owed: BTreeMap::new(),
        }
    }

    pub(super) const fn members(&self) -> &Group {
        self.view.members()
    }

    /// Whether all members hold this and know its place.
    pub(super) fn is_stable(&self, id: MessageId) -> bool {
        id.number <= self.told.by_all(self.members(), id.sender)
    }

    /// How many of our messages, and how many bytes, not everyone holds.
    pub(super) fn under_way(&self, me: NodeId) -> (u64, usize) {
        let messages = self.sent.saturating_sub(self.told.by_all(self.members(), me));
        (messages, if messages == 0 { 0 } else { self.queue.bytes(me) })
    }

    pub(super) fn hear(&mut self, id: MessageId) {
        if id.view == self.view.epoch()
            && let Some(heard) = self.members().place_of(id.sender).and_then(|place| self.heard.get_mut(place))
        {
            *heard += 1;
        }
    }

    /// How many of a member's messages the user was told of.
    pub(super) fn heard_of(&self, sender: NodeId) -> u64 {
        self.members().place_of(sender).and_then(|place| self.heard.get(place)).copied().unwrap_or(0)
    }

    /// Counts what has become ripe. At most `room` messages of a sender are held that the user was not told of, so that a member whose
    /// user is slow, or has no state yet, slows the senders down. Says whether there is anything new.
    pub(super) fn ripen(&mut self, me: NodeId, room: u64, is_firm: bool) -> bool {
        let mut is_new = false;
        // What is next for everyone must not wait for room: nothing else makes any, unless a state is on its way.
        let head = self.order.next(&self.queue).filter(|_| is_firm);
        for (place, sender) in self.members().clone().iter().enumerate() {
            let most = self.heard.get(place).copied().unwrap_or(0).saturating_add(room);
            let most = head.filter(|head| head.sender == sender).map_or(most, |head| most.max(head.number));
            let Some(ripe) = self.ripe.get_mut(place) else { continue };
            while *ripe < most {
                let id = self.queue.id(sender, *ripe + 1);
                if !self.queue.has(id) || !self.order.is_placed(id) {
                    break;
                }
                *ripe += 1;
                is_new = true;
            }
        }
        if is_new {
            self.told.hear(self.view.members(), me, &self.ripe);
        }
        is_new
    }

    pub(super) fn forget(&mut self) {
        for sender in self.members().clone().iter() {
            let upto = self.told.by_all(self.members(), sender);
            for id in self.queue.forget(sender, upto) {
                self.order.forget(id);
            }
        }
    }

    /// Whether so many messages have become ripe, or so many bytes are kept, that the others should know, or somebody who leaves waits
    /// for it.
    pub(super) fn has_news(&self, after: u64, bytes: usize) -> bool {
        let mut counts = self.ripe.iter().zip(&self.announced).zip(self.members().iter());
        let news = counts.any(|((ripe, told), sender)| {
            let new = ripe.saturating_sub(*told);
            new >= after || (new > 0 && self.queue.bytes(sender) >= bytes)
        });
        news || self.owed.iter().any(|(sender, upto)| self.ripe_of(*sender) >= *upto)
    }

    pub(super) fn announce(&mut self) -> Vec<u64> {
        self.announced.clone_from(&self.ripe);
        let ripe: BTreeMap<_, _> = self.owed.keys().map(|sender| (*sender, self.ripe_of(*sender))).collect();
        self.owed.retain(|sender, upto| ripe.get(sender).is_none_or(|ripe| ripe < upto));
        self.ripe.clone()
    }

    fn ripe_of(&self, sender: NodeId) -> u64 {
        self.members().place_of(sender).and_then(|place| self.ripe.get(place)).copied().unwrap_or(0)
    }

    /// What the others are told when the view ends.
    pub(super) fn report(&self) -> Holdings {
        Holdings {
            held: self.queue.kept().map(|(id, tag, _)| (id, tag.clone())).collect(),
            floor: self.members().iter().map(|sender| (sender, self.queue.forgotten(sender))).collect(),
            notes: self.order.notes(),
            view: self.view.epoch(),
        }
    }

    pub(super) fn next_id(&mut self, group: GroupId, me: NodeId) -> MessageId {
        self.sent += 1;
        MessageId { group, view: self.view.epoch(), sender: me, number: self.sent }
    }

    /// One that was settled leaves the queue, if it has not yet.
    pub(super) fn release(&mut self, id: MessageId) -> Option<Payload> {
        let payload = self.queue.deliver(id)?;
        self.order.delivered(id, &self.queue);
        Some(payload)
    }
}

/// What a member holds of a view's messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Holdings {
    pub view: crate::group::Epoch,
    #[cfg_attr(feature = "serde", serde(with = "crate::pairs"))]
    pub held: BTreeMap<MessageId, Causes>,
    /// Up to which message of each sender everyone holds all.
    pub floor: BTreeMap<NodeId, u64>,
    pub notes: Notes,
}

impl Holdings {
    /// Whether it has this one, kept or forgotten because everyone has it.
    pub(super) fn has(&self, id: MessageId) -> bool {
        self.held.contains_key(&id) || self.floor.get(&id.sender).is_some_and(|floor| id.number <= *floor)
    }
}
