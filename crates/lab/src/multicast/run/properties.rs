//! Judges the properties of ordered multicast, promised or not, over a run or a recording.
//!
//! This code sees only commands and events, so it works for every algorithm. Its memory use
//! does not grow with the run: it forgets messages that every member of a view has delivered, and
//! views that all members have left.

use super::group_state::{GroupState, NodeStatus};
use super::message::MessageKey;
use super::pending_requests::PendingRequests;
use super::property_set::{Property, PropertySet};
use super::view_record::MemberState;
use super::violations::{Position, Violations};
use quorate_core::multicast::{Command, Event, GroupId, MessageId, Payload};
use quorate_core::{Duration, Group, Incarnation, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, ObservedInput, Observer, WorldEvent};
use quorate_journal::property::Verdict;
use std::collections::BTreeMap;

/// Judges the properties that a multicast promises, and others on request.
pub struct Properties {
    promised: PropertySet,
    /// The promised properties, and those that [`Properties::also_judging`] adds.
    judged: PropertySet,
    nodes: Vec<NodeStatus>,
    /// The unanswered send requests of each node.
    requests: Vec<PendingRequests>,
    groups: BTreeMap<GroupId, GroupState>,
    /// The members of a group without views, if not all nodes are.
    members: BTreeMap<GroupId, Group>,
    /// Messages that their senders delivered in the current step before the `Sent` event.
    unconfirmed_deliveries: Vec<MessageId>,
    violations: Violations,
    /// Whether messages of two senders were in flight at once in a closed view.
    is_contended: bool,
    /// Time that members of a view have to begin it after the first member did.
    grace: Duration,
    /// The time and line of the latest moment.
    position: Position,
}

impl Properties {
    pub fn new(nodes: usize, promised: PropertySet) -> Self {
        Self {
            promised,
            judged: promised,
            nodes: vec![NodeStatus::default(); nodes],
            requests: vec![PendingRequests::default(); nodes],
            groups: BTreeMap::new(),
            members: BTreeMap::new(),
            unconfirmed_deliveries: Vec::new(),
            violations: Violations::new(promised, promised),
            is_contended: false,
            grace: Duration::ZERO,
            position: Position { time: Time::ZERO, line: 0 },
        }
    }

    /// Also judges these properties, even if they are not promised: see [`Properties::verdict`] and
    /// [`Properties::violation_count`].
    #[must_use]
    pub fn also_judging(self, requested: PropertySet) -> Self {
        let properties: Vec<_> = Property::ALL
            .into_iter()
            .filter(|property| self.promised.contains(*property) || requested.contains(*property))
            .collect();
        let judged = PropertySet {
            expects_contention: self.promised.expects_contention,
            ..PropertySet::from_slice(&properties)
        };
        Self { judged, violations: Violations::new(self.promised, judged), ..self }
    }

    /// Sets the time that members of a view have to begin it after the first member did. By default
    /// it is zero.
    #[must_use]
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets the members of a group without views. By default all nodes are in every group.
    #[must_use]
    pub fn with_members(mut self, group: GroupId, members: Group) -> Self {
        self.members.insert(group, members);
        self
    }

    /// Number of remembered multicasts, which some node may still have to deliver.
    pub fn remembered_messages(&self) -> usize {
        self.groups.values().map(GroupState::remembered_messages).sum()
    }

    /// Number of remembered causes of future messages.
    pub fn remembered_causes(&self) -> usize {
        self.groups.values().map(GroupState::remembered_causes).sum()
    }

