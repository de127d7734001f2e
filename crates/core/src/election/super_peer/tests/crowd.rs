//! Peers that come and go: everyone ends at the super-peer that a look at everybody finds, and nobody moves who need not.

use super::super::{Message, Reached, Stage, SuperPeer, Timer};
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

/// A group whose messages and news arrive in any order, and the disks of its nodes.
struct Crowd {
    plan: Arc<Plan>,
    nodes: Vec<Option<SuperPeer>>,
    disks: Vec<Reached>,
    lives: Vec<Incarnation>,
    mail: Vec<Letter>,
    leaders: Vec<Option<NodeId>>,
    /// Who went over to another one since this was last cleared.
    moved: BTreeSet<NodeId>,
    /// The latest epoch of each node, and the leader of each epoch.
    latest: Vec<Epoch>,
    epochs: BTreeMap<Epoch, NodeId>,
    dice: u64,
}

enum Letter {
    Message { from: NodeId, to: NodeId, message: Message },
    Gone { to: NodeId, node: NodeId },
    Back { to: NodeId, node: NodeId },
}

impl Letter {
    fn is_news_of(&self, node: NodeId) -> bool {
        match self {
            Self::Gone { node: other, .. } | Self::Back { node: other, .. } => *other == node,
            Self::Message { .. } => false,
        }
    }
}

impl Crowd {
    fn new(size: usize, seed: u64, reserved: u32) -> Self {
        let plan = plan(&Group::of_size(size), Overlay::new(size, seed, 16, reserved));
        let mut crowd = Self {
            plan,
            nodes: vec![None; size],
            disks: vec![Reached::default(); size],
            lives: vec![Incarnation::FIRST; size],
            mail: Vec::new(),
            leaders: vec![None; size],
            moved: BTreeSet::new(),
            latest: vec![Epoch(0); size],
            epochs: BTreeMap::new(),
            dice: seed,
        };
        Group::of_size(size).iter().for_each(|node| crowd.boot(node));
        crowd
    }

    fn below(&mut self, bound: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % bound.max(1)
    }

    fn live(&self) -> Vec<NodeId> {
        let all = self.nodes.iter().enumerate();
        all.filter(|(_, node)| node.is_some()).map(|(index, _)| NodeId::from_index(index)).collect()
    }

    fn stage(&self, node: NodeId) -> Stage {
        self.nodes[node.index()].as_ref().map_or(Stage::Idle, |peer| peer.stage)
    }

    /// Whom each live node should have, by a look at everybody.
    fn wanted(&self) -> BTreeMap<NodeId, NodeId> {
        let (live, overlay) = (self.live(), &self.plan.overlay);
        let region = |node: NodeId| overlay.id(node) >> (overlay.bits() - overlay.reserved());
        let first = |node: NodeId| {
            let neighbours = live.iter().copied().filter(|other| region(*other) == region(node));
            neighbours.min_by_key(|other| (overlay.id(*other), *other)).unwrap_or(node)
        };
        live.iter().map(|node| (*node, first(*node))).collect()
    }

    fn boot(&mut self, node: NodeId) {
        self.nodes[node.index()] = Some(SuperPeer::new(node, Arc::clone(&self.plan)));
        let (durable, incarnation) = (self.disks[node.index()].clone(), self.lives[node.index()]);
        self.step(node, Input::Start { durable, incarnation });
    }

    /// It goes if it is there, and comes if it is not.
    fn change(&mut self, node: NodeId) {
        if self.nodes[node.index()].take().is_some() {
            self.leaders[node.index()] = None;
            self.lives[node.index()] = self.lives[node.index()].next();
            let news = self.live().into_iter().map(|to| Letter::Gone { to, node });
            self.mail.extend(news);
        } else {
            self.boot(node);
            let news = self.live().into_iter().filter(|to| *to != node).map(|to| Letter::Back { to, node });
            self.mail.extend(news);
        }
    }

