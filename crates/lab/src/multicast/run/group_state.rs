//! The views of one group, and the view of each node.

use super::message::MessageKey;
use super::numbers::Numbers;
use super::property_set::{Property, PropertySet};
use super::view_record::{MemberState, ViewRecord};
use super::violations::{Position, Violations};
use quorate_core::multicast::{GroupId, MessageId, Payload};
use quorate_core::{Duration, Epoch, Group, Incarnation, NodeId, Time, View};
use std::collections::BTreeMap;

/// The state of a node's process, from the starts and stops that were observed so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeStatus {
    pub(super) is_up: bool,
    pub(super) has_recorded_start: bool,
    /// Whether any of its incarnations has stopped.
    pub(super) has_stopped: bool,
    pub(super) incarnation: Incarnation,
}

impl Default for NodeStatus {
    /// A recording may start in the middle of a run, so nodes may be up without a recorded start.
    fn default() -> Self {
        Self { is_up: true, has_recorded_start: false, has_stopped: false, incarnation: Incarnation::FIRST }
    }
}

/// One group: its open views, and the view of each node.
#[derive(Clone, Debug)]
pub(super) struct GroupState {
    group: GroupId,
    judged: PropertySet,
    /// Whether nodes begin views. If not, all messages belong to [`View::FIRST`].
    has_views: bool,
    /// The views in which some node may still deliver messages. Each has its start, except the only
    /// view of a group without views.
    views: BTreeMap<Epoch, (ViewRecord, Option<ViewStart>)>,
    node_views: Vec<NodeViews>,
    latest_view: Option<View>,
    /// When the first node began the latest view.
    latest_view_began_at: Time,
    /// The epochs of closed views.
    closed_views: Numbers,
}

