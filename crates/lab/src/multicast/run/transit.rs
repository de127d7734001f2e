//! Multicasts under way: who has still to deliver them.
//!
//! What is remembered of a message is forgotten when every member of its view has delivered it, or can no more.

use quorate_core::multicast::{Event, GroupId, MessageId};
use quorate_core::{Duration, Epoch, Group, NodeId, Time, View};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(super) struct Transit {
    nodes: usize,
    /// Those who have been down. Where there are no views they are no members any more.
    dead: BTreeSet<NodeId>,
    down: BTreeSet<NodeId>,
    /// Those who have left, though views may still have them.
    left: BTreeSet<(GroupId, NodeId)>,
    members: BTreeMap<(GroupId, Epoch), BTreeSet<NodeId>>,
    messages: BTreeMap<MessageId, Letter>,
    /// The last message of each sender in each view that was told to be sent.
    told: BTreeMap<(GroupId, Epoch, NodeId), u64>,
}

#[derive(Clone, Debug)]
struct Letter {
    sent: Time,
    is_told: bool,
    /// Its sender is there, or left in good order: then everyone gets it.
    is_safe: bool,
    by: BTreeSet<NodeId>,
}

impl Transit {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes, ..Self::default() }
    }

    pub(super) fn among(&mut self, group: GroupId, members: &Group) {
        self.members.insert((group, View::FIRST), members.iter().collect());
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether somebody has still to deliver something: what one sent who is there, or left in good order; and, if the dead are to be
    /// honoured, what they sent and one who is there has delivered.
    pub(super) fn is_owed(&self, honours_the_dead: bool) -> bool {
        let is_there = |id: &MessageId, node: &NodeId| {
            self.members.get(&(id.group, id.view)).is_some_and(|members| members.contains(node))
        };
        self.messages
            .iter()
            .any(|(id, letter)| letter.is_safe || (honours_the_dead && letter.by.iter().any(|node| is_there(id, node))))
    }

    /// A node told its user something. If that was a delivery, tells how long the message took.
    pub(super) fn told(&mut self, time: Time, node: NodeId, event: &Event) -> Option<Duration> {
        match event {
            Event::Sent { id } => {
                self.letter(time, *id).is_told = true;
                self.told.insert((id.group, id.view, id.sender), id.number);
                self.forget(*id);
                None
            }
            Event::Delivered { id, .. } => self.delivers(time, node, *id),
            Event::View { group, view, .. } => {
                self.begins(node, *group, view);
                None
            }
            Event::Out { group } => {
                self.disown(node, Some(*group));
                self.quits(node, Some(*group));
                None
            }
            Event::Left { group } => {
                self.left.insert((*group, node));
                self.quits(node, Some(*group));
                None
            }
            Event::Wait { .. } | Event::Ready { .. } | Event::Refused(_) => None,
        }
    }

    pub(super) fn dies(&mut self, node: NodeId) {
        self.dead.insert(node);
        self.down.insert(node);
        self.disown(node, None);
        self.quits(node, None);
    }

    pub(super) fn boots(&mut self, node: NodeId) {
        self.down.remove(&node);
        self.left.retain(|(_, left)| *left != node);
    }

    /// In a group that has no views, everyone is in its only one who was never down.
    fn found(&mut self, group: GroupId) {
        let (nodes, dead) = (self.nodes, &self.dead);
        let members = || (0..nodes).map(NodeId::from_index).filter(|node| !dead.contains(node)).collect();
        self.members.entry((group, View::FIRST)).or_insert_with(members);
    }

    fn letter(&mut self, time: Time, id: MessageId) -> &mut Letter {
        self.found(id.group);
        let is_safe = !self.down.contains(&id.sender);
        let letter = || Letter { sent: time, is_told: false, is_safe, by: BTreeSet::new() };
        self.messages.entry(id).or_insert_with(letter)
    }

    fn delivers(&mut self, time: Time, node: NodeId, id: MessageId) -> Option<Duration> {
        // A sender may deliver its own message before it tells that it has sent it, in the same step. Of real processes any one may be heard
        // of first.
        if self.told.get(&(id.group, id.view, id.sender)).is_none_or(|told| id.number > *told) {
            self.letter(time, id);
        }
        let letter = self.messages.get_mut(&id)?;
        let delay = letter.by.insert(node).then(|| time.since(letter.sent));
        self.forget(id);
        delay
    }

    fn forget(&mut self, id: MessageId) {
        let Some(letter) = self.messages.get(&id).filter(|letter| letter.is_told) else { return };
        let is_done = self
            .members
            .get(&(id.group, id.view))
            .is_none_or(|members| letter.by.len() >= members.len() && members.is_subset(&letter.by));
        if is_done {
            self.messages.remove(&id);
        }
    }

    fn forget_all(&mut self) {
        let ids: Vec<_> = self.messages.keys().copied().collect();
        ids.into_iter().for_each(|id| self.forget(id));
        self.members.retain(|(_, view), members| *view == View::FIRST || !members.is_empty());
        let members = &self.members;
        self.told.retain(|(group, view, _), _| members.contains_key(&(*group, *view)));
    }

    fn begins(&mut self, node: NodeId, group: GroupId, view: &View) {
        for (_, members) in self.members.range_mut((group, Epoch(0))..(group, view.epoch())) {
            members.remove(&node);
        }
        let is_up = |node: &NodeId| !self.down.contains(node) && !self.left.contains(&(group, *node));
        let begins = || view.members().iter().filter(is_up).collect();
        self.members.entry((group, view.epoch())).or_insert_with(begins);
        self.forget_all();
    }

    fn disown(&mut self, node: NodeId, group: Option<GroupId>) {
        let is_its = |id: &MessageId| id.sender == node && group.is_none_or(|group| group == id.group);
        for (_, letter) in self.messages.iter_mut().filter(|(id, _)| is_its(id)) {
            letter.is_safe = false;
        }
    }

    fn quits(&mut self, node: NodeId, group: Option<GroupId>) {
        if let Some(group) = group {
            self.found(group);
        }
        for ((of, _), members) in &mut self.members {
            if group.is_none_or(|group| group == *of) {
                members.remove(&node);
            }
        }
        self.forget_all();
    }
}
