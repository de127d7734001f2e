//! Peers that come and go: every peer ends at the super-peer that an exhaustive search finds, and
//! only peers that must move do so.

use super::super::{Message, Phase, SavedEpoch, SuperPeer, Timer};
use super::plan;
use crate::effects::{Effect, Effects};
use crate::election::{Event, Overlay, Plan};
use crate::group::{Epoch, Group};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::time::Time;
use alloc::sync::Arc;
use std::collections::{BTreeMap, BTreeSet};
use std::vec;
use std::vec::Vec;

/// Length of the ids of nodes, in bits.
const ID_BITS: u32 = 16;

/// A simulated group whose messages and failure notices arrive in any order, with the disks of its
/// nodes.
struct OverlayGroup {
    plan: Arc<Plan>,
    nodes: Vec<Option<SuperPeer>>,
    disks: Vec<SavedEpoch>,
    incarnations: Vec<Incarnation>,
    pending: Vec<Pending>,
    /// The leader that each node knows.
    known_leaders: Vec<Option<NodeId>>,
    /// Peers that moved to another super-peer since the set was last cleared.
    moved: BTreeSet<NodeId>,
    /// The latest epoch that each node has reported, in all its incarnations.
    latest_epochs: Vec<Epoch>,
    leaders_by_epoch: BTreeMap<Epoch, NodeId>,
    random_state: u64,
}

/// A message, or a notice of the failure detector at `to` about another node.
enum Pending {
    Message { from: NodeId, to: NodeId, message: Message },
    Gone { to: NodeId, node: NodeId },
    Restarted { to: NodeId, node: NodeId },
}

impl Pending {
    fn is_notice_about(&self, node: NodeId) -> bool {
        match self {
            Self::Gone { node: other, .. } | Self::Restarted { node: other, .. } => *other == node,
            Self::Message { .. } => false,
        }
    }
}

impl OverlayGroup {
    fn new(size: usize, seed: u64, region_bits: u32) -> Self {
        let plan = plan(&Group::of_size(size), Overlay::new(size, seed, ID_BITS, region_bits));
        let mut group = Self {
            plan,
            nodes: vec![None; size],
            disks: vec![SavedEpoch::default(); size],
            incarnations: vec![Incarnation::FIRST; size],
            pending: Vec::new(),
            known_leaders: vec![None; size],
            moved: BTreeSet::new(),
            latest_epochs: vec![Epoch(0); size],
            leaders_by_epoch: BTreeMap::new(),
            random_state: seed,
        };
        Group::of_size(size).iter().for_each(|node| group.boot(node));
        group
    }

