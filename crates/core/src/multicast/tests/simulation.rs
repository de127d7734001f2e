//! A simulated group: FIFO links, nodes that crash at any time, and a service that decides views.
//!
//! A seed determines what happens next. After the faults, all crashed nodes are removed, all
//! messages arrive, and [`properties`](super::properties) checks the events that each member
//! reported.

use crate::effects::{Effect, Effects};
use crate::group::{Epoch, Group};
use crate::multicast::{Board, Command, Event, MakeOrdering, Member, Payload, Plan};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use crate::view::{Stay, View};
use crate::wrap::Viewed;
use alloc::sync::Arc;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::format;
use std::string::String;
use std::vec::Vec;

pub(in crate::multicast) type Process = (NodeId, Incarnation);

type Node = Viewed<Member<Board>>;

#[derive(Clone, Debug)]
pub(in crate::multicast) struct FaultBudget {
    pub(in crate::multicast) steps: usize,
    pub(in crate::multicast) crashes: usize,
    pub(in crate::multicast) joins: usize,
    pub(in crate::multicast) leaves: usize,
    pub(in crate::multicast) evictions: usize,
    /// Views that change nothing, as after a change that was reverted.
    pub(in crate::multicast) views: usize,
}

pub(in crate::multicast) struct World {
    plan: Arc<Plan>,
    make_ordering: MakeOrdering,
    pub(in crate::multicast) nodes: BTreeMap<Process, Node>,
    pub(in crate::multicast) logs: BTreeMap<Process, Vec<Event>>,
    pub(in crate::multicast) dead: BTreeSet<Process>,
    links: BTreeMap<(Process, Process), VecDeque<<Node as Protocol>::Message>>,
    /// The latest view that was decided, and the views that each node has still to receive.
    pub(in crate::multicast) view: View,
    pending_views: BTreeMap<Process, VecDeque<View>>,
    sent: u64,
    rng: Rng,
    pub(in crate::multicast) most_kept: usize,
}

pub(in crate::multicast) struct Rng(u64);

impl Rng {
    pub(in crate::multicast) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % (bound.max(1) as u64)).unwrap_or(0)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len())).copied()
    }
}

impl World {
    /// Creates a group of founders. Founders start at once, each with the founding view still to
    /// receive.
    pub(in crate::multicast) fn new(plan: Plan, seed: u64, make_ordering: MakeOrdering) -> Self {
        let founders = plan.members.clone();
        let plan = Arc::new(plan);
        let mut world = Self {
            plan,
            make_ordering,
            nodes: BTreeMap::new(),
            logs: BTreeMap::new(),
            dead: BTreeSet::new(),
            links: BTreeMap::new(),
            view: View::founding(founders.clone()),
            pending_views: BTreeMap::new(),
            sent: 0,
            rng: Rng(seed),
            most_kept: 0,
        };
        for node in founders.iter() {
            world.boot((node, Incarnation::FIRST));
            world.pending_views.insert((node, Incarnation::FIRST), VecDeque::from([world.view.clone()]));
        }
        world
    }

    fn boot(&mut self, process: Process) {
        let member = Member::new(process.0, Arc::clone(&self.plan), self.make_ordering);
        self.nodes.insert(process, Viewed::new(process.0, member));
        self.logs.insert(process, Vec::new());
        self.input(process, Input::Start { durable: (), incarnation: process.1 });
    }

    pub(in crate::multicast) fn input(&mut self, process: Process, input: Input<Node>) {
        let Some(node) = self.nodes.get_mut(&process) else { return };
        let mut effects = Vec::new();
        node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        self.most_kept = self.most_kept.max(node.inner().kept());
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => self.enqueue(process, to, message),
                Effect::Multicast { to, message, .. } => {
                    to.others(process.0).for_each(|to| self.enqueue(process, to, message.clone()));
                }
                Effect::Emit { event, .. } => self.logs.entry(process).or_default().push(event),
                Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }

    fn enqueue(&mut self, from: Process, to: NodeId, message: <Node as Protocol>::Message) {
        assert_ne!(from.0, to, "a node sends no message to itself");
        // A link leads to the incarnation of the node that is up now.
        if let Some(to) = self.nodes.keys().copied().filter(|(node, _)| *node == to).max() {
            self.links.entry((from, to)).or_default().push_back(message);
        }
    }

    pub(in crate::multicast) fn up(&self) -> Vec<Process> {
        self.nodes.keys().copied().filter(|process| !self.dead.contains(process)).collect()
    }

