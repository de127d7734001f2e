//! Random histories, correct and faulty: the verdicts of the incremental properties equal those of
//! an evaluation of the whole history.

use super::reference::History;
use super::{Action, Properties, Property, PropertySet, observe_all};
use quorate_core::multicast::{GroupId, MessageId};
use quorate_core::{Epoch, Incarnation, NodeId, Stay, View};
use quorate_journal::rng::{SeededRng, Stream};
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = 8_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeliveryOrder {
    /// In sending order, which is fifo, causal and total.
    AsSent,
    /// For each sender in sending order, which is fifo unless the sender delivers its new message
    /// at once (see `send`).
    BySender,
    Any,
}

#[derive(Clone, Debug)]
struct NodeState {
    is_up: bool,
    incarnation: Incarnation,
    /// The view that the node is in.
    view: Option<Epoch>,
    /// The latest view that it was in.
    latest_view: Option<Epoch>,
    delivered: BTreeSet<MessageId>,
    /// Number of messages that it has sent in its view.
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
    /// Mean number of draws (see `draw_error`) from one error to the next.
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
            incarnation: Incarnation::FIRST,
            view,
            latest_view: view,
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

    fn generate(mut self) -> Self {
        if self.has_views {
            self.decide_view();
            (0..self.node_states.len()).for_each(|index| self.begin_view(index));
        }
        for _ in 0..5 + self.rng.below(35) {
            let index = self.rng.below(self.node_states.len() as u64) as usize;
            match self.rng.below(if self.has_views { 24 } else { 18 }) {
                0..5 => self.send(index),
                5..16 => self.deliver(index),
                16 => self.crash(index),
                17 => self.restart(index),
                18 => self.leave_view(index),
                19..21 => self.decide_view(),
                _ => self.begin_view(index),
            }
        }
        // Most histories end with all messages delivered; otherwise few properties would ever hold.
        if self.rng.below(4) > 0 {
            for index in 0..self.node_states.len() {
                self.catch_up(index);
                while self.has_views
                    && self.views.keys().next_back() > self.node_states[index].latest_view.as_ref()
                    && self.begin_next_view(index)
                {
                    self.catch_up(index);
                }
            }
        }
        self
    }

    /// Draws whether the next action is an error.
    fn draw_error(&mut self) -> bool {
        self.rng.below(self.error_interval) == 0
    }

    fn send(&mut self, index: usize) {
        // Without views, a restarted node is not a member, so it sends nothing.
        let node_state = &mut self.node_states[index];
        let Some(view) = node_state
            .view
            .filter(|_| node_state.is_up && (self.has_views || node_state.incarnation == Incarnation::FIRST))
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
        if !self.node_states[index].is_up || (self.node_states[index].view.is_none() && !self.draw_error()) {
            return;
        }
        if self.draw_error() && !self.sent.is_empty() {
            let sent = self.sent[self.rng.below(self.sent.len() as u64) as usize];
            let unsent = MessageId { number: sent.number + 1_000, ..sent };
            // Properties forget a message once all nodes have delivered it, so they do not detect a
            // wrong payload if a later incarnation delivers it again.
            let kinds = if self.has_views || self.node_states[index].incarnation == Incarnation::FIRST { 3 } else { 2 };
            let (id, text) = [(sent, "m"), (unsent, "m"), (sent, "changed")][self.rng.below(kinds) as usize];
            if self.node_states[index].view == Some(id.view) && id.number < 1_000 {
                self.node_states[index].delivered.insert(id);
            }
            // A node may deliver its own message before it confirms the send. So if the node itself
            // is the sender, the properties take this delivery as a send, and the reference does
            // not.
            if id.number < 1_000 || id.sender != node {
                self.actions.push(Action::Delivers(node, id, text));
            }
            return;
        }
        let node_state = &self.node_states[index];
        let undelivered: Vec<_> = self
            .sent
            .iter()
            .filter(|id| node_state.view == Some(id.view) && !node_state.delivered.contains(id))
            .copied()
            .collect();
        let Some(chosen) = (match self.order {
            DeliveryOrder::AsSent => undelivered.first().copied(),
            DeliveryOrder::Any => undelivered.get(self.rng.below(undelivered.len() as u64) as usize).copied(),
            DeliveryOrder::BySender => {
                let sender = undelivered.get(self.rng.below(undelivered.len() as u64) as usize).map(|id| id.sender);
                undelivered.iter().find(|id| Some(id.sender) == sender).copied()
            }
        }) else {
            return;
        };
        self.node_states[index].delivered.insert(chosen);
        self.actions.push(Action::Delivers(node, chosen, "m"));
    }

    /// Delivers all remaining messages of the node's view, without errors.
    fn catch_up(&mut self, index: usize) {
        let error_interval = std::mem::replace(&mut self.error_interval, u64::MAX);
        for _ in 0..self.sent.len() {
            self.deliver(index);
        }
        self.error_interval = error_interval;
    }

