//! Builds an overview while a run is observed.

use super::{Bin, NodeRow, Overview, Shares};
use crate::scene::{Band, Heading, Omitted};
use quorate_core::{Class, Duration, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Sent, WorldEvent, receivers};
use quorate_journal::role::{Role, Roles};

/// Maximum number of bins.
const MAX_BINS: usize = 480;
/// Maximum number of nodes that get a row.
const MAX_ROWS: usize = 40;
/// Initial width of a bin, in nanoseconds.
const INITIAL_BIN_WIDTH: u64 = 1_000;

/// An overview that is being built.
pub struct OverviewBuilder {
    /// Role of each node of the group; `None` for nodes that are not selected.
    selected_roles: Vec<Option<Role>>,
    nodes_without_row: usize,
    /// Time of the first moment.
    start: Option<Time>,
    /// The latest time observed. In a malformed journal, time may go backwards.
    latest: Time,
    /// Width of a bin, in nanoseconds.
    width: u64,
    bins: Vec<Bin>,
    rows: Vec<RowBuilder>,
    total: Bin,
}

/// A node's row that is being built.
struct RowBuilder {
    node: NodeId,
    role: Role,
    /// When the node took this role.
    since: Time,
    shares: Vec<Shares>,
}

impl OverviewBuilder {
    pub fn new(members: &[NodeId], nodes: usize) -> Self {
        let mut members: Vec<_> = members.iter().copied().filter(|member| member.index() < nodes).collect();
        members.sort_unstable();
        members.dedup();
        let mut roles = vec![None; members.last().map_or(0, |member| member.index() + 1)];
        for member in &members {
            if let Some(role) = roles.get_mut(member.index()) {
                *role = Some(Role::default());
            }
        }
        let builder =
            |node: &NodeId| RowBuilder { node: *node, role: Role::default(), since: Time::ZERO, shares: Vec::new() };
        Self {
            selected_roles: roles,
            nodes_without_row: members.len().saturating_sub(MAX_ROWS),
            start: None,
            latest: Time::ZERO,
            width: INITIAL_BIN_WIDTH,
            bins: Vec::new(),
            rows: members.iter().take(MAX_ROWS).map(builder).collect(),
            total: Bin::default(),
        }
    }

    /// Returns the time of the first moment observed.
    pub fn start(&self) -> Option<Time> {
        self.start
    }

    /// Counts a moment of the window. `roles` must have observed it already.
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
            counts.chosen = 1;
        }
        if counts != Bin::default() {
            self.total.add(counts);
            if let Some(bin) = self.bin(time) {
                bin.add(counts);
            }
        }
    }

    fn start_at<C, E>(&mut self, time: Time, roles: &Roles<C, E>) {
        (self.start, self.latest) = (Some(time), time);
        for (index, member) in self.selected_roles.iter_mut().enumerate() {
            if let Some(role) = member {
                *role = roles.role(NodeId::from_index(index));
            }
        }
        for row in &mut self.rows {
            (row.role, row.since) = (roles.role(row.node), time);
        }
    }

    fn is_selected(&self, node: NodeId) -> bool {
        self.selected_roles.get(node.index()).is_some_and(Option::is_some)
    }

    /// Returns the bin of an instant, after widening bins until it is in range.
    fn bin(&mut self, time: Time) -> Option<&mut Bin> {
        let index = self.bin_index(time);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins.get_mut(index)
    }

    /// Returns the index of the bin of an instant, after widening bins until it is in range.
    fn bin_index(&mut self, time: Time) -> usize {
        let since = self.nanos_since_start(time);
        while since / self.width >= MAX_BINS as u64 {
            self.widen();
        }
        usize::try_from(since / self.width).unwrap_or_default()
    }

    /// Returns the nanoseconds since the start; 0 for earlier instants.
    fn nanos_since_start(&self, time: Time) -> u64 {
        let start = self.start.unwrap_or(time);
        if time > start { time.nanos().abs_diff(start.nanos()) } else { 0 }
    }

    /// Doubles the width of the bins by merging adjacent ones.
    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        self.bins = self.bins.chunks(2).map(Bin::sum).collect();
        for row in &mut self.rows {
            row.shares = row.shares.chunks(2).map(Shares::sum).collect();
        }
    }

    /// Records a node's role. Returns whether the node became chosen.
    fn set_role(&mut self, node: NodeId, role: Role, time: Time) -> bool {
        let Some(Some(known)) = self.selected_roles.get_mut(node.index()) else { return false };
        if *known == role {
            return false;
        }
        let before = std::mem::replace(known, role);
        // Rows are sorted by node.
        if let Ok(row_index) = self.rows.binary_search_by_key(&node, |row| row.node) {
            self.add_time_in_role(row_index, time);
            if let Some(row) = self.rows.get_mut(row_index) {
                (row.role, row.since) = (role, time);
            }
        }
        role == Role::Chosen && before != Role::Paused
    }

    /// Adds the time since the row's last role change to the bins that it covers.
    fn add_time_in_role(&mut self, row_index: usize, until: Time) {
        self.bin_index(until);
        let Some(since) = self.rows.get(row_index).map(|row| row.since) else { return };
        let (mut from, to, width) = (self.nanos_since_start(since), self.nanos_since_start(until), self.width);
        let Some(row) = self.rows.get_mut(row_index) else { return };
        while from < to {
            let bin = from / width;
            let end = (bin + 1).saturating_mul(width).min(to);
            let index = usize::try_from(bin).unwrap_or_default();
            if row.shares.len() <= index {
                row.shares.resize(index + 1, Shares::default());
            }
            if let Some(shares) = row.shares.get_mut(index) {
                shares.add(row.role, end - from);
            }
            from = end;
        }
    }

    fn count_effect<E>(&self, node: NodeId, effect: &ObservedEffect<'_, E>, counts: &mut Bin) {
        let mut count = |sent: &Sent<'_>, copies: usize| match sent.class {
            Class::Algorithm | Class::Announcement => counts.messages = copies as u64,
            Class::Control => counts.control = copies as u64,
        };
        let sends = self.is_selected(node);
        match effect {
            ObservedEffect::Send { to, sent } => count(sent, usize::from(sends || self.is_selected(*to))),
            ObservedEffect::Multicast { to, sent } => {
                count(sent, receivers(to, sent.id).filter(|(to, _)| sends || self.is_selected(*to)).count());
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

    fn count_world_event(&self, event: &WorldEvent<'_>, counts: &mut Bin) -> Option<NodeId> {
        match event {
            WorldEvent::Lost { id, to, .. } => {
                counts.lost = u64::from(self.is_selected(id.sender) || self.is_selected(*to));
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
        let count = self.bin_index(to) + 1;
        self.bins.resize(count, Bin::default());
        let row = |mut builder: RowBuilder| {
            builder.shares.resize(count, Shares::default());
            NodeRow { node: builder.node, shares: builder.shares, last: builder.role }
        };
        Overview {
            heading,
            origin,
            from,
            to,
            width: Duration::from_nanos(self.width),
            bins: self.bins,
            rows: self.rows.into_iter().map(row).collect(),
            nodes_without_row: self.nodes_without_row,
            bands,
            violations: Vec::new(),
            total: self.total,
            // An overview counts all steps and all nodes.
            omitted: Omitted { quiet: 0, idle: 0, ..omitted },
        }
    }
}
