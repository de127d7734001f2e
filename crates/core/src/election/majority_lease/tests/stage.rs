//! A stage with a clock: a script goes in, a readable trace comes out.
//!
//! ```text
//! 1 campaign        node 1 is told to
//! 1 > 2             the oldest message under way from 1 to 2 arrives
//! 1 > 2 last        the newest one arrives before all others
//! lose 1 > 2        the oldest one is lost
//! again 1 > 2       a copy of the oldest one arrives, and it stays under way
//! rest              everything under way arrives, oldest first, until nothing is under way
//! wait 5ms          time passes; timers fire when they are due, and nothing arrives
//! 2 restarts        with what it saved
//! 2 is wiped        and restarts without its disk
//! ```

use crate::bounds::Bounds;
use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::election::majority_lease::{Ledger, Message, Timer};
use crate::election::{COMMANDS, Command, Event, MajorityLease, Plan, Tenure};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol};
use crate::testing::steps;
use crate::time::{Duration, Time};
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// A message takes 1 ms, a promise lasts for 40 ms, and a master trusts it for 24 ms: clocks may be off by a quarter.
pub(crate) fn plan(nodes: usize) -> Plan {
    let bounds = Bounds { message: Duration::from_millis(1), processing: Duration::ZERO };
    let tenure = Tenure { lease: Duration::from_millis(40), drift_ppm: 250_000 };
    Plan { tenure, ..Plan::new(nodes, bounds) }
}

pub(crate) fn rehearse(nodes: usize, script: &str) -> String {
    let mut stage = Stage::new(plan(nodes), MajorityLease::new);
    stage.script(script);
    stage.trace
}

pub(crate) struct Stage<P> {
    plan: Plan,
    make: fn(NodeId, &Plan) -> P,
    nodes: Vec<P>,
    disks: Vec<Ledger>,
    lives: Vec<Incarnation>,
    now: Time,
    letters: Vec<(NodeId, NodeId, Message)>,
    timers: Vec<(Time, NodeId, Timer)>,
    pub(crate) trace: String,
}

pub(crate) trait Player:
    Protocol<Command = Command, Message = Message, Timer = Timer, Event = Event, Durable = Ledger>
{
}

impl<P: Protocol<Command = Command, Message = Message, Timer = Timer, Event = Event, Durable = Ledger>> Player for P {}

struct Prompter<P: Player> {
    effects: Vec<Effect<P>>,
    said: Vec<String>,
}

impl<P: Player> Sink<P> for Prompter<P> {
    fn effect(&mut self, effect: Effect<P>) {
        match &effect {
            Effect::Send { to, message, .. } => self.said.push(format!("{} → {to}", message.kind())),
            Effect::Multicast { message, .. } => self.said.push(format!("{} → all", message.kind())),
            Effect::Emit { event, .. } => self.said.push(event.to_string()),
            Effect::Save(ballot) => self.said.push(format!("saves a vote for {} in term {}", ballot.vote, ballot.term)),
            Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.said.push(format!("{rule} {text}"));
        }
    }
}

impl<P: Player> Stage<P> {
    /// A group that elects like this, of which each node has booted.
    pub(crate) fn new(plan: Plan, make: fn(NodeId, &Plan) -> P) -> Self {
        let nodes = plan.group.iter().map(|me| make(me, &plan)).collect();
        let disks = plan.group.iter().map(|_| Ledger::default()).collect();
        let lives = plan.group.iter().map(|_| Incarnation::FIRST).collect();
        let (letters, timers) = (Vec::new(), Vec::new());
        let mut stage =
            Self { plan, make, nodes, disks, lives, now: Time::ZERO, letters, timers, trace: String::new() };
        for me in stage.plan.group.clone().iter() {
            stage.start(me);
        }
        stage.trace.clear();
        stage
    }

    pub(crate) fn script(&mut self, script: &str) {
        for line in steps(script) {
            self.play(line);
        }
    }

