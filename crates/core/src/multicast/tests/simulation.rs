//! A simulated group: nodes that crash at any time, FIFO links, and a service that decides views.
//!
//! The seed determines every random choice. After the faults, the service removes all crashed
//! nodes, all messages arrive, and [`properties`](super::properties) checks the events that each
//! member emitted.

use crate::effects::{Effect, Effects};
use crate::group::Epoch;
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

/// Maximum number of nodes, crashed ones included.
pub(super) const MAX_NODES: usize = 7;

/// One incarnation of a node.
pub(in crate::multicast) type Process = (NodeId, Incarnation);

/// A member of a group whose views change, and which replicates a bulletin board of the latest
/// messages.
type Node = Viewed<Member<Board>>;

/// The number of random steps of a run, and the maximum number of each kind of fault in them.
#[derive(Clone, Debug)]
pub(in crate::multicast) struct FaultBudget {
    pub(in crate::multicast) steps: usize,
    pub(in crate::multicast) crashes: usize,
    pub(in crate::multicast) joins: usize,
    pub(in crate::multicast) leaves: usize,
    /// Removals of members that are up, as after a wrong suspicion.
    pub(in crate::multicast) evictions: usize,
    /// New views with the same members, as after a change that was reverted.
    pub(in crate::multicast) unchanged_views: usize,
}

/// Which of its pending views a node receives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::multicast) enum ViewChoice {
    Next,
    /// The latest one, without those in between.
    Latest,
}

/// The nodes, the links between them, and the view service.
pub(in crate::multicast) struct World {
    /// The configuration of the group.
    plan: Arc<Plan>,
    make_ordering: MakeOrdering,
    pub(in crate::multicast) nodes: BTreeMap<Process, Node>,
    /// The events that each process emitted.
    pub(in crate::multicast) logs: BTreeMap<Process, Vec<Event>>,
    pub(in crate::multicast) crashed: BTreeSet<Process>,
    links: BTreeMap<(Process, Process), VecDeque<<Node as Protocol>::Message>>,
    /// The latest view that the service has decided.
    pub(in crate::multicast) view: View,
    /// The views that each process has yet to receive.
    pending_views: BTreeMap<Process, VecDeque<View>>,
    /// Number of messages that clients have asked to send, which makes each payload unique.
    sent_count: u64,
    rng: Rng,
    /// Maximum number of messages that one member kept at any time.
    pub(in crate::multicast) max_kept: usize,
}

/// The random generator SplitMix64.
pub(in crate::multicast) struct Rng(u64);

impl Rng {
    /// Returns a number below `bound`; 0 if the bound is 0.
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
    /// Creates a group and starts its founders. The founding view is still pending for each of
    /// them.
    pub(in crate::multicast) fn new(plan: Plan, seed: u64, make_ordering: MakeOrdering) -> Self {
        let founders = plan.members.clone();
        let plan = Arc::new(plan);
        let mut world = Self {
            plan,
            make_ordering,
            nodes: BTreeMap::new(),
            logs: BTreeMap::new(),
            crashed: BTreeSet::new(),
            links: BTreeMap::new(),
            view: View::founding(founders.clone()),
            pending_views: BTreeMap::new(),
            sent_count: 0,
            rng: Rng(seed),
            max_kept: 0,
        };
        for node in founders.iter() {
            world.start((node, Incarnation::FIRST));
            world.pending_views.insert((node, Incarnation::FIRST), VecDeque::from([world.view.clone()]));
        }
        world
    }

    fn start(&mut self, process: Process) {
        let member = Member::new(process.0, Arc::clone(&self.plan), self.make_ordering);
        self.nodes.insert(process, Viewed::new(process.0, member));
        self.logs.insert(process, Vec::new());
        self.feed_input(process, Input::Start { durable: (), incarnation: process.1 });
    }

    /// Steps a process with an input, and carries out the effects.
    pub(in crate::multicast) fn feed_input(&mut self, process: Process, input: Input<Node>) {
        let Some(node) = self.nodes.get_mut(&process) else { return };
        let mut effects = Vec::new();
        node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        self.max_kept = self.max_kept.max(node.inner().kept_count());
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
        assert_ne!(from.0, to, "a node must not send a message to itself");
        // A message goes to the latest incarnation of its receiver.
        if let Some(to) = self.nodes.keys().copied().filter(|(node, _)| *node == to).max() {
            self.links.entry((from, to)).or_default().push_back(message);
        }
    }

    /// Returns the processes that have not crashed.
    pub(in crate::multicast) fn running_processes(&self) -> Vec<Process> {
        self.nodes.keys().copied().filter(|process| !self.crashed.contains(process)).collect()
    }

    /// Returns whether a process is in the latest view.
    fn is_member(&self, process: Process) -> bool {
        self.view.stay(process.0).is_some_and(|stay| stay.incarnation == process.1)
    }

