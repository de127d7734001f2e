//! Fills the bins of an overview as a run goes by.

use super::{Bin, Overview, Row, Shares};
use crate::scene::{Band, Beyond, Heading};
use quorate_core::{Class, Duration, NodeId, Time};
use quorate_sim::moment::{Done, Happening, Moment, Sent, receivers};
use quorate_sim::role::{Role, Roles};

/// Never more bins than this.
const MOST_BINS: usize = 480;
/// Never more nodes with a row of their own.
const MOST_ROWS: usize = 40;
/// How long a bin is at first.
const FIRST_WIDTH: u64 = 1_000;

/// An overview under way.
pub struct Survey {
    members: Vec<NodeId>,
    more_nodes: usize,
    begin: Option<Time>,
    width: u64,
    bins: Vec<Bin>,
    rows: Vec<Track>,
    total: Bin,
}

/// A node's row under way.
struct Track {
    role: Role,
    since: Time,
    shares: Vec<Shares>,
}

impl Survey {
    /// An overview of these members, of a group of this size.
    pub fn new(members: &[NodeId], nodes: usize) -> Self {
        let mut members: Vec<_> = members.iter().copied().filter(|member| member.index() < nodes).collect();
        let more_nodes = members.len().saturating_sub(MOST_ROWS);
        members.truncate(MOST_ROWS);
        let (begin, bins, rows, total) = (None, Vec::new(), Vec::new(), Bin::default());
        Self { members, more_nodes, begin, width: FIRST_WIDTH, bins, rows, total }
    }

    /// When the first thing happened.
    pub fn first(&self) -> Option<Time> {
        self.begin
    }

    /// Takes note of a moment in the window; `roles` have seen it already.
    pub fn observe<C, E>(&mut self, moment: &Moment<'_, C, E>, roles: &Roles<C, E>) {
        let time = moment.time();
        if self.begin.is_none() {
            self.begin = Some(time);
            let track = |node: &NodeId| Track { role: roles.of(*node), since: time, shares: Vec::new() };
            self.rows = self.members.iter().map(track).collect();
        }
        let mut found = Bin::default();
        let node = match moment {
            Moment::Input { node, .. } => {
                found.steps = 1;
                Some(*node)
            }
            Moment::Effect { node, effect, .. } => {
                count_effect(effect, &mut found);
                Some(*node)
            }
            Moment::World { what, .. } => count_world(what, &mut found),
        };
        if let Some(node) = node
            && self.change(node, roles.of(node), time)
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

    /// The bin of an instant. Bins become wider until it fits.
    fn bin(&mut self, time: Time) -> Option<&mut Bin> {
        let index = self.index(time);
        if self.bins.len() <= index {
            self.bins.resize(index + 1, Bin::default());
        }
        self.bins.get_mut(index)
    }

    fn index(&mut self, time: Time) -> usize {
        let since = u64::try_from(time.nanos().saturating_sub(self.begin.unwrap_or(time).nanos())).unwrap_or_default();
        while since / self.width >= MOST_BINS as u64 {
            self.widen();
        }
        usize::try_from(since / self.width).unwrap_or_default()
    }

    /// Two bins become one.
    fn widen(&mut self) {
        self.width = self.width.saturating_mul(2);
        let pair = |pair: &[Bin]| {
            pair.iter().fold(Bin::default(), |mut sum, bin| {
                sum.add(*bin);
                sum
            })
        };
        self.bins = self.bins.chunks(2).map(pair).collect();
        for row in &mut self.rows {
            let pair = |pair: &[Shares]| {
                pair.iter().fold(Shares::default(), |mut sum, shares| {
                    sum.merge(shares);
                    sum
                })
            };
            row.shares = row.shares.chunks(2).map(pair).collect();
        }
    }

    /// How a node stands from now on; whether it has become the one.
    fn change(&mut self, node: NodeId, role: Role, time: Time) -> bool {
        let Some(place) = self.members.iter().position(|member| *member == node) else { return false };
        let Some(row) = self.rows.get(place).filter(|row| row.role != role) else { return false };
        let (before, since) = (row.role, row.since);
        self.stood(place, before, since, time);
        if let Some(row) = self.rows.get_mut(place) {
            (row.role, row.since) = (role, time);
        }
        role == Role::Chosen && before != Role::Paused
    }

    /// A node stood like this for so long.
    fn stood(&mut self, place: usize, role: Role, since: Time, until: Time) {
        self.index(until);
        let begin = self.begin.unwrap_or(since).nanos();
        let offset = |time: Time| u64::try_from(time.nanos().saturating_sub(begin)).unwrap_or_default();
        let (mut from, to, width) = (offset(since), offset(until), self.width);
        let Some(row) = self.rows.get_mut(place) else { return };
        while from < to {
            let bin = from / width;
            let end = (bin + 1).saturating_mul(width).min(to);
            let index = usize::try_from(bin).unwrap_or_default();
            if row.shares.len() <= index {
                row.shares.resize(index + 1, Shares::default());
            }
            if let Some(shares) = row.shares.get_mut(index) {
                shares.add(role, end - from);
            }
            from = end;
        }
    }

    /// The overview, now that the run is over.
    pub(crate) fn finish(
        mut self,
        heading: Heading,
        origin: Time,
        (from, to): (Time, Time),
        bands: Vec<Band>,
        beyond: Beyond,
    ) -> Overview {
        for place in 0..self.rows.len() {
            if let Some((role, since)) = self.rows.get(place).map(|row| (row.role, row.since)) {
                self.stood(place, role, since, to);
            }
        }
        let from = self.begin.unwrap_or(from);
        self.index(to);
        let rows = self.members.iter().zip(self.rows).map(|(node, row)| Row { node: *node, shares: row.shares });
        Overview {
            heading,
            origin,
            from,
            to,
            width: Duration::from_nanos(self.width),
            bins: self.bins,
            lanes: rows.collect(),
            more_nodes: self.more_nodes,
            bands,
            breaches: Vec::new(),
            total: self.total,
            beyond,
        }
    }
}

fn count_effect<E>(effect: &Done<'_, E>, found: &mut Bin) {
    let mut count = |sent: &Sent<'_>, copies: u64| match sent.class {
        Class::Algorithm | Class::Announcement => found.messages = copies,
        Class::Control => found.control = copies,
    };
    match effect {
        Done::Send { sent, .. } => count(sent, 1),
        Done::Multicast { to, sent } => count(sent, receivers(to, sent.id).count() as u64),
        Done::Save(_)
        | Done::SetTimer { .. }
        | Done::CancelTimer(_)
        | Done::Emit(_)
        | Done::Rule { .. }
        | Done::Handed { .. } => {}
    }
}

fn count_world(what: &Happening<'_>, found: &mut Bin) -> Option<NodeId> {
    match what {
        Happening::Lost { .. } => {
            found.lost = 1;
            None
        }
        Happening::Crashed { node, .. } => {
            found.crashes = 1;
            Some(*node)
        }
        Happening::Ended { node } | Happening::Paused { node } | Happening::Resumed { node } => Some(*node),
        Happening::Duplicated { .. } | Happening::Changed { .. } => None,
    }
}
