//! Random histories, good and bad: what the checkers find as they go is what a look at the whole history shows.

use super::brute::Whole;
use super::{Act, Promises, Properties, Property, tell};
use quorate_core::multicast::{GroupId, MessageId};
use quorate_core::{Epoch, Incarnation, NodeId, Stay, View};
use quorate_journal::dice::{Dice, Stream};
use std::collections::{BTreeMap, BTreeSet};

const SEEDS: u64 = 8_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taste {
    /// As it was sent, which keeps every order.
    AsSent,
    BySender,
    Any,
}

#[derive(Clone, Debug)]
struct Actor {
    is_up: bool,
    life: Incarnation,
    /// The view that it is in, and since which one.
    view: Option<Epoch>,
    latest: Option<Epoch>,
    delivered: BTreeSet<MessageId>,
    sent: u64,
}

struct Author {
    dice: Dice,
    taste: Taste,
    has_views: bool,
    actors: Vec<Actor>,
    sent: Vec<MessageId>,
    views: BTreeMap<Epoch, View>,
    acts: Vec<Act>,
    care: u64,
}

impl Author {
    fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed, Stream::Workload);
        let taste = match dice.below(3) {
            0 => Taste::AsSent,
            1 => Taste::BySender,
            _ => Taste::Any,
        };
        let has_views = dice.below(2) == 0;
        let nodes = 2 + dice.below(3) as usize;
        let view = (!has_views).then_some(View::FIRST);
        let actor =
            Actor { is_up: true, life: Incarnation::FIRST, view, latest: view, delivered: BTreeSet::new(), sent: 0 };
        let care = [12, 60, 100_000][dice.below(3) as usize];
        let actors = vec![actor; nodes];
        Self { dice, taste, has_views, actors, sent: Vec::new(), views: BTreeMap::new(), acts: Vec::new(), care }
    }

    fn write(mut self) -> Self {
        if self.has_views {
            self.decide();
            (0..self.actors.len()).for_each(|index| self.begin(index));
        }
        for _ in 0..5 + self.dice.below(35) {
            let index = self.dice.below(self.actors.len() as u64) as usize;
            match self.dice.below(if self.has_views { 24 } else { 18 }) {
                0..5 => self.send(index),
                5..16 => self.deliver(index),
                16 => self.crash(index),
                17 => self.boot(index),
                18 => self.quit(index),
                19..21 => self.decide(),
                _ => self.begin(index),
            }
        }
        // Most histories come to a good end, else nothing would ever agree.
        if self.dice.below(4) > 0 {
            for index in 0..self.actors.len() {
                self.catch_up(index);
                while self.has_views
                    && self.views.keys().next_back() > self.actors[index].latest.as_ref()
                    && self.begin_next(index)
                {
                    self.catch_up(index);
                }
            }
        }
        self
    }

    fn errs(&mut self) -> bool {
        self.dice.below(self.care) == 0
    }

    fn send(&mut self, index: usize) {
        let actor = &mut self.actors[index];
        let Some(view) = actor.view.filter(|_| actor.is_up && (self.has_views || actor.life == Incarnation::FIRST))
        else {
            return;
        };
        actor.sent += 1;
        let node = NodeId::from_index(index);
        let id = MessageId { group: GroupId::ONLY, view, sender: node, number: actor.sent };
        self.sent.push(id);
        if self.taste != Taste::AsSent && self.dice.below(2) == 0 {
            self.actors[index].delivered.insert(id);
            self.acts.push(Act::SendsAndDelivers(node, id, "m"));
        } else {
            self.acts.push(Act::Sends(node, id, "m"));
        }
    }

    fn deliver(&mut self, index: usize) {
        let node = NodeId::from_index(index);
        if !self.actors[index].is_up || (self.actors[index].view.is_none() && !self.errs()) {
            return;
        }
        if self.errs() && !self.sent.is_empty() {
            let some = self.sent[self.dice.below(self.sent.len() as u64) as usize];
            let beyond = MessageId { number: some.number + 1_000, ..some };
            // What everyone has delivered is forgotten, so that nobody knows what it said if a later life delivers it.
            let kinds = if self.has_views || self.actors[index].life == Incarnation::FIRST { 3 } else { 2 };
            let (id, text) = [(some, "m"), (beyond, "m"), (some, "changed")][self.dice.below(kinds) as usize];
            if self.actors[index].view == Some(id.view) && id.number < 1_000 {
                self.actors[index].delivered.insert(id);
            }
            // An unsent one of its own would be taken for one that it sends in the same step.
            if id.number < 1_000 || id.sender != node {
                self.acts.push(Act::Delivers(node, id, text));
            }
            return;
        }
        let actor = &self.actors[index];
        let open: Vec<_> = self
            .sent
            .iter()
            .filter(|id| actor.view == Some(id.view) && !actor.delivered.contains(id))
            .copied()
            .collect();
        let Some(chosen) = (match self.taste {
            Taste::AsSent => open.first().copied(),
            Taste::Any => open.get(self.dice.below(open.len() as u64) as usize).copied(),
            Taste::BySender => {
                let sender = open.get(self.dice.below(open.len() as u64) as usize).map(|id| id.sender);
                open.iter().find(|id| Some(id.sender) == sender).copied()
            }
        }) else {
            return;
        };
        self.actors[index].delivered.insert(chosen);
        self.acts.push(Act::Delivers(node, chosen, "m"));
    }

    fn catch_up(&mut self, index: usize) {
        let before = (self.taste, self.care);
        self.care = u64::MAX;
        for _ in 0..self.sent.len() {
            self.deliver(index);
        }
        (self.taste, self.care) = before;
    }

    fn crash(&mut self, index: usize) {
        let actor = &mut self.actors[index];
        if std::mem::replace(&mut actor.is_up, false) {
            actor.view = None;
            self.acts.push(Act::Crashes(NodeId::from_index(index)));
        }
    }

    fn boot(&mut self, index: usize) {
        let has_views = self.has_views;
        let actor = &mut self.actors[index];
        if !actor.is_up {
            (actor.is_up, actor.life, actor.delivered) = (true, actor.life.next(), BTreeSet::new());
            actor.view = (!has_views).then_some(View::FIRST);
            self.acts.push(Act::Boots(NodeId::from_index(index), actor.life));
        }
    }

    fn quit(&mut self, index: usize) {
        let node = NodeId::from_index(index);
        if self.actors[index].view.take().is_some() {
            let leaves = self.dice.below(2) == 0;
            self.acts.push(if leaves { Act::Leaves(node) } else { Act::IsOut(node) });
        }
    }

    /// A new view: of those who are up, most of the time.
    fn decide(&mut self) {
        let before = self.views.values().next_back().cloned();
        let epoch = before.as_ref().map_or(View::FIRST, |view| Epoch(view.epoch().0 + 1));
        let mut members = Vec::new();
        for (index, actor) in self.actors.iter().enumerate() {
            let node = NodeId::from_index(index);
            let stay = before.as_ref().and_then(|view| view.stay(node)).filter(|stay| stay.incarnation == actor.life);
            let has_quit = actor.view.is_none() && actor.latest.is_some();
            let since = stay.filter(|_| !has_quit).map_or(epoch, |stay| stay.since);
            if actor.is_up && (epoch == View::FIRST || self.dice.below(6) > 0) {
                members.push((node, Stay { incarnation: actor.life, since }));
            }
        }
        if !members.is_empty() {
            self.views.insert(epoch, View::new(epoch, members));
        }
    }

    /// The latest view, or any that is still to come.
    fn begin(&mut self, index: usize) {
        if self.dice.below(3) > 0 {
            self.catch_up(index);
        }
        self.begin_next(index);
    }

    fn begin_next(&mut self, index: usize) -> bool {
        let node = NodeId::from_index(index);
        let actor = &self.actors[index];
        let mine: Vec<_> = self
            .views
            .values()
            .filter(|view| actor.is_up && actor.latest.is_none_or(|latest| latest < view.epoch()))
            .filter(|view| view.stay(node).is_some_and(|stay| stay.incarnation == actor.life))
            .cloned()
            .collect();
        // Sometimes one is skipped.
        let place = usize::from(mine.len() > 1 && self.dice.below(3) == 0);
        let Some(view) = mine.get(place).cloned() else { return false };
        let actor = &mut self.actors[index];
        (actor.view, actor.latest, actor.sent) = (Some(view.epoch()), Some(view.epoch()), 0);
        let state = u64::from(self.errs());
        self.acts.push(Act::Begins(node, view, state));
        true
    }
}

