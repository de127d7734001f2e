//! The lanes of a scene: the roles of each node over time.

use crate::scene::{Lane, Scene, Span, TimePosition};
use quorate_core::NodeId;
use quorate_journal::role::{Role, Roles};
use std::collections::HashMap;

/// In a larger group, nodes to which nothing happens are not shown.
const LARGE_GROUP: usize = 12;

/// A node's role, and its role without a pause.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LaneState {
    pub(super) role: Role,
    pub(super) underlying: Role,
}

impl LaneState {
    pub(super) fn new<C, E>(roles: &Roles<C, E>, node: NodeId) -> Self {
        Self { role: roles.role(node), underlying: roles.family_role(node) }
    }
}

/// The lanes so far.
pub(super) struct Lanes {
    indices: HashMap<NodeId, usize>,
    nodes: Vec<NodeId>,
    /// The state of each lane before its first change, then every change with its position.
    initial: Vec<LaneState>,
    changes: Vec<Vec<(TimePosition, LaneState)>>,
}

impl Lanes {
    /// Creates one lane per member of a group of `nodes`.
    pub(super) fn new(members: &[NodeId], nodes: usize) -> Self {
        let members: Vec<_> = members.iter().copied().filter(|member| member.index() < nodes).collect();
        Self {
            indices: members.iter().copied().zip(0..).collect(),
            initial: vec![LaneState::default(); members.len()],
            changes: vec![Vec::new(); members.len()],
            nodes: members,
        }
    }

    pub(super) fn index(&self, node: NodeId) -> Option<usize> {
        self.indices.get(&node).copied()
    }

    pub(super) fn begin(&mut self, state: impl Fn(NodeId) -> LaneState) {
        self.initial = self.nodes.iter().map(|node| state(*node)).collect();
    }

    pub(super) fn state(&self, lane: usize) -> LaneState {
        let changed = self.changes.get(lane).and_then(|changes| changes.last()).map(|(_, state)| *state);
        changed.or_else(|| self.initial.get(lane).copied()).unwrap_or_default()
    }

    pub(super) fn change(&mut self, lane: usize, state: LaneState, position: TimePosition) {
        if self.state(lane) != state
            && let Some(changes) = self.changes.get_mut(lane)
        {
            changes.push((position, state));
        }
    }

    pub(super) fn stop_recording(&mut self) {
        self.changes.iter_mut().for_each(Vec::clear);
    }

    pub(super) fn finish(self, from: TimePosition, to: TimePosition) -> Vec<Lane> {
        let lanes = self.nodes.into_iter().zip(self.initial).zip(self.changes);
        lanes.map(|((node, initial), changes)| lane(node, spans(initial, &changes, from, to))).collect()
    }
}

fn lane(node: NodeId, spans: Vec<Span>) -> Lane {
    Lane { node, spans, leases: Vec::new(), inactive_spans: Vec::new(), queues: Vec::new() }
}

fn spans(initial: LaneState, changes: &[(TimePosition, LaneState)], from: TimePosition, to: TimePosition) -> Vec<Span> {
    let span = |state: LaneState, from: TimePosition| {
        let LaneState { role, underlying } = state;
        Span { role, underlying, lease_expired: false, from, to }
    };
    let mut spans = vec![span(initial, from)];
    for (position, state) in changes {
        if let Some(last) = spans.last_mut() {
            last.to = *position;
        }
        spans.push(span(*state, *position));
    }
    spans
}

/// Removes the lanes of nodes to which nothing happens, if the group is large.
pub(super) fn drop_idle(scene: &mut Scene) {
    if scene.lanes.len() <= LARGE_GROUP {
        return;
    }
    let mut busy = vec![false; scene.lanes.len()];
    let steps = scene.steps.iter().map(|step| step.lane);
    let marks = scene.marks.iter().filter_map(|mark| mark.lane);
    let ends = scene.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]);
    let is_active = |lane: &Lane| {
        let has_queue = !lane.queues.is_empty();
        has_queue || lane.spans.iter().any(|span| !matches!(span.role, Role::Idle | Role::Follows))
    };
    let active = scene.lanes.iter().enumerate().filter(|(_, lane)| is_active(lane)).map(|(index, _)| index);
    for lane in steps.chain(marks).chain(ends).chain(active) {
        if let Some(busy) = busy.get_mut(lane) {
            *busy = true;
        }
    }
    let mut count = 0;
    let new_index = |busy: &bool| {
        count += usize::from(*busy);
        count.saturating_sub(1)
    };
    let new_indices: Vec<usize> = busy.iter().map(new_index).collect();
    let renumber = |lane: &mut usize| *lane = new_indices.get(*lane).copied().unwrap_or_default();
    scene.steps.iter_mut().for_each(|step| renumber(&mut step.lane));
    scene.marks.iter_mut().filter_map(|mark| mark.lane.as_mut()).for_each(renumber);
    for arrow in &mut scene.arrows {
        renumber(&mut arrow.from);
        renumber(&mut arrow.to);
    }
    let mut kept = busy.iter();
    scene.lanes.retain(|_| kept.next().copied().unwrap_or_default());
    scene.omitted.idle = busy.iter().filter(|busy| !**busy).count();
}
