//! The views of one group, and the view of each node.

use super::message::Key;
use super::numbers::Numbers;
use super::property_set::{Property, PropertySet};
use super::view_record::{MemberState, ViewRecord};
use super::violations::{Position, Violations};
use quorate_core::multicast::{GroupId, MessageId, Payload};
use quorate_core::{Duration, Epoch, Group, Incarnation, NodeId, Time, View};
use std::collections::BTreeMap;

/// Whether a node is up, and its current incarnation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) is_up: bool,
    pub(super) has_recorded_start: bool,
    pub(super) was_down: bool,
    pub(super) incarnation: Incarnation,
}

impl Default for Node {
    /// A recording may start in the middle of a run, so nodes may be up without a recorded start.
    fn default() -> Self {
        Self { is_up: true, has_recorded_start: false, was_down: false, incarnation: Incarnation::FIRST }
    }
}

/// One group: its open views, and the view of each node.
#[derive(Clone, Debug)]
pub(super) struct GroupState {
    group: GroupId,
    judged: PropertySet,
    has_views: bool,
    /// The views in which some node may still deliver messages.
    views: BTreeMap<Epoch, (ViewRecord, Option<ViewStart>)>,
    positions: Vec<NodePosition>,
    latest: Option<View>,
    /// When the first node began the latest view.
    latest_since: Time,
    /// The epochs of closed views.
    closed_views: Numbers,
}

/// The views of one node.
#[derive(Clone, Copy, Debug, Default)]
struct NodePosition {
    /// The current view.
    view: Option<Epoch>,
    /// The latest view that it was ever in, in any incarnation.
    latest: Option<Epoch>,
}

/// How the first node began a view.
#[derive(Clone, Debug)]
struct ViewStart {
    by: NodeId,
    members: Group,
    /// Fingerprint of the shared state.
    state: u64,
}

impl GroupState {
    /// A group without history. `members` are its members if not all nodes are.
    pub(super) fn new(group: GroupId, judged: PropertySet, nodes: &[Node], members: Option<&Group>) -> Self {
        let positions = vec![NodePosition::default(); nodes.len()];
        let has_views = judged.views;
        let mut group_state = Self {
            group,
            judged,
            has_views,
            views: BTreeMap::new(),
            positions,
            latest: None,
            latest_since: Time::ZERO,
            closed_views: Numbers::default(),
        };
        if !has_views {
            let is_member = |(index, node): (usize, &Node)| {
                !node.was_down && members.is_none_or(|members| members.contains(NodeId::from_index(index)))
            };
            let is_member: Vec<_> = nodes.iter().enumerate().map(is_member).collect();
            for (position, is_member) in group_state.positions.iter_mut().zip(&is_member) {
                position.view = is_member.then_some(View::FIRST);
            }
            let states = is_member
                .iter()
                .map(|is_member| if *is_member { MemberState::In } else { MemberState::Gone })
                .collect();
            group_state.views.insert(View::FIRST, (ViewRecord::new(group, View::FIRST, judged, states), None));
        }
        group_state
    }

    pub(super) fn remembered_messages(&self) -> usize {
        self.views.values().map(|(record, _)| record.remembered_messages()).sum()
    }

    pub(super) fn remembered_causes(&self) -> usize {
        self.views.values().map(|(record, _)| record.remembered_causes()).sum()
    }

    /// Whether messages of two senders were in flight at once in an open view.
    pub(super) fn is_contended(&self) -> bool {
        self.views.values().any(|(record, _)| record.contended)
    }

    pub(super) fn view_of(&self, node: NodeId) -> Option<Epoch> {
        self.positions.get(node.index())?.view
    }

    /// Whether a node is in a view, and the group has not removed it since.
    pub(super) fn is_in_view(&self, node: NodeId) -> bool {
        self.view_of(node).is_some_and(|view| self.still_contains(node, view))
    }

    /// Whether the group has not removed a node since this view.
    fn still_contains(&self, node: NodeId, view: Epoch) -> bool {
        let Some(latest) = self.latest.as_ref().filter(|latest| latest.epoch() > view) else { return true };
        latest.stay(node).is_some_and(|stay| stay.since <= view)
    }

