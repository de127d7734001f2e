//! A stage for rule tests: a script in a small language goes in, a readable trace comes out.
//!
//! ```text
//! 1 acquire      node 1 is asked to enter
//! 1 > 2          the oldest message under way from 1 to 2 arrives
//! 1 > 2 last     the newest one arrives instead
//! lose 1 > 2     the oldest one is lost
//! rest           everything under way arrives, oldest first, until nothing is under way
//! ```

use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::group::Group;
use crate::mutex::{COMMANDS, Command, Event};
use crate::node::NodeId;
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// Plays a script to a group of nodes and tells what each step did.
pub(crate) fn rehearse<P>(nodes: usize, make: impl Fn(NodeId, Group) -> P, script: &str) -> String
where
    P: Protocol<Command = Command, Event = Event>,
    P::Message: Describe,
{
    let group = Group::of_size(nodes);
    let nodes = group.iter().map(|me| make(me, group.clone())).collect();
    let mut stage = Stage { nodes, under_way: Vec::new(), trace: String::new() };
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        stage.play(line);
    }
    stage.trace
}

struct Stage<P: Protocol> {
    nodes: Vec<P>,
    under_way: Vec<Letter<P>>,
    trace: String,
}

struct Letter<P: Protocol> {
    from: NodeId,
    to: NodeId,
    message: P::Message,
}

struct Prompter<P: Protocol> {
    effects: Vec<Effect<P>>,
    said: Vec<String>,
}

impl<P: Protocol<Event = Event>> Sink<P> for Prompter<P>
where
    P::Message: Describe,
{
    fn effect(&mut self, effect: Effect<P>) {
        match &effect {
            Effect::Send { to, message, .. } => self.said.push(format!("{} → {to}", message.kind())),
            Effect::Multicast { message, .. } => self.said.push(format!("{} → all", message.kind())),
            Effect::Emit { event, .. } => self.said.push(event.to_string()),
            Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.said.push(format!("{rule} {text}"));
        }
    }
}

impl<P> Stage<P>
where
    P: Protocol<Command = Command, Event = Event>,
    P::Message: Describe,
{
    fn play(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.under_way.is_empty() {
                    self.deliver(0);
                }
            }
            ["lose", from, ">", to] => {
                let place = self.find(from, to, false);
                let letter = self.under_way.remove(place);
                self.trace += &format!("{} → {} is lost\n", letter.message.kind(), letter.to);
            }
            [from, ">", to] => self.deliver(self.find(from, to, false)),
            [from, ">", to, "last"] => self.deliver(self.find(from, to, true)),
            [node, command] => {
                let command = COMMANDS.into_iter().find(|known| known.name() == command).expect("a command");
                self.step(number(node), format!("{node} {command}"), Input::Command(command));
            }
            _ => panic!("the script says '{line}', which is not in its language"),
        }
    }

    fn find(&self, from: &str, to: &str, last: bool) -> usize {
        let (from, to) = (number(from), number(to));
        let fits = |letter: &Letter<P>| letter.from == from && letter.to == to;
        let place = if last { self.under_way.iter().rposition(fits) } else { self.under_way.iter().position(fits) };
        place.unwrap_or_else(|| panic!("nothing is under way from {from} to {to}; so far:\n{}", self.trace))
    }

    fn deliver(&mut self, place: usize) {
        let Letter { from, to, message } = self.under_way.remove(place);
        let cue = format!("{to} hears {} from {from}", message.kind());
        self.step(to, cue, Input::Message { from, message });
    }

    fn step(&mut self, node: NodeId, cue: String, input: Input<P>) {
        let mut prompter = Prompter { effects: Vec::new(), said: Vec::new() };
        self.nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut prompter));
        self.trace += &format!("{cue}: {}\n", prompter.said.join("; "));
        for effect in prompter.effects {
            match effect {
                Effect::Send { to, message, .. } => self.under_way.push(Letter { from: node, to, message }),
                Effect::Multicast { to, message, .. } => {
                    let letters = to.others(node).map(|to| Letter { from: node, to, message: message.clone() });
                    self.under_way.extend(letters);
                }
                Effect::Emit { .. } | Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
            }
        }
    }
}

fn number(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).expect("a node's number")
}
