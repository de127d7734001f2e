//! A stage for tests of elections: a script in a small language goes in, a readable trace comes out.
//!
//! ```text
//! 1 campaign           node 1 is asked to start; likewise resign
//! 1 > 2                the oldest message under way from 1 to 2 arrives
//! 1 > 2 last           the newest one arrives before all others
//! 1 > 2 as 3           the oldest one arrives, but in the name of 3
//! lose 1 > 2           the oldest one is lost
//! rest                 everything under way arrives, oldest first, until nothing is under way
//! 1 fires              the timer that node 1 set last fires
//! 1 crashes            node 1 is gone, and what reaches it is lost
//! 1 boots              node 1 is back with what it saved
//! 1 suspects 2         node 1 hears that node 2 is dead; likewise trusts
//! after 3ms            time passes
//! ```

use super::{COMMANDS, Event, Plan};
use crate::bounds::Bounds;
use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Durable, Input, Protocol, WriteOf};
use crate::testing::steps;
use crate::time::{Duration, Time};
use alloc::sync::Arc;
use core::fmt::Debug;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// The usual plan of a group in which a message takes one millisecond.
pub(super) fn plan(nodes: usize) -> Plan {
    Plan::new(nodes, Bounds { message: Duration::from_millis(1), processing: Duration::ZERO })
}

/// Plays a script to a group and tells what each step did.
pub(super) fn drill<P>(plan: Plan, make: fn(NodeId, Arc<Plan>) -> P, script: &str) -> String
where
    P: Protocol<Command = super::Command, Event = Event, Durable: Clone, Timer: Debug>,
    P::Message: Describe + Debug,
    WriteOf<P>: Clone,
{
    let plan = Arc::new(plan);
    let nodes = plan.group.iter().map(|me| Seat::new(make(me, Arc::clone(&plan)), !plan.absent.contains(me))).collect();
    let mut drill = Drill { plan, make, nodes, under_way: Vec::new(), now: Time::ZERO, trace: String::new() };
    for me in drill.plan.group.clone().iter() {
        if drill.nodes[me.index()].is_up {
            drill.boot(me);
        }
    }
    drill.trace.clear();
    for line in steps(script) {
        drill.play(line);
    }
    drill.trace
}

struct Drill<P: Protocol> {
    plan: Arc<Plan>,
    make: fn(NodeId, Arc<Plan>) -> P,
    nodes: Vec<Seat<P>>,
    under_way: Vec<(NodeId, NodeId, P::Message)>,
    now: Time,
    trace: String,
}

struct Seat<P: Protocol> {
    node: P,
    is_up: bool,
    life: Incarnation,
    durable: P::Durable,
    timers: Vec<P::Timer>,
}

impl<P: Protocol> Seat<P> {
    fn new(node: P, is_up: bool) -> Self {
        Self { node, is_up, life: Incarnation::FIRST, durable: P::Durable::default(), timers: Vec::new() }
    }
}

struct Prompter<P: Protocol> {
    effects: Vec<Effect<P>>,
    said: Vec<String>,
}

impl<P: Protocol<Event = Event, Timer: Debug, Message: Describe>> Sink<P> for Prompter<P> {
    fn effect(&mut self, effect: Effect<P>) {
        match &effect {
            Effect::Send { to, message, .. } => self.said.push(format!("{} → {to}", message.kind())),
            Effect::Multicast { to, message, .. } => self.said.push(format!("{} → {to}", message.kind())),
            Effect::Emit { event, .. } => self.said.push(event.to_string()),
            Effect::SetTimer { timer, span } => self.said.push(format!("{timer:?} in {span}")),
            Effect::Save(_) => self.said.push("saves".into()),
            Effect::CancelTimer(_) => {}
        }
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.said.push(format!("{rule} {text}"));
        }
    }
}

