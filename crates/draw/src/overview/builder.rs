//! Builds an [`Overview`] of a run: counts of events per bin of time.

use super::{Bin, NodeRow, Overview, RoleTimes};
use crate::scene::{Band, Heading, Omitted};
use quorate_core::{Class, Duration, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Sent, WorldEvent, receivers};
use quorate_journal::role::{Role, Roles};

const MAX_BINS: usize = 480;
/// Maximum number of nodes that get a row.
const MAX_ROWS: usize = 40;
/// Initial width of a bin, in nanoseconds.
const INITIAL_BIN_WIDTH: u64 = 1_000;

pub struct OverviewBuilder {
    /// Role of each node, up to the last selected one; `None` for nodes that are not selected.
    selected_roles: Vec<Option<Role>>,
    nodes_without_row: usize,
    /// Time of the first moment observed; `None` before it.
    start: Option<Time>,
    /// The latest time observed. In a malformed journal, time may go backwards.
    latest: Time,
    bin_width_nanos: u64,
    bins: Vec<Bin>,
    rows: Vec<RowBuilder>,
    total: Bin,
}

/// A node's row that is being built.
struct RowBuilder {
    node: NodeId,
    role: Role,
    /// When the node took this role.
    role_since: Time,
    role_times: Vec<RoleTimes>,
}

impl OverviewBuilder {
    /// Creates a builder for the selected nodes of a group of this many nodes.
    pub fn new(selected: &[NodeId], nodes: usize) -> Self {
        let mut selected: Vec<_> = selected.iter().copied().filter(|node| node.index() < nodes).collect();
        selected.sort_unstable();
        selected.dedup();
        let mut selected_roles = vec![None; selected.last().map_or(0, |node| node.index() + 1)];
        for node in &selected {
            if let Some(role) = selected_roles.get_mut(node.index()) {
                *role = Some(Role::default());
            }
        }
        let new_row = |node: &NodeId| RowBuilder {
            node: *node,
            role: Role::default(),
            role_since: Time::ZERO,
            role_times: Vec::new(),
        };
        Self {
            selected_roles,
            nodes_without_row: selected.len().saturating_sub(MAX_ROWS),
            start: None,
            latest: Time::ZERO,
            bin_width_nanos: INITIAL_BIN_WIDTH,
            bins: Vec::new(),
            rows: selected.iter().take(MAX_ROWS).map(new_row).collect(),
            total: Bin::default(),
        }
    }

    /// Returns the time of the first moment observed; `None` before it.
    pub fn start(&self) -> Option<Time> {
        self.start
    }

