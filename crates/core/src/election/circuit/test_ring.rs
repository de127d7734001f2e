//! A test ring whose messages are delivered one by one, either explicitly or until none is in
//! flight.

use super::{Circuit, Contest, Envelope, SavedEpoch, Timer};
use crate::describe::{Class, Describe};
use crate::effects::{Effect, Note, Sink};
pub(crate) use crate::election::script::plan as default_plan;
use crate::election::{AnnouncementMode, Case, Command, Event, Facts, Plan, Preference, Ranking, Ring, Starting};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::time::Time;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

/// A ring whose messages the test delivers one by one. Nodes have their numbers as ranks, unless
/// the plan ranks them otherwise.
pub(crate) struct TestRing<C: Contest> {
    pub(crate) nodes: Vec<Circuit<C>>,
    /// Messages in flight in sending order: sender, receiver, message.
    pub(crate) in_flight: VecDeque<(NodeId, NodeId, Envelope<C::Message>)>,
    pub(crate) events: Vec<Vec<Event>>,
    pub(crate) timers: Vec<Vec<Timer>>,
    disks: Vec<SavedEpoch>,
    incarnations: Vec<Incarnation>,
    pub(crate) is_down: Vec<bool>,
    /// The numbers of messages sent: of the algorithm, announcements, and control messages.
    pub(crate) counts: [u64; 3],
    /// Rules in the order of application, each with the number of the node that applied it.
    pub(crate) rules: Vec<(u32, &'static str)>,
    plan: Arc<Plan>,
}

/// Records the effects of a step and the rules that the node applied.
struct Recorder<C: Contest> {
    effects: Vec<Effect<Circuit<C>>>,
    rules: Vec<&'static str>,
}

impl<C: Contest> Sink<Circuit<C>> for Recorder<C> {
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

impl<C: Contest> TestRing<C> {
    pub(crate) fn new(plan: Plan) -> Self {
        let (size, plan) = (plan.ring.len(), Arc::new(plan));
        let mut test_ring = Self {
            nodes: (0..size).map(|index| Circuit::new(NodeId::from_index(index), Arc::clone(&plan))).collect(),
            in_flight: VecDeque::new(),
            events: vec![Vec::new(); size],
            timers: vec![Vec::new(); size],
            disks: vec![SavedEpoch::default(); size],
            incarnations: vec![Incarnation::FIRST; size],
            is_down: vec![false; size],
            counts: [0; 3],
            rules: Vec::new(),
            plan,
        };
        for absent in test_ring.plan.absent.clone().iter() {
            test_ring.is_down[absent.index()] = true;
        }
        test_ring
    }

    /// Feeds an input to a node, unless it is down, and carries out its effects.
    pub(crate) fn step(&mut self, me: NodeId, input: Input<Circuit<C>>) {
        if self.is_down[me.index()] {
            return;
        }
        let mut recorder = Recorder { effects: Vec::new(), rules: Vec::new() };
        self.nodes[me.index()].step(Time::ZERO, input, &mut crate::effects::Effects::new(&mut recorder));
        let Recorder { effects, rules } = recorder;
        self.rules.extend(rules.into_iter().map(|rule| (me.number(), rule)));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.enqueue(me, to, message),
                Effect::Multicast { to, message, .. } => {
                    to.others(me).for_each(|to| self.enqueue(me, to, message.clone()));
                }
                Effect::Save(epoch) => self.disks[me.index()].apply(epoch),
                Effect::SetTimer { timer, .. } => {
                    self.timers[me.index()].retain(|set| *set != timer);
                    self.timers[me.index()].push(timer);
                }
                Effect::CancelTimer(timer) => self.timers[me.index()].retain(|set| *set != timer),
                Effect::Emit { event, .. } => self.events[me.index()].push(event),
            }
        }
    }

    fn enqueue(&mut self, from: NodeId, to: NodeId, envelope: Envelope<C::Message>) {
        let class = match envelope.class() {
            Class::Algorithm => 0,
            Class::Announcement => 1,
            Class::Control => 2,
        };
        self.counts[class] += 1;
        self.in_flight.push_back((from, to, envelope));
    }

    pub(crate) fn campaign(&mut self, number: u32) {
        self.step(node(number), Input::Command(Command::Campaign));
    }

    /// Lets a node campaign, and delivers all messages.
    pub(crate) fn elect(&mut self, number: u32) {
        self.campaign(number);
        self.settle();
    }

    /// Delivers the oldest message in flight.
    pub(crate) fn deliver(&mut self) {
        if let Some((from, to, message)) = self.in_flight.pop_front() {
            self.step(to, Input::Message { from, message });
        }
    }

    /// Delivers messages until none is in flight.
    pub(crate) fn settle(&mut self) {
        for _ in 0..100_000 {
            if self.in_flight.is_empty() {
                return;
            }
            self.deliver();
        }
        panic!("messages circulate forever");
    }

    pub(crate) fn crash(&mut self, number: u32) {
        let index = node(number).index();
        self.is_down[index] = true;
        self.timers[index].clear();
    }

    pub(crate) fn restart(&mut self, number: u32) {
        let index = node(number).index();
        self.is_down[index] = false;
        self.incarnations[index] = self.incarnations[index].next();
        self.nodes[index] = Circuit::new(node(number), Arc::clone(&self.plan));
        let durable = self.disks[index].clone();
        self.step(node(number), Input::Start { durable, incarnation: self.incarnations[index] });
    }

    pub(crate) fn suspect(&mut self, detector: u32, suspected: u32) {
        self.step(node(detector), Input::Suspect(node(suspected)));
    }

