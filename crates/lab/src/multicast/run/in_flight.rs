//! Multicasts in flight: the members that still have to deliver them.
//!
//! A message whose `Sent` event was emitted is forgotten when every member of its view has
//! delivered it or cannot deliver it any more.

use quorate_core::multicast::{Event, GroupId, MessageId};
use quorate_core::{Duration, Epoch, Group, NodeId, Time, View};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub(super) struct InFlight {
    nodes: usize,
    /// Nodes that have been down. In groups without views they are not members any more.
    ever_down: BTreeSet<NodeId>,
    down_nodes: BTreeSet<NodeId>,
    /// Nodes that have left, though views may still contain them.
    left_nodes: BTreeSet<(GroupId, NodeId)>,
    /// For each view, the members that may still deliver its messages.
    members: BTreeMap<(GroupId, Epoch), BTreeSet<NodeId>>,
    messages: BTreeMap<MessageId, MessageState>,
    /// The number of the last message of each sender in each view for which a `Sent` event was
    /// emitted.
    last_confirmed: BTreeMap<(GroupId, Epoch, NodeId), u64>,
}

/// A message in flight.
#[derive(Clone, Debug)]
struct MessageState {
    sent_at: Time,
    /// Whether its `Sent` event was emitted.
    is_confirmed: bool,
    /// Whether all members will get it: its sender neither stopped nor was removed by the group,
    /// though it may have left voluntarily.
    will_reach_all: bool,
    /// The members that have delivered it.
    delivered_by: BTreeSet<NodeId>,
}

impl InFlight {
    pub(super) fn new(nodes: usize) -> Self {
        Self { nodes, ..Self::default() }
    }

