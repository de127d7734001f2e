//! A ring on a bench: nodes whose messages are delivered one by one, by hand or until nothing is under way.

use super::{Circuit, Contest, Letter, Reached, Timer};
use crate::describe::{Class, Describe};
use crate::effects::{Effect, Note, Sink};
pub(crate) use crate::election::drill::plan as usual;
use crate::election::{Announce, Case, Command, Event, Facts, Plan, Prefer, Ranking, Ring, Starting};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::time::Time;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) struct Bench<C: Contest> {
    pub(crate) nodes: Vec<Circuit<C>>,
    /// What is under way, in the order in which it was sent: from, to, what.
    pub(crate) wires: VecDeque<(NodeId, NodeId, Letter<C::Message>)>,
    pub(crate) told: Vec<Vec<Event>>,
    pub(crate) timers: Vec<Vec<Timer>>,
    disks: Vec<Reached>,
    lives: Vec<Incarnation>,
    pub(crate) down: Vec<bool>,
    pub(crate) counts: [u64; 3],
    pub(crate) rules: Vec<(u32, &'static str)>,
    plan: Arc<Plan>,
}

/// Takes what a step does, and the rules that it notes.
struct Tape<C: Contest> {
    effects: Vec<Effect<Circuit<C>>>,
    rules: Vec<&'static str>,
}

impl<C: Contest> Sink<Circuit<C>> for Tape<C> {
    fn effect(&mut self, effect: Effect<Circuit<C>>) {
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, .. } = note {
            self.rules.push(rule);
        }
    }
}

pub(crate) fn node(number: u32) -> NodeId {
    NodeId::from_index(number as usize - 1)
}

impl<C: Contest> Bench<C> {
    pub(crate) fn new(plan: Plan) -> Self {
        let (size, plan) = (plan.ring.len(), Arc::new(plan));
        let mut bench = Self {
            nodes: (0..size).map(|index| Circuit::new(NodeId::from_index(index), Arc::clone(&plan))).collect(),
            wires: VecDeque::new(),
            told: vec![Vec::new(); size],
            timers: vec![Vec::new(); size],
            disks: vec![Reached::default(); size],
            lives: vec![Incarnation::FIRST; size],
            down: vec![false; size],
            counts: [0; 3],
            rules: Vec::new(),
            plan,
        };
        for absent in bench.plan.absent.clone().iter() {
            bench.down[absent.index()] = true;
        }
        bench
    }

    pub(crate) fn step(&mut self, who: NodeId, input: Input<Circuit<C>>) {
        if self.down[who.index()] {
            return;
        }
        let mut tape = Tape { effects: Vec::new(), rules: Vec::new() };
        self.nodes[who.index()].step(Time::ZERO, input, &mut crate::effects::Effects::new(&mut tape));
        let Tape { effects, rules } = tape;
        self.rules.extend(rules.into_iter().map(|rule| (who.number(), rule)));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.post(who, to, message),
                Effect::Multicast { to, message, .. } => {
                    to.others(who).for_each(|to| self.post(who, to, message.clone()));
                }
                Effect::Save(epoch) => self.disks[who.index()].apply(epoch),
                Effect::SetTimer { timer, .. } => {
                    self.timers[who.index()].retain(|set| *set != timer);
                    self.timers[who.index()].push(timer);
                }
                Effect::CancelTimer(timer) => self.timers[who.index()].retain(|set| *set != timer),
                Effect::Emit { event, .. } => self.told[who.index()].push(event),
            }
        }
    }

    fn post(&mut self, from: NodeId, to: NodeId, letter: Letter<C::Message>) {
        let class = match letter.class() {
            Class::Algorithm => 0,
            Class::Announcement => 1,
            Class::Control => 2,
        };
        self.counts[class] += 1;
        self.wires.push_back((from, to, letter));
    }

    pub(crate) fn campaign(&mut self, number: u32) {
        self.step(node(number), Input::Command(Command::Campaign));
    }

    /// A node starts an election, and everything arrives.
    pub(crate) fn elect(&mut self, number: u32) {
        self.campaign(number);
        self.settle();
    }

    pub(crate) fn deliver(&mut self) {
        if let Some((from, to, message)) = self.wires.pop_front() {
            self.step(to, Input::Message { from, message });
        }
    }

    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.wires.is_empty() {
                return;
            }
            self.deliver();
        }
        panic!("messages go round for ever");
    }

    pub(crate) fn crash(&mut self, number: u32) {
        let index = node(number).index();
        self.down[index] = true;
        self.timers[index].clear();
    }

    pub(crate) fn restart(&mut self, number: u32) {
        let index = node(number).index();
        self.down[index] = false;
        self.lives[index] = self.lives[index].next();
        self.nodes[index] = Circuit::new(node(number), Arc::clone(&self.plan));
        let durable = self.disks[index].clone();
        self.step(node(number), Input::Start { durable, incarnation: self.lives[index] });
    }

    pub(crate) fn suspect(&mut self, by: u32, number: u32) {
        self.step(node(by), Input::Suspect(node(number)));
    }

    pub(crate) fn trust(&mut self, by: u32, number: u32) {
        self.step(node(by), Input::Trust(node(number)));
    }

    pub(crate) fn all_suspect(&mut self, number: u32) {
        self.others(number).for_each(|other| self.suspect(other, number));
    }

    pub(crate) fn all_trust(&mut self, number: u32) {
        self.others(number).for_each(|other| self.trust(other, number));
    }

    fn others(&self, number: u32) -> impl Iterator<Item = u32> + use<C> {
        (1..=self.nodes.len() as u32).filter(move |other| *other != number)
    }

    /// Lets the timer that a node set last fire.
    pub(crate) fn fire(&mut self, number: u32, timer: Timer) {
        let index = node(number).index();
        assert!(self.timers[index].contains(&timer), "{timer:?} is not set: {:?}", self.timers[index]);
        self.timers[index].retain(|set| *set != timer);
        self.step(node(number), Input::Timer(timer));
    }

    /// Who applied a rule, in order.
    pub(crate) fn who(&self, rule: &str) -> Vec<u32> {
        self.rules.iter().filter(|(_, applied)| *applied == rule).map(|(number, _)| *number).collect()
    }

    /// Who applied a rule, in the order of their numbers.
    pub(crate) fn all_who(&self, rule: &str) -> Vec<u32> {
        let mut who = self.who(rule);
        who.sort_unstable();
        who
    }

    pub(crate) fn knows(&self, number: u32) -> Option<(u32, u64)> {
        match self.told[node(number).index()].iter().rev().find(|event| !matches!(event, Event::Refused(_)))? {
            Event::Elected { leader, epoch, .. } => Some((leader.number(), epoch.0)),
            Event::Began { .. } | Event::Extended { .. } | Event::Ended { .. } | Event::Refused(_) => None,
        }
    }

    /// What everyone who is up knows, if it is the same.
    pub(crate) fn result(&self) -> Option<(u32, u64)> {
        let live = (1..=self.nodes.len() as u32).filter(|number| !self.down[node(*number).index()]);
        let mut known = live.map(|number| self.knows(number));
        let first = known.next()??;
        known.all(|other| other == Some(first)).then_some(first)
    }
}