#[test]
fn what_is_found_as_one_goes_is_what_the_whole_history_shows() {
    let mut broken = BTreeMap::<_, u64>::new();
    let mut sound = BTreeMap::<_, u64>::new();
    for seed in 0..SEEDS {
        let author = Author::new(seed).write();
        let promises = Promises { views: author.has_views, uniform: seed % 2 == 0, ..Promises::EVERYTHING };
        let whole = Whole::read(author.actors.len(), author.has_views, &author.acts);
        let all = Promises { views: author.has_views, ..Promises::EVERYTHING };
        let mut properties = Properties::new(author.actors.len(), promises).watching(all);
        tell(&mut properties, &author.acts);
        for property in Property::ALL.into_iter().filter(|property| all.has(*property)) {
            let verdict = properties.verdict(property).expect("all are watched");
            let holds = whole.holds(property, promises);
            let acts = &author.acts;
            assert_eq!(verdict.holds, Some(holds), "seed {seed}: {property:?}, {:?} of {acts:?}", verdict.violation);
            *if holds { &mut sound } else { &mut broken }.entry(property).or_default() += 1;
        }
    }
    for property in Property::ALL {
        let counts = (sound.get(&property).copied(), broken.get(&property).copied());
        assert!(counts.0 > Some(SEEDS / 50) && counts.1 > Some(SEEDS / 50), "{property:?} is hardly tried: {counts:?}");
    }
}