    /// Returns the links with messages to a process that has not crashed.
    fn links_with_messages(&self) -> Vec<(Process, Process)> {
        let links = self.links.iter().filter(|((_, to), link)| !link.is_empty() && !self.crashed.contains(to));
        links.map(|(ends, _)| *ends).collect()
    }

    /// Delivers the oldest message of a link, if there is one.
    pub(in crate::multicast) fn deliver(&mut self, (from, to): (Process, Process)) {
        if let Some(message) = self.links.get_mut(&(from, to)).and_then(VecDeque::pop_front) {
            self.feed_input(to, Input::Message { from: from.0, message });
        }
    }

    /// Delivers the next view to a node, or sometimes the latest one without those in between.
    fn deliver_next_view(&mut self, process: Process) {
        let choice = if self.rng.below(4) == 0 { ViewChoice::Latest } else { ViewChoice::Next };
        self.deliver_view(process, choice);
    }

    /// Delivers a pending view to a node. If the view contains the node, it gets a lease as well.
    pub(in crate::multicast) fn deliver_view(&mut self, process: Process, choice: ViewChoice) {
        let Some(pending_views) = self.pending_views.get_mut(&process) else { return };
        let Some(first) = pending_views.pop_front() else { return };
        let view = match choice {
            ViewChoice::Next => first,
            ViewChoice::Latest => pending_views.drain(..).next_back().unwrap_or(first),
        };
        let is_in_view = view.stay(process.0).is_some_and(|stay| stay.incarnation == process.1);
        self.feed_input(process, Input::View(view));
        if is_in_view {
            // The time is always 0, so this lease never expires.
            self.feed_input(process, Input::Lease(Time::from_nanos(1 << 40)));
        }
    }

    pub(in crate::multicast) fn send(&mut self, process: Process) {
        self.sent_count += 1;
        let text = format!("{} of {}", self.sent_count, process.0);
        self.feed_input(process, Input::Command(Command::send(Payload::from(text))));
    }

    /// Crashes a process. Each link from it loses a random number of the latest messages.
    pub(in crate::multicast) fn crash(&mut self, process: Process) {
        self.crashed.insert(process);
        self.pending_views.remove(&process);
        for ((from, _), link) in &mut self.links {
            if *from == process {
                link.truncate(self.rng.below(link.len() + 1));
            }
        }
    }

    /// Crashes a process. All its messages that have not arrived yet are lost.
    pub(in crate::multicast) fn crash_losing_all(&mut self, process: Process) {
        self.crash(process);
        self.links.retain(|(from, _), _| *from != process);
    }

    /// Starts a process and adds it to the next view.
    pub(in crate::multicast) fn join(&mut self, process: Process) {
        self.start(process);
        self.decide_view(&[process], &[]);
    }

    /// Decides the next view, without the crashed members and those in `removed`, and with `joins`.
    pub(in crate::multicast) fn decide_view(&mut self, joins: &[Process], removed: &[Process]) {
        let epoch = Epoch(self.view.epoch().0 + 1);
        let is_removed = |process: &Process| self.crashed.contains(process) || removed.contains(process);
        let stays = self.view.stays();
        let stays = stays.filter(|(node, stay)| !is_removed(&(*node, stay.incarnation)));
        let mut stays: Vec<_> = stays.collect();
        stays.extend(joins.iter().map(|process| (process.0, Stay { incarnation: process.1, since: epoch })));
        self.view = View::new(epoch, stays);
        for process in self.running_processes() {
            self.pending_views.entry(process).or_default().push_back(self.view.clone());
        }
    }

    /// Returns the running processes that are not in the latest view and have not left: new and
    /// evicted ones.
    fn joinable_processes(&mut self) -> Vec<Process> {
        let outside: Vec<_> =
            self.running_processes().into_iter().filter(|process| !self.is_member(*process)).collect();
        let has_left = |process: &Process| {
            self.logs.get(process).is_some_and(|log| log.iter().any(|event| matches!(event, Event::Left { .. })))
        };
        outside.into_iter().filter(|process| !has_left(process)).collect()
    }

