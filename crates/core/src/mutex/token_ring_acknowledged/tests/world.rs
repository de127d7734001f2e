//! A small world in which time counts and nodes die: whatever the synchronous model allows happens by a seed's dice.
//!
//! Messages take any time up to the bound, often exactly none or exactly all of it, and overtake each other. Nodes take
//! their inputs in line. Whoever dies may do so at any instant, often right after a step, with all that it sent under
//! way. After a while nobody dies any more, nobody asks any more, and everyone who is alive must have an answer.

use super::super::{Cargo, Message, Timer, TokenRingAcknowledged};
use crate::bounds::Bounds;
use crate::effects::Effect;
use crate::mutex::prelude::*;
use crate::node::Incarnation;
use std::format;
use std::string::String;

type Node = TokenRingAcknowledged;

/// So few nanoseconds that things often happen at the same instant.
pub(super) const MESSAGE: u64 = 10;

/// How many nodes there are, how many of them die, and how long things take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub(super) nodes: usize,
    pub(super) deaths: usize,
    /// The longest that a message takes, which is [`MESSAGE`] in the synchronous model.
    pub(super) slowest: u64,
    /// The longest that a node is busy with one input.
    pub(super) processing: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) entries: u64,
    pub(super) deaths: u64,
    /// How many died while they had the token.
    pub(super) deaths_with_token: u64,
    /// The largest generation of a token that somebody entered with.
    pub(super) generation: u64,
}

/// Dice that fall the same way for the same seed (Steele, Lea and Flood's `SplitMix`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)) % count.max(1)
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// Up to this, and often one of the ends.
    fn up_to(&mut self, most: u64) -> u64 {
        match self.below(4) {
            0 => 0,
            1 => most,
            _ => self.below(most + 1),
        }
    }
}

/// What happens to a node. A command happens only if the user still has this request under way, or none if there have been as many.
enum Occurrence {
    Message { from: NodeId, message: Message },
    Timer { timer: Timer, serial: u64 },
    Command { command: Command, request: u64 },
    Death,
}

struct Host {
    node: Node,
    alive: bool,
    /// The timers that are set, by how they are written, and which of all settings each is.
    timers: BTreeMap<String, u64>,
    /// Until when it is busy with what is in line.
    busy: u64,
    user: User,
    requests: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Outside,
    Waiting,
    Inside,
}

pub(super) struct World {
    weather: Weather,
    dice: Dice,
    now: u64,
    /// What is to come, by time and then in the order in which it was planned; whether it has stood in line yet.
    agenda: BTreeMap<(u64, u64), (NodeId, bool, Occurrence)>,
    planned: u64,
    hosts: Vec<Host>,
    deaths_left: usize,
    /// From then on nobody dies and nobody asks.
    calm: u64,
    is_hurried: bool,
    last: Option<Fence>,
    tally: Tally,
}

impl World {
    /// Lives through the weather of this seed. Tells what it came to, or how the algorithm broke its word.
    pub(super) fn live(weather: Weather, seed: u64) -> Result<Tally, String> {
        let mut world = Self::new(weather, seed);
        world.run().map_err(|breach| format!("seed {seed}, {weather:?}: at {}, {breach}", world.now))?;
        Ok(world.tally)
    }

    fn new(weather: Weather, seed: u64) -> Self {
        let group = Group::of_size(weather.nodes);
        let bounds =
            Bounds { message: Duration::from_nanos(MESSAGE), processing: Duration::from_nanos(weather.processing) };
        let host = |me| Host {
            node: Node::new(me, group.clone(), bounds),
            alive: true,
            timers: BTreeMap::new(),
            busy: 0,
            user: User::Outside,
            requests: 0,
        };
        let mut dice = Dice(seed);
        let calm = 50 + dice.below(3_000);
        let is_hurried = dice.one_in(3);
        let hosts = group.iter().map(host).collect();
        let mut world = Self {
            weather,
            dice,
            now: 0,
            agenda: BTreeMap::new(),
            planned: 0,
            hosts,
            deaths_left: weather.deaths,
            calm,
            is_hurried,
            last: None,
            tally: Tally::default(),
        };
        for node in group.iter() {
            world.plan_request(node);
        }
        for _ in 0..weather.deaths {
            let victim = NodeId::from_index(world.dice.below(weather.nodes as u64) as usize);
            let at = world.dice.below(calm);
            world.plan(at, victim, Occurrence::Death);
        }
        world
    }

