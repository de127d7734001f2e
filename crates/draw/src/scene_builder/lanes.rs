//! The lanes of a scene: the roles of each node over time.

use crate::scene::{Lane, RoleSpan, Scene, TimePosition};
use quorate_core::NodeId;
use quorate_journal::role::{Role, Roles};
use std::collections::HashMap;

/// Maximum number of lanes up to which idle nodes keep theirs, too.
const MAX_LANES_WITH_IDLE: usize = 12;

/// A node's role, which may be that it is paused or down, and its role in the algorithm, which
/// ignores pauses and crashes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct LaneState {
    pub(super) role: Role,
    pub(super) family_role: Role,
}

impl LaneState {
    pub(super) fn new<C, E>(roles: &Roles<C, E>, node: NodeId) -> Self {
        Self { role: roles.role(node), family_role: roles.family_role(node) }
    }
}

/// The lanes so far.
pub(super) struct Lanes {
    indices: HashMap<NodeId, usize>,
    nodes: Vec<NodeId>,
    /// The state of each lane before its first change.
    initial: Vec<LaneState>,
    /// Every change of each lane, with its position.
    changes: Vec<Vec<(TimePosition, LaneState)>>,
}

impl Lanes {
    /// Creates one lane per selected node of a group of `nodes`.
    pub(super) fn new(selected: &[NodeId], nodes: usize) -> Self {
        let selected: Vec<_> = selected.iter().copied().filter(|node| node.index() < nodes).collect();
        Self {
            indices: selected.iter().copied().zip(0..).collect(),
            initial: vec![LaneState::default(); selected.len()],
            changes: vec![Vec::new(); selected.len()],
            nodes: selected,
        }
    }

    pub(super) fn index(&self, node: NodeId) -> Option<usize> {
        self.indices.get(&node).copied()
    }

    pub(super) fn begin_window(&mut self, state: impl Fn(NodeId) -> LaneState) {
        self.initial = self.nodes.iter().map(|node| state(*node)).collect();
    }

    pub(super) fn state(&self, lane: usize) -> LaneState {
        let changed = self.changes.get(lane).and_then(|changes| changes.last()).map(|(_, state)| *state);
        changed.or_else(|| self.initial.get(lane).copied()).unwrap_or_default()
    }

    pub(super) fn record_change(&mut self, lane: usize, state: LaneState, position: TimePosition) {
        if self.state(lane) != state
            && let Some(changes) = self.changes.get_mut(lane)
        {
            changes.push((position, state));
        }
    }

    /// Discards the changes, because no scene will be drawn.
    pub(super) fn stop_recording(&mut self) {
        self.changes.iter_mut().for_each(Vec::clear);
    }

    /// Returns the lanes with their roles. Leases, inactive spans and queues are still empty.
    pub(super) fn finish(self, from: TimePosition, to: TimePosition) -> Vec<Lane> {
        let lanes = self.nodes.into_iter().zip(self.initial).zip(self.changes);
        lanes.map(|((node, initial), changes)| new_lane(node, role_spans(initial, &changes, from, to))).collect()
    }
}

fn new_lane(node: NodeId, spans: Vec<RoleSpan>) -> Lane {
    Lane { node, spans, leases: Vec::new(), inactive_spans: Vec::new(), queues: Vec::new() }
}

fn role_spans(
    initial: LaneState,
    changes: &[(TimePosition, LaneState)],
    from: TimePosition,
    to: TimePosition,
) -> Vec<RoleSpan> {
    let span = |state: LaneState, from: TimePosition| {
        let LaneState { role, family_role } = state;
        RoleSpan { role, family_role, is_lease_expired: false, from, to }
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

/// If there are many lanes, removes the lane of every node that is idle or a follower all the time
/// and has no steps, marks, messages or held-back messages, and counts these nodes as omitted.
pub(super) fn drop_idle_lanes(scene: &mut Scene) {
    if scene.lanes.len() <= MAX_LANES_WITH_IDLE {
        return;
    }
    let mut is_busy = vec![false; scene.lanes.len()];
    let steps = scene.steps.iter().map(|step| step.lane);
    let marks = scene.marks.iter().filter_map(|mark| mark.lane);
    let ends = scene.arrows.iter().flat_map(|arrow| [arrow.from, arrow.to]);
    let is_active = |lane: &Lane| {
        let has_queue = !lane.queues.is_empty();
        has_queue || lane.spans.iter().any(|span| !matches!(span.role, Role::Idle | Role::Follows))
    };
    let active = scene.lanes.iter().enumerate().filter(|(_, lane)| is_active(lane)).map(|(index, _)| index);
    for lane in steps.chain(marks).chain(ends).chain(active) {
        if let Some(is_busy) = is_busy.get_mut(lane) {
            *is_busy = true;
        }
    }
    // The new indices of removed lanes are never used.
    let mut count = 0;
    let new_index = |is_busy: &bool| {
        count += usize::from(*is_busy);
        count.saturating_sub(1)
    };
    let new_indices: Vec<usize> = is_busy.iter().map(new_index).collect();
    let renumber = |lane: &mut usize| *lane = new_indices.get(*lane).copied().unwrap_or_default();
    scene.steps.iter_mut().for_each(|step| renumber(&mut step.lane));
    scene.marks.iter_mut().filter_map(|mark| mark.lane.as_mut()).for_each(renumber);
    for arrow in &mut scene.arrows {
        renumber(&mut arrow.from);
        renumber(&mut arrow.to);
    }
    let mut is_kept = is_busy.iter();
    scene.lanes.retain(|_| is_kept.next().copied().unwrap_or_default());
    scene.omitted.idle_nodes = is_busy.iter().filter(|is_busy| !**is_busy).count();
}
