//! Scripted tests of protocols: a test runs a script in a small language and checks the resulting
//! trace.
//!
//! A script lists what happens to a group of nodes, one step at a time: which node gets which
//! command, which message arrives next, which timer fires. [`run_script`] executes it and returns a
//! line for each input of a node and each lost message: the cause, the rules that the node applied
//! ([`Effects::note`](crate::Effects::note)), the messages it sent and the events it emitted. A
//! test compares that trace with the expected one.
//!
//! Steps are on lines of their own, or on one line separated by `;`. Nodes are numbered from 1.
//!
//! | step | what happens |
//! |---|---|
//! | `1 acquire` | node 1 gets the command `acquire`; [`ScriptCommand`] names a protocol's commands |
//! | `1 > 2` | the oldest message in flight from 1 to 2 arrives |
//! | `1 > 2 overtakes 3` | the message from 1 to 2 behind the 3 oldest ones arrives before them |
//! | `1 > 2 last` | the newest message from 1 to 2 arrives before the older ones |
//! | `1 > 2 as 3` | the oldest message from 1 to 2 arrives, but with node 3 as its sender, which may be outside the group |
//! | `lose 1 > 2` | the oldest message from 1 to 2 is lost |
//! | `1 fires` | of the timers of node 1 that are set, the one set first fires |
//! | `1 suspects 2` | the failure detector of node 1 reports that node 2 has crashed |
//! | `1 trusts 2` | the failure detector of node 1 withdraws that report |
//! | `rest` | every message in flight arrives, oldest first, until none is left |
//!
//! Nothing else happens: time does not pass, and no message arrives and no timer fires unless the
//! script says so. Nothing waits for saves, and no node gets the input `Saved`.
//!
//! # Example
//!
//! A protocol with one message and one command, and a test of it:
//!
//! ```
//! use quorate_core::testing::{ScriptCommand, run_script};
//! use quorate_core::{Describe, Effects, Input, Never, NodeId, Protocol, Time};
//! use std::fmt;
//!
//! /// Asks a neighbour for its number.
//! struct Caller(NodeId);
//!
//! struct Call;
//!
//! #[derive(Clone)]
//! enum Message {
//!     Question,
//!     Answer(NodeId),
//! }
//!
//! impl Protocol for Caller {
//!     type Command = Call;
//!     type Message = Message;
//!     type Timer = Never;
//!     type Event = String;
//!     type Durable = ();
//!
//!     fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
//!         match input {
//!             Input::Command(Call) => out.send(NodeId::from_index(1), Message::Question),
//!             Input::Message { from, message: Message::Question } => out.send(from, Message::Answer(self.0)),
//!             Input::Message { message: Message::Answer(number), .. } => out.emit(format!("LEARNS {number}")),
//!             _ => {}
//!         }
//!     }
//! }
//!
//! impl Describe for Message {
//!     fn kind(&self) -> &'static str {
//!         match self {
//!             Self::Question => "question",
//!             Self::Answer(_) => "answer",
//!         }
//!     }
//! }
//!
//! impl fmt::Display for Call {
//!     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
//!         f.write_str("call")
//!     }
//! }
//!
//! impl ScriptCommand for Call {
//!     const WORDS: &'static str = "call";
//!
//!     fn from_word(word: &str) -> Option<Self> {
//!         (word == "call").then_some(Self)
//!     }
//! }
//!
//! let trace = run_script(2, |me, _group| Caller(me), "1 call; 1 > 2; rest");
//! assert_eq!(
//!     trace,
//!     "1 call: question → 2\n\
//!      2 receives question from 1: answer → 1\n\
//!      1 receives answer from 2: LEARNS 2\n"
//! );
//! ```
//!
//! The commands of this crate's families implement [`ScriptCommand`] already, so a test of one of
//! its algorithms is one line:
//!
//! ```
//! use quorate_core::mutex::RicartAgrawala;
//! use quorate_core::testing::run_script;
//!
//! let trace = run_script(2, RicartAgrawala::new, "1 acquire; rest");
//! assert!(trace.ends_with("ENTERS (fence 0.1)\n"), "{trace}");
//! ```

mod commands;

use crate::describe::Describe;
use crate::effects::{Effect, Effects, Note, Sink};
use crate::group::Group;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Input, Protocol};
use crate::time::Time;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

/// The steps that scripts can contain, for error messages.
const STEPS: &str =
    "1 COMMAND; 1 > 2; 1 > 2 overtakes 3; 1 > 2 last; 1 > 2 as 3; lose 1 > 2; 1 fires; 1 suspects 2; 1 trusts 2; rest";