    /// Sets the members of a group without views. By default all nodes are in every group.
    pub(super) fn set_members(&mut self, group: GroupId, members: &Group) {
        self.members.insert((group, View::FIRST), members.iter().collect());
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether some member still has to deliver a message whose sender is up or left voluntarily.
    /// With `include_lost_senders`, messages of senders that stopped or were removed count as well
    /// if a current member has delivered them, because then all members must.
    pub(super) fn has_pending(&self, include_lost_senders: bool) -> bool {
        let is_current_member = |id: &MessageId, node: &NodeId| {
            self.members.get(&(id.group, id.view)).is_some_and(|members| members.contains(node))
        };
        self.messages.iter().any(|(id, message)| {
            message.will_reach_all
                || (include_lost_senders && message.delivered_by.iter().any(|node| is_current_member(id, node)))
        })
    }

    /// Records an event. If it is the node's first delivery of a message, returns the time since
    /// the message was sent.
    pub(super) fn record_event(&mut self, time: Time, node: NodeId, event: &Event) -> Option<Duration> {
        match event {
            Event::Sent { id } => {
                self.message_mut(time, *id).is_confirmed = true;
                self.last_confirmed.insert((id.group, id.view, id.sender), id.number);
                self.forget_if_delivered(*id);
                None
            }
            Event::Delivered { id, .. } => self.record_delivery(time, node, *id),
            Event::View { group, view, .. } => {
                self.begin_view(node, *group, view);
                None
            }
            Event::Excluded { group } => {
                self.record_lost_sender(node, Some(*group));
                self.remove_member(node, Some(*group));
                None
            }
            Event::Left { group } => {
                self.left_nodes.insert((*group, node));
                self.remove_member(node, Some(*group));
                None
            }
            Event::Wait { .. } | Event::Ready { .. } | Event::Refused(_) => None,
        }
    }

    pub(super) fn node_stopped(&mut self, node: NodeId) {
        self.ever_down.insert(node);
        self.down_nodes.insert(node);
        self.record_lost_sender(node, None);
        self.remove_member(node, None);
    }

    pub(super) fn node_started(&mut self, node: NodeId) {
        self.down_nodes.remove(&node);
        self.left_nodes.retain(|(_, left)| *left != node);
    }

    /// Makes all nodes that were never down members of a group without views, unless its members
    /// were set.
    fn ensure_members(&mut self, group: GroupId) {
        let (nodes, ever_down) = (self.nodes, &self.ever_down);
        let members = || (0..nodes).map(NodeId::from_index).filter(|node| !ever_down.contains(node)).collect();
        self.members.entry((group, View::FIRST)).or_insert_with(members);
    }

    /// The state of a message, which the first use creates.
    fn message_mut(&mut self, time: Time, id: MessageId) -> &mut MessageState {
        self.ensure_members(id.group);
        let will_reach_all = !self.down_nodes.contains(&id.sender);
        let message =
            || MessageState { sent_at: time, is_confirmed: false, will_reach_all, delivered_by: BTreeSet::new() };
        self.messages.entry(id).or_insert_with(message)
    }

    fn record_delivery(&mut self, time: Time, node: NodeId, id: MessageId) -> Option<Duration> {
        // A sender may deliver its own message before its `Sent` event, in the same step. In
        // recordings of real processes, deliveries at other nodes may precede that event too. A
        // message up to the last confirmed number has been recorded before, and perhaps forgotten.
        if self.last_confirmed.get(&(id.group, id.view, id.sender)).is_none_or(|confirmed| id.number > *confirmed) {
            self.message_mut(time, id);
        }
        let message = self.messages.get_mut(&id)?;
        let delay = message.delivered_by.insert(node).then(|| time.since(message.sent_at));
        self.forget_if_delivered(id);
        delay
    }

    /// Forgets a message if its `Sent` event was emitted and all members have delivered it.
    fn forget_if_delivered(&mut self, id: MessageId) {
        let Some(message) = self.messages.get(&id).filter(|message| message.is_confirmed) else { return };
        let is_done = self.members.get(&(id.group, id.view)).is_none_or(|members| {
            message.delivered_by.len() >= members.len() && members.is_subset(&message.delivered_by)
        });
        if is_done {
            self.messages.remove(&id);
        }
    }

    /// Forgets every message that [`forget_if_delivered`](Self::forget_if_delivered) would forget,
    /// and views without members.
    fn forget_all_delivered(&mut self) {
        let ids: Vec<_> = self.messages.keys().copied().collect();
        ids.into_iter().for_each(|id| self.forget_if_delivered(id));
        // The first view stays even if empty, or `ensure_members` would fill it with members again.
        self.members.retain(|(_, view), members| *view == View::FIRST || !members.is_empty());
        let members = &self.members;
        self.last_confirmed.retain(|(group, view, _), _| members.contains_key(&(*group, *view)));
    }

    /// Records that a node begins a view: it delivers no more messages of earlier ones.
    fn begin_view(&mut self, node: NodeId, group: GroupId, view: &View) {
        for (_, members) in self.members.range_mut((group, Epoch(0))..(group, view.epoch())) {
            members.remove(&node);
        }
        let is_up = |node: &NodeId| !self.down_nodes.contains(node) && !self.left_nodes.contains(&(group, *node));
        let members_that_begin = || view.members().iter().filter(is_up).collect();
        self.members.entry((group, view.epoch())).or_insert_with(members_that_begin);
        self.forget_all_delivered();
    }

    /// Records that a sender was removed from `group`, or stopped: then `group` is `None`, and its
    /// messages in all groups are affected.
    fn record_lost_sender(&mut self, node: NodeId, group: Option<GroupId>) {
        let is_sent_by_node = |id: &MessageId| id.sender == node && group.is_none_or(|group| group == id.group);
        for (_, message) in self.messages.iter_mut().filter(|(id, _)| is_sent_by_node(id)) {
            message.will_reach_all = false;
        }
    }

    /// Removes a member of a group, or of all groups if `group` is `None`, from all views.
    fn remove_member(&mut self, node: NodeId, group: Option<GroupId>) {
        if let Some(group) = group {
            self.ensure_members(group);
        }
        for ((member_group, _), members) in &mut self.members {
            if group.is_none_or(|group| group == *member_group) {
                members.remove(&node);
            }
        }
        self.forget_all_delivered();
    }
}