    fn crash(&mut self, index: usize) {
        let node_state = &mut self.node_states[index];
        if std::mem::replace(&mut node_state.is_up, false) {
            node_state.view = None;
            self.actions.push(Action::Crashes(NodeId::from_index(index)));
        }
    }

    fn restart(&mut self, index: usize) {
        let has_views = self.has_views;
        let node_state = &mut self.node_states[index];
        if !node_state.is_up {
            (node_state.is_up, node_state.incarnation, node_state.delivered) =
                (true, node_state.incarnation.next(), BTreeSet::new());
            node_state.view = (!has_views).then_some(View::FIRST);
            self.actions.push(Action::Restarts(NodeId::from_index(index), node_state.incarnation));
        }
    }

    fn leave_view(&mut self, index: usize) {
        let node = NodeId::from_index(index);
        if self.node_states[index].view.take().is_some() {
            let leaves = self.rng.below(2) == 0;
            self.actions.push(if leaves { Action::Leaves(node) } else { Action::IsExcluded(node) });
        }
    }

    /// Decides a new view, of most of the nodes that are up.
    fn decide_view(&mut self) {
        let previous = self.views.values().next_back().cloned();
        let epoch = previous.as_ref().map_or(View::FIRST, |view| Epoch(view.epoch().0 + 1));
        let mut members = Vec::new();
        for (index, node_state) in self.node_states.iter().enumerate() {
            let node = NodeId::from_index(index);
            let stay = previous
                .as_ref()
                .and_then(|view| view.stay(node))
                .filter(|stay| stay.incarnation == node_state.incarnation);
            let has_left = node_state.view.is_none() && node_state.latest_view.is_some();
            let since = stay.filter(|_| !has_left).map_or(epoch, |stay| stay.since);
            if node_state.is_up && (epoch == View::FIRST || self.rng.below(6) > 0) {
                members.push((node, Stay { incarnation: node_state.incarnation, since }));
            }
        }
        if !members.is_empty() {
            self.views.insert(epoch, View::new(epoch, members));
        }
    }

    /// Begins the next view, or the one after it; mostly after delivering all messages of the
    /// current view.
    fn begin_view(&mut self, index: usize) {
        if self.rng.below(3) > 0 {
            self.catch_up(index);
        }
        self.begin_next_view(index);
    }

    /// Returns false if the node is down or a member of no later view.
    fn begin_next_view(&mut self, index: usize) -> bool {
        let node = NodeId::from_index(index);
        let node_state = &self.node_states[index];
        let next_views: Vec<_> = self
            .views
            .values()
            .filter(|view| node_state.is_up && node_state.latest_view.is_none_or(|latest| latest < view.epoch()))
            .filter(|view| view.stay(node).is_some_and(|stay| stay.incarnation == node_state.incarnation))
            .cloned()
            .collect();
        // Sometimes a view is skipped.
        let skipped = usize::from(next_views.len() > 1 && self.rng.below(3) == 0);
        let Some(view) = next_views.get(skipped).cloned() else { return false };
        let node_state = &mut self.node_states[index];
        (node_state.view, node_state.latest_view, node_state.sent) = (Some(view.epoch()), Some(view.epoch()), 0);
        // All members must begin a view with the same state.
        let initial_state = u64::from(self.draw_error());
        self.actions.push(Action::Begins(node, view, initial_state));
        true
    }
}

#[test]
fn incremental_verdicts_match_the_whole_history() {
    let mut violated = BTreeMap::<_, u64>::new();
    let mut holding = BTreeMap::<_, u64>::new();
    for seed in 0..SEEDS {
        let generator = HistoryGenerator::new(seed).generate();
        let promises = PropertySet { views: generator.has_views, uniform: seed % 2 == 0, ..PropertySet::ALL };
        let history = History::from_actions(generator.node_states.len(), generator.has_views, &generator.actions);
        let judged = PropertySet { views: generator.has_views, ..PropertySet::ALL };
        let mut properties = Properties::new(generator.node_states.len(), promises).also_judging(judged);
        observe_all(&mut properties, &generator.actions);
        for property in Property::ALL.into_iter().filter(|property| judged.contains(*property)) {
            let verdict = properties.verdict(property).expect("a verdict on every property");
            let holds = history.holds(property, promises);
            let actions = &generator.actions;
            assert_eq!(
                verdict.holds,
                Some(holds),
                "seed {seed}: {property:?}; violation {:?}; {actions:?}",
                verdict.violation
            );
            *if holds { &mut holding } else { &mut violated }.entry(property).or_default() += 1;
        }
    }
    for property in Property::ALL {
        let count = |histories: &BTreeMap<_, u64>| histories.get(&property).copied().unwrap_or(0);
        let (held, failed) = (count(&holding), count(&violated));
        assert!(
            held > SEEDS / 50 && failed > SEEDS / 50,
            "{property:?} is hardly tested: it holds in {held} histories and fails in {failed}"
        );
    }
}
