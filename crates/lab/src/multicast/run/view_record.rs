//! The record of one view of one group: its members, the messages sent, and the deliveries of each
//! member.
//!
//! The record forgets a message when every member has delivered it, apart from members that
//! crashed, stopped, left or were removed. It keeps the message's number, but the numbers form few
//! contiguous ranges, so the memory use of a view does not grow with its messages.

use super::message::{Message, MessageKey};
use super::numbers::Numbers;
use super::order::{Conflict, Order};
use super::property_set::{Property, PropertySet};
use super::violations::{Position, Violations};
use quorate_core::multicast::{GroupId, Payload};
use quorate_core::{Epoch, Group, NodeId};
use std::collections::BTreeMap;

/// The state of a node in one view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemberState {
    /// Not a member, or not any more: it crashed, was removed, or will never begin the view.
    Gone,
    /// A member that has not begun the view yet.
    Awaited,
    InView,
    /// It has begun this later view.
    MovedTo(Epoch),
    /// It left voluntarily.
    Left,
    /// Its process was stopped in an orderly way.
    Ended,
}

impl MemberState {
    /// Whether the node may still deliver messages in the view.
    const fn can_deliver(self) -> bool {
        matches!(self, Self::Awaited | Self::InView)
    }

    /// Whether a message must be remembered until the node delivers it.
    const fn must_deliver(self) -> bool {
        matches!(self, Self::Awaited | Self::InView | Self::MovedTo(_))
    }
}

/// The activity of one node in the view.
#[derive(Clone, Debug)]
struct Member {
    state: MemberState,
    /// For each sender, the delivered messages.
    delivered: Vec<Numbers>,
    /// Messages that the node delivered since its last send: with `last_sent`, the causes of the
    /// next message that it sends. Empty unless causal order is judged.
    next_causes: Vec<MessageKey>,
    last_sent: Option<u64>,
}

/// The record of one view.
#[derive(Clone, Debug)]
pub(super) struct ViewRecord {
    group: GroupId,
    view: Epoch,
    judged: PropertySet,
    members: Vec<Member>,
    /// For each sender, the numbers of its messages.
    sent: Vec<Numbers>,
    messages: BTreeMap<MessageKey, Message>,
    order: Order,
    /// Whether messages of two senders were in flight at the same time.
    pub(super) is_contended: bool,
}

impl ViewRecord {
    pub(super) fn new(group: GroupId, view: Epoch, judged: PropertySet, states: Vec<MemberState>) -> Self {
        let nodes = states.len();
        let member = |state| Member { state, delivered: Vec::new(), next_causes: Vec::new(), last_sent: None };
        Self {
            group,
            view,
            judged,
            members: states.into_iter().map(member).collect(),
            sent: vec![Numbers::default(); nodes],
            messages: BTreeMap::new(),
            order: Order::new(if judged.total { nodes } else { 0 }),
            is_contended: false,
        }
    }

    pub(super) fn state(&self, node: NodeId) -> MemberState {
        self.members.get(node.index()).map_or(MemberState::Gone, |member| member.state)
    }

    pub(super) fn is_open(&self) -> bool {
        self.members.iter().any(|member| member.state.can_deliver())
    }

    pub(super) fn awaited_members(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members_that(|state| state == MemberState::Awaited)
    }

    pub(super) fn current_members(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members_that(|state| state == MemberState::InView)
    }

    fn members_that(&self, matches: impl Fn(MemberState) -> bool) -> impl Iterator<Item = NodeId> {
        self.members
            .iter()
            .enumerate()
            .filter(move |(_, member)| matches(member.state))
            .map(|(index, _)| NodeId::from_index(index))
    }

    pub(super) fn remembered_messages(&self) -> usize {
        self.messages.len()
    }

    /// Number of remembered causes of future messages.
    pub(super) fn remembered_causes(&self) -> usize {
        self.members.iter().map(|member| member.next_causes.len()).sum()
    }

    /// Changes the state of a node, and forgets the messages that only this node still had to
    /// deliver if it need not do so any more.
    pub(super) fn set_state(&mut self, node: NodeId, state: MemberState) {
        let Some(member) = self.members.get_mut(node.index()) else { return };
        let before = std::mem::replace(&mut member.state, state);
        for (key, message) in self.messages.iter_mut().filter(|_| before.must_deliver() != state.must_deliver()) {
            if !has_number(&member.delivered, *key) {
                message.undelivered =
                    if state.must_deliver() { message.undelivered + 1 } else { message.undelivered.saturating_sub(1) };
            }
        }
        if state == MemberState::Gone {
            // A later incarnation of the node is another participant, and has delivered nothing.
            (member.delivered, member.next_causes) = (Vec::new(), Vec::new());
        }
        let order = &mut self.order;
        self.messages.retain(|key, message| {
            if message.undelivered == 0 {
                order.forget(*key, message);
            }
            message.undelivered > 0
        });
    }