    /// Takes random steps: sends, deliveries, and the faults that `budget` allows.
    pub(in crate::multicast) fn run_faults(&mut self, budget: &FaultBudget) {
        let mut remaining = budget.clone();
        for _ in 0..budget.steps {
            let running = self.running_processes();
            // All numbers are equally likely. If the guard of a number fails, the step delivers a
            // message. A step that finds no process or link to act on does nothing.
            match self.rng.below(40) {
                0..=6 => {
                    if let Some(process) = self.rng.pick(&running) {
                        self.send(process);
                    }
                }
                7..=10 => {
                    if let Some(process) = self.rng.pick(&running) {
                        self.deliver_next_view(process);
                    }
                }
                11 if remaining.crashes > 0 && running.len() > 1 => {
                    remaining.crashes -= 1;
                    if let Some(process) = self.rng.pick(&running) {
                        self.crash(process);
                    }
                }
                12 | 13 if self.view.stays().any(|(node, stay)| self.crashed.contains(&(node, stay.incarnation))) => {
                    let joins = if self.rng.below(2) == 0 { self.joinable_processes() } else { Vec::new() };
                    self.decide_view(&joins, &[]);
                }
                14 if remaining.joins > 0 => {
                    remaining.joins -= 1;
                    self.start_joiner();
                    let joins = self.joinable_processes();
                    if !joins.is_empty() {
                        self.decide_view(&joins, &[]);
                    }
                }
                15 if remaining.leaves > 0 && running.len() > 2 => {
                    remaining.leaves -= 1;
                    if let Some(process) = self.rng.pick(&running) {
                        self.feed_input(process, Input::Command(Command::leave()));
                    }
                }
                16 => self.remove_departed(),
                17 if remaining.evictions > 0 && running.len() > 2 => {
                    remaining.evictions -= 1;
                    if let Some(process) = self.rng.pick(&running).filter(|process| self.is_member(*process)) {
                        // The time is always 0, so this lease has expired before the eviction.
                        self.feed_input(process, Input::Lease(Time::from_nanos(-1)));
                        self.decide_view(&[], &[process]);
                    }
                }
                18 | 19 if remaining.unchanged_views > 0 => {
                    remaining.unchanged_views -= 1;
                    self.decide_view(&[], &[]);
                }
                _ => {
                    let links = self.links_with_messages();
                    if let Some(ends) = self.rng.pick(&links) {
                        self.deliver(ends);
                    }
                }
            }
        }
    }

    /// Restarts a random crashed node, unless the view still contains it. If there is no crashed
    /// node to restart, starts a new node, up to [`MAX_NODES`].
    fn start_joiner(&mut self) {
        let not_restarted: Vec<_> = self
            .crashed
            .iter()
            .copied()
            .filter(|process| !self.nodes.contains_key(&(process.0, process.1.next())))
            .collect();
        let process = match self.rng.pick(&not_restarted) {
            Some((node, incarnation)) if !self.is_member((node, incarnation)) => (node, incarnation.next()),
            Some(_) => return,
            None => {
                let next = self.nodes.keys().map(|(node, _)| node.index()).max().map_or(0, |last| last + 1);
                if next >= MAX_NODES {
                    return;
                }
                (NodeId::from_index(next), Incarnation::FIRST)
            }
        };
        self.start(process);
    }

    /// Decides a view without the members that have left.
    fn remove_departed(&mut self) {
        let has_left = |log: &Vec<Event>| log.iter().any(|event| matches!(event, Event::Left { .. }));
        let departed = self.logs.iter().filter(|(process, log)| self.is_member(**process) && has_left(log));
        let departed: Vec<_> = departed.map(|(process, _)| *process).collect();
        if !departed.is_empty() {
            self.decide_view(&[], &departed);
        }
    }

    /// Removes crashed members and delivers everything. Then lets each member send one more message
    /// and delivers everything again.
    pub(in crate::multicast) fn finish(&mut self) {
        self.decide_view(&[], &[]);
        self.deliver_all();
        self.members().into_iter().for_each(|process| self.send(process));
        self.deliver_all();
    }

    /// Delivers all messages and views.
    pub(in crate::multicast) fn deliver_all(&mut self) {
        for _ in 0..1_000_000 {
            if !self.deliver_random() {
                return;
            }
        }
        panic!("the members still send messages after 1,000,000 deliveries");
    }

    /// Delivers one message or view at random. Returns whether there was any.
    pub(in crate::multicast) fn deliver_random(&mut self) -> bool {
        let view_receivers: Vec<_> = self
            .pending_views
            .iter()
            .filter(|(_, pending_views)| !pending_views.is_empty())
            .map(|(process, _)| *process)
            .collect();
        let links = self.links_with_messages();
        let choice = self.rng.below(view_receivers.len() + links.len());
        if let Some(process) = view_receivers.get(choice) {
            self.deliver_next_view(*process);
        } else if let Some(ends) = choice.checked_sub(view_receivers.len()).and_then(|index| links.get(index)) {
            self.deliver(*ends);
        }
        !view_receivers.is_empty() || !links.is_empty()
    }

    /// Returns the members of the latest view.
    pub(in crate::multicast) fn members(&self) -> Vec<Process> {
        self.view.stays().map(|(node, stay)| (node, stay.incarnation)).collect()
    }

    /// Returns the events of each process and the latest view as text, for failing tests.
    pub(in crate::multicast) fn history(&self) -> String {
        let mut history = String::new();
        for (process, log) in &self.logs {
            let fate = if self.crashed.contains(process) { " (crashed)" } else { "" };
            history += &format!("node {}, incarnation {}{fate}\n", process.0, process.1);
            for event in log {
                history += &format!("    {event}\n");
            }
        }
        history + &format!("latest view: {}\n", self.view)
    }
}
