//! Random histories, correct and faulty: the incremental properties agree with an evaluation of the
//! whole history.

use super::reference::History;
use super::{Action, Properties, Property, PropertySet, observe_all};
use quorate_core::multicast::{GroupId, MessageId};
use quorate_core::{Epoch, Incarnation, NodeId, Stay, View};
use quorate_journal::rng::{SeededRng, Stream};
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = 8_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryOrder {
    /// In sending order, which keeps every order.
    AsSent,
    BySender,
    Any,
}

#[derive(Clone, Debug)]
struct NodeState {
    is_up: bool,
    life: Incarnation,
    /// The view that it is in.
    view: Option<Epoch>,
    latest: Option<Epoch>,
    delivered: BTreeSet<MessageId>,
    sent: u64,
}

struct HistoryGenerator {
    rng: SeededRng,
    order: DeliveryOrder,
    has_views: bool,
    node_states: Vec<NodeState>,
    sent: Vec<MessageId>,
    views: BTreeMap<Epoch, View>,
    actions: Vec<Action>,
    error_interval: u64,
}

impl HistoryGenerator {
    fn new(seed: u64) -> Self {
        let mut rng = SeededRng::new(seed, Stream::Workload);
        let order = match rng.below(3) {
            0 => DeliveryOrder::AsSent,
            1 => DeliveryOrder::BySender,
            _ => DeliveryOrder::Any,
        };
        let has_views = rng.below(2) == 0;
        let nodes = 2 + rng.below(3) as usize;
        let view = (!has_views).then_some(View::FIRST);
        let node_state = NodeState {
            is_up: true,
            life: Incarnation::FIRST,
            view,
            latest: view,
            delivered: BTreeSet::new(),
            sent: 0,
        };
        let error_interval = [12, 60, 100_000][rng.below(3) as usize];
        let node_states = vec![node_state; nodes];
        Self {
            rng,
            order,
            has_views,
            node_states,
            sent: Vec::new(),
            views: BTreeMap::new(),
            actions: Vec::new(),
            error_interval,
        }
    }

    fn write(mut self) -> Self {
        if self.has_views {
            self.decide();
            (0..self.node_states.len()).for_each(|index| self.begin(index));
        }
        for _ in 0..5 + self.rng.below(35) {
            let index = self.rng.below(self.node_states.len() as u64) as usize;
            match self.rng.below(if self.has_views { 24 } else { 18 }) {
                0..5 => self.send(index),
                5..16 => self.deliver(index),
                16 => self.crash(index),
                17 => self.boot(index),
                18 => self.quit(index),
                19..21 => self.decide(),
                _ => self.begin(index),
            }
        }
        // Most histories end with all messages delivered, else no property would ever hold.
        if self.rng.below(4) > 0 {
            for index in 0..self.node_states.len() {
                self.catch_up(index);
                while self.has_views
                    && self.views.keys().next_back() > self.node_states[index].latest.as_ref()
                    && self.begin_next(index)
                {
                    self.catch_up(index);
                }
            }
        }
        self
    }

    fn makes_error(&mut self) -> bool {
        self.rng.below(self.error_interval) == 0
    }

    fn send(&mut self, index: usize) {
        let node_state = &mut self.node_states[index];
        let Some(view) =
            node_state.view.filter(|_| node_state.is_up && (self.has_views || node_state.life == Incarnation::FIRST))
        else {
            return;
        };
        node_state.sent += 1;
        let node = NodeId::from_index(index);
        let id = MessageId { group: GroupId::ONLY, view, sender: node, number: node_state.sent };
        self.sent.push(id);
        if self.order != DeliveryOrder::AsSent && self.rng.below(2) == 0 {
            self.node_states[index].delivered.insert(id);
            self.actions.push(Action::SendsAndDelivers(node, id, "m"));
        } else {
            self.actions.push(Action::Sends(node, id, "m"));
        }
    }

    fn deliver(&mut self, index: usize) {
        let node = NodeId::from_index(index);
        if !self.node_states[index].is_up || (self.node_states[index].view.is_none() && !self.makes_error()) {
            return;
        }
        if self.makes_error() && !self.sent.is_empty() {
            let some = self.sent[self.rng.below(self.sent.len() as u64) as usize];
            let beyond = MessageId { number: some.number + 1_000, ..some };
            // Messages that all have delivered are forgotten, so a wrong payload is not detected if
            // a later incarnation delivers one.
            let kinds = if self.has_views || self.node_states[index].life == Incarnation::FIRST { 3 } else { 2 };
            let (id, text) = [(some, "m"), (beyond, "m"), (some, "changed")][self.rng.below(kinds) as usize];
            if self.node_states[index].view == Some(id.view) && id.number < 1_000 {
                self.node_states[index].delivered.insert(id);
            }
            // An unsent message of its own would count as sent in the same step.
            if id.number < 1_000 || id.sender != node {
                self.actions.push(Action::Delivers(node, id, text));
            }
            return;
        }
        let node_state = &self.node_states[index];
        let open: Vec<_> = self
            .sent
            .iter()
            .filter(|id| node_state.view == Some(id.view) && !node_state.delivered.contains(id))
            .copied()
            .collect();
        let Some(chosen) = (match self.order {
            DeliveryOrder::AsSent => open.first().copied(),
            DeliveryOrder::Any => open.get(self.rng.below(open.len() as u64) as usize).copied(),
            DeliveryOrder::BySender => {
                let sender = open.get(self.rng.below(open.len() as u64) as usize).map(|id| id.sender);
                open.iter().find(|id| Some(id.sender) == sender).copied()
            }
        }) else {
            return;
        };
        self.node_states[index].delivered.insert(chosen);
        self.actions.push(Action::Delivers(node, chosen, "m"));
    }