    /// Ends the stay of a node: a node in the view gets `end_state`, and one that has not begun the
    /// view is gone.
    pub(super) fn end_stay(&mut self, node: NodeId, end_state: MemberState) {
        match self.state(node) {
            MemberState::InView => self.set_state(node, end_state),
            MemberState::Awaited | MemberState::Gone => self.set_state(node, MemberState::Gone),
            MemberState::MovedTo(_) | MemberState::Left | MemberState::Ended => {}
        }
    }

    /// Whether nothing was sent in the view.
    pub(super) fn is_blank(&self) -> bool {
        self.sent.iter().all(|numbers| *numbers == Numbers::default())
    }

    pub(super) fn was_sent(&self, key: MessageKey) -> bool {
        has_number(&self.sent, key)
    }

    /// Records a send. Returns `false` if the message id is already used, or the sender is no node
    /// of the run.
    pub(super) fn record_send(&mut self, at: Position, key: MessageKey, payload: Option<Payload>) -> bool {
        if !insert_number(&mut self.sent, key) {
            return false;
        }
        let undelivered = self.members.iter().filter(|member| member.state.must_deliver()).count();
        let Some(member) = self.members.get_mut(key.sender.index()) else { return false };
        let mut causes = std::mem::take(&mut member.next_causes);
        causes.extend(member.last_sent.replace(key.number).map(|number| MessageKey { number, ..key }));
        if !self.judged.causal {
            causes.clear();
        }
        self.is_contended = self.is_contended || self.messages.keys().any(|other| other.sender != key.sender);
        if undelivered > 0 {
            let sent_at = at.time;
            let message = Message {
                payload,
                sent_at,
                causes,
                undelivered,
                first_receiver: None,
                ordinal: None,
                deliveries: Vec::new(),
            };
            self.messages.insert(key, message);
        }
        true
    }

    pub(super) fn payload(&self, key: MessageKey) -> Option<&Payload> {
        self.messages.get(&key)?.payload.as_ref()
    }

    /// Records a delivery, and checks integrity and order.
    pub(super) fn record_delivery(
        &mut self,
        at: Position,
        node: NodeId,
        key: MessageKey,
        payload: &Payload,
        violations: &mut Violations,
    ) {
        let id = key.in_view(self.group, self.view);
        let Some(member) = self.members.get_mut(node.index()) else { return };
        let is_next = has_all_below(&member.delivered, key);
        let relevant_from = self.messages.get(&key).map_or(at.time, |message| message.sent_at);
        if !insert_number(&mut member.delivered, key) {
            violations.record(Property::Integrity, at, relevant_from, || format!("node {node} delivers {id} twice"));
            return;
        }
        if let Some(sent) = self.messages.get(&key).and_then(|message| message.payload.as_ref())
            && sent != payload
        {
            let text = || format!("node {node} delivers {id} as {payload}, but it was sent as {sent}");
            violations.record(Property::Integrity, at, relevant_from, text);
        }
        // Only integrity is judged of a node outside the view, such as a restarted one in a group
        // without views.
        if member.state != MemberState::InView {
            return;
        }
        if !is_next {
            let text = || format!("node {node} delivers {id} before an earlier message of node {}", key.sender);
            violations.record(Property::Fifo, at, relevant_from, text);
        }
        if self.judged.causal {
            let causes = self.messages.get(&key).map_or(&[][..], |message| &message.causes);
            if let Some(cause) = causes.iter().find(|cause| !has_number(&member.delivered, **cause)) {
                let relevant_from = self.messages.get(cause).map_or(relevant_from, |cause| cause.sent_at);
                let cause = cause.in_view(self.group, self.view);
                let text = || format!("node {node} delivers {id} before {cause}, which happened before it");
                violations.record(Property::Causal, at, relevant_from, text);
            }
            member.next_causes.push(key);
            // A node that only receives would accumulate causes. No member still has to deliver a
            // forgotten message, so it is not needed as a cause. The bound keeps clean-ups rare.
            if member.next_causes.len() > 2 * self.messages.len() + 64 {
                member.next_causes.retain(|key| self.messages.contains_key(key));
            }
        }
        self.finish_delivery(at, node, key, violations);
    }

    /// Checks the total order, and forgets the message if no member still has to deliver it.
    fn finish_delivery(&mut self, at: Position, node: NodeId, key: MessageKey, violations: &mut Violations) {
        if self.judged.total {
            let new_conflicts = self.order.record_delivery((at.time, at.line), node, key, &mut self.messages);
            // With uniform delivery, a conflict counts even if one of its nodes crashes later.
            // Otherwise `judge` decides at the end of the view or of the run.
            let is_uniform = violations.is_uniform();
            for conflict in new_conflicts.iter().filter(|_| is_uniform) {
                self.record_conflict(conflict, violations);
            }
        }
        let Some(message) = self.messages.get_mut(&key) else { return };
        message.first_receiver = message.first_receiver.or(Some(node));
        message.undelivered = message.undelivered.saturating_sub(1);
        if message.undelivered == 0
            && let Some(message) = self.messages.remove(&key)
        {
            self.order.forget(key, &message);
        }
    }