    fn play(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.letters.is_empty() {
                    self.deliver(0);
                }
            }
            ["wait", length] => {
                let millis: u64 = length.trim_end_matches("ms").parse().expect("milliseconds");
                self.wait(Duration::from_millis(millis));
            }
            ["lose", from, ">", to] => {
                let place = self.place(from, to);
                let (_, to, message) = self.letters.remove(place);
                self.trace += &format!("{} → {to} is lost\n", message.kind());
            }
            ["again", from, ">", to] => {
                let letter = self.letters[self.place(from, to)];
                self.letters.insert(0, letter);
                self.deliver(0);
            }
            [from, ">", to] => self.deliver(self.place(from, to)),
            [from, ">", to, "last"] => {
                let way = (number(from), number(to));
                let place = self.letters.iter().rposition(|(from, to, _)| (*from, *to) == way);
                self.deliver(place.expect("something is under way"));
            }
            [node, "restarts"] => self.start(number(node)),
            [node, "is", "wiped"] => {
                self.disks[number(node).index()] = Ledger::wiped();
                self.start(number(node));
            }
            [node, command] => {
                let command = COMMANDS.into_iter().find(|known| known.name() == command).expect("a command");
                let node = number(node);
                self.step(node, &format!("{node} {command}"), Input::Command(command));
            }
            _ => panic!("the script says '{line}', which is not in its language"),
        }
    }

    fn start(&mut self, me: NodeId) {
        self.nodes[me.index()] = (self.make)(me, &self.plan);
        self.timers.retain(|(_, node, _)| *node != me);
        let durable = self.disks[me.index()];
        let incarnation = self.lives[me.index()];
        self.lives[me.index()] = Incarnation(incarnation.0 + 1);
        self.step(me, &format!("{me} starts"), Input::Start { durable, incarnation });
    }

    fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        while let Some(next) = (0..self.timers.len()).min_by_key(|place| self.timers[*place].0)
            && self.timers[next].0 <= end
        {
            let (due, node, timer) = self.timers.remove(next);
            self.now = due;
            self.step(node, &format!("{node} {timer:?}"), Input::Timer(timer));
        }
        self.now = end;
    }

    fn deliver(&mut self, place: usize) {
        let (from, to, message) = self.letters.remove(place);
        self.step(to, &format!("{to} hears {} from {from}", message.kind()), Input::Message { from, message });
    }

    fn place(&self, from: &str, to: &str) -> usize {
        let way = (number(from), number(to));
        let place = self.letters.iter().position(|(from, to, _)| (*from, *to) == way);
        place.unwrap_or_else(|| panic!("nothing is under way from {from} to {to}; so far:\n{}", self.trace))
    }

    fn step(&mut self, node: NodeId, cue: &str, input: Input<P>) {
        let mut prompter = Prompter { effects: Vec::new(), said: Vec::new() };
        self.nodes[node.index()].step(self.now, input, &mut Effects::new(&mut prompter));
        let said = if prompter.said.is_empty() { "nothing".into() } else { prompter.said.join("; ") };
        self.trace += &format!("{} {cue}: {said}\n", self.now);
        for effect in prompter.effects {
            match effect {
                Effect::Send { to, message, .. } => self.letters.push((node, to, message)),
                Effect::Multicast { to, message, .. } => {
                    self.letters.extend(to.others(node).map(|to| (node, to, message)));
                }
                Effect::Save(ballot) => self.disks[node.index()].apply(ballot),
                Effect::SetTimer { timer, span } => {
                    self.disarm(node, timer);
                    self.timers.push((self.now + span.earliest, node, timer));
                }
                Effect::CancelTimer(timer) => self.disarm(node, timer),
                Effect::Emit { .. } => {}
            }
        }
    }

    fn disarm(&mut self, node: NodeId, timer: Timer) {
        self.timers.retain(|(_, owner, armed)| (*owner, *armed) != (node, timer));
    }
}

pub(crate) fn reigns(trace: &str) -> usize {
    trace.matches("of its clock)").count()
}

pub(crate) fn tells(trace: &str, event: Event) -> bool {
    trace.contains(&event.to_string())
}

fn number(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).expect("a node's number")
}