    fn catch_up(&mut self, index: usize) {
        let before = (self.order, self.error_interval);
        self.error_interval = u64::MAX;
        for _ in 0..self.sent.len() {
            self.deliver(index);
        }
        (self.order, self.error_interval) = before;
    }

    fn crash(&mut self, index: usize) {
        let node_state = &mut self.node_states[index];
        if std::mem::replace(&mut node_state.is_up, false) {
            node_state.view = None;
            self.actions.push(Action::Crashes(NodeId::from_index(index)));
        }
    }

    fn boot(&mut self, index: usize) {
        let has_views = self.has_views;
        let node_state = &mut self.node_states[index];
        if !node_state.is_up {
            (node_state.is_up, node_state.life, node_state.delivered) = (true, node_state.life.next(), BTreeSet::new());
            node_state.view = (!has_views).then_some(View::FIRST);
            self.actions.push(Action::Boots(NodeId::from_index(index), node_state.life));
        }
    }

    fn quit(&mut self, index: usize) {
        let node = NodeId::from_index(index);
        if self.node_states[index].view.take().is_some() {
            let leaves = self.rng.below(2) == 0;
            self.actions.push(if leaves { Action::Leaves(node) } else { Action::IsOut(node) });
        }
    }

    /// Decides a new view, mostly of the nodes that are up.
    fn decide(&mut self) {
        let before = self.views.values().next_back().cloned();
        let epoch = before.as_ref().map_or(View::FIRST, |view| Epoch(view.epoch().0 + 1));
        let mut members = Vec::new();
        for (index, node_state) in self.node_states.iter().enumerate() {
            let node = NodeId::from_index(index);
            let stay =
                before.as_ref().and_then(|view| view.stay(node)).filter(|stay| stay.incarnation == node_state.life);
            let has_quit = node_state.view.is_none() && node_state.latest.is_some();
            let since = stay.filter(|_| !has_quit).map_or(epoch, |stay| stay.since);
            if node_state.is_up && (epoch == View::FIRST || self.rng.below(6) > 0) {
                members.push((node, Stay { incarnation: node_state.life, since }));
            }
        }
        if !members.is_empty() {
            self.views.insert(epoch, View::new(epoch, members));
        }
    }

    /// Begins the next view, or a later one.
    fn begin(&mut self, index: usize) {
        if self.rng.below(3) > 0 {
            self.catch_up(index);
        }
        self.begin_next(index);
    }

    fn begin_next(&mut self, index: usize) -> bool {
        let node = NodeId::from_index(index);
        let node_state = &self.node_states[index];
        let mine: Vec<_> = self
            .views
            .values()
            .filter(|view| node_state.is_up && node_state.latest.is_none_or(|latest| latest < view.epoch()))
            .filter(|view| view.stay(node).is_some_and(|stay| stay.incarnation == node_state.life))
            .cloned()
            .collect();
        // Sometimes a view is skipped.
        let place = usize::from(mine.len() > 1 && self.rng.below(3) == 0);
        let Some(view) = mine.get(place).cloned() else { return false };
        let node_state = &mut self.node_states[index];
        (node_state.view, node_state.latest, node_state.sent) = (Some(view.epoch()), Some(view.epoch()), 0);
        let state = u64::from(self.makes_error());
        self.actions.push(Action::Begins(node, view, state));
        true
    }
}

#[test]
fn incremental_verdicts_match_the_whole_history() {
    let mut broken = BTreeMap::<_, u64>::new();
    let mut sound = BTreeMap::<_, u64>::new();
    for seed in 0..SEEDS {
        let generator = HistoryGenerator::new(seed).write();
        let promises = PropertySet { views: generator.has_views, uniform: seed % 2 == 0, ..PropertySet::ALL };
        let history = History::read(generator.node_states.len(), generator.has_views, &generator.actions);
        let all = PropertySet { views: generator.has_views, ..PropertySet::ALL };
        let mut properties = Properties::new(generator.node_states.len(), promises).also_judging(all);
        observe_all(&mut properties, &generator.actions);
        for property in Property::ALL.into_iter().filter(|property| all.contains(*property)) {
            let verdict = properties.verdict(property).expect("a verdict on every property");
            let holds = history.holds(property, promises);
            let actions = &generator.actions;
            assert_eq!(verdict.holds, Some(holds), "seed {seed}: {property:?}, {:?} of {actions:?}", verdict.violation);
            *if holds { &mut sound } else { &mut broken }.entry(property).or_default() += 1;
        }
    }
    for property in Property::ALL {
        let counts = (sound.get(&property).copied(), broken.get(&property).copied());
        assert!(
            counts.0 > Some(SEEDS / 50) && counts.1 > Some(SEEDS / 50),
            "{property:?} is hardly tested: {counts:?}"
        );
    }
}
