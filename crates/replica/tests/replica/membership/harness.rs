//! Three members, step by step. A message takes a millisecond unless the test drops it, and disks
//! confirm saves at once unless the test blocks them.

use quorate_core::mutex::{Central, Command, Event};
use quorate_core::{
    Barrier, Describe, Durable as _, Duration, Effect, Effects, Group, Incarnation, Input, NodeId, Note, Protocol,
    Sink, Time,
};
use quorate_replica::Durable;
use quorate_replica::membership::{Member, Plan};

pub(crate) type Node = Member<Central>;
type NodeMessage = <Node as Protocol>::Message;
type NodeTimer = <Node as Protocol>::Timer;

pub(crate) const NODES: usize = 3;

/// Whether the network drops a message: sender, receiver, message.
pub(crate) type DropRule = Box<dyn Fn(NodeId, NodeId, &NodeMessage) -> bool>;

struct Host {
    node: Option<Node>,
    incarnation: Incarnation,
    durable: Durable,
    barrier: Barrier<Node>,
    /// Number of confirmed saves of this incarnation.
    confirmed_saves: u64,
    timers: Vec<(Time, NodeTimer)>,
}

pub(crate) struct Harness {
    pub(crate) now: Time,
    hosts: Vec<Host>,
    /// Messages in flight: time of arrival, sender, receiver, message.
    messages: Vec<(Time, NodeId, NodeId, NodeMessage)>,
    pub(crate) drop_rule: DropRule,
    /// Whether all disks are blocked: they carry out saves, but confirm none.
    pub(crate) are_disks_blocked: bool,
    /// The rules that nodes have noted: time, node, rule id.
    pub(crate) notes: Vec<(Time, NodeId, &'static str)>,
    pub(crate) events: Vec<(Time, NodeId, Event)>,
    /// When each node last sent a request to the leader that was not dropped.
    pub(crate) last_request: [Option<Time>; NODES],
}

#[derive(Default)]
struct Collector {
    effects: Vec<Effect<Node>>,
    rules: Vec<&'static str>,
}

impl Sink<Node> for Collector {
    fn effect(&mut self, effect: Effect<Node>) {
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, .. } = note {
            self.rules.push(rule);
        }
    }
}

fn member(me: NodeId) -> Node {
    let group = Group::of_size(NODES);
    let seed = 7;
    Member::new(me, Central::new(me, group.clone()), Plan::new(&group, seed))
}

pub(crate) fn all_nodes() -> impl Iterator<Item = NodeId> {
    (0..NODES).map(NodeId::from_index)
}

impl Harness {
    pub(crate) fn new() -> Self {
        let host = |_| Host {
            node: None,
            incarnation: Incarnation::FIRST,
            durable: Durable::default(),
            barrier: Barrier::default(),
            confirmed_saves: 0,
            timers: Vec::new(),
        };
        let mut harness = Self {
            now: Time::ZERO,
            hosts: all_nodes().map(host).collect(),
            messages: Vec::new(),
            drop_rule: Box::new(|_, _, _| false),
            are_disks_blocked: false,
            notes: Vec::new(),
            events: Vec::new(),
            last_request: [None; NODES],
        };
        all_nodes().for_each(|node| harness.boot(node));
        harness
    }

    /// Three members that all have a lease in the first view.
    pub(crate) fn settled() -> Self {
        let mut harness = Self::new();
        harness.run_until("leases", |harness| all_nodes().all(|node| harness.node(node).viewed().acts(harness.now)));
        harness
    }

    pub(crate) fn node(&self, node: NodeId) -> &Node {
        self.hosts[node.index()].node.as_ref().unwrap()
    }

    pub(crate) fn leader(&self) -> Option<NodeId> {
        let mut up_nodes = all_nodes().filter(|node| self.hosts[node.index()].node.is_some());
        up_nodes.find(|node| self.node(*node).replica().leads())
    }

    /// The epoch and the members of a node's view.
    pub(crate) fn view(&self, node: NodeId) -> (u64, Vec<u32>) {
        let view = self.node(node).viewed().view().unwrap();
        (view.epoch().0, view.members().iter().map(NodeId::number).collect())
    }

    pub(crate) fn boot(&mut self, node: NodeId) {
        let host = &mut self.hosts[node.index()];
        host.node = Some(member(node));
        let (durable, incarnation) = (host.durable.clone(), host.incarnation);
        self.input(node, Input::Start { durable, incarnation });
    }