    /// Draws a number below `bound` from a linear congruential generator (Knuth's constants).
    fn random_below(&mut self, bound: usize) -> usize {
        self.random_state =
            self.random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random_state >> 33) as usize % bound.max(1)
    }

    fn live_nodes(&self) -> Vec<NodeId> {
        let all = self.nodes.iter().enumerate();
        all.filter(|(_, node)| node.is_some()).map(|(index, _)| NodeId::from_index(index)).collect()
    }

    fn phase(&self, node: NodeId) -> Phase {
        self.nodes[node.index()].as_ref().map_or(Phase::Idle, |peer| peer.phase)
    }

    /// Returns the super-peer that each live node should have, by a search over all nodes.
    fn expected_super_peers(&self) -> BTreeMap<NodeId, NodeId> {
        let (live, overlay) = (self.live_nodes(), &self.plan.overlay);
        let region = |node: NodeId| overlay.id(node) >> (overlay.id_bits() - overlay.region_bits());
        let first = |node: NodeId| {
            let same_region = live.iter().copied().filter(|other| region(*other) == region(node));
            same_region.min_by_key(|other| (overlay.id(*other), *other)).unwrap_or(node)
        };
        live.iter().map(|node| (*node, first(*node))).collect()
    }

    fn boot(&mut self, node: NodeId) {
        self.nodes[node.index()] = Some(SuperPeer::new(node, Arc::clone(&self.plan)));
        let (durable, incarnation) = (self.disks[node.index()].clone(), self.incarnations[node.index()]);
        self.step(node, Input::Start { durable, incarnation });
    }

    /// Stops the node if it is up, and starts it otherwise.
    fn stop_or_start(&mut self, node: NodeId) {
        if self.nodes[node.index()].take().is_some() {
            self.known_leaders[node.index()] = None;
            self.incarnations[node.index()] = self.incarnations[node.index()].next();
            let notices = self.live_nodes().into_iter().map(|to| Pending::Gone { to, node });
            self.pending.extend(notices);
        } else {
            self.boot(node);
            let notices =
                self.live_nodes().into_iter().filter(|to| *to != node).map(|to| Pending::Restarted { to, node });
            self.pending.extend(notices);
        }
    }

    fn step(&mut self, node: NodeId, input: Input<SuperPeer>) {
        let Some(peer) = &mut self.nodes[node.index()] else { return };
        let mut effects: Vec<Effect<SuperPeer>> = Vec::new();
        peer.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.pending.push(Pending::Message { from: node, to, message }),
                Effect::Save(epoch) => self.disks[node.index()].apply(epoch),
                Effect::Emit { event: Event::Elected { leader, epoch, .. }, .. } => {
                    self.record_leader(node, leader, epoch);
                }
                Effect::Emit { event: Event::Began { epoch }, .. } => {
                    assert!(epoch >= self.latest_epochs[node.index()], "the epoch of {node} decreases to {epoch}");
                }
                Effect::Emit { .. } | Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }

    fn record_leader(&mut self, node: NodeId, leader: NodeId, epoch: Epoch) {
        assert!(epoch >= self.latest_epochs[node.index()], "the epoch of {node} decreases to {epoch}");
        self.latest_epochs[node.index()] = epoch;
        assert_eq!(*self.leaders_by_epoch.entry(epoch).or_insert(leader), leader, "two nodes lead in epoch {epoch}");
        let previous = self.known_leaders[node.index()].replace(leader);
        if previous.is_some_and(|previous| previous != leader) {
            self.moved.insert(node);
        }
    }

    /// Delivers everything, in any order. An answer times out only when nothing else can happen.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.pending.is_empty() {
                let is_attaching = |node: &NodeId| matches!(self.phase(*node), Phase::Attaching(_));
                let Some(node) = self.live_nodes().into_iter().find(is_attaching) else { return };
                self.step(node, Input::Timer(Timer::Answer));
                continue;
            }
            let index = self.random_below(self.pending.len());
            match self.pending.swap_remove(index) {
                Pending::Message { from, to, message } => self.step(to, Input::Message { from, message }),
                Pending::Gone { to, node } => self.step(to, Input::Suspect(node)),
                Pending::Restarted { to, node } => self.step(to, Input::Trust(node)),
            }
        }
        panic!("the group never settles");
    }

    /// Asserts that every live node follows the super-peer that it should have, which leads.
    #[track_caller]
    fn assert_settled(&self, context: &str) {
        for (node, leader) in self.expected_super_peers() {
            assert_eq!(self.known_leaders[node.index()], Some(leader), "{context}: node {node}");
            assert_eq!(self.phase(leader), Phase::Leading, "{context}: node {leader}");
        }
    }
}

/// One peer joins or leaves at a time, and the group settles in between.
#[test]
fn joins_and_leaves_move_only_the_peers_that_must_move() {
    let (mut moved_count, mut unmoved_count) = (0, 0);
    for seed in 0..300 {
        let (size, region_bits) = (4 + seed as usize % 14, seed as u32 % 5);
        let mut group = OverlayGroup::new(size, seed, region_bits);
        group.settle();
        group.assert_settled("at first");
        for _ in 0..30 {
            let node = NodeId::from_index(group.random_below(size));
            let super_peers_before = group.expected_super_peers();
            group.moved.clear();
            group.stop_or_start(node);
            group.settle();
            group.assert_settled("after a change");
            let has_moved =
                |(other, leader): &(NodeId, NodeId)| super_peers_before.get(other).is_some_and(|old| old != leader);
            let expected_moves: BTreeSet<_> =
                group.expected_super_peers().into_iter().filter(has_moved).map(|(other, _)| other).collect();
            assert_eq!(group.moved, expected_moves, "seed {seed}, node {node}");
            moved_count += expected_moves.len();
            unmoved_count += group.live_nodes().len() - expected_moves.len();
        }
    }
    assert!(
        moved_count > 1_000 && unmoved_count > 10_000,
        "{moved_count} moved and {unmoved_count} unmoved peers are too few for a meaningful test"
    );
}

/// Many peers join and leave before the group has settled. Notices about the same node keep their
/// order, as those of a failure detector do.
#[test]
fn the_group_settles_after_many_concurrent_changes() {
    for seed in 0..300 {
        let (size, region_bits) = (3 + seed as usize % 12, seed as u32 % 4);
        let mut group = OverlayGroup::new(size, seed, region_bits);
        for _ in 0..40 {
            let node = NodeId::from_index(group.random_below(size));
            if group.pending.iter().any(|item| item.is_notice_about(node)) {
                group.settle();
            }
            group.stop_or_start(node);
        }
        group.settle();
        group.assert_settled(&std::format!("seed {seed}"));
    }
}
