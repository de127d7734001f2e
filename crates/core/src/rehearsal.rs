//! A stage for tests: a script in a small language goes in, a readable trace comes out. Steps stand on lines of their own, or in one line
//! with `;` between them.
//!
//! ```text
//! 1 acquire            node 1 is asked to enter
//! 1 > 2                the oldest message under way from 1 to 2 arrives
//! 1 > 2 overtakes 1    one message stays behind: the next oldest arrives before it
//! 1 > 2 last           the newest one arrives before all others
//! 1 > 2 as 3           the oldest one arrives, but in the name of 3
//! lose 1 > 2           the oldest one is lost
//! 1 fires              the timer that node 1 set first, and that is still set, fires
//! 1 suspects 2         the failure detector of node 1 takes node 2 for dead
//! 1 trusts 2           it takes it back
//! rest                 everything under way arrives, oldest first, until nothing is under way
//! ```

use crate::deadlock::{Agent, Need};
use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::group::Group;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use core::fmt::Display;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

/// What a script can ask of a node.
pub(crate) trait Cue: Display + Sized {
    /// The command of this name.
    fn of_word(word: &str) -> Option<Self>;
}

impl Cue for crate::mutex::Command {
    fn of_word(word: &str) -> Option<Self> {
        crate::mutex::COMMANDS.into_iter().find(|known| known.name() == word)
    }
}

impl Cue for crate::election::Command {
    fn of_word(word: &str) -> Option<Self> {
        crate::election::COMMANDS.into_iter().find(|known| known.name() == word)
    }
}

impl Cue for crate::armies::Command {
    fn of_word(word: &str) -> Option<Self> {
        [Self::Attack].into_iter().find(|known| known.to_string() == word)
    }
}

impl Cue for crate::multicast::Command {
    fn of_word(word: &str) -> Option<Self> {
        match word {
            "send" => Some(Self::send("x")),
            "leave" => Some(Self::leave()),
            _ => None,
        }
    }
}

/// `ask-P2+R3` asks all of these, `ask-P2|P3` any; `answer-P2`, `give-up`, `look`. At the end `@1`, if it is not the site's first process.
impl Cue for crate::deadlock::Command {
    fn of_word(word: &str) -> Option<Self> {
        let (word, process) = word.split_once('@').unwrap_or((word, "0"));
        let process = process.parse().ok()?;
        match word.split_once('-').unwrap_or((word, "")) {
            ("ask", whom) => Some(Self::Ask { process, need: need(whom)? }),
            ("answer", whom) => Some(Self::Answer { process, to: agent(whom)? }),
            ("give", "up") => Some(Self::GiveUp { process }),
            ("look", "") => Some(Self::Look { process }),
            _ => None,
        }
    }
}

fn need(words: &str) -> Option<Need<Agent>> {
    if words.contains('|') {
        return words.split('|').map(agent).collect::<Option<_>>().map(Need::Any);
    }
    words.split('+').filter(|word| !word.is_empty()).map(agent).collect::<Option<_>>().map(Need::All)
}

/// `P2`, `P2.1`, `R3`.
fn agent(word: &str) -> Option<Agent> {
    let (kind, place) = word.split_at_checked(1)?;
    let (site, which) = place.split_once('.').unwrap_or((place, "0"));
    let (site, which) = (NodeId::new(site.parse().ok()?)?, which.parse().ok()?);
    match kind {
        "P" => Some(Agent::process(site, which)),
        "R" => Some(Agent::resource(site, which)),
        _ => None,
    }
}

/// Plays a script to a group of nodes and tells what each step did.
pub(crate) fn rehearse<P>(nodes: usize, make: impl Fn(NodeId, Group) -> P, script: &str) -> String
where
    P: Protocol<Command: Cue, Event: Display, Message: Describe>,
{
    let mut stage = Stage::new(nodes, make);
    stage.rehearse(script);
    stage.trace
}

/// A group of nodes, and the messages between them.
pub(crate) struct Stage<P: Protocol> {
    pub(crate) nodes: Vec<P>,
    /// What was sent and has not arrived, oldest first.
    under_way: Vec<Letter<P>>,
    /// How many messages were sent so far.
    sent: u64,
    /// The timers that are set, oldest first.
    timers: Vec<Armed<P>>,
    /// What each step did, a line each.
    pub(crate) trace: String,
}

