//! Judges the promises of ordered multicast over a run or a recording.
//!
//! This code sees only commands and events, so that it works for every algorithm. Its memory use
//! does not grow with the run: it forgets messages that every member of a view has delivered, and
//! views that all members have left.

use super::group_state::{GroupState, Node};
use super::message::Key;
use super::pending_requests::PendingRequests;
use super::promises::{Promises, Property};
use super::view_record::MemberState;
use super::violations::{self, Violations};
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload};
use quorate_core::{Duration, Group, Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_journal::property::Verdict;
use std::collections::BTreeMap;

/// Judges the promises of a multicast.
pub struct Properties {
    promised: Promises,
    watched: Promises,
    nodes: Vec<Node>,
    requests: Vec<PendingRequests>,
    groups: BTreeMap<GroupId, GroupState>,
    /// The members of a group without views, if not all nodes are.
    members: BTreeMap<GroupId, Group>,
    /// Messages that their senders delivered in the current step before the `Sent` event.
    unconfirmed: Vec<MessageId>,
    violations: Violations,
    contended: bool,
    /// Time that members of a view have to begin it after the first one did.
    grace: Duration,
    now: violations::Position,
}

impl Properties {
    pub fn new(nodes: usize, promised: Promises) -> Self {
        Self {
            promised,
            watched: promised,
            nodes: vec![Node::default(); nodes],
            requests: vec![PendingRequests::default(); nodes],
            groups: BTreeMap::new(),
            members: BTreeMap::new(),
            unconfirmed: Vec::new(),
            violations: Violations::new(promised, promised),
            contended: false,
            grace: Duration::ZERO,
            now: violations::Position { time: Time::ZERO, line: 0 },
        }
    }

    /// Also judges these properties, which are not promised: see [`Properties::verdict`] and
    /// [`Properties::violations`].
    #[must_use]
    pub fn watching(self, requested: Promises) -> Self {
        let judged: Vec<_> =
            Property::ALL.into_iter().filter(|one| self.promised.has(*one) || requested.has(*one)).collect();
        let watched = Promises { contention: self.promised.contention, ..Promises::of(&judged) };
        Self { watched, violations: Violations::new(self.promised, watched), ..self }
    }

    /// Sets the time that members have to begin the last view.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the members of a group without views. By default all nodes are in every group.
    #[must_use]
    pub fn among(mut self, group: GroupId, members: Group) -> Self {
        self.members.insert(group, members);
        self
    }

    /// Number of remembered multicasts, which some node may still have to deliver.
    pub fn held(&self) -> usize {
        self.groups.values().map(GroupState::held).sum()
    }

    /// Number of remembered causes of future messages.
    pub fn causes(&self) -> usize {
        self.groups.values().map(GroupState::causes).sum()
    }

    pub fn verdicts(&self) -> Vec<Verdict> {
        let found = self.all_violations();
        let promised = Property::ALL.into_iter().filter(|property| self.promised.has(*property));
        let mut verdicts: Vec<_> = promised.filter_map(|property| found.verdict(property)).collect();
        if self.promised.contention {
            let contended = self.contended || self.groups.values().any(GroupState::is_contended);
            verdicts.push(Verdict::sometimes("contended", contended));
        }
        verdicts
    }

    /// The verdict on one judged property, promised or not, as if the run ended here.
    pub fn verdict(&self, property: Property) -> Option<Verdict> {
        self.all_violations().verdict(property)
    }

    /// The verdicts on judged properties that are not promised, as if the run ended here.
    pub fn not_promised(&self) -> Vec<Verdict> {
        let found = self.all_violations();
        let other = Property::ALL.into_iter().filter(|property| !self.promised.has(*property));
        other.filter_map(|property| found.verdict(property)).collect()
    }

    /// Number of violations of a judged property, as if the run ended here: deliveries for orders
    /// and integrity, pairs of nodes for the total order, messages for the rest.
    pub fn violations(&self, property: Property) -> u64 {
        self.all_violations().count(property)
    }

    /// All violations, including those that only the end of the run shows.
    fn all_violations(&self) -> Violations {
        let mut violations = self.violations.clone();
        self.judge_unconfirmed(&mut violations);
        for group_state in self.groups.values() {
            group_state.judge_end(self.now, self.grace, &mut violations);
        }
        for (index, (node, asked)) in self.nodes.iter().zip(&self.requests).enumerate() {
            let id = NodeId::from_index(index);
            for (group, _) in self.groups.iter().filter(|(_, group_state)| node.is_up && group_state.is_in_view(id)) {
                if let Some(payload) = asked.oldest(*group) {
                    let text = || format!("node {id} received a request to send {payload}, but never answers");
                    violations.record(Property::Delivered, self.now, self.now.time, text);
                }
            }
        }
        violations
    }

    /// Reports deliveries without a `Sent` event in the same step.
    fn judge_unconfirmed(&self, violations: &mut Violations) {
        for id in &self.unconfirmed {
            let text = || format!("node {} delivers {id}, but does not report that it sent it", id.sender);
            violations.record(Property::Integrity, self.now, self.now.time, text);
        }
    }

    fn group_state(&mut self, group: GroupId) -> &mut GroupState {
        let (watched, nodes, members) = (self.watched, &self.nodes, &self.members);
        self.groups.entry(group).or_insert_with(|| GroupState::new(group, watched, nodes, members.get(&group)))
    }

    fn begin_step(&mut self) {
        if !self.unconfirmed.is_empty() {
            let mut violations = self.violations.clone();
            self.judge_unconfirmed(&mut violations);
            self.violations = violations;
            self.unconfirmed.clear();
        }
    }

    fn record_sent_event(&mut self, node: NodeId, id: MessageId) {
        let asked = self.requests.get_mut(node.index()).and_then(|asked| asked.answered(id.group));
        let now = self.now;
        let Some(asked) = asked else {
            let text = || format!("node {node} has sent {id} without a request");
            self.violations.record(Property::Integrity, now, now.time, text);
            // The message counts as sent, so that its deliveries are no violations.
            self.record_send(node, id, None);
            return;
        };
        if let Some(index) = self.unconfirmed.iter().position(|early| *early == id) {
            self.unconfirmed.swap_remove(index);
            let delivered = self.group_state(id.group).payload(id).cloned();
            if let Some(delivered) = delivered.filter(|delivered| *delivered != asked) {
                let text = || format!("node {node} delivers {id} as {delivered}, but it was sent as {asked}");
                self.violations.record(Property::Integrity, now, now.time, text);
            }
            return;
        }
        self.record_send(node, id, Some(asked));
    }

    fn record_send(&mut self, node: NodeId, id: MessageId, payload: Option<Payload>) {
        let now = self.now;
        if let Err(why) = self.group_state(id.group).record_send(now, node, id, payload) {
            self.violations.record(Property::Integrity, now, now.time, || {
                format!("node {node} sends a message with id {id}, {why}")
            });
        }
    }

    fn record_delivery(&mut self, node: NodeId, id: MessageId, payload: &Payload) {
        let now = self.now;
        if id.sender == node
            && !self.group_state(id.group).was_sent(id)
            && self.group_state(id.group).view_of(node) == Some(id.view)
        {
            self.record_send(node, id, Some(payload.clone()));
            self.unconfirmed.push(id);
        }
        self.group_state(id.group);
        let Some(group_state) = self.groups.get_mut(&id.group) else { return };
        group_state.record_delivery(now, node, (Key::of(id), id.view), payload, &mut self.violations);
    }

    fn record_event(&mut self, node: NodeId, event: &Event) {
        let now = self.now;
        match event {
            Event::Sent { id } => self.record_sent_event(node, *id),
            Event::Wait { group, .. } => {
                if let Some(asked) = self.requests.get_mut(node.index()) {
                    asked.answered(*group);
                }
            }
            Event::Refused(_) => {
                if let Some(asked) = self.requests.get_mut(node.index()) {
                    asked.refused();
                }
            }
            Event::Ready { .. } => {}
            Event::Delivered { id, payload } => self.record_delivery(node, *id, payload),
            Event::View { group, view, state } => {
                self.group_state(*group);
                let Some(group_state) = self.groups.get_mut(group) else { return };
                self.contended |= group_state.begin_view(now, node, (view, *state), &self.nodes, &mut self.violations);
            }
            Event::Out { group } | Event::Left { group } => {
                let how = if let Event::Left { .. } = event { MemberState::Left } else { MemberState::Gone };
                self.group_state(*group);
                let Some(group_state) = self.groups.get_mut(group) else { return };
                self.contended |= group_state.leave_view(now, node, how, &mut self.violations);
            }
        }
    }

    /// A node that starts again is another participant.
    fn node_started(&mut self, node: NodeId, incarnation: Incarnation) {
        if self.nodes.get(node.index()).is_some_and(|state| state.is_up && state.has_booted) {
            self.node_stopped(node, false);
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            (state.is_up, state.has_booted, state.incarnation) = (true, true, incarnation);
        }
    }

    /// Records that a node stopped: in an orderly way, or by a crash.
    fn node_stopped(&mut self, node: NodeId, in_order: bool) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        (state.is_up, state.has_died) = (false, true);
        if let Some(asked) = self.requests.get_mut(node.index()) {
            asked.clear();
        }
        for group_state in self.groups.values_mut() {
            self.contended |= group_state.node_stopped(self.now, node, in_order, &mut self.violations);
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.now.time = moment.time();
        match moment {
            Moment::Input { node, input, .. } => {
                self.now.line += 1;
                self.begin_step();
                if let Some(asked) = self.requests.get_mut(node.index()) {
                    asked.step();
                    if let ObservedInput::Command(command) = input {
                        asked.push(command);
                    }
                }
                if let ObservedInput::Start { incarnation, .. } = input {
                    self.node_started(*node, *incarnation);
                }
            }
            Moment::World { event, .. } => {
                self.now.line += 1;
                self.begin_step();
                if let WorldEvent::Crashed { node, .. } | WorldEvent::Ended { node } = event {
                    self.node_stopped(*node, matches!(event, WorldEvent::Ended { .. }));
                }
            }
            Moment::Effect { node, effect: ObservedEffect::Emit(event), .. } if node.index() < self.nodes.len() => {
                self.record_event(*node, event);
            }
            Moment::Effect { .. } => {}
        }
    }
}
