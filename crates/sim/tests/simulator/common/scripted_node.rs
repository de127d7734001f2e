//! A protocol that carries out the actions that its commands, messages and timers contain.

use quorate_core::{
    Class, Describe, Durable, Effect, Effects, Group, Incarnation, Input, NodeId, Order, Protocol, Span, Time,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The actions of one step, in order.
pub(crate) type Actions = Vec<Action>;

/// One effect of a step. An effect that is issued `ahead` does not wait for earlier saves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Action {
    Send {
        to: NodeId,
        message: Message,
        ahead: bool,
    },
    Multicast {
        to: Group,
        message: Message,
        ahead: bool,
    },
    Save(u64),
    /// Sets a timer that carries out `then` when it fires.
    Set {
        timer: char,
        span: Span,
        then: Actions,
    },
    Cancel(char),
    Emit {
        text: String,
        ahead: bool,
    },
}

/// A message whose receiver carries out `then`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) class: Class,
    pub(crate) on_behalf_of: Option<NodeId>,
    pub(crate) then: Actions,
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

/// All durable writes, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SavedWrites {
    writes: Vec<u64>,
    /// Whether an earlier disk of the node was lost.
    was_wiped: bool,
}

impl Durable for SavedWrites {
    type Write = u64;
    fn apply(&mut self, write: u64) {
        self.writes.push(write);
    }
    fn wiped() -> Self {
        Self { was_wiped: true, ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptedNode {
    /// The actions at the start of every incarnation.
    on_start: Actions,
    /// Whether the node carries out the actions of its inputs only at the end of their turn.
    collects: bool,
    collected_actions: Actions,
    /// The actions of each timer.
    timer_actions: BTreeMap<char, Actions>,
    /// Number of steps in this incarnation.
    pub(crate) steps: u64,
    /// The reading of the node's clock at its last step.
    pub(crate) now: Time,
}

impl ScriptedNode {
    pub(crate) fn new(on_start: Actions) -> Self {
        Self { on_start, ..Self::default() }
    }

    /// Makes the node carry out the actions of its inputs only at the end of their turn.
    pub(crate) fn collecting(self) -> Self {
        Self { collects: true, ..self }
    }

    fn act(&mut self, actions: Actions, out: &mut Effects<'_, Self>) {
        if self.collects { self.collected_actions.extend(actions) } else { self.carry_out(actions, out) }
    }

    fn carry_out(&mut self, actions: Actions, out: &mut Effects<'_, Self>) {
        let order = |ahead| if ahead { Order::Ahead } else { Order::AfterSaves };
        for action in actions {
            match action {
                Action::Send { to, message, ahead } => out.put(Effect::Send { to, message, order: order(ahead) }),
                Action::Multicast { to, message, ahead } => {
                    out.put(Effect::Multicast { to, message, order: order(ahead) });
                }
                Action::Save(write) => out.save(write),
                Action::Set { timer, span, then } => {
                    self.timer_actions.insert(timer, then);
                    out.set_timer(timer, span);
                }
                Action::Cancel(timer) => out.cancel_timer(timer),
                Action::Emit { text, ahead } => out.put(Effect::Emit { event: text, order: order(ahead) }),
            }
        }
    }
}

/// The rule ids of the notes (P-1 to P-3) are arbitrary.
impl Protocol for ScriptedNode {
    type Command = Actions;
    type Message = Message;
    type Timer = char;
    type Event = String;
    type Durable = SavedWrites;

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
                self.act(self.on_start.clone(), out);
            }
            Input::Command(actions) => self.act(actions, out),
            Input::Message { message, .. } => self.act(message.then, out),
            Input::Timer(timer) => {
                let actions = self.timer_actions.remove(&timer).unwrap_or_default();
                self.act(actions, out);
            }
            Input::DiskFull => out.note("P-2", format_args!("has no disk space")),
            Input::DiskFree => out.note("P-2", format_args!("has disk space again")),
            Input::Saved(_) | Input::Suspect(_) | Input::Trust(_) | Input::View(_) | Input::Lease(_) => {}
            Input::EndOfTurn => {
                assert!(self.collects, "only a node that uses the end of a turn gets it");
                let actions = std::mem::take(&mut self.collected_actions);
                self.carry_out(actions, out);
            }
        }
    }

    fn uses_end_of_turn(&self) -> bool {
        self.collects
    }
}

/// Returns a message whose receiver carries out these actions.
pub(crate) fn ping(then: impl Into<Actions>) -> Message {
    Message { class: Class::Algorithm, on_behalf_of: None, then: then.into() }
}

pub(crate) fn send_message(to: u32, message: Message) -> Action {
    Action::Send { to: super::node(to), message, ahead: false }
}

/// Sends a ping whose receiver does nothing.
pub(crate) fn send(to: u32) -> Action {
    send_message(to, ping([]))
}

pub(crate) fn send_ahead(to: u32) -> Action {
    Action::Send { to: super::node(to), message: ping([]), ahead: true }
}

/// Multicasts a ping to the first `nodes` nodes.
pub(crate) fn multicast(nodes: usize) -> Action {
    Action::Multicast { to: Group::of_size(nodes), message: ping([]), ahead: false }
}

pub(crate) fn multicast_ahead(nodes: usize) -> Action {
    Action::Multicast { to: Group::of_size(nodes), message: ping([]), ahead: true }
}

pub(crate) fn save(write: u64) -> Action {
    Action::Save(write)
}

/// Sets a timer to exactly this duration.
pub(crate) fn set(timer: char, duration: &str, then: impl Into<Actions>) -> Action {
    Action::Set { timer, span: Span::exactly(super::duration(duration)), then: then.into() }
}

pub(crate) fn cancel(timer: char) -> Action {
    Action::Cancel(timer)
}

pub(crate) fn emit(text: &str) -> Action {
    Action::Emit { text: text.into(), ahead: false }
}

pub(crate) fn emit_ahead(text: &str) -> Action {
    Action::Emit { text: text.into(), ahead: true }
}
