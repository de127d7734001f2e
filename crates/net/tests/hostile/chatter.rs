//! The protocol of these tests: numbered messages, questions with answers, and forwarding requests.

use quorate_core::{Describe, Effects, Incarnation, Input, Never, NodeId, Protocol, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Chatter {
    incarnation: u64,
    /// For each node, the last number sent to it.
    last_numbers: BTreeMap<NodeId, u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) enum Command {
    /// Send `count` numbered messages to a node, each with `padding` extra bytes.
    Send { to: NodeId, count: u64, padding: usize },
    /// Ask a node a question: a number, which the answer repeats.
    Ask { to: NodeId, question: u64 },
    /// Ask the node `via` to send a numbered message to the node `to`.
    Forward { via: NodeId, to: NodeId, padding: usize },
    /// Emit the time, and then block the node's thread, as a pause of the process would.
    Pause(Duration),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    Number { incarnation: u64, number: u64, padding: Vec<u8> },
    Question(u64),
    Answer(u64),
    Forward { to: NodeId, padding: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Event {
    Received { from: NodeId, incarnation: u64, number: u64 },
    Answered { from: NodeId, question: u64 },
    Suspected(NodeId),
    Trusted(NodeId),
    PausedAt(Time),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Number { .. } => "number",
            Self::Question(_) => "question",
            Self::Answer(_) => "answer",
            Self::Forward { .. } => "forward",
        }
    }
}

impl Protocol for Chatter {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: (), incarnation: Incarnation(incarnation) } => self.incarnation = incarnation,
            Input::Command(Command::Send { to, count, padding }) => {
                (0..count).for_each(|_| self.send_number(to, padding, out));
            }
            Input::Command(Command::Ask { to, question }) => out.send(to, Message::Question(question)),
            Input::Command(Command::Forward { via, to, padding }) => out.send(via, Message::Forward { to, padding }),
            Input::Command(Command::Pause(length)) => {
                out.emit(Event::PausedAt(now));
                std::thread::sleep(length);
            }
            Input::Message { from, message: Message::Number { incarnation, number, .. } } => {
                out.emit(Event::Received { from, incarnation, number });
            }
            Input::Message { from, message: Message::Question(question) } => out.send(from, Message::Answer(question)),
            Input::Message { from, message: Message::Answer(question) } => out.emit(Event::Answered { from, question }),
            Input::Message { from: _, message: Message::Forward { to, padding } } => self.send_number(to, padding, out),
            Input::Timer(never) => match never {},
            Input::Suspect(node) => out.emit(Event::Suspected(node)),
            Input::Trust(node) => out.emit(Event::Trusted(node)),
            Input::Saved(_)
            | Input::DiskFull
            | Input::DiskFree
            | Input::EndOfTurn
            | Input::View(_)
            | Input::Lease(_) => {}
        }
    }
}

impl Chatter {
    fn send_number(&mut self, to: NodeId, padding: usize, out: &mut Effects<'_, Self>) {
        let number = self.last_numbers.entry(to).or_default();
        *number += 1;
        let padding = vec![0xAB; padding];
        out.send(to, Message::Number { incarnation: self.incarnation, number: *number, padding });
    }
}
