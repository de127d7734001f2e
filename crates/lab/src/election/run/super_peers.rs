//! The super-peers of an overlay, measured: how many there are, whom they serve, and who moves when peers come and go.

use super::{Agreement, Change};
use quorate_core::NodeId;
use quorate_core::election::Overlay;
use serde::Serialize;

#[derive(Clone, Debug)]
pub struct Crowd {
    overlay: Overlay,
    has_begun: bool,
    /// The leader whom each live node knew last, in its present life.
    leaders: Vec<Option<NodeId>>,
    moved: u64,
    must_move: u64,
}

impl Crowd {
    pub fn new(overlay: Overlay) -> Self {
        let leaders = vec![None; overlay.len()];
        Self { overlay, has_begun: false, leaders, moved: 0, must_move: 0 }
    }

    pub fn observe(&mut self, node: NodeId, change: Change, before: &Agreement) {
        match change {
            Change::Learns { leader, .. } => self.learns(node, leader),
            Change::Dies => {
                self.must_move += self.moves_by(node, before, false);
                self.forget(node);
            }
            Change::Boots => {
                self.has_begun = true;
                self.must_move += self.moves_by(node, before, true);
                self.forget(node);
            }
            Change::Campaigns | Change::Begins(_) | Change::Extends { .. } | Change::Ends => {}
        }
    }

    fn learns(&mut self, node: NodeId, leader: NodeId) {
        if let Some(known) = self.leaders.get_mut(node.index()) {
            self.moved += u64::from(known.is_some_and(|before| before != leader));
            *known = Some(leader);
        }
    }

    fn forget(&mut self, node: NodeId) {
        if let Some(known) = self.leaders.get_mut(node.index()) {
            *known = None;
        }
    }

    /// How many others have another super-peer once this node comes or goes. Who is up already does not come, and before the
    /// beginning nobody has any.
    fn moves_by(&self, node: NodeId, before: &Agreement, comes: bool) -> u64 {
        if !self.has_begun || before.is_live(node) == comes {
            return 0;
        }
        let gone_before = |other: NodeId| !before.is_live(other);
        let gone_after = |other: NodeId| if other == node { !comes } else { !before.is_live(other) };
        let others = before.live().filter(|other| *other != node);
        let moves = |other: &NodeId| {
            self.overlay.super_peer(*other, gone_before) != self.overlay.super_peer(*other, gone_after)
        };
        others.filter(moves).count() as u64
    }

    pub fn summary(&self, agreement: &Agreement) -> SuperPeers {
        let loads: Vec<_> = agreement.leaders().map(|(_, load)| load).collect();
        let (count, live) = (loads.len(), agreement.live().count());
        let among = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
        SuperPeers {
            id_bits: self.overlay.bits(),
            reserved_bits: self.overlay.reserved(),
            count: count as u64,
            expected: self.overlay.expected(live),
            ratio: among(count, live),
            largest_load: loads.iter().max().map_or(0, |load| *load as u64),
            mean_load: among(loads.iter().sum(), count),
            moved: self.moved,
            must_move: self.must_move,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SuperPeers {
    pub id_bits: u32,
    /// How many of their bits name the region: there is one super-peer in each where anybody lives.
    pub reserved_bits: u32,
    pub count: u64,
    /// How many there would be on average, with ids drawn at random.
    pub expected: f64,
    pub ratio: Option<f64>,
    pub largest_load: u64,
    pub mean_load: Option<f64>,
    pub moved: u64,
    /// How often one had to because somebody came or went, each time as if all had settled before.
    pub must_move: u64,
}
