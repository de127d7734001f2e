//! Builds an overview while a run is observed.

use super::{Bin, NodeRow, Overview, Shares};
use crate::scene::{Band, Heading, Omitted};
use quorate_core::{Class, Duration, NodeId, Time};
use quorate_journal::moment::{Moment, ObservedEffect, Sent, WorldEvent, receivers};
use quorate_journal::role::{Role, Roles};

/// Maximum number of bins.
const MAX_BINS: usize = 480;
/// Maximum number of nodes with a row of their own.
const MAX_ROWS: usize = 40;
/// Initial width of a bin, in nanoseconds.
const INITIAL_BIN_WIDTH: u64 = 1_000;

/// An overview that is being built.
pub struct OverviewBuilder {
    /// Role of each node of the group; `None` for nodes that are not selected.
    members: Vec<Option<Role>>,
    more_nodes: usize,
    begin: Option<Time>,
    /// The latest instant so far. Time may go back in a malformed journal.
    latest: Time,
    width: u64,
    bins: Vec<Bin>,
    rows: Vec<RowBuilder>,
    total: Bin,
}

/// A node's row that is being built.
struct RowBuilder {
    node: NodeId,
    role: Role,
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
            members: roles,
            more_nodes: members.len().saturating_sub(MAX_ROWS),
            begin: None,
            latest: Time::ZERO,
            width: INITIAL_BIN_WIDTH,
            bins: Vec::new(),
            rows: members.iter().take(MAX_ROWS).map(builder).collect(),
            total: Bin::default(),
        }
    }

    /// Returns the time of the first moment observed.
    pub fn first(&self) -> Option<Time> {
        self.begin
    }

    /// Records a moment in the window. `roles` must have observed it already.
    pub fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>, roles: &Roles<C, E>) {
        let time = moment.time();
        if self.begin.is_none() {
            self.start(time, roles);
        }
        self.latest = self.latest.max(time);
        let mut found = Bin::default();
        let node = match moment {
            Moment::Input { node, .. } => {
                found.steps = u64::from(self.has(*node));
                Some(*node)
            }
            Moment::Effect { node, effect, .. } => {
                self.count_effect(*node, effect, &mut found);
                Some(*node)
            }
            Moment::World { event, .. } => self.count_world(event, &mut found),
        };
        if let Some(node) = node
            && self.change(node, roles.role(node), time)
        {
            found.chosen = 1;
        }
        if found != Bin::default() {
            self.total.add(found);
            if let Some(bin) = self.bin(time) {
                bin.add(found);
            }
        }
    }

    fn start<C, E>(&mut self, time: Time, roles: &Roles<C, E>) {
        (self.begin, self.latest) = (Some(time), time);
        for (index, member) in self.members.iter_mut().enumerate() {
            if let Some(role) = member {
                *role = roles.role(NodeId::from_index(index));
            }
        }
        for row in &mut self.rows {
            (row.role, row.since) = (roles.role(row.node), time);
        }
    }

    fn has(&self, node: NodeId) -> bool {
        self.members.get(node.index()).is_some_and(Option::is_some)
    }

    /// Returns the bin of an instant, after widening bins until it fits.
    fn bin(&mut self, time: Time) -> Option<&mut Bin> {
        let index = self.index(time);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins.get_mut(index)
    }

    fn index(&mut self, time: Time) -> usize {
        let since = self.offset(time);
        while since / self.width >= MAX_BINS as u64 {
            self.widen();
        }
        usize::try_from(since / self.width).unwrap_or_default()
    }

    /// Returns the time since the beginning; 0 for earlier instants.
    fn offset(&self, time: Time) -> u64 {
        let begin = self.begin.unwrap_or(time);
        if time > begin { time.nanos().abs_diff(begin.nanos()) } else { 0 }
    }

    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        self.bins = self.bins.chunks(2).map(Bin::sum).collect();
        for row in &mut self.rows {
            row.shares = row.shares.chunks(2).map(Shares::sum).collect();
        }
    }

    /// Records a node's role. Returns whether the node became chosen.
    fn change(&mut self, node: NodeId, role: Role, time: Time) -> bool {
        let Some(Some(known)) = self.members.get_mut(node.index()) else { return false };
        if *known == role {
            return false;
        }
        let before = std::mem::replace(known, role);
        // Rows are sorted by node.
        if let Ok(place) = self.rows.binary_search_by_key(&node, |row| row.node) {
            self.add_share(place, time);
            if let Some(row) = self.rows.get_mut(place) {
                (row.role, row.since) = (role, time);
            }
        }
        role == Role::Chosen && before != Role::Paused
    }

    fn add_share(&mut self, place: usize, until: Time) {
        self.index(until);
        let Some(since) = self.rows.get(place).map(|row| row.since) else { return };
        let (mut from, to, width) = (self.offset(since), self.offset(until), self.width);
        let Some(row) = self.rows.get_mut(place) else { return };
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

    fn count_effect<E>(&self, node: NodeId, effect: &ObservedEffect<'_, E>, found: &mut Bin) {
        let mut count = |sent: &Sent<'_>, copies: usize| match sent.class {
            Class::Algorithm | Class::Announcement => found.messages = copies as u64,
            Class::Control => found.control = copies as u64,
        };
        let sends = self.has(node);
        match effect {
            ObservedEffect::Send { to, sent } => count(sent, usize::from(sends || self.has(*to))),
            ObservedEffect::Multicast { to, sent } => {
                count(sent, receivers(to, sent.id).filter(|(to, _)| sends || self.has(*to)).count());
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

    fn count_world(&self, event: &WorldEvent<'_>, found: &mut Bin) -> Option<NodeId> {
        match event {
            WorldEvent::Lost { id, to, .. } => {
                found.lost = u64::from(self.has(id.sender) || self.has(*to));
                None
            }
            WorldEvent::Crashed { node, .. } => {
                found.crashes = u64::from(self.has(*node));
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
        let from = self.begin.unwrap_or(from);
        let to = if self.begin.is_some() { to.max(self.latest) } else { to };
        for place in 0..self.rows.len() {
            self.add_share(place, to);
        }
        // Bins cover the whole time, even where nothing happens.
        let count = self.index(to) + 1;
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
            lanes: self.rows.into_iter().map(row).collect(),
            more_nodes: self.more_nodes,
            bands,
            violations: Vec::new(),
            total: self.total,
            // An overview counts all steps and all nodes.
            omitted: Omitted { quiet: 0, idle: 0, ..omitted },
        }
    }
}
