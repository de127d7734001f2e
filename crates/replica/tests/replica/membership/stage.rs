//! Three members step by step: what they send takes a millisecond unless a test takes it away, and their disks wait if a test says so.

use quorate_core::mutex::{Central, Command, Event};
use quorate_core::{
    Barrier, Describe, Durable as _, Duration, Effect, Effects, Group, Incarnation, Input, NodeId, Note, Protocol,
    Sink, Time,
};
use quorate_replica::Durable;
use quorate_replica::membership::{Member, Plan};

pub(crate) type Node = Member<Central>;
type Letter = <Node as Protocol>::Message;
type Alarm = <Node as Protocol>::Timer;

pub(crate) const NODES: usize = 3;

pub(crate) type Loses = Box<dyn Fn(NodeId, NodeId, &Letter) -> bool>;

struct Actor {
    node: Option<Node>,
    life: Incarnation,
    durable: Durable,
    barrier: Barrier<Node>,
    saved: u64,
    timers: Vec<(Time, Alarm)>,
}

pub(crate) struct Stage {
    pub(crate) now: Time,
    actors: Vec<Actor>,
    letters: Vec<(Time, NodeId, NodeId, Letter)>,
    pub(crate) loses: Loses,
    /// Whether disks confirm nothing.
    pub(crate) disks_wait: bool,
    pub(crate) notes: Vec<(Time, NodeId, &'static str)>,
    pub(crate) events: Vec<(Time, NodeId, Event)>,
    pub(crate) asked: [Option<Time>; NODES],
}

#[derive(Default)]
struct Heap {
    effects: Vec<Effect<Node>>,
    rules: Vec<&'static str>,
}

impl Sink<Node> for Heap {
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
    Member::new(me, Central::new(me, group.clone()), Plan::new(&group, 7))
}

pub(crate) fn everyone() -> impl Iterator<Item = NodeId> {
    (0..NODES).map(NodeId::from_index)
}

impl Stage {
    pub(crate) fn new() -> Self {
        let actor = |_| Actor {
            node: None,
            life: Incarnation::FIRST,
            durable: Durable::default(),
            barrier: Barrier::default(),
            saved: 0,
            timers: Vec::new(),
        };
        let mut stage = Self {
            now: Time::ZERO,
            actors: everyone().map(actor).collect(),
            letters: Vec::new(),
            loses: Box::new(|_, _, _| false),
            disks_wait: false,
            notes: Vec::new(),
            events: Vec::new(),
            asked: [None; NODES],
        };
        everyone().for_each(|node| stage.boot(node));
        stage
    }

    /// Three members of whom each has a lease in the first view.
    pub(crate) fn settled() -> Self {
        let mut stage = Self::new();
        stage.until("leases", |stage| everyone().all(|node| stage.node(node).viewed().acts(stage.now)));
        stage
    }

    pub(crate) fn node(&self, node: NodeId) -> &Node {
        self.actors[node.index()].node.as_ref().unwrap()
    }

    pub(crate) fn leader(&self) -> Option<NodeId> {
        let up = everyone().filter(|node| self.actors[node.index()].node.is_some());
        up.into_iter().find(|node| self.node(*node).replica().leads())
    }

    pub(crate) fn view(&self, node: NodeId) -> (u64, Vec<u32>) {
        let view = self.node(node).viewed().view().unwrap();
        (view.epoch().0, view.members().iter().map(NodeId::number).collect())
    }

    pub(crate) fn boot(&mut self, node: NodeId) {
        let actor = &mut self.actors[node.index()];
        actor.node = Some(member(node));
        let (durable, incarnation) = (actor.durable.clone(), actor.life);
        self.input(node, Input::Start { durable, incarnation });
    }

    /// The node's process is gone, and all that it kept in memory.
    pub(crate) fn kill(&mut self, node: NodeId) {
        let actor = &mut self.actors[node.index()];
        (actor.node, actor.barrier, actor.saved, actor.timers) = (None, Barrier::default(), 0, Vec::new());
        actor.life = actor.life.next();
    }