impl<P> Drill<P>
where
    P: Protocol<Command = super::Command, Event = Event, Durable: Clone, Timer: Debug, Message: Describe + Debug>,
    WriteOf<P>: Clone,
{
    fn play(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.under_way.is_empty() {
                    self.deliver(0, None);
                }
            }
            ["after", length] => {
                let millis = length.strip_suffix("ms").and_then(|number| number.parse().ok()).expect("a length");
                self.now += Duration::from_millis(millis);
            }
            ["lose", from, ">", to] => {
                let place = self.places(from, to)[0];
                self.under_way.remove(place);
            }
            [from, ">", to] => self.deliver(self.places(from, to)[0], None),
            [from, ">", to, "last"] => {
                let places = self.places(from, to);
                self.deliver(places[places.len() - 1], None);
            }
            [from, ">", to, "as", impostor] => self.deliver(self.places(from, to)[0], Some(number(impostor))),
            [node, "fires"] => {
                let node = number(node);
                let timer = self.nodes[node.index()].timers.pop().expect("a timer that is set");
                self.step(node, &format!("{node} {timer:?}"), Input::Timer(timer.clone()));
            }
            [node, "crashes"] => {
                let seat = &mut self.nodes[number(node).index()];
                seat.is_up = false;
                seat.timers.clear();
            }
            [node, "boots"] => {
                let node = number(node);
                let fresh = (self.make)(node, Arc::clone(&self.plan));
                let seat = &mut self.nodes[node.index()];
                (seat.node, seat.is_up, seat.life) = (fresh, true, seat.life.next());
                self.boot(node);
            }
            [node, "suspects", other] => self.step(number(node), line, Input::Suspect(number(other))),
            [node, "trusts", other] => self.step(number(node), line, Input::Trust(number(other))),
            [node, command] => {
                let command = COMMANDS.into_iter().find(|known| known.name() == command).expect("a command");
                self.step(number(node), line, Input::Command(command));
            }
            _ => panic!("the script says '{line}', which is not in its language"),
        }
    }

    fn boot(&mut self, node: NodeId) {
        let Seat { durable, life, .. } = &self.nodes[node.index()];
        let input = Input::Start { durable: durable.clone(), incarnation: *life };
        self.step(node, &format!("{node} boots"), input);
    }

    fn deliver(&mut self, place: usize, impostor: Option<NodeId>) {
        let (from, to, message) = self.under_way.remove(place);
        let from = impostor.unwrap_or(from);
        if self.nodes[to.index()].is_up {
            let cue = format!("{to} hears {} from {from}", message.kind());
            self.step(to, &cue, Input::Message { from, message });
        }
    }

    fn step(&mut self, me: NodeId, cue: &str, input: Input<P>) {
        let mut prompter = Prompter { effects: Vec::new(), said: Vec::new() };
        let seat = &mut self.nodes[me.index()];
        seat.node.step(self.now, input, &mut Effects::new(&mut prompter));
        let said = if prompter.said.is_empty() { "nothing".into() } else { prompter.said.join("; ") };
        self.trace += &format!("{cue}: {said}\n");
        for effect in prompter.effects {
            match effect {
                Effect::Send { to, message, .. } => self.under_way.push((me, to, message)),
                Effect::Multicast { to, message, .. } => {
                    self.under_way.extend(to.others(me).map(|to| (me, to, message.clone())));
                }
                Effect::Save(write) => seat.durable.apply(write),
                Effect::SetTimer { timer, .. } => {
                    seat.timers.retain(|set| *set != timer);
                    seat.timers.push(timer);
                }
                Effect::CancelTimer(timer) => seat.timers.retain(|set| *set != timer),
                Effect::Emit { .. } => {}
            }
        }
    }

    /// Where the messages from one node to another are, oldest first. There is at least one.
    fn places(&self, from: &str, to: &str) -> Vec<usize> {
        let (from, to) = (number(from), number(to));
        let between = |(_, letter): &(usize, &(NodeId, NodeId, P::Message))| (letter.0, letter.1) == (from, to);
        let places: Vec<_> = self.under_way.iter().enumerate().filter(between).map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "nothing is under way from {from} to {to}; so far:\n{}", self.trace);
        places
    }
}

fn number(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).expect("a node's number")
}