/// A command that scripts can give to a node. Its [`Display`] form appears in the trace.
pub trait ScriptCommand: Display + Sized {
    /// The words that [`from_word`](Self::from_word) accepts, for error messages.
    const WORDS: &'static str;

    /// Returns the command with this name; `None` if there is none. A word has no spaces and no
    /// `;`.
    fn from_word(word: &str) -> Option<Self>;
}

/// Runs a script on a fresh group and returns the trace.
///
/// # Panics
///
/// If a step of the script is malformed or impossible. The message names the step, says what is
/// wrong with it and shows the trace up to it.
#[track_caller]
pub fn run_script<P>(nodes: usize, new_node: impl Fn(NodeId, Group) -> P, script: &str) -> String
where
    P: Protocol<Command: ScriptCommand, Event: Display, Message: Describe>,
{
    let mut group = ScriptGroup::new(nodes, new_node);
    group.run(script);
    group.trace
}

/// A group of nodes and the messages in flight between them, for tests that inspect nodes or choose
/// steps themselves.
///
/// Methods that take an `index` count messages or timers from the oldest, which has index 0; they
/// panic if there is none at that index.
pub struct ScriptGroup<P: Protocol> {
    pub nodes: Vec<P>,
    /// The trace: a line for each input of a node and each lost message.
    pub trace: String,
    /// Oldest first.
    in_flight: Vec<InFlight<P>>,
    /// Number of messages sent so far.
    sent_count: u64,
    /// The timers that are set, oldest first.
    timers: Vec<PendingTimer<P>>,
}

struct InFlight<P: Protocol> {
    /// How many messages were sent before this one.
    number: u64,
    from: NodeId,
    to: NodeId,
    message: P::Message,
}

impl<P: Protocol> InFlight<P> {
    fn is_between(&self, from: NodeId, to: NodeId) -> bool {
        self.from == from && self.to == to
    }
}

/// A timer that is set. In the synchronous model it may fire only after the messages sent before it
/// was set, and the answers to them, have had time to arrive.
struct PendingTimer<P: Protocol> {
    node: NodeId,
    timer: P::Timer,
    /// How many messages had been sent when the timer was set.
    sent_before: u64,
    /// An upper bound on the numbers of the answers to the messages that had been sent when the
    /// timer was set. `None` while one of those messages is in flight.
    answers_below: Option<u64>,
}

/// Collects the effects of one step, and its part of the trace.
struct Recorder<P: Protocol> {
    effects: Vec<Effect<P>>,
    parts: Vec<String>,
}

impl<P: Protocol<Event: Display, Message: Describe>> Sink<P> for Recorder<P> {
    fn effect(&mut self, effect: Effect<P>) {
        match &effect {
            Effect::Send { to, message, .. } => self.parts.push(format!("{} → {to}", message.kind())),
            Effect::Multicast { message, .. } => self.parts.push(format!("{} → all", message.kind())),
            Effect::Emit { event, .. } => self.parts.push(event.to_string()),
            Effect::Save(_) | Effect::SetTimer { .. } | Effect::CancelTimer(_) => {}
        }
        self.effects.push(effect);
    }

    fn note(&mut self, note: Note<'_>) {
        if let Note::Rule { rule, text } = note {
            self.parts.push(format!("{rule} {text}"));
        }
    }
}