    fn run(&mut self) -> Result<(), String> {
        for place in 0..self.hosts.len() {
            let start = Input::Start { durable: (), incarnation: Incarnation::FIRST };
            self.step(NodeId::from_index(place), start)?;
        }
        while let Some(((at, _), (node, stood, occurrence))) = self.agenda.pop_first() {
            self.now = at;
            if at > self.calm && self.is_served() {
                return Ok(());
            }
            if at > self.calm + 1_000_000 {
                return Err(format!("{:?} wait for ever", self.users(User::Waiting)));
            }
            self.happen(node, stood, occurrence)?;
        }
        if self.is_served() {
            Ok(())
        } else {
            Err(format!("nothing happens, and {:?} wait", self.users(User::Waiting)))
        }
    }

    fn is_served(&self) -> bool {
        self.hosts.iter().all(|host| !host.alive || host.user == User::Outside)
    }

    fn users(&self, user: User) -> Vec<usize> {
        let alive = self.hosts.iter().enumerate().filter(|(_, host)| host.alive && host.user == user);
        alive.map(|(place, _)| place + 1).collect()
    }

    fn plan(&mut self, at: u64, node: NodeId, occurrence: Occurrence) {
        self.planned += 1;
        self.agenda.insert((at, self.planned), (node, false, occurrence));
    }

    /// A request, soon or after a while, and perhaps that it is given up.
    fn plan_request(&mut self, node: NodeId) {
        let think = if self.dice.one_in(2) { self.dice.below(20) } else { self.dice.below(400) };
        let command = if self.dice.one_in(5) { Command::Try } else { Command::Acquire };
        let request = self.hosts[node.index()].requests;
        let at = self.now + think;
        if at >= self.calm {
            return;
        }
        self.plan(at, node, Occurrence::Command { command, request });
        if self.dice.one_in(4) {
            let at = at + self.dice.below(300);
            self.plan(at, node, Occurrence::Command { command: Command::Cancel, request: request + 1 });
        }
    }

    /// Some leave at once, and some stay for longer than anybody's patience lasts.
    fn plan_leave(&mut self, node: NodeId) {
        let stay = match self.dice.below(6) {
            0 | 1 => 0,
            2 => self.dice.below(900),
            _ => self.dice.below(15),
        };
        let request = self.hosts[node.index()].requests;
        self.plan(self.now + stay, node, Occurrence::Command { command: Command::Release, request });
    }

    fn happen(&mut self, node: NodeId, stood: bool, occurrence: Occurrence) -> Result<(), String> {
        let host = &mut self.hosts[node.index()];
        if !host.alive {
            return Ok(());
        }
        if let Occurrence::Death = occurrence {
            self.die(node);
            return Ok(());
        }
        if self.weather.processing > 0 && !stood {
            host.busy = host.busy.max(self.now) + self.dice.up_to(self.weather.processing);
            self.planned += 1;
            self.agenda.insert((host.busy, self.planned), (node, true, occurrence));
            return Ok(());
        }
        let Some(input) = self.input(node, occurrence) else { return Ok(()) };
        self.step(node, input)?;
        if self.now < self.calm && self.deaths_left > 0 && self.dice.one_in(60) {
            self.die(node);
        }
        Ok(())
    }

    fn input(&mut self, node: NodeId, occurrence: Occurrence) -> Option<Input<Node>> {
        let host = &mut self.hosts[node.index()];
        match occurrence {
            Occurrence::Message { from, message } => Some(Input::Message { from, message }),
            Occurrence::Timer { timer, serial } => {
                let key = format!("{timer:?}");
                if host.timers.get(&key) != Some(&serial) {
                    return None;
                }
                host.timers.remove(&key);
                Some(Input::Timer(timer))
            }
            Occurrence::Command { command, request } => {
                let makes_sense = match command {
                    Command::Acquire | Command::Try | Command::Share => host.user == User::Outside,
                    Command::Cancel => host.user == User::Waiting,
                    Command::Release => host.user == User::Inside,
                };
                if !makes_sense || host.requests != request {
                    return None;
                }
                if let Command::Acquire | Command::Try | Command::Share = command {
                    host.requests += 1;
                    host.user = User::Waiting;
                }
                Some(Input::Command(command))
            }
            Occurrence::Death => None,
        }
    }