    /// The verdicts on the promised properties, as if the run ended here.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let violations = self.all_violations();
        let promised = Property::ALL.into_iter().filter(|property| self.promised.contains(*property));
        let mut verdicts: Vec<_> = promised.filter_map(|property| violations.verdict(property)).collect();
        if self.promised.expects_contention {
            let contended = self.is_contended || self.groups.values().any(GroupState::is_contended);
            verdicts.push(Verdict::sometimes("contended", contended));
        }
        verdicts
    }

    /// The verdict on one judged property, promised or not, as if the run ended here.
    pub fn verdict(&self, property: Property) -> Option<Verdict> {
        self.all_violations().verdict(property)
    }

    /// The verdicts on judged properties that are not promised, as if the run ended here.
    pub fn unpromised_verdicts(&self) -> Vec<Verdict> {
        let violations = self.all_violations();
        let not_promised = Property::ALL.into_iter().filter(|property| !self.promised.contains(*property));
        not_promised.filter_map(|property| violations.verdict(property)).collect()
    }

    /// Number of violations of a judged property, as if the run ended here. Integrity, FIFO and
    /// causal order count each wrong send or delivery; the total order counts pairs of nodes in
    /// each view; agreement, validity and uniformity count messages; the rest count each violation.
    pub fn violation_count(&self, property: Property) -> u64 {
        self.all_violations().count(property)
    }

    /// All violations, including those that only the end of the run shows.
    fn all_violations(&self) -> Violations {
        let mut violations = self.violations.clone();
        self.judge_unconfirmed(&mut violations);
        for group_state in self.groups.values() {
            group_state.judge_end(self.position, self.grace, &mut violations);
        }
        for (index, (node, requests)) in self.nodes.iter().zip(&self.requests).enumerate() {
            let id = NodeId::from_index(index);
            for (group, _) in self.groups.iter().filter(|(_, group_state)| node.is_up && group_state.is_in_view(id)) {
                if let Some(payload) = requests.oldest(*group) {
                    let text = || format!("node {id} received a request to send {payload}, but never answers");
                    violations.record(Property::Delivered, self.position, self.position.time, text);
                }
            }
        }
        violations
    }

    /// Reports deliveries by senders without a `Sent` event in the same step.
    fn judge_unconfirmed(&self, violations: &mut Violations) {
        for id in &self.unconfirmed_deliveries {
            let text = || format!("node {} delivers {id}, but does not report that it sent it", id.sender);
            violations.record(Property::Integrity, self.position, self.position.time, text);
        }
    }

    /// Returns the state of a group, and creates it on first use.
    fn group_state(&mut self, group: GroupId) -> &mut GroupState {
        self.borrow_parts(group).0
    }

    /// Like [`Self::group_state`], but lends the nodes and the violations as well.
    fn borrow_parts(&mut self, group: GroupId) -> (&mut GroupState, &[NodeStatus], &mut Violations) {
        let Self { judged, nodes, groups, members, violations, .. } = self;
        let create = || GroupState::new(group, *judged, nodes, members.get(&group));
        (groups.entry(group).or_insert_with(create), nodes, violations)
    }

    /// Reports the unconfirmed deliveries of the previous step, and forgets them.
    fn begin_step(&mut self) {
        if !self.unconfirmed_deliveries.is_empty() {
            let mut violations = self.violations.clone();
            self.judge_unconfirmed(&mut violations);
            self.violations = violations;
            self.unconfirmed_deliveries.clear();
        }
    }

    fn record_sent_event(&mut self, node: NodeId, id: MessageId) {
        let requests = self.requests.get_mut(node.index());
        let at = self.position;
        let Some(requested) = requests.and_then(|requests| requests.answer_oldest(id.group)) else {
            let text = || format!("node {node} has sent {id} without a request");
            self.violations.record(Property::Integrity, at, at.time, text);
            // The message counts as sent, so that its deliveries are no violations.
            self.record_send(node, id, None);
            return;
        };
        if let Some(index) = self.unconfirmed_deliveries.iter().position(|unconfirmed_id| *unconfirmed_id == id) {
            self.unconfirmed_deliveries.swap_remove(index);
            let delivered = self.group_state(id.group).payload(id).cloned();
            if let Some(delivered) = delivered.filter(|delivered| *delivered != requested) {
                let text = || format!("node {node} delivers {id} as {delivered}, but it was sent as {requested}");
                self.violations.record(Property::Integrity, at, at.time, text);
            }
            return;
        }
        self.record_send(node, id, Some(requested));
    }

    fn record_send(&mut self, node: NodeId, id: MessageId, payload: Option<Payload>) {
        let at = self.position;
        if let Err(reason) = self.group_state(id.group).record_send(at, node, id, payload) {
            self.violations.record(Property::Integrity, at, at.time, || {
                format!("node {node} sends a message with id {id}, {reason}")
            });
        }
    }

    fn record_delivery(&mut self, node: NodeId, id: MessageId, payload: &Payload) {
        let at = self.position;
        if id.sender == node
            && !self.group_state(id.group).was_sent(id)
            && self.group_state(id.group).view_of(node) == Some(id.view)
        {
            self.record_send(node, id, Some(payload.clone()));
            self.unconfirmed_deliveries.push(id);
        }
        let (group_state, _, violations) = self.borrow_parts(id.group);
        group_state.record_delivery(at, node, (MessageKey::from_id(id), id.view), payload, violations);
    }

    fn record_event(&mut self, node: NodeId, event: &Event) {
        let at = self.position;
        match event {
            Event::Sent { id } => self.record_sent_event(node, *id),
            Event::Wait { group, .. } => {
                if let Some(requests) = self.requests.get_mut(node.index()) {
                    requests.answer_oldest(*group);
                }
            }
            Event::Refused(_) => {
                if let Some(requests) = self.requests.get_mut(node.index()) {
                    requests.record_refusal();
                }
            }
            Event::Ready { .. } => {}
            Event::Delivered { id, payload } => self.record_delivery(node, *id, payload),
            Event::View { group, view, state } => {
                let (group_state, nodes, violations) = self.borrow_parts(*group);
                let contended = group_state.begin_view(at, node, (view, *state), nodes, violations);
                self.is_contended |= contended;
            }
            Event::Excluded { group } | Event::Left { group } => {
                let member_state = if let Event::Left { .. } = event { MemberState::Left } else { MemberState::Gone };
                let (group_state, _, violations) = self.borrow_parts(*group);
                let contended = group_state.leave_view(at, node, member_state, violations);
                self.is_contended |= contended;
            }
        }
    }

    /// Records that a node started. A restarted node is a new participant, so its previous
    /// incarnation has stopped.
    fn node_started(&mut self, node: NodeId, incarnation: Incarnation) {
        if self.nodes.get(node.index()).is_some_and(|state| state.is_up && state.has_recorded_start) {
            let is_orderly = false;
            self.node_stopped(node, is_orderly);
        }
        if let Some(state) = self.nodes.get_mut(node.index()) {
            (state.is_up, state.has_recorded_start, state.incarnation) = (true, true, incarnation);
        }
    }

    /// Records that a node stopped: in an orderly way, or by a crash.
    fn node_stopped(&mut self, node: NodeId, is_orderly: bool) {
        let Some(state) = self.nodes.get_mut(node.index()) else { return };
        (state.is_up, state.has_stopped) = (false, true);
        if let Some(requests) = self.requests.get_mut(node.index()) {
            requests.clear();
        }
        for group_state in self.groups.values_mut() {
            self.is_contended |= group_state.node_stopped(self.position, node, is_orderly, &mut self.violations);
        }
    }
}

impl Observer<Command, Event> for Properties {
    fn observe(&mut self, moment: &Moment<'_, Command, Event>) {
        self.position.time = moment.time();
        match moment {
            Moment::Input { node, input, .. } => {
                self.position.line += 1;
                self.begin_step();
                if let Some(requests) = self.requests.get_mut(node.index()) {
                    requests.begin_step();
                    if let ObservedInput::Command(command) = input {
                        requests.record_command(command);
                    }
                }
                if let ObservedInput::Start { incarnation, .. } = input {
                    self.node_started(*node, *incarnation);
                }
            }
            Moment::World { event, .. } => {
                self.position.line += 1;
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