/// A ring of four in which one node has started an election and everything has arrived.
pub(crate) fn one_starts<C: Contest>(number: u32) -> Bench<C> {
    let mut ring = Bench::new(usual(4));
    ring.elect(number);
    ring
}

/// Every order of so few nodes round a ring.
pub(crate) fn orders(size: u32) -> Vec<Vec<NodeId>> {
    if size == 1 {
        return vec![vec![node(1)]];
    }
    let shorter = orders(size - 1);
    let insert = |order: &Vec<NodeId>, place: usize| {
        let mut longer = order.clone();
        longer.insert(place, node(size));
        longer
    };
    shorter.iter().flat_map(|order| (0..size as usize).map(move |place| insert(order, place))).collect()
}

/// Every order, every starter, and all at once: whoever ranks highest wins in the first epoch. Calls back with what it cost.
pub(crate) fn try_all<C: Contest>(size: u32, mut cost: impl FnMut(usize, u64, u64)) {
    for order in orders(size) {
        for starters in (1..=size).map(|number| vec![number]).chain([(1..=size).collect()]) {
            for (prefer, announce) in [(Prefer::Highest, Announce::Ring), (Prefer::Lowest, Announce::Multicast)] {
                let ring = Ring::of(order.clone()).unwrap_or(Ring::of_size(size as usize));
                let plan = Plan { ring, ranking: Ranking::by_number(prefer), announce, ..usual(size as usize) };
                let mut bench = Bench::<C>::new(plan);
                starters.iter().for_each(|number| bench.campaign(*number));
                bench.settle();
                let winner = if prefer == Prefer::Highest { size } else { 1 };
                assert_eq!(bench.result(), Some((winner, 1)), "{order:?}, {starters:?} start");
                if announce == Announce::Ring {
                    cost(starters.len(), bench.counts[0], bench.counts[1]);
                }
            }
        }
    }
}

/// However nodes sit and whoever starts, an election costs no more than the book says. Calls back with the size and what it cost.
pub(crate) fn stays_within_bound<C: Contest>(facts: &Facts, mut cost: impl FnMut(u32, usize, u64, u64)) {
    for size in 1..=6 {
        let case = Case { live: size as usize, dead: 0, starting: Starting::One };
        let bound = (facts.cost.book)(&case).and_then(|book| book.most);
        try_all::<C>(size, |starters, election, announcement| {
            assert!(bound.is_some_and(|bound| election as f64 <= bound), "{size}: {election}");
            cost(size, starters, election, announcement);
        });
    }
}