    fn record_conflict(&self, conflict: &Conflict, violations: &mut Violations) {
        let Conflict { time, line, later, earlier, node, other } = conflict;
        let relevant_from = self.messages.get(later).map_or(*time, |message| message.sent_at);
        let (first, second) = (earlier.in_view(self.group, self.view), later.in_view(self.group, self.view));
        let text = || {
            format!("node {node} delivers {first} before {second}, but node {other} delivers {second} before {first}")
        };
        violations.record(Property::Total, Position { time: *time, line: *line }, relevant_from, text);
    }

    /// Checks that a node that begins `later_view` has delivered the same messages of this view as
    /// another member that has begun `later_view` before.
    pub(super) fn check_transition(&self, at: Position, node: NodeId, later_view: Epoch, violations: &mut Violations) {
        let moves_together = |state| state == MemberState::MovedTo(later_view);
        let Some(other) = self.members_that(moves_together).find(|other| *other != node) else { return };
        let has_delivered =
            |node: NodeId, key| self.members.get(node.index()).is_some_and(|member| has_number(&member.delivered, key));
        let Some((key, message)) =
            self.messages.iter().find(|(key, _)| has_delivered(node, **key) != has_delivered(other, **key))
        else {
            return;
        };
        let (receiver, other_member) = if has_delivered(node, *key) { (node, other) } else { (other, node) };
        let id = key.in_view(self.group, self.view);
        let view = self.view;
        violations.record(Property::ViewSynchrony, at, message.sent_at, || {
            format!(
                "nodes {receiver} and {other_member} move together from view {view} to view {later_view}, but only node {receiver} has \
                 delivered {id}"
            )
        });
    }

    /// Judges the final deliveries: no member is in the view any more, or the run has ended while
    /// `current_members` are still in the view.
    pub(super) fn judge(&self, at: Position, current_members: &Group, violations: &mut Violations) {
        let survives = |node: NodeId| match self.state(node) {
            MemberState::MovedTo(_) => true,
            MemberState::InView => current_members.contains(node),
            MemberState::Gone | MemberState::Awaited | MemberState::Left | MemberState::Ended => false,
        };
        if !violations.is_uniform() {
            let is_judged = |node: NodeId| survives(node) || self.state(node) == MemberState::Ended;
            for conflict in self.order.conflicts().filter(|found| is_judged(found.node) && is_judged(found.other)) {
                self.record_conflict(conflict, violations);
            }
        }
        let nodes = (0..self.members.len()).map(NodeId::from_index);
        let survivors: Vec<_> = nodes.filter(|node| survives(*node)).collect();
        for (key, message) in &self.messages {
            self.judge_message(at, *key, message, &survivors, violations);
        }
    }

    fn judge_message(
        &self,
        at: Position,
        key: MessageKey,
        message: &Message,
        survivors: &[NodeId],
        violations: &mut Violations,
    ) {
        let has_delivered =
            |node: &NodeId| self.members.get(node.index()).is_some_and(|member| has_number(&member.delivered, key));
        let Some(lagging_node) = survivors.iter().find(|node| !has_delivered(node)) else { return };
        let (id, sender) = (key.in_view(self.group, self.view), key.sender);
        let mut record = |property, text: &dyn Fn() -> String| violations.record(property, at, message.sent_at, text);
        if let Some(other) = survivors.iter().find(|node| has_delivered(node)) {
            record(Property::Agreement, &|| {
                format!("node {other} has delivered {id}, but node {lagging_node} never does")
            });
        }
        if let Some(first) = message.first_receiver {
            record(Property::Uniform, &|| {
                format!("node {first} has delivered {id}, but node {lagging_node} never does")
            });
        }
        if survivors.contains(&sender) && !has_delivered(&sender) {
            record(Property::Validity, &|| format!("node {sender} has sent {id}, but never delivers it itself"));
        }
        if survivors.contains(&sender) || self.state(sender) == MemberState::Left {
            record(Property::Delivered, &|| {
                format!("node {sender} has sent {id}, but node {lagging_node} never delivers it")
            });
        }
    }
}

fn has_number(numbers: &[Numbers], key: MessageKey) -> bool {
    numbers.get(key.sender.index()).is_some_and(|numbers| numbers.contains(key.number))
}

fn has_all_below(numbers: &[Numbers], key: MessageKey) -> bool {
    match numbers.get(key.sender.index()) {
        Some(numbers) => numbers.has_all_below(key.number),
        None => key.number <= 1,
    }
}

/// Inserts the number. Returns `false` if it was present. The sender must be a node of the run,
/// because the vector grows up to its index.
fn insert_number(numbers: &mut Vec<Numbers>, key: MessageKey) -> bool {
    if numbers.len() <= key.sender.index() {
        numbers.resize(key.sender.index() + 1, Numbers::default());
    }
    numbers.get_mut(key.sender.index()).is_some_and(|numbers| numbers.insert(key.number))
}