struct Letter<P: Protocol> {
    /// How many were sent before it.
    number: u64,
    from: NodeId,
    to: NodeId,
    message: P::Message,
}

impl<P: Protocol> Letter<P> {
    fn is_between(&self, from: NodeId, to: NodeId) -> bool {
        self.from == from && self.to == to
    }
}

/// A timer that is set. In the synchronous model it fires when a message and its answer have had the time to arrive.
struct Armed<P: Protocol> {
    node: NodeId,
    timer: P::Timer,
    /// How many messages had been sent when it was set.
    set: u64,
    /// How many had been sent when the last of those had arrived, if it has.
    answered: Option<u64>,
}

struct Prompter<P: Protocol> {
    effects: Vec<Effect<P>>,
    said: Vec<String>,
}

impl<P: Protocol<Event: Display, Message: Describe>> Sink<P> for Prompter<P> {
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
    P: Protocol<Command: Cue, Event: Display, Message: Describe>,
{
    /// A group of so many nodes, each of which has booted. What they say of that is not in the trace.
    pub(crate) fn new(nodes: usize, make: impl Fn(NodeId, Group) -> P) -> Self {
        let group = Group::of_size(nodes);
        let nodes = group.iter().map(|me| make(me, group.clone())).collect();
        let mut stage = Self { nodes, under_way: Vec::new(), sent: 0, timers: Vec::new(), trace: String::new() };
        for node in group.iter() {
            let boot = Input::Start { durable: P::Durable::default(), incarnation: Incarnation::FIRST };
            stage.step(node, "", boot);
        }
        stage.trace.clear();
        stage
    }

    /// A node boots again with this disk, in the next life after its first. The trace tells of it.
    pub(crate) fn boot_again(&mut self, node: NodeId, fresh: P, durable: P::Durable) -> Vec<P::Event> {
        self.nodes[node.index()] = fresh;
        let boot = Input::Start { durable, incarnation: Incarnation::FIRST.next() };
        self.step(node, &format!("{node} boots again"), boot)
    }

    /// Plays a script to them.
    pub(crate) fn rehearse(&mut self, script: &str) {
        steps(script).for_each(|step| self.play(step));
    }

    /// How many messages are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// How many timers are set.
    pub(crate) fn timers(&self) -> usize {
        self.timers.len()
    }

    /// Asks something of a node. Returns what it tells its user.
    pub(crate) fn command(&mut self, node: NodeId, command: P::Command) -> Vec<P::Event> {
        self.step(node, &format!("{node} {command}"), Input::Command(command))
    }

    /// Lets the message at this place arrive. Returns who heard it and what it tells its user.
    pub(crate) fn deliver(&mut self, place: usize) -> (NodeId, Vec<P::Event>) {
        let Letter { from, to, message, .. } = self.under_way.remove(place);
        let cue = format!("{to} hears {} from {from}", message.kind());
        (to, self.step(to, &cue, Input::Message { from, message }))
    }

    /// Lets a node hear what nobody has sent. Returns what it tells its user.
    pub(crate) fn forge(&mut self, from: NodeId, to: NodeId, message: P::Message) -> Vec<P::Event> {
        self.step(to, &format!("{to} hears a forged {} from {from}", message.kind()), Input::Message { from, message })
    }

    /// Lets the timer at this place fire. Returns whose it is and what that node tells its user.
    pub(crate) fn fire(&mut self, place: usize) -> (NodeId, Vec<P::Event>) {
        let Armed { node, timer, .. } = self.timers.remove(place);
        (node, self.step(node, &format!("{node} timer"), Input::Timer(timer)))
    }

    /// Whose timer is at this place, if no older one of the same node is before it.
    pub(crate) fn oldest_timer(&self, place: usize) -> Option<NodeId> {
        let node = self.timers[place].node;
        self.timers[..place].iter().all(|older| older.node != node).then_some(node)
    }

    /// Whether all that was sent until the timer at this place was set has arrived, and all answers to it too.
    pub(crate) fn is_due(&self, place: usize) -> bool {
        self.timers[place].answered.is_some_and(|answered| self.has_arrived_below(answered))
    }

    fn has_arrived_below(&self, number: u64) -> bool {
        self.under_way.iter().all(|letter| letter.number >= number)
    }

    /// Where the oldest message is that goes the same way as the one at this place.
    pub(crate) fn oldest_like(&self, place: usize) -> usize {
        let Letter { from, to, .. } = self.under_way[place];
        self.under_way.iter().position(|letter| letter.is_between(from, to)).unwrap_or(place)
    }

    /// The line of a script that lets the message at this place arrive.
    pub(crate) fn line(&self, place: usize) -> String {
        let Letter { from, to, .. } = self.under_way[place];
        match self.under_way[..place].iter().filter(|older| older.is_between(from, to)).count() {
            0 => format!("{from} > {to}"),
            older => format!("{from} > {to} overtakes {older}"),
        }
    }

    fn play(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.under_way.is_empty() {
                    self.deliver(0);
                }
            }
            ["lose", from, ">", to] => {
                let letter = self.under_way.remove(self.places(from, to)[0]);
                self.trace += &format!("{} → {} is lost\n", letter.message.kind(), letter.to);
            }
            [from, ">", to] => {
                self.deliver(self.places(from, to)[0]);
            }
            [from, ">", to, "overtakes", older] => {
                let older: usize = older.parse().expect("how many messages it overtakes");
                self.deliver(self.places(from, to)[older]);
            }
            [from, ">", to, "last"] => {
                let places = self.places(from, to);
                self.deliver(places[places.len() - 1]);
            }
            [from, ">", to, "as", impostor] => {
                let place = self.places(from, to)[0];
                self.under_way[place].from = number(impostor);
                self.deliver(place);
            }
            [node, "fires"] => {
                let node = number(node);
                let place = self.timers.iter().position(|armed| armed.node == node).expect("a timer that is set");
                self.fire(place);
            }
            [node, "suspects", other] => self.detect(number(node), "suspects", Input::Suspect(number(other))),
            [node, "trusts", other] => self.detect(number(node), "trusts", Input::Trust(number(other))),
            [node, command] => {
                self.command(number(node), P::Command::of_word(command).expect("a command"));
            }
            _ => panic!("the script says '{line}', which is not in its language"),
        }
    }

    fn detect(&mut self, node: NodeId, verb: &str, input: Input<P>) {
        let (Input::Suspect(other) | Input::Trust(other)) = &input else { return };
        let cue = format!("{node} {verb} {other}");
        self.step(node, &cue, input);
    }

    /// Where the messages from one node to another are, oldest first. There is at least one.
    fn places(&self, from: &str, to: &str) -> Vec<usize> {
        let (from, to) = (number(from), number(to));
        let places = self.under_way.iter().enumerate().filter(|(_, letter)| letter.is_between(from, to));
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        assert!(!places.is_empty(), "nothing is under way from {from} to {to}; so far:\n{}", self.trace);
        places
    }

    fn step(&mut self, node: NodeId, cue: &str, input: Input<P>) -> Vec<P::Event> {
        let mut prompter = Prompter { effects: Vec::new(), said: Vec::new() };
        self.nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut prompter));
        let said = if prompter.said.is_empty() { "nothing".into() } else { prompter.said.join("; ") };
        self.trace += &format!("{cue}: {said}\n");
        let mut events = Vec::new();
        for effect in prompter.effects {
            match effect {
                Effect::Send { to, message, .. } => self.post(node, to, message),
                Effect::Multicast { to, message, .. } => {
                    to.others(node).for_each(|to| self.post(node, to, message.clone()));
                }
                Effect::Emit { event, .. } => events.push(event),
                Effect::SetTimer { timer, .. } => {
                    self.disarm(node, &timer);
                    self.timers.push(Armed { node, timer, set: self.sent, answered: None });
                }
                Effect::CancelTimer(timer) => self.disarm(node, &timer),
                Effect::Save(_) => {}
            }
        }
        for place in 0..self.timers.len() {
            let Armed { set, answered, .. } = self.timers[place];
            self.timers[place].answered = answered.or_else(|| self.has_arrived_below(set).then_some(self.sent));
        }
        events
    }

    fn post(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        self.under_way.push(Letter { number: self.sent, from, to, message });
        self.sent += 1;
    }

    fn disarm(&mut self, node: NodeId, timer: &P::Timer) {
        self.timers.retain(|armed| armed.node != node || armed.timer != *timer);
    }
}

/// The steps of a script: one a line, or several in a line with `;` between them.
pub(crate) fn steps(script: &str) -> impl Iterator<Item = &str> {
    script.split(['\n', ';']).map(str::trim).filter(|step| !step.is_empty())
}

fn number(word: &str) -> NodeId {
    word.parse().ok().and_then(NodeId::new).expect("a node's number")
}
