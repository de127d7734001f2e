//! The protocol of these tests: numbered messages, questions that want an answer, and favours.

use quorate_core::{Describe, Effects, Incarnation, Input, Never, NodeId, Protocol, Time};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(crate) struct Chatter {
    life: u64,
    sent: BTreeMap<NodeId, u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) enum Command {
    /// Send so many numbered messages to a node, each with so many bytes of ballast.
    Say { to: NodeId, count: u64, ballast: usize },
    /// Ask a node a question.
    Ask { to: NodeId, question: u64 },
    /// Ask a node to send a message of so many bytes to another.
    Favour { of: NodeId, to: NodeId, ballast: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Message {
    Number { life: u64, number: u64, ballast: Vec<u8> },
    Question(u64),
    Answer(u64),
    Favour { to: NodeId, ballast: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum Event {
    Heard { from: NodeId, life: u64, number: u64 },
    Answered { from: NodeId, question: u64 },
    Gone(NodeId),
    Back(NodeId),
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self {
            Self::Number { .. } => "number",
            Self::Question(_) => "question",
            Self::Answer(_) => "answer",
            Self::Favour { .. } => "favour",
        }
    }
}

impl Protocol for Chatter {
    type Command = Command;
    type Message = Message;
    type Timer = Never;
    type Event = Event;
    type Durable = ();

    fn step(&mut self, _now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        match input {
            Input::Start { durable: (), incarnation: Incarnation(life) } => self.life = life,
            Input::Command(Command::Say { to, count, ballast }) => (0..count).for_each(|_| self.say(to, ballast, out)),
            Input::Command(Command::Ask { to, question }) => out.send(to, Message::Question(question)),
            Input::Command(Command::Favour { of, to, ballast }) => out.send(of, Message::Favour { to, ballast }),
            Input::Message { from, message: Message::Number { life, number, .. } } => {
                out.emit(Event::Heard { from, life, number });
            }
            Input::Message { from, message: Message::Question(question) } => out.send(from, Message::Answer(question)),
            Input::Message { from, message: Message::Answer(question) } => out.emit(Event::Answered { from, question }),
            Input::Message { from: _, message: Message::Favour { to, ballast } } => self.say(to, ballast, out),
            Input::Timer(never) => match never {},
            Input::Suspect(node) => out.emit(Event::Gone(node)),
            Input::Trust(node) => out.emit(Event::Back(node)),
            Input::Saved(_) | Input::DiskFull | Input::DiskFree | Input::View(_) | Input::Lease(_) => {}
        }
    }
}

impl Chatter {
    fn say(&mut self, to: NodeId, ballast: usize, out: &mut Effects<'_, Self>) {
        let number = self.sent.entry(to).or_default();
        *number += 1;
        out.send(to, Message::Number { life: self.life, number: *number, ballast: vec![0xAB; ballast] });
    }
}
