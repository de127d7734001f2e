//! A protocol without a will of its own: commands, messages and timers carry what to do next.

use quorate_core::{
    Class, Describe, Durable, Effect, Effects, Group, Incarnation, Input, NodeId, Order, Protocol, Span, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a puppet does in one step, in order.
pub(crate) type Acts = Vec<Act>;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Act {
    Send { to: NodeId, message: Message, ahead: bool },
    Multicast { to: Group, message: Message, ahead: bool },
    Save(u64),
    Set { timer: char, span: Span, then: Acts },
    Cancel(char),
    Emit { text: String, ahead: bool },
}

/// A message, and what its receiver does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) class: Class,
    pub(crate) on_behalf_of: Option<NodeId>,
    pub(crate) then: Acts,
}

impl Describe for Message {
    fn kind(&self) -> &'static str {
        match self.class {
            Class::Algorithm => "ping",
            Class::Announcement => "news",
            Class::Control => "beat",
        }
    }

    fn class(&self) -> Class {
        self.class
    }

    fn on_behalf_of(&self) -> Option<NodeId> {
        self.on_behalf_of
    }
}

/// All writes that survived, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    writes: Vec<u64>,
    /// Whether there were others once, on a disk that was lost.
    was_wiped: bool,
}

impl Durable for Ledger {
    type Write = u64;
    fn apply(&mut self, write: u64) {
        self.writes.push(write);
    }
    fn wiped() -> Self {
        Self { was_wiped: true, ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Puppet {
    /// What it does first in every life.
    opening: Acts,
    /// What it does when a timer fires.
    prompts: BTreeMap<char, Acts>,
    /// How many steps it has taken in this life.
    pub(crate) steps: u64,
    /// What its clock showed at its last step.
    pub(crate) now: Time,
}

impl Puppet {
    pub(crate) fn new(opening: Acts) -> Self {
        Self { opening, ..Self::default() }
    }

    fn perform(&mut self, acts: Acts, out: &mut Effects<'_, Self>) {
        let order = |ahead| if ahead { Order::Ahead } else { Order::AfterSaves };
        for act in acts {
            match act {
                Act::Send { to, message, ahead } => out.put(Effect::Send { to, message, order: order(ahead) }),
                Act::Multicast { to, message, ahead } => {
                    out.put(Effect::Multicast { to, message, order: order(ahead) });
                }
                Act::Save(write) => out.save(write),
                Act::Set { timer, span, then } => {
                    self.prompts.insert(timer, then);
                    out.set_timer(timer, span);
                }
                Act::Cancel(timer) => out.cancel_timer(timer),
                Act::Emit { text, ahead } => out.put(Effect::Emit { event: text, order: order(ahead) }),
            }
        }
    }
}

impl Protocol for Puppet {
    type Command = Acts;
    type Message = Message;
    type Timer = char;
    type Event = String;
    type Durable = Ledger;

    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>) {
        self.steps += 1;
        self.now = now;
        match input {
            Input::Start { durable, incarnation } => {
                if incarnation > Incarnation::FIRST {
                    out.note("P-1", format_args!("finds {:?}", durable.writes));
                }
                if durable.was_wiped {
                    out.note("P-3", format_args!("lost its disk"));
                }
                self.perform(self.opening.clone(), out);
            }
            Input::Command(acts) => self.perform(acts, out),
            Input::Message { message, .. } => self.perform(message.then, out),
            Input::Timer(timer) => {
                let acts = self.prompts.remove(&timer).unwrap_or_default();
                self.perform(acts, out);
            }
            Input::DiskFull => out.note("P-2", format_args!("has no room")),
            Input::DiskFree => out.note("P-2", format_args!("has room again")),
            Input::Saved(_) | Input::Suspect(_) | Input::Trust(_) | Input::View(_) | Input::Lease(_) => {}
        }
    }
}

pub(crate) fn ping(then: impl Into<Acts>) -> Message {
    Message { class: Class::Algorithm, on_behalf_of: None, then: then.into() }
}

pub(crate) fn send_message(to: u32, message: Message) -> Act {
    Act::Send { to: super::node(to), message, ahead: false }
}

/// A ping whose receiver does nothing.
pub(crate) fn send(to: u32) -> Act {
    send_message(to, ping([]))
}

pub(crate) fn send_ahead(to: u32) -> Act {
    Act::Send { to: super::node(to), message: ping([]), ahead: true }
}

pub(crate) fn multicast(nodes: usize) -> Act {
    Act::Multicast { to: Group::of_size(nodes), message: ping([]), ahead: false }
}

pub(crate) fn multicast_ahead(nodes: usize) -> Act {
    Act::Multicast { to: Group::of_size(nodes), message: ping([]), ahead: true }
}

pub(crate) fn save(write: u64) -> Act {
    Act::Save(write)
}

pub(crate) fn set(timer: char, length: &str, then: impl Into<Acts>) -> Act {
    Act::Set { timer, span: Span::exactly(super::length(length)), then: then.into() }
}

pub(crate) fn cancel(timer: char) -> Act {
    Act::Cancel(timer)
}

pub(crate) fn emit(text: &str) -> Act {
    Act::Emit { text: text.into(), ahead: false }
}

pub(crate) fn emit_ahead(text: &str) -> Act {
    Act::Emit { text: text.into(), ahead: true }
}