    /// Counts a moment that is in the window. `roles` must have observed the moment already.
    pub fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>, roles: &Roles<C, E>) {
        let time = moment.time();
        if self.start.is_none() {
            self.start_at(time, roles);
        }
        self.latest = self.latest.max(time);
        let mut counts = Bin::default();
        let node = match moment {
            Moment::Input { node, .. } => {
                counts.steps = u64::from(self.is_selected(*node));
                Some(*node)
            }
            Moment::Effect { node, effect, .. } => {
                self.count_effect(*node, effect, &mut counts);
                Some(*node)
            }
            Moment::World { event, .. } => self.count_world_event(event, &mut counts),
        };
        if let Some(node) = node
            && self.set_role(node, roles.role(node), time)
        {
            counts.times_chosen = 1;
        }
        if counts != Bin::default() {
            self.total.add(counts);
            if let Some(bin) = self.bin_at(time) {
                bin.add(counts);
            }
        }
    }

    fn start_at<C, E>(&mut self, time: Time, roles: &Roles<C, E>) {
        (self.start, self.latest) = (Some(time), time);
        for (index, selected_role) in self.selected_roles.iter_mut().enumerate() {
            if let Some(role) = selected_role {
                *role = roles.role(NodeId::from_index(index));
            }
        }
        for row in &mut self.rows {
            (row.role, row.role_since) = (roles.role(row.node), time);
        }
    }

    fn is_selected(&self, node: NodeId) -> bool {
        self.selected_roles.get(node.index()).is_some_and(Option::is_some)
    }

    /// Returns the bin of an instant, after widening all bins until the instant is in range.
    fn bin_at(&mut self, time: Time) -> Option<&mut Bin> {
        let index = self.bin_index_at(time);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins.get_mut(index)
    }

    /// Returns the index of the bin of an instant, after widening all bins until the instant is in
    /// range.
    fn bin_index_at(&mut self, time: Time) -> usize {
        let nanos = self.nanos_since_start(time);
        while nanos / self.bin_width_nanos >= MAX_BINS as u64 {
            self.widen_bins();
        }
        usize::try_from(nanos / self.bin_width_nanos).unwrap_or_default()
    }

    /// Returns the nanoseconds since the start; 0 for earlier instants.
    fn nanos_since_start(&self, time: Time) -> u64 {
        let start = self.start.unwrap_or(time);
        if time > start { time.nanos().abs_diff(start.nanos()) } else { 0 }
    }

    /// Doubles the width of the bins by merging adjacent ones.
    fn widen_bins(&mut self) {
        self.bin_width_nanos = self.bin_width_nanos.saturating_mul(2);
        self.bins = self.bins.chunks(2).map(Bin::sum).collect();
        for row in &mut self.rows {
            row.role_times = row.role_times.chunks(2).map(RoleTimes::sum).collect();
        }
    }

    /// Records a node's role. Returns whether the node became `Chosen`: entered the critical
    /// section or was elected. The end of a pause does not count.
    fn set_role(&mut self, node: NodeId, role: Role, time: Time) -> bool {
        let Some(Some(known)) = self.selected_roles.get_mut(node.index()) else { return false };
        if *known == role {
            return false;
        }
        let previous_role = std::mem::replace(known, role);
        // Rows are sorted by node.
        if let Ok(row_index) = self.rows.binary_search_by_key(&node, |row| row.node) {
            self.add_time_in_role(row_index, time);
            if let Some(row) = self.rows.get_mut(row_index) {
                (row.role, row.role_since) = (role, time);
            }
        }
        role == Role::Chosen && previous_role != Role::Paused
    }

    /// Adds the time since the row's last role change to the bins that it covers.
    fn add_time_in_role(&mut self, row_index: usize, until: Time) {
        // Widens the bins until this instant is in range.
        self.bin_index_at(until);
        let Some(since) = self.rows.get(row_index).map(|row| row.role_since) else { return };
        let (mut from, to, width) =
            (self.nanos_since_start(since), self.nanos_since_start(until), self.bin_width_nanos);
        let Some(row) = self.rows.get_mut(row_index) else { return };
        while from < to {
            let bin = from / width;
            let end = (bin + 1).saturating_mul(width).min(to);
            let index = usize::try_from(bin).unwrap_or_default();
            if row.role_times.len() <= index {
                row.role_times.resize(index + 1, RoleTimes::default());
            }
            if let Some(shares) = row.role_times.get_mut(index) {
                shares.add(row.role, end - from);
            }
            from = end;
        }
    }

    fn count_effect<E>(&self, node: NodeId, effect: &ObservedEffect<'_, E>, counts: &mut Bin) {
        let mut count = |sent: &Sent<'_>, copies: usize| match sent.class {
            Class::Algorithm | Class::Announcement => counts.messages = copies as u64,
            Class::Control => counts.control_messages = copies as u64,
        };
        let is_sender_selected = self.is_selected(node);
        match effect {
            ObservedEffect::Send { to, sent } => count(sent, usize::from(is_sender_selected || self.is_selected(*to))),
            ObservedEffect::Multicast { to, sent } => {
                count(
                    sent,
                    receivers(to, sent.id).filter(|(to, _)| is_sender_selected || self.is_selected(*to)).count(),
                );
            }
            ObservedEffect::Save(_)
            | ObservedEffect::SetTimer { .. }
            | ObservedEffect::CancelTimer(_)
            | ObservedEffect::Emit(_)
            | ObservedEffect::Rule { .. }
            | ObservedEffect::Delivered { .. }
            | ObservedEffect::Membership(_)
            | ObservedEffect::HoldBack { .. } => {}
        }
    }

    /// Counts an event of the world. Returns the node whose role it may change, if there is one.
    fn count_world_event(&self, event: &WorldEvent<'_>, counts: &mut Bin) -> Option<NodeId> {
        match event {
            WorldEvent::Lost { id, to, .. } => {
                counts.lost_messages = u64::from(self.is_selected(id.sender) || self.is_selected(*to));
                None
            }
            WorldEvent::Crashed { node, .. } => {
                counts.crashes = u64::from(self.is_selected(*node));
                Some(*node)
            }
            WorldEvent::Ended { node } | WorldEvent::Paused { node } | WorldEvent::Resumed { node } => Some(*node),
            WorldEvent::Duplicated { .. } | WorldEvent::Changed { .. } => None,
        }
    }

    /// Returns the overview without violations, which the caller adds. It begins at the first
    /// moment observed, and ends at `to` or at the latest moment, if that is later. Without moments
    /// it is from `from` to `to`.
    pub(crate) fn finish(
        mut self,
        heading: Heading,
        origin: Time,
        (from, to): (Time, Time),
        bands: Vec<Band>,
        omitted: Omitted,
    ) -> Overview {
        let from = self.start.unwrap_or(from);
        let to = if self.start.is_some() { to.max(self.latest) } else { to };
        for row_index in 0..self.rows.len() {
            self.add_time_in_role(row_index, to);
        }
        // Bins cover the whole time, even where nothing happens.
        let bin_count = self.bin_index_at(to) + 1;
        self.bins.resize(bin_count, Bin::default());
        let finish_row = |mut builder: RowBuilder| {
            builder.role_times.resize(bin_count, RoleTimes::default());
            NodeRow { node: builder.node, role_times: builder.role_times, last_role: builder.role }
        };
        Overview {
            heading,
            origin,
            from,
            to,
            bin_width: Duration::from_nanos(self.bin_width_nanos),
            bins: self.bins,
            rows: self.rows.into_iter().map(finish_row).collect(),
            nodes_without_row: self.nodes_without_row,
            bands,
            violations: Vec::new(),
            total: self.total,
            // An overview leaves out neither quiet steps nor idle nodes.
            omitted: Omitted { quiet_steps: 0, idle_nodes: 0, ..omitted },
        }
    }
}