    pub(crate) fn wipe(&mut self, node: NodeId) {
        self.actors[node.index()].durable = Durable { wiped: true, ..Durable::default() };
    }

    pub(crate) fn command(&mut self, node: NodeId, command: Command) {
        self.input(node, Input::Command(command));
    }

    pub(crate) fn input(&mut self, node: NodeId, input: Input<Node>) {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            let Some(actor) = self.actors[node.index()].node.as_mut() else { return };
            let mut heap = Heap::default();
            actor.step(self.now, input, &mut Effects::new(&mut heap));
            self.notes.extend(heap.rules.into_iter().map(|rule| (self.now, node, rule)));
            for effect in heap.effects {
                if let Some(effect) = self.actors[node.index()].barrier.admit(effect) {
                    self.carry_out(node, effect);
                }
            }
            if let Some(count) = self.sync(node) {
                inputs.push(Input::Saved(count));
            }
        }
    }

    /// Confirms what was saved, and tells how much that is in all if it is more than before.
    fn sync(&mut self, node: NodeId) -> Option<u64> {
        let actor = &mut self.actors[node.index()];
        let count = actor.barrier.asked();
        if self.disks_wait || actor.saved == count {
            return None;
        }
        actor.saved = count;
        actor.barrier.durable(count);
        while let Some(effect) = self.actors[node.index()].barrier.release() {
            self.carry_out(node, effect);
        }
        Some(count)
    }

    fn carry_out(&mut self, from: NodeId, effect: Effect<Node>) {
        let later = self.now + Duration::from_millis(1);
        match effect {
            Effect::Send { to, message, .. } => self.post(later, from, to, message),
            Effect::Multicast { to, message, .. } => {
                to.others(from).for_each(|to| self.post(later, from, to, message.clone()));
            }
            Effect::Save(write) => self.actors[from.index()].durable.apply(write),
            Effect::SetTimer { timer, span } => {
                let timers = &mut self.actors[from.index()].timers;
                timers.retain(|(_, known)| *known != timer);
                timers.push((self.now + span.latest, timer));
            }
            Effect::CancelTimer(timer) => self.actors[from.index()].timers.retain(|(_, known)| *known != timer),
            Effect::Emit { event, .. } => self.events.push((self.now, from, event)),
        }
    }

    fn post(&mut self, at: Time, from: NodeId, to: NodeId, letter: Letter) {
        if !(self.loses)(from, to, &letter) {
            if letter.kind() == "ask" {
                self.asked[from.index()] = Some(self.now);
            }
            self.letters.push((at, from, to, letter));
        }
    }

    /// Lets the next thing happen that is due before the end, or lets the end come.
    fn advance(&mut self, end: Time) {
        let letter = self.letters.iter().map(|(at, ..)| *at).min();
        let timers = self.actors.iter().flat_map(|actor| &actor.timers).map(|(at, _)| *at);
        let next = timers.chain(letter).min().filter(|next| *next <= end);
        self.now = next.unwrap_or(end);
        if next.is_none() {
            return;
        }
        if let Some(place) = self.letters.iter().position(|(at, ..)| *at == self.now) {
            let (_, from, to, message) = self.letters.remove(place);
            return self.input(to, Input::Message { from, message });
        }
        for node in everyone() {
            let timers = &mut self.actors[node.index()].timers;
            if let Some(place) = timers.iter().position(|(at, _)| *at == self.now) {
                let (_, timer) = timers.remove(place);
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

    /// Runs until something is so, and tells how long that took.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) -> Duration {
        let (began, end) = (self.now, self.now + Duration::from_secs(20));
        while !is_so(self) {
            assert!(self.now < end, "no {what} by {}", self.now);
            self.advance(end);
        }
        self.now.since(began)
    }
}