impl<P> ScriptGroup<P>
where
    P: Protocol<Command: ScriptCommand, Event: Display, Message: Describe>,
{
    /// Creates a group of `nodes` started nodes. The trace does not contain their start.
    pub fn new(nodes: usize, new_node: impl Fn(NodeId, Group) -> P) -> Self {
        let group = Group::of_size(nodes);
        let nodes = group.iter().map(|me| new_node(me, group.clone())).collect();
        let mut script_group =
            Self { nodes, in_flight: Vec::new(), sent_count: 0, timers: Vec::new(), trace: String::new() };
        for node in group.iter() {
            let start = Input::Start { durable: P::Durable::default(), incarnation: Incarnation::FIRST };
            script_group.step(node, "", start);
        }
        script_group.trace.clear();
        script_group
    }

    /// Restarts a node in its second incarnation: `replacement` takes its place and finds `durable`
    /// on its disk. Messages in flight and pending timers stay. Returns the events that the new
    /// incarnation emits.
    pub fn restart(&mut self, node: NodeId, replacement: P, durable: P::Durable) -> Vec<P::Event> {
        self.nodes[node.index()] = replacement;
        let start = Input::Start { durable, incarnation: Incarnation::FIRST.next() };
        self.step(node, &format!("{node} restarts"), start)
    }

    /// Runs a script on the group and appends to the trace.
    ///
    /// # Panics
    ///
    /// As [`run_script`] does.
    #[track_caller]
    #[allow(clippy::panic, reason = "an invalid script is an error in a test, and a test fails by panicking")]
    pub fn run(&mut self, script: &str) {
        for (index, step) in script_steps(script).enumerate() {
            if let Err(problem) = self.run_step(step) {
                let trace = if self.trace.is_empty() { "nothing\n" } else { &self.trace };
                panic!("step {} of the script, `{step}`: {problem}\nwhat happened before it:\n{trace}", index + 1);
            }
        }
    }

    /// The number of messages in flight.
    pub fn in_flight_count(&self) -> usize {
        self.in_flight.len()
    }

    /// The number of timers that are set.
    pub fn timer_count(&self) -> usize {
        self.timers.len()
    }

    /// Gives a command to a node. Returns the events that the node emits.
    pub fn command(&mut self, node: NodeId, command: P::Command) -> Vec<P::Event> {
        self.step(node, &format!("{node} {command}"), Input::Command(command))
    }

    /// Delivers the message at this index. Returns the receiver and the events it emits.
    pub fn deliver(&mut self, index: usize) -> (NodeId, Vec<P::Event>) {
        let InFlight { from, to, message, .. } = self.in_flight.remove(index);
        let cause = format!("{to} receives {} from {from}", message.kind());
        (to, self.step(to, &cause, Input::Message { from, message }))
    }

    /// Delivers a message that no node has sent. Returns the events that the receiver emits.
    pub fn forge(&mut self, from: NodeId, to: NodeId, message: P::Message) -> Vec<P::Event> {
        self.step(
            to,
            &format!("{to} receives a forged {} from {from}", message.kind()),
            Input::Message { from, message },
        )
    }

    /// Fires the timer at this index. Returns its node and the events that the node emits.
    pub fn fire(&mut self, index: usize) -> (NodeId, Vec<P::Event>) {
        let PendingTimer { node, timer, .. } = self.timers.remove(index);
        (node, self.step(node, &format!("{node} timer"), Input::Timer(timer)))
    }

    /// The node of the timer at this index, if it is that node's oldest; `None` otherwise.
    pub fn oldest_timer(&self, index: usize) -> Option<NodeId> {
        let node = self.timers[index].node;
        self.timers[..index].iter().all(|older| older.node != node).then_some(node)
    }

    /// Whether the timer at this index may fire in the synchronous model: all messages sent before
    /// it was set have arrived or are lost, and so have all answers to them.
    pub fn is_due(&self, index: usize) -> bool {
        self.timers[index].answers_below.is_some_and(|number| self.all_arrived_below(number))
    }

    /// Whether all messages with a smaller number than this have arrived or are lost.
    fn all_arrived_below(&self, number: u64) -> bool {
        self.in_flight.iter().all(|message| message.number >= number)
    }

    /// The index of the oldest message with the sender and receiver of the message at this index:
    /// the next one that a FIFO link delivers.
    pub fn oldest_on_link(&self, index: usize) -> usize {
        let InFlight { from, to, .. } = self.in_flight[index];
        self.in_flight.iter().position(|message| message.is_between(from, to)).unwrap_or(index)
    }

    /// The script step that delivers the message at this index.
    pub fn step_to_deliver(&self, index: usize) -> String {
        let InFlight { from, to, .. } = self.in_flight[index];
        match self.in_flight[..index].iter().filter(|older| older.is_between(from, to)).count() {
            0 => format!("{from} > {to}"),
            older => format!("{from} > {to} overtakes {older}"),
        }
    }

    fn run_step(&mut self, step: &str) -> Result<(), String> {
        let words: Vec<_> = step.split_whitespace().collect();
        match words[..] {
            ["rest"] => {
                while !self.in_flight.is_empty() {
                    self.deliver(0);
                }
            }
            ["lose", from, ">", to] => {
                let lost = self.in_flight.remove(self.index_on_link(from, to, 0)?);
                self.trace += &format!("{} → {} is lost\n", lost.message.kind(), lost.to);
            }
            [from, ">", to] => {
                self.deliver(self.index_on_link(from, to, 0)?);
            }
            [from, ">", to, "overtakes", older] => {
                let older = older.parse().map_err(|_| format!("`{older}` is not a number of messages"))?;
                self.deliver(self.index_on_link(from, to, older)?);
            }
            [from, ">", to, "last"] => {
                let newest = self.indices_on_link(from, to)?.len().saturating_sub(1);
                self.deliver(self.index_on_link(from, to, newest)?);
            }
            [from, ">", to, "as", impostor] => {
                let index = self.index_on_link(from, to, 0)?;
                self.in_flight[index].from = parse_node(impostor)?;
                self.deliver(index);
            }
            [node, "fires"] => {
                let node = self.node_in_group(node)?;
                let index = self.timers.iter().position(|pending| pending.node == node);
                self.fire(index.ok_or_else(|| format!("node {node} has set no timer"))?);
            }
            [node, "suspects", other] => {
                let (node, other) = (self.node_in_group(node)?, parse_node(other)?);
                self.step(node, &format!("{node} suspects {other}"), Input::Suspect(other));
            }
            [node, "trusts", other] => {
                let (node, other) = (self.node_in_group(node)?, parse_node(other)?);
                self.step(node, &format!("{node} trusts {other}"), Input::Trust(other));
            }
            [node, word] => {
                let node = self.node_in_group(node)?;
                let unknown = || format!("`{word}` is not a command; the commands are {}", P::Command::WORDS);
                self.command(node, P::Command::from_word(word).ok_or_else(unknown)?);
            }
            _ => return Err(format!("a script has no such step; its steps are {STEPS}")),
        }
        Ok(())
    }

    fn node_in_group(&self, word: &str) -> Result<NodeId, String> {
        let node = parse_node(word).ok().filter(|node| node.index() < self.nodes.len());
        node.ok_or_else(|| format!("there is no node `{word}`; the nodes are 1 to {}", self.nodes.len()))
    }

    /// The indices of the messages in flight from one node to another, oldest first.
    fn indices_on_link(&self, from: &str, to: &str) -> Result<Vec<usize>, String> {
        let (from, to) = (self.node_in_group(from)?, self.node_in_group(to)?);
        let between = self.in_flight.iter().enumerate().filter(|(_, message)| message.is_between(from, to));
        Ok(between.map(|(index, _)| index).collect())
    }

    /// The index of the message in flight from one node to another with `older` older ones before
    /// it.
    fn index_on_link(&self, from: &str, to: &str, older: usize) -> Result<usize, String> {
        let indices = self.indices_on_link(from, to)?;
        let count = match indices.len() {
            0 => "no message is".into(),
            1 => "only 1 message is".into(),
            more => format!("only {more} messages are"),
        };
        indices.get(older).copied().ok_or_else(|| format!("{count} in flight from {from} to {to}"))
    }

    fn step(&mut self, node: NodeId, cause: &str, input: Input<P>) -> Vec<P::Event> {
        let mut recorder = Recorder { effects: Vec::new(), parts: Vec::new() };
        self.nodes[node.index()].step(Time::ZERO, input, &mut Effects::new(&mut recorder));
        let parts = if recorder.parts.is_empty() { "nothing".into() } else { recorder.parts.join("; ") };
        self.trace += &format!("{cause}: {parts}\n");
        let mut events = Vec::new();
        for effect in recorder.effects {
            match effect {
                Effect::Send { to, message, .. } => self.send(node, to, message),
                Effect::Multicast { to, message, .. } => {
                    to.others(node).for_each(|to| self.send(node, to, message.clone()));
                }
                Effect::Emit { event, .. } => events.push(event),
                Effect::SetTimer { timer, .. } => {
                    self.cancel(node, &timer);
                    self.timers.push(PendingTimer { node, timer, sent_before: self.sent_count, answers_below: None });
                }
                Effect::CancelTimer(timer) => self.cancel(node, &timer),
                Effect::Save(_) => {}
            }
        }
        for index in 0..self.timers.len() {
            let PendingTimer { sent_before, answers_below, .. } = self.timers[index];
            self.timers[index].answers_below =
                answers_below.or_else(|| self.all_arrived_below(sent_before).then_some(self.sent_count));
        }
        events
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        self.in_flight.push(InFlight { number: self.sent_count, from, to, message });
        self.sent_count += 1;
    }

    fn cancel(&mut self, node: NodeId, timer: &P::Timer) {
        self.timers.retain(|pending| pending.node != node || pending.timer != *timer);
    }
}

/// Parses the id of any node, also one outside the group: a test may forge messages of such a node.
fn parse_node(word: &str) -> Result<NodeId, String> {
    word.parse().ok().and_then(NodeId::new).ok_or_else(|| format!("`{word}` is not a node's number"))
}

/// The steps of a script: one per line, or several in a line separated by `;`.
pub(crate) fn script_steps(script: &str) -> impl Iterator<Item = &str> {
    script.split(['\n', ';']).map(str::trim).filter(|step| !step.is_empty())
}

#[cfg(test)]
mod tests;