    /// One is always left.
    fn die(&mut self, node: NodeId) {
        if self.deaths_left == 0 || self.hosts.iter().filter(|host| host.alive).count() == 1 {
            return;
        }
        self.deaths_left -= 1;
        self.tally.deaths += 1;
        let host = &mut self.hosts[node.index()];
        self.tally.deaths_with_token += u64::from(host.node.hand.holds());
        host.alive = false;
    }

    fn step(&mut self, node: NodeId, input: Input<Node>) -> Result<(), String> {
        let mut effects = Vec::new();
        self.hosts[node.index()].node.step(Time::ZERO, input, &mut Effects::new(&mut effects));
        for effect in effects {
            match effect {
                Effect::Send { to, message, .. } => {
                    let at = self.now + self.delay(&message);
                    self.plan(at, to, Occurrence::Message { from: node, message });
                }
                Effect::SetTimer { timer, span } => {
                    let serial = self.planned + 1;
                    self.hosts[node.index()].timers.insert(format!("{timer:?}"), serial);
                    self.plan(self.now + span.earliest.nanos(), node, Occurrence::Timer { timer, serial });
                }
                Effect::CancelTimer(timer) => {
                    self.hosts[node.index()].timers.remove(&format!("{timer:?}"));
                }
                Effect::Emit { event, .. } => self.hear(node, event)?,
                Effect::Multicast { .. } | Effect::Save(_) => return Err("what this algorithm never does".into()),
            }
        }
        match self.tokens() {
            0 | 1 => Ok(()),
            tokens => Err(format!("there are {tokens} tokens")),
        }
    }

    /// In a hurry, tokens are fast and acknowledgements slow, so that a token comes round before these.
    fn delay(&mut self, message: &Message) -> u64 {
        match message {
            Message::Pass { .. } if self.is_hurried => self.dice.below(2),
            Message::Received(_) if self.is_hurried => self.weather.slowest,
            Message::Pass { .. } | Message::Received(_) => self.dice.up_to(self.weather.slowest),
        }
    }

    /// In the hands of those who are alive, or on the way to one of them.
    fn tokens(&self) -> usize {
        let held = self.hosts.iter().filter(|host| host.alive && host.node.hand.holds()).count();
        let under_way = self.agenda.values().filter(|(to, _, occurrence)| {
            let is_token =
                matches!(occurrence, Occurrence::Message { message: Message::Pass { cargo: Cargo::Token(_), .. }, .. });
            is_token && self.hosts[to.index()].alive
        });
        held + under_way.count()
    }

    fn hear(&mut self, node: NodeId, event: Event) -> Result<(), String> {
        let user = match (self.hosts[node.index()].user, event) {
            (User::Waiting, Event::Entered { fence, .. }) => {
                self.admit(node, fence)?;
                User::Inside
            }
            (User::Waiting, Event::Denied | Event::Cancelled) | (User::Inside, Event::Left) => User::Outside,
            (user, event) => return Err(format!("{node}, which is {user:?}, says '{event}'")),
        };
        self.hosts[node.index()].user = user;
        match user {
            User::Inside => self.plan_leave(node),
            User::Outside => self.plan_request(node),
            User::Waiting => {}
        }
        Ok(())
    }

    fn admit(&mut self, node: NodeId, fence: Fence) -> Result<(), String> {
        if let [other, ..] = self.users(User::Inside)[..] {
            return Err(format!("{node} enters while {other} is inside"));
        }
        if self.last.is_some_and(|last| fence <= last) {
            return Err(format!("{node} enters with {fence} after {:?}", self.last));
        }
        self.last = Some(fence);
        self.tally.entries += 1;
        self.tally.generation = self.tally.generation.max(fence.epoch.0);
        Ok(())
    }
}