    fn is_member(&self, process: Process) -> bool {
        self.view.stay(process.0).is_some_and(|stay| stay.incarnation == process.1)
    }

    /// The links with messages to a node that is up.
    fn busy(&self) -> Vec<(Process, Process)> {
        let links = self.links.iter().filter(|((_, to), link)| !link.is_empty() && !self.dead.contains(to));
        links.map(|(ends, _)| *ends).collect()
    }

    pub(in crate::multicast) fn deliver(&mut self, (from, to): (Process, Process)) {
        if let Some(message) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
            self.input(to, Input::Message { from: from.0, message });
        }
    }

    /// Delivers the next view to a node, and sometimes the latest one, skipping those in between.
    fn deliver_next_view(&mut self, process: Process) {
        let skips = self.rng.below(4) == 0;
        self.deliver_view(process, skips);
    }

    /// Delivers the next view to a node, or the latest one if `skips`.
    pub(in crate::multicast) fn deliver_view(&mut self, process: Process, skips: bool) {
        let Some(pending_views) = self.pending_views.get_mut(&process) else { return };
        let Some(first) = pending_views.pop_front() else { return };
        let view = if skips { pending_views.drain(..).next_back().unwrap_or(first) } else { first };
        let is_in = view.stay(process.0).is_some_and(|stay| stay.incarnation == process.1);
        self.input(process, Input::View(view));
        if is_in {
            self.input(process, Input::Lease(Time::from_nanos(1 << 40)));
        }
    }

    pub(in crate::multicast) fn send(&mut self, process: Process) {
        self.sent += 1;
        let text = format!("{} of {}", self.sent, process.0);
        self.input(process, Input::Command(Command::send(Payload::from(text))));
    }

    /// On each link, a random suffix of the messages that it sent is lost.
    pub(in crate::multicast) fn crash(&mut self, process: Process) {
        self.dead.insert(process);
        self.pending_views.remove(&process);
        for ((from, _), link) in &mut self.links {
            if *from == process {
                link.truncate(self.rng.below(link.len() + 1));
            }
        }
    }

    /// Crashes the node, and loses all messages that it sent.
    pub(in crate::multicast) fn crash_losing_all(&mut self, process: Process) {
        self.crash(process);
        self.links.retain(|(from, _), _| *from != process);
    }

    /// Adds a new node with the next view.
    pub(in crate::multicast) fn join(&mut self, process: Process) {
        self.boot(process);
        self.decide_view(&[process], &[]);
    }

    /// Decides the next view: removes crashed nodes, and applies these joins and leaves.
    pub(in crate::multicast) fn decide_view(&mut self, joins: &[Process], leaves: &[Process]) {
        let epoch = Epoch(self.view.epoch().0 + 1);
        let gone = |process: &Process| self.dead.contains(process) || leaves.contains(process);
        let stays = self.view.stays();
        let stays = stays.filter(|(node, stay)| !gone(&(*node, stay.incarnation)));
        let mut stays: Vec<_> = stays.collect();
        stays.extend(joins.iter().map(|process| (process.0, Stay { incarnation: process.1, since: epoch })));
        self.view = View::new(epoch, stays);
        for process in self.up() {
            self.pending_views.entry(process).or_default().push_back(self.view.clone());
        }
    }

    fn rejoins(&mut self) -> Vec<Process> {
        let waiting: Vec<_> = self.up().into_iter().filter(|process| !self.is_member(*process)).collect();
        let has_left = |process: &Process| {
            self.logs.get(process).is_some_and(|log| log.iter().any(|e| matches!(e, Event::Left { .. })))
        };
        waiting.into_iter().filter(|process| !has_left(process)).collect()
    }

    pub(in crate::multicast) fn run_faults(&mut self, budget: &FaultBudget) {
        let mut left = budget.clone();
        for _ in 0..budget.steps {
            let up = self.up();
            match self.rng.below(40) {
                0..=6 => {
                    if let Some(process) = self.rng.pick(&up) {
                        self.send(process);
                    }
                }
                7..=10 => {
                    if let Some(process) = self.rng.pick(&up) {
                        self.deliver_next_view(process);
                    }
                }
                11 if left.crashes > 0 && up.len() > 1 => {
                    left.crashes -= 1;
                    if let Some(process) = self.rng.pick(&up) {
                        self.crash(process);
                    }
                }
                12 | 13 if self.view.stays().any(|(node, stay)| self.dead.contains(&(node, stay.incarnation))) => {
                    let joins = if self.rng.below(2) == 0 { self.rejoins() } else { Vec::new() };
                    self.decide_view(&joins, &[]);
                }
                14 if left.joins > 0 => {
                    left.joins -= 1;
                    self.start_joiner();
                    let joins = self.rejoins();
                    if !joins.is_empty() {
                        self.decide_view(&joins, &[]);
                    }
                }
                15 if left.leaves > 0 && up.len() > 2 => {
                    left.leaves -= 1;
                    if let Some(process) = self.rng.pick(&up) {
                        self.input(process, Input::Command(Command::leave()));
                    }
                }
                16 => self.remove_departed(),
                18 | 19 if left.views > 0 => {
                    left.views -= 1;
                    self.decide_view(&[], &[]);
                }
                17 if left.evictions > 0 && up.len() > 2 => {
                    left.evictions -= 1;
                    if let Some(process) = self.rng.pick(&up).filter(|process| self.is_member(*process)) {
                        self.input(process, Input::Lease(Time::from_nanos(-1)));
                        self.decide_view(&[], &[process]);
                    }
                }
                _ => {
                    let busy = self.busy();
                    if let Some(ends) = self.rng.pick(&busy) {
                        self.deliver(ends);
                    }
                }
            }
        }
    }

    fn start_joiner(&mut self) {
        let dead: Vec<_> = self
            .dead
            .iter()
            .copied()
            .filter(|process| !self.nodes.contains_key(&(process.0, process.1.next())))
            .collect();
        let process = match self.rng.pick(&dead) {
            Some((node, incarnation)) if !self.is_member((node, incarnation)) => (node, incarnation.next()),
            Some(_) => return,
            None => {
                let next = self.nodes.keys().map(|(node, _)| node.index()).max().map_or(0, |last| last + 1);
                if next > 6 {
                    return;
                }
                (NodeId::from_index(next), Incarnation::FIRST)
            }
        };
        self.boot(process);
    }

    fn remove_departed(&mut self) {
        let has_left = |log: &Vec<Event>| log.iter().any(|event| matches!(event, Event::Left { .. }));
        let left = self.logs.iter().filter(|(process, log)| self.is_member(**process) && has_left(log));
        let left: Vec<_> = left.map(|(process, _)| *process).collect();
        if !left.is_empty() {
            self.decide_view(&[], &left);
        }
    }

    /// Ends all faults: delivers everything, and lets each member of the last view send a last
    /// message.
    pub(in crate::multicast) fn finish(&mut self) {
        self.decide_view(&[], &[]);
        self.deliver_all();
        self.members().into_iter().for_each(|process| self.send(process));
        self.deliver_all();
    }

    /// Delivers all messages and views.
    pub(in crate::multicast) fn deliver_all(&mut self) {
        for _ in 0..1_000_000 {
            if !self.step() {
                return;
            }
        }
        panic!("messages circulate forever");
    }

    /// Delivers one message or view; returns false if there is none.
    pub(in crate::multicast) fn step(&mut self) -> bool {
        let informed: Vec<_> = self
            .pending_views
            .iter()
            .filter(|(_, pending_views)| !pending_views.is_empty())
            .map(|(process, _)| *process)
            .collect();
        let busy = self.busy();
        let choice = self.rng.below(informed.len() + busy.len());
        if let Some(process) = informed.get(choice) {
            self.deliver_next_view(*process);
        } else if let Some(ends) = choice.checked_sub(informed.len()).and_then(|place| busy.get(place)) {
            self.deliver(*ends);
        }
        !informed.is_empty() || !busy.is_empty()
    }

    /// Returns the members of the last view.
    pub(in crate::multicast) fn members(&self) -> Vec<Process> {
        self.view.stays().map(|(node, stay)| (node, stay.incarnation)).collect()
    }

    pub(in crate::multicast) fn history(&self) -> String {
        let mut history = String::new();
        for (process, log) in &self.logs {
            let fate = if self.dead.contains(process) { " (dead)" } else { "" };
            history += &format!("{} process {:?}{fate}\n", process.0, process.1);
            for event in log {
                history += &format!("    {event}\n");
            }
        }
        history + &format!("in the end: {}\n", self.view)
    }

    pub(in crate::multicast) const fn group(&self) -> &Group {
        self.view.members()
    }
}