/// The views of one node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeViews {
    /// The current view.
    current_view: Option<Epoch>,
    /// The latest view that the node was ever in, in any incarnation.
    latest_view: Option<Epoch>,
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
    /// A group without history. Without views, `members` lists the members; `None` means all nodes.
    pub(super) fn new(group: GroupId, judged: PropertySet, nodes: &[NodeStatus], members: Option<&Group>) -> Self {
        let has_views = judged.views;
        let mut group_state = Self {
            group,
            judged,
            has_views,
            views: BTreeMap::new(),
            node_views: vec![NodeViews::default(); nodes.len()],
            latest_view: None,
            latest_view_began_at: Time::ZERO,
            closed_views: Numbers::default(),
        };
        if !has_views {
            let is_member = |(index, node): (usize, &NodeStatus)| {
                !node.has_stopped && members.is_none_or(|members| members.contains(NodeId::from_index(index)))
            };
            let is_member: Vec<_> = nodes.iter().enumerate().map(is_member).collect();
            for (views, is_member) in group_state.node_views.iter_mut().zip(&is_member) {
                views.current_view = is_member.then_some(View::FIRST);
            }
            let states = is_member
                .iter()
                .map(|is_member| if *is_member { MemberState::InView } else { MemberState::Gone })
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
        self.views.values().any(|(record, _)| record.is_contended)
    }

    pub(super) fn view_of(&self, node: NodeId) -> Option<Epoch> {
        self.node_views.get(node.index())?.current_view
    }

    /// Whether a node is in a view, and the group has not removed it since.
    pub(super) fn is_in_view(&self, node: NodeId) -> bool {
        self.view_of(node).is_some_and(|view| self.still_contains(node, view))
    }

    /// Whether the group has not removed a node since this view.
    fn still_contains(&self, node: NodeId, view: Epoch) -> bool {
        let Some(latest) = self.latest_view.as_ref().filter(|latest| latest.epoch() > view) else { return true };
        latest.stay(node).is_some_and(|stay| stay.since <= view)
    }

    pub(super) fn was_sent(&self, id: MessageId) -> bool {
        self.views.get(&id.view).is_some_and(|(record, _)| record.was_sent(MessageKey::from_id(id)))
    }

    pub(super) fn payload(&self, id: MessageId) -> Option<&Payload> {
        self.views.get(&id.view)?.0.payload(MessageKey::from_id(id))
    }

    /// Records a send. The error is the end of a sentence that describes the invalid send.
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
        let (record, _) = self.views.get_mut(&id.view).ok_or("but is not in that view")?;
        if record.record_send(at, MessageKey::from_id(id), payload) {
            Ok(())
        } else {
            Err("but the id is already used")
        }
    }

    pub(super) fn record_delivery(
        &mut self,
        at: Position,
        node: NodeId,
        (key, view): (MessageKey, Epoch),
        payload: &Payload,
        violations: &mut Violations,
    ) {
        let id = key.in_view(self.group, view);
        let (current, relevant_from) = (self.view_of(node), at.time);
        if self.has_views && current != Some(view) {
            violations.record(Property::ViewSynchrony, at, relevant_from, || match current {
                Some(current) => format!("node {node} delivers {id} in view {current}, but it was sent in view {view}"),
                None => format!("node {node} delivers {id}, but is in no view"),
            });
            return;
        }
        match self.views.get_mut(&view) {
            Some((record, _)) if record.was_sent(key) => record.record_delivery(at, node, key, payload, violations),
            Some(_) | None => {
                let text = || format!("node {node} delivers {id}, which node {} has not sent", key.sender);
                violations.record(Property::Integrity, at, relevant_from, text);
            }
        }
    }

    /// Records that a node begins a view with this fingerprint of the shared state. Returns whether
    /// a view was closed in which messages of two senders were in flight at once.
    pub(super) fn begin_view(
        &mut self,
        at: Position,
        node: NodeId,
        (view, state): (&View, u64),
        nodes: &[NodeStatus],
        violations: &mut Violations,
    ) -> bool {
        let (epoch, stay) = (view.epoch(), view.stay(node));
        if !self.has_views && !self.switch_to_views() {
            return false;
        }
        let relevant_from = at.time;
        let mut record_violation =
            |text: String| violations.record(Property::ViewSynchrony, at, relevant_from, || text);
        if stay.is_none() {
            record_violation(format!("node {node} begins view {epoch}, but is not a member"));
        }
        if let Some(latest) = self.node_views.get(node.index()).and_then(|views| views.latest_view)
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
                MemberState::InView if stay.is_some_and(|stay| stay.since <= *earlier) => {
                    record.set_state(node, MemberState::MovedTo(epoch));
                    record.check_transition(at, node, epoch, violations);
                }
                // The node's stay in that view has ended, or the node never began that view.
                MemberState::InView | MemberState::Awaited => record.set_state(node, MemberState::Gone),
                MemberState::Gone | MemberState::MovedTo(_) | MemberState::Left | MemberState::Ended => {}
            }
        }
        self.open_view(at, node, (view, state), nodes, violations);
        if let Some(views) = self.node_views.get_mut(node.index()) {
            *views = NodeViews { current_view: Some(epoch), latest_view: Some(epoch) };
        }
        if self.latest_view.as_ref().is_none_or(|latest| latest.epoch() < epoch) {
            self.latest_view = Some(view.clone());
            self.latest_view_began_at = at.time;
        }
        self.close_views(at, violations)
    }

    /// Switches to views if no message was sent in the group yet, because a group with views begins
    /// one before any message. Otherwise returns `false` and changes nothing.
    fn switch_to_views(&mut self) -> bool {
        self.has_views = self.views.values().all(|(record, _)| record.is_blank());
        if self.has_views {
            self.views.clear();
            self.node_views.fill(NodeViews::default());
        }
        self.has_views
    }

    /// Records the start of a view at a node, and checks that all nodes agree on the view.
    fn open_view(
        &mut self,
        at: Position,
        node: NodeId,
        (view, state): (&View, u64),
        nodes: &[NodeStatus],
        violations: &mut Violations,
    ) {
        let (epoch, members, relevant_from) = (view.epoch(), view.members(), at.time);
        let (group, judged, node_views) = (self.group, self.judged, &self.node_views);
        let (record, view_start) = self.views.entry(epoch).or_insert_with(|| {
            let member_state = |(index, (status, views)): (usize, (&NodeStatus, &NodeViews))| {
                let stay = view.stay(NodeId::from_index(index));
                let will_begin = status.is_up && views.latest_view < Some(epoch);
                let is_this_incarnation = stay.is_some_and(|stay| stay.incarnation == status.incarnation);
                if will_begin && is_this_incarnation { MemberState::Awaited } else { MemberState::Gone }
            };
            let states = nodes.iter().zip(node_views).enumerate().map(member_state).collect();
            (ViewRecord::new(group, epoch, judged, states), None)
        });
        record.set_state(node, MemberState::InView);
        let Some(ViewStart { by, members: first_members, state: first_state }) = view_start else {
            *view_start = Some(ViewStart { by: node, members: members.clone(), state });
            return;
        };
        if first_members != members {
            let text =
                || format!("view {epoch} has members {first_members} for node {by}, but {members} for node {node}");
            violations.record(Property::ViewSynchrony, at, relevant_from, text);
        }
        if *first_state != state {
            let text = || format!("nodes {by} and {node} begin view {epoch} with different states");
            violations.record(Property::ViewSynchrony, at, relevant_from, text);
        }
    }

    /// Ends the stay of a node, for the reason that `member_state` gives. Later views may contain a
    /// new stay already. Returns the same as [`begin_view`](Self::begin_view).
    pub(super) fn leave_view(
        &mut self,
        at: Position,
        node: NodeId,
        member_state: MemberState,
        violations: &mut Violations,
    ) -> bool {
        let Some(views) = self.node_views.get_mut(node.index()) else { return false };
        let Some(view) = views.current_view.take() else { return false };
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
        if let Some(views) = self.node_views.get_mut(node.index()) {
            views.current_view = None;
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
                contended |= record.is_contended;
                closed_views.insert(epoch.0);
            }
            record.is_open()
        });
        contended
    }

    /// Judges the open views as if the run ended here. Members of the latest view have `grace` to
    /// begin it, counted from when the first member began it.
    pub(super) fn judge_end(&self, at: Position, grace: Duration, violations: &mut Violations) {
        for (epoch, (record, _)) in &self.views {
            let current_members: Group =
                record.current_members().filter(|node| self.still_contains(*node, *epoch)).collect();
            record.judge(at, &current_members, violations);
        }
        let Some(latest) = self.latest_view.as_ref().map(View::epoch) else { return };
        let relevant_from = at.time;
        let has_grace_ended = at.time.since(self.latest_view_began_at) >= grace;
        if let Some((record, _)) = self.views.get(&latest).filter(|_| has_grace_ended) {
            for node in record.awaited_members() {
                let text = || format!("node {node} is a member of view {latest}, but never begins it");
                violations.record(Property::Delivered, at, relevant_from, text);
            }
        }
    }
}
