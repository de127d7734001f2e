//! Measures the super-peers of an overlay: their number, their load (how many other nodes each
//! serves), and the nodes that change super-peer when others join or leave.

use super::{Agreement, Change};
use quorate_core::NodeId;
use quorate_core::election::Overlay;
use serde::Serialize;

/// Counts the nodes that change their super-peer.
#[derive(Clone, Debug)]
pub struct SuperPeerMeasures {
    overlay: Overlay,
    has_begun: bool,
    /// The leader that each live node learnt last, in its current incarnation.
    leaders: Vec<Option<NodeId>>,
    moved: u64,
    must_move: u64,
}

impl SuperPeerMeasures {
    pub fn new(overlay: Overlay) -> Self {
        let leaders = vec![None; overlay.len()];
        Self { overlay, has_begun: false, leaders, moved: 0, must_move: 0 }
    }

    pub fn observe(&mut self, node: NodeId, change: Change, before: &Agreement) {
        match change {
            Change::LearnsLeader { leader, .. } => self.record_leader(node, leader),
            Change::Crashes => {
                self.must_move += self.moves_caused_by(node, before, change);
                self.forget(node);
            }
            Change::Starts => {
                self.has_begun = true;
                self.must_move += self.moves_caused_by(node, before, change);
                self.forget(node);
            }
            Change::Campaigns | Change::BeginsElection(_) | Change::ExtendsLease { .. } | Change::LosesLeader => {}
        }
    }

    fn record_leader(&mut self, node: NodeId, leader: NodeId) {
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

    /// Number of other nodes whose super-peer changes because this node starts or crashes. Zero
    /// before the first start, if a live node starts, or if a dead node crashes.
    fn moves_caused_by(&self, node: NodeId, before: &Agreement, change: Change) -> u64 {
        let joins = change == Change::Starts;
        if !self.has_begun || before.is_live(node) == joins {
            return 0;
        }
        let is_down_before = |other: NodeId| !before.is_live(other);
        let is_down_after = |other: NodeId| if other == node { !joins } else { !before.is_live(other) };
        let others = before.live_nodes().filter(|other| *other != node);
        let moves = |other: &NodeId| {
            self.overlay.super_peer(*other, is_down_before) != self.overlay.super_peer(*other, is_down_after)
        };
        others.filter(moves).count() as u64
    }

    pub fn summary(&self, agreement: &Agreement) -> SuperPeers {
        let loads: Vec<_> = agreement.leaders().map(|(_, load)| load).collect();
        let (count, live) = (loads.len(), agreement.live_nodes().count());
        let ratio_of = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
        SuperPeers {
            id_bits: self.overlay.id_bits(),
            reserved_bits: self.overlay.region_bits(),
            count: count as u64,
            expected: self.overlay.expected_super_peers(live),
            ratio: ratio_of(count, live),
            largest_load: loads.iter().max().map_or(0, |load| *load as u64),
            mean_load: ratio_of(loads.iter().sum(), count),
            moved: self.moved,
            must_move: self.must_move,
        }
    }
}

/// The super-peers at the end of a run, as `--json` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SuperPeers {
    pub id_bits: u32,
    /// Number of id bits that identify a region. Each region with a live node has one super-peer.
    pub reserved_bits: u32,
    pub count: u64,
    /// Mean number of super-peers over random ids of the live nodes.
    pub expected: f64,
    /// Super-peers per live node.
    pub ratio: Option<f64>,
    pub largest_load: u64,
    pub mean_load: Option<f64>,
    /// Number of times that a live node learnt another super-peer than before.
    pub moved: u64,
    /// Number of nodes that must change super-peer because another node joins or leaves, summed
    /// over all joins and leaves, as if the overlay was stable before each.
    pub must_move: u64,
}