    pub(crate) fn trust(&mut self, detector: u32, trusted: u32) {
        self.step(node(detector), Input::Trust(node(trusted)));
    }

    pub(crate) fn all_suspect(&mut self, suspected: u32) {
        self.others(suspected).for_each(|other| self.suspect(other, suspected));
    }

    pub(crate) fn all_trust(&mut self, trusted: u32) {
        self.others(trusted).for_each(|other| self.trust(other, trusted));
    }

    fn others(&self, number: u32) -> impl Iterator<Item = u32> + use<C> {
        (1..=self.nodes.len() as u32).filter(move |other| *other != number)
    }

    /// Fires a timer that the node has set.
    pub(crate) fn fire_timer(&mut self, number: u32, timer: Timer) {
        let index = node(number).index();
        assert!(self.timers[index].contains(&timer), "{timer:?} is not set: {:?}", self.timers[index]);
        self.timers[index].retain(|set| *set != timer);
        self.step(node(number), Input::Timer(timer));
    }

    /// Returns the nodes that applied a rule, in order of application.
    pub(crate) fn nodes_that_applied(&self, rule: &str) -> Vec<u32> {
        self.rules.iter().filter(|(_, applied)| *applied == rule).map(|(number, _)| *number).collect()
    }

    /// Returns the nodes that applied a rule, in the order of their numbers.
    pub(crate) fn sorted_nodes_that_applied(&self, rule: &str) -> Vec<u32> {
        let mut nodes = self.nodes_that_applied(rule);
        nodes.sort_unstable();
        nodes
    }

    /// Returns the number of the leader that a node knows, and the epoch; `None` if the node knows
    /// none.
    pub(crate) fn known_leader(&self, number: u32) -> Option<(u32, u64)> {
        match self.events[node(number).index()].iter().rev().find(|event| !matches!(event, Event::Refused(_)))? {
            Event::Elected { leader, epoch, .. } => Some((leader.number(), epoch.0)),
            Event::Began { .. } | Event::Extended { .. } | Event::Ended { .. } | Event::Refused(_) => None,
        }
    }

    /// Returns the number of the leader that all live nodes know, and the epoch; `None` if they
    /// disagree or a node knows none.
    pub(crate) fn agreed_leader(&self) -> Option<(u32, u64)> {
        let live = (1..=self.nodes.len() as u32).filter(|number| !self.is_down[node(*number).index()]);
        let mut known = live.map(|number| self.known_leader(number));
        let first = known.next()??;
        known.all(|other| other == Some(first)).then_some(first)
    }
}

/// Returns a ring of four after an election that the node with the number `starter` started.
pub(crate) fn elect_on_ring_of_four<C: Contest>(starter: u32) -> TestRing<C> {
    let mut ring = TestRing::new(default_plan(4));
    ring.elect(starter);
    ring
}

/// Returns every order of `size` nodes on a ring.
pub(crate) fn orders(size: u32) -> Vec<Vec<NodeId>> {
    if size == 1 {
        return vec![vec![node(1)]];
    }
    let orders_without_last = orders(size - 1);
    let insert = |order: &Vec<NodeId>, position: usize| {
        let mut with_last = order.clone();
        with_last.insert(position, node(size));
        with_last
    };
    orders_without_last
        .iter()
        .flat_map(|order| (0..size as usize).map(move |position| insert(order, position)))
        .collect()
}

/// Runs elections in every order of `size` nodes, for each single starter and with all nodes as
/// starters, and asserts that the highest rank wins in the first epoch. Each case runs twice: with
/// an announcement around the ring, and with a multicast and the ranks reversed. Calls `check_cost`
/// for the first of the two, with the number of starters, and with the numbers of messages of the
/// election and of its announcement.
pub(crate) fn elect_in_all_orders<C: Contest>(size: u32, mut check_cost: impl FnMut(usize, u64, u64)) {
    for order in orders(size) {
        for starters in (1..=size).map(|number| vec![number]).chain([(1..=size).collect()]) {
            for (preference, announcement) in
                [(Preference::Highest, AnnouncementMode::Ring), (Preference::Lowest, AnnouncementMode::Multicast)]
            {
                let ring = Ring::from_order(order.clone()).unwrap_or(Ring::of_size(size as usize));
                let plan =
                    Plan { ring, ranking: Ranking::by_number(preference), announcement, ..default_plan(size as usize) };
                let mut test_ring = TestRing::<C>::new(plan);
                starters.iter().for_each(|number| test_ring.campaign(*number));
                test_ring.settle();
                let winner = if preference == Preference::Highest { size } else { 1 };
                assert_eq!(test_ring.agreed_leader(), Some((winner, 1)), "{order:?}, {starters:?} start");
                if announcement == AnnouncementMode::Ring {
                    check_cost(starters.len(), test_ring.counts[0], test_ring.counts[1]);
                }
            }
        }
    }
}

/// Asserts that no election on a ring of up to six nodes takes more messages, without those of the
/// announcement, than the expected maximum for one starter, which is a bound for any starters.
/// Calls `check_cost` as [`elect_in_all_orders`] does, with the size before the other arguments.
pub(crate) fn assert_cost_within_bound<C: Contest>(facts: &Facts, mut check_cost: impl FnMut(u32, usize, u64, u64)) {
    for size in 1..=6 {
        let case = Case { live_nodes: size as usize, dead_nodes: 0, starting: Starting::One };
        let bound = (facts.cost.expected_messages)(&case).and_then(|expected_messages| expected_messages.max);
        elect_in_all_orders::<C>(size, |starters, election, announcement| {
            assert!(bound.is_some_and(|bound| election as f64 <= bound), "{size}: {election}");
            check_cost(size, starters, election, announcement);
        });
    }
}