    fn step(&mut self, node: NodeId, input: Input<SuperPeer>) {
        let Some(peer) = &mut self.nodes[node.index()] else { return };
        let mut effects: Vec<Effect<SuperPeer>> = Vec::new();
        peer.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.mail.push(Letter::Message { from: node, to, message }),
                Effect::Save(epoch) => self.disks[node.index()].apply(epoch),
                Effect::Emit { event: Event::Elected { leader, epoch, .. }, .. } => self.learns(node, leader, epoch),
                Effect::Emit { event: Event::Began { epoch }, .. } => {
                    assert!(epoch >= self.latest[node.index()], "{node} goes back to {epoch}");
                }
                Effect::Emit { .. } | Effect::Multicast { .. } | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }

    fn learns(&mut self, node: NodeId, leader: NodeId, epoch: Epoch) {
        assert!(epoch >= self.latest[node.index()], "{node} goes back to {epoch}");
        self.latest[node.index()] = epoch;
        assert_eq!(*self.epochs.entry(epoch).or_insert(leader), leader, "two lead in epoch {epoch}");
        let before = self.leaders[node.index()].replace(leader);
        if before.is_some_and(|before| before != leader) {
            self.moved.insert(node);
        }
    }

    /// Everything arrives, in any order. Whoever waits for one who is gone waits until nothing else happens.
    fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.mail.is_empty() {
                let waits = |node: &NodeId| matches!(self.stage(*node), Stage::Attaching(_));
                let Some(node) = self.live().into_iter().find(waits) else { return };
                self.step(node, Input::Timer(Timer::Answer));
                continue;
            }
            let place = self.below(self.mail.len());
            match self.mail.swap_remove(place) {
                Letter::Message { from, to, message } => self.step(to, Input::Message { from, message }),
                Letter::Gone { to, node } => self.step(to, Input::Suspect(node)),
                Letter::Back { to, node } => self.step(to, Input::Trust(node)),
            }
        }
        panic!("they never settle");
    }

    #[track_caller]
    fn assert_settled(&self, what: &str) {
        for (node, leader) in self.wanted() {
            assert_eq!(self.leaders[node.index()], Some(leader), "{what}: node {node}");
            assert_eq!(self.stage(leader), Stage::Leading, "{what}: node {leader}");
        }
    }
}

/// One comes or goes at a time, and all settles in between.
#[test]
fn joins_and_leaves_move_exactly_those_who_must() {
    let (mut moves, mut stays) = (0, 0);
    for seed in 0..300 {
        let size = 4 + seed as usize % 14;
        let mut crowd = Crowd::new(size, seed, seed as u32 % 5);
        crowd.settle();
        crowd.assert_settled("at first");
        for _ in 0..30 {
            let node = NodeId::from_index(crowd.below(size));
            let before = crowd.wanted();
            crowd.moved.clear();
            crowd.change(node);
            crowd.settle();
            crowd.assert_settled("after a change");
            let has_moved = |(other, leader): &(NodeId, NodeId)| before.get(other).is_some_and(|old| old != leader);
            let must: BTreeSet<_> = crowd.wanted().into_iter().filter(has_moved).map(|(other, _)| other).collect();
            assert_eq!(crowd.moved, must, "seed {seed}, node {node}");
            moves += must.len();
            stays += crowd.live().len() - must.len();
        }
    }
    assert!(moves > 1_000 && stays > 10_000, "{moves} moves and {stays} stays are too few to tell");
}

/// Many come and go at once, before anybody has settled. News of one node keeps its order, as a detector's does.
#[test]
fn all_settle_in_the_end_however_many_come_and_go_at_once() {
    for seed in 0..300 {
        let size = 3 + seed as usize % 12;
        let mut crowd = Crowd::new(size, seed, seed as u32 % 4);
        for _ in 0..40 {
            let node = NodeId::from_index(crowd.below(size));
            if crowd.mail.iter().any(|letter| letter.is_news_of(node)) {
                crowd.settle();
            }
            crowd.change(node);
        }
        crowd.settle();
        crowd.assert_settled(&std::format!("seed {seed}"));
    }
}