    pub(super) fn was_sent(&self, id: MessageId) -> bool {
        self.views.get(&id.view).is_some_and(|(record, _)| record.was_sent(Key::of(id)))
    }

    pub(super) fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.views.get(&id.view)?.0.payload(Key::of(id))
    }

    /// Records a send. The error says what is wrong with the message id.
    pub(super) fn record_send(
        &mut self,
        at: Position,
        node: NodeId,
        id: MessageId,
        payload: Option<Payload>,
    ) -> Result<(), &'static str> {
        if id.sender != node {
            return Err("which names another sender");
        }
        if id.number == 0 {
            return Err("but numbers start at 1");
        }
        if self.view_of(node) != Some(id.view) {
            return Err("but is not in that view");
        }
        let record = self.views.get_mut(&id.view).ok_or("but is not in that view")?;
        if record.0.record_send(at, Key::of(id), payload) { Ok(()) } else { Err("but the id is already used") }
    }

    pub(super) fn record_delivery(
        &mut self,
        at: Position,
        node: NodeId,
        (key, view): (Key, Epoch),
        payload: &Payload,
        violations: &mut Violations,
    ) {
        let id = key.in_view(self.group, view);
        let current = self.view_of(node);
        if self.has_views && current != Some(view) {
            violations.record(Property::ViewSynchrony, at, at.time, || match current {
                Some(current) => format!("node {node} delivers {id} in view {current}, but it was sent in view {view}"),
                None => format!("node {node} delivers {id}, but is in no view"),
            });
            return;
        }
        match self.views.get_mut(&view) {
            Some((record, _)) if record.was_sent(key) => record.record_delivery(at, node, key, payload, violations),
            Some(_) | None => {
                let text = || format!("node {node} delivers {id}, which node {} has not sent", key.sender);
                violations.record(Property::Integrity, at, at.time, text);
            }
        }
    }

    /// Records that a node begins a view with this state. Returns whether a view was closed in
    /// which messages of two senders were in flight at once.
    pub(super) fn begin_view(
        &mut self,
        at: Position,
        node: NodeId,
        (view, state): (&View, u64),
        nodes: &[Node],
        violations: &mut Violations,
    ) -> bool {
        let (epoch, stay) = (view.epoch(), view.stay(node));
        if !self.has_views && !self.switch_to_views() {
            return false;
        }
        let mut record_violation = |text: String| violations.record(Property::ViewSynchrony, at, at.time, || text);
        if stay.is_none() {
            record_violation(format!("node {node} begins view {epoch}, but is not a member"));
        }
        if let Some(latest) = self.positions.get(node.index()).and_then(|position| position.latest)
            && latest >= epoch
        {
            record_violation(format!("node {node} begins view {epoch}, but was in view {latest} before"));
            return false;
        }
        if self.closed_views.contains(epoch.0) {
            record_violation(format!("node {node} begins view {epoch} after all its members have left it"));
            return false;
        }
        for (earlier, (record, _)) in self.views.range_mut(..epoch) {
            match record.state(node) {
                MemberState::In if stay.is_some_and(|stay| stay.since <= *earlier) => {
                    record.set_state(node, MemberState::MovedTo(epoch));
                    record.check_transition(at, node, epoch, violations);
                }
                MemberState::In | MemberState::Awaited => record.set_state(node, MemberState::Gone),
                MemberState::Gone | MemberState::MovedTo(_) | MemberState::Left | MemberState::Ended => {}
            }
        }
        self.open_view(at, node, (view, state), nodes, violations);
        if let Some(position) = self.positions.get_mut(node.index()) {
            *position = NodePosition { view: Some(epoch), latest: Some(epoch) };
        }
        if self.latest.as_ref().is_none_or(|latest| latest.epoch() < epoch) {
            self.latest = Some(view.clone());
            self.latest_since = at.time;
        }
        self.close_views(at, violations)
    }

    /// Switches to views if nothing has happened in the group yet. A group with views starts with
    /// one.
    fn switch_to_views(&mut self) -> bool {
        self.has_views = self.views.values().all(|(record, _)| record.is_blank());
        if self.has_views {
            self.views.clear();
            self.positions.fill(NodePosition::default());
        }
        self.has_views
    }

    /// Records the start of a view at a node, and checks that all nodes agree on the view.
    fn open_view(
        &mut self,
        at: Position,
        node: NodeId,
        (view, state): (&View, u64),
        nodes: &[Node],
        violations: &mut Violations,
    ) {
        let (epoch, members) = (view.epoch(), view.members());
        let (group, judged, positions) = (self.group, self.judged, &self.positions);
        let (record, begun) = self.views.entry(epoch).or_insert_with(|| {
            let state = |(index, (state, position)): (usize, (&Node, &NodePosition))| {
                let stay = view.stay(NodeId::from_index(index));
                let will_begin = state.is_up && position.latest < Some(epoch);
                let is_this_incarnation = stay.is_some_and(|stay| stay.incarnation == state.incarnation);
                if will_begin && is_this_incarnation { MemberState::Awaited } else { MemberState::Gone }
            };
            let states = nodes.iter().zip(positions).enumerate().map(state).collect();
            (ViewRecord::new(group, epoch, judged, states), None)
        });
        record.set_state(node, MemberState::In);
        let Some(ViewStart { by, members: first_members, state: first_state }) = begun else {
            *begun = Some(ViewStart { by: node, members: members.clone(), state });
            return;
        };
        if first_members != members {
            let text =
                || format!("view {epoch} has members {first_members} for node {by}, but {members} for node {node}");
            violations.record(Property::ViewSynchrony, at, at.time, text);
        }
        if *first_state != state {
            let text = || format!("nodes {by} and {node} begin view {epoch} with different states");
            violations.record(Property::ViewSynchrony, at, at.time, text);
        }
    }

    /// Ends the stay of a node. Later views may contain a new stay already. Returns the same as
    /// [`begin_view`](Self::begin_view).
    pub(super) fn leave_view(
        &mut self,
        at: Position,
        node: NodeId,
        member_state: MemberState,
        violations: &mut Violations,
    ) -> bool {
        let Some(position) = self.positions.get_mut(node.index()) else { return false };
        let Some(view) = position.view.take() else { return false };
        for (record, _) in self.views.range_mut(..=view).map(|(_, record)| record) {
            record.end_stay(node, member_state);
        }
        self.close_views(at, violations)
    }

    /// Records that a node stopped, in an orderly way or by a crash. Returns the same as
    /// [`begin_view`](Self::begin_view).
    pub(super) fn node_stopped(
        &mut self,
        at: Position,
        node: NodeId,
        is_orderly: bool,
        violations: &mut Violations,
    ) -> bool {
        if let Some(position) = self.positions.get_mut(node.index()) {
            position.view = None;
        }
        let member_state = if is_orderly { MemberState::Ended } else { MemberState::Gone };
        for (record, _) in self.views.values_mut() {
            record.end_stay(node, member_state);
        }
        self.close_views(at, violations)
    }

    /// Judges and forgets views that all members have left. Returns whether messages of two senders
    /// were in flight at once in one of them.
    fn close_views(&mut self, at: Position, violations: &mut Violations) -> bool {
        if !self.has_views {
            return false;
        }
        let mut contended = false;
        let closed_views = &mut self.closed_views;
        let no_members: Group = std::iter::empty().collect();
        self.views.retain(|epoch, (record, _)| {
            if !record.is_open() {
                record.judge(at, &no_members, violations);
                contended |= record.contended;
                closed_views.insert(epoch.0);
            }
            record.is_open()
        });
        contended
    }

    /// Judges the open views as if the run ended here. Members of the latest view have `grace` to
    /// begin it after the first one did.
    pub(super) fn judge_end(&self, at: Position, grace: Duration, violations: &mut Violations) {
        for (epoch, (record, _)) in &self.views {
            let current_members: Group =
                record.current_members().filter(|node| self.still_contains(*node, *epoch)).collect();
            record.judge(at, &current_members, violations);
        }
        let Some(latest) = self.latest.as_ref().map(View::epoch) else { return };
        let has_grace_ended = at.time.since(self.latest_since) >= grace;
        if let Some((record, _)) = self.views.get(&latest).filter(|_| has_grace_ended) {
            for node in record.awaited_members() {
                let text = || format!("node {node} is a member of view {latest}, but never begins it");
                violations.record(Property::Delivered, at, at.time, text);
            }
        }
    }
}