    /// Ends the node's process; its state in memory is lost.
    pub(crate) fn kill(&mut self, node: NodeId) {
        let host = &mut self.hosts[node.index()];
        (host.node, host.barrier, host.confirmed_saves, host.timers) = (None, Barrier::default(), 0, Vec::new());
        host.incarnation = host.incarnation.next();
    }

    /// Replaces the disk of a node that is down with an empty one.
    pub(crate) fn wipe(&mut self, node: NodeId) {
        self.hosts[node.index()].durable = Durable { is_wiped: true, ..Durable::default() };
    }

    pub(crate) fn command(&mut self, node: NodeId, command: Command) {
        self.input(node, Input::Command(command));
    }

    /// Steps a node that is up, ends its turn, and then confirms its saves.
    pub(crate) fn input(&mut self, node: NodeId, input: Input<Node>) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let Some(member) = self.hosts[node.index()].node.as_mut() else { return };
            let mut collector = Collector::default();
            for input in [input, Input::EndOfTurn] {
                member.step(self.now, input, &mut Effects::new(&mut collector));
            }
            self.notes.extend(collector.rules.into_iter().map(|rule| (self.now, node, rule)));
            for effect in collector.effects {
                if let Some(effect) = self.hosts[node.index()].barrier.admit(effect) {
                    self.carry_out(node, effect);
                }
            }
            if let Some(count) = self.sync(node) {
                inputs.push(Input::Saved(count));
            }
        }
    }

    /// Confirms all saves. Returns their total number if it has grown.
    fn sync(&mut self, node: NodeId) -> Option<u64> {
        let host = &mut self.hosts[node.index()];
        let count = host.barrier.saves_requested();
        if self.are_disks_blocked || host.confirmed_saves == count {
            return None;
        }
        host.confirmed_saves = count;
        host.barrier.mark_durable(count);
        while let Some(effect) = self.hosts[node.index()].barrier.release() {
            self.carry_out(node, effect);
        }
        Some(count)
    }

    fn carry_out(&mut self, from: NodeId, effect: Effect<Node>) {
        let arrival = self.now + Duration::from_millis(1);
        match effect {
            Effect::Send { to, message, .. } => self.send(arrival, from, to, message),
            Effect::Multicast { to, message, .. } => {
                to.others(from).for_each(|to| self.send(arrival, from, to, message.clone()));
            }
            Effect::Save(write) => self.hosts[from.index()].durable.apply(write),
            Effect::SetTimer { timer, span } => {
                let timers = &mut self.hosts[from.index()].timers;
                timers.retain(|(_, known)| *known != timer);
                timers.push((self.now + span.latest, timer));
            }
            Effect::CancelTimer(timer) => self.hosts[from.index()].timers.retain(|(_, known)| *known != timer),
            Effect::Emit { event, .. } => self.events.push((self.now, from, event)),
        }
    }

    fn send(&mut self, arrival: Time, from: NodeId, to: NodeId, message: NodeMessage) {
        if !(self.drop_rule)(from, to, &message) {
            // The kind of a request to the leader.
            if message.kind() == "membership-request" {
                self.last_request[from.index()] = Some(self.now);
            }
            self.messages.push((arrival, from, to, message));
        }
    }

    /// Advances to the next message or timer, at most to `end`.
    fn advance(&mut self, end: Time) {
        let arrivals = self.messages.iter().map(|(at, ..)| *at);
        let expiries = self.hosts.iter().flat_map(|host| &host.timers).map(|(at, _)| *at);
        let next = arrivals.chain(expiries).min().filter(|next| *next <= end);
        self.now = next.unwrap_or(end);
        if next.is_none() {
            return;
        }
        if let Some(index) = self.messages.iter().position(|(at, ..)| *at == self.now) {
            let (_, from, to, message) = self.messages.remove(index);
            return self.input(to, Input::Message { from, message });
        }
        for node in all_nodes() {
            let timers = &mut self.hosts[node.index()].timers;
            if let Some(index) = timers.iter().position(|(at, _)| *at == self.now) {
                let (_, timer) = timers.remove(index);
                return self.input(node, Input::Timer(timer));
            }
        }
    }

    pub(crate) fn run_for(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while self.now < end {
            self.advance(end);
        }
    }

    /// Runs until the condition holds, and returns how long that took.
    pub(crate) fn run_until(&mut self, awaited: &str, condition: impl Fn(&Self) -> bool) -> Duration {
        let (began_at, end) = (self.now, self.now + Duration::from_secs(20));
        while !condition(self) {
            assert!(self.now < end, "no {awaited} by {}", self.now);
            self.advance(end);
        }
        self.now.since(began_at)
    }
}
