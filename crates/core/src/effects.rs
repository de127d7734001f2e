//! The effects of a step, as ordered data that a driver executes.

use crate::group::Group;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Protocol, WriteOf};
use crate::time::{Span, Time};
use crate::view::View;
use core::fmt;
use core::hash::{Hash, Hasher};

/// One effect of a step.
pub enum Effect<P: Protocol> {
    /// Sends a message to one node.
    Send { to: NodeId, message: P::Message, order: Order },
    /// Sends one message to every member of a group but the sender, as one effect: a driver may
    /// encode it once.
    Multicast { to: Group, message: P::Message, order: Order },
    /// Saves a write that must survive a crash.
    Save(WriteOf<P>),
    /// Sets this timer; replaces the previous setting.
    SetTimer {
        timer: P::Timer,
        /// The range in which the timer fires, counted from now.
        span: Span,
    },
    /// Cancels this timer.
    CancelTimer(P::Timer),
    /// Emits an event to the client.
    Emit { event: P::Event, order: Order },
}

/// Whether an effect that others can see (a send, a multicast or an event) waits until all saves
/// before it are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// The effect waits. A promise needs this: other nodes rely on it even if this node crashes.
    AfterSaves,
    /// The effect does not wait. The protocol itself must keep its promises, and learns from
    /// `Input::Saved` which saves are durable.
    Ahead,
}

/// A note of a step for the journal. Notes change nothing, and cost nothing if no journal is
/// written.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// The step applied a rule of the algorithm.
    Rule {
        /// The rule's id as in the algorithm's header, such as `RA-2`.
        rule: &'static str,
        text: fmt::Arguments<'a>,
    },
    /// A wrapper delivers a payload to the protocol inside it, perhaps long after the network
    /// delivered the message.
    Delivered { from: NodeId, payload: PayloadId },
    /// The membership part of a node passes a new view or lease to the other parts.
    Membership(MembershipNote<'a>),
    /// A node's hold-back queue has changed: it now holds `count` messages with these names.
    HoldBack { count: usize, names: fmt::Arguments<'a> },
}

/// A new view or lease, which the membership part of a node passes to the other parts.
#[derive(Clone, Copy, Debug)]
pub enum MembershipNote<'a> {
    View(&'a View),
    /// The node may act in its view until this instant of its clock.
    Lease(Time),
}

/// The identity of a payload on a link; all copies of the payload in the network share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PayloadId {
    /// The incarnation of the sender.
    pub incarnation: Incarnation,
    /// The number of the payload among the sender's payloads to the same receiver.
    pub number: u64,
}

/// Receives effects. A driver implements it, and a wrapper does for the protocol inside it.
pub trait Sink<P: Protocol> {
    /// Takes the next effect.
    fn effect(&mut self, effect: Effect<P>);
    /// Takes a note for the journal.
    fn note(&mut self, note: Note<'_>);
}

/// Collects effects in order and drops notes.
impl<P: Protocol> Sink<P> for alloc::vec::Vec<Effect<P>> {
    fn effect(&mut self, effect: Effect<P>) {
        self.push(effect);
    }
    fn note(&mut self, _note: Note<'_>) {}
}

/// The effects of the current step, in the order in which the protocol requests them.
pub struct Effects<'a, P: Protocol> {
    sink: &'a mut dyn Sink<P>,
}

impl<'a, P: Protocol> Effects<'a, P> {
    /// Creates a handle that passes each effect and note to this sink.
    pub fn new(sink: &'a mut dyn Sink<P>) -> Self {
        Self { sink }
    }

    /// Sends a message once everything saved so far is durable.
    pub fn send(&mut self, to: NodeId, message: P::Message) {
        self.put(Effect::Send { to, message, order: Order::AfterSaves });
    }

    /// Sends a message without waiting for the disk.
    pub fn send_ahead(&mut self, to: NodeId, message: P::Message) {
        self.put(Effect::Send { to, message, order: Order::Ahead });
    }

    /// Sends a message to every member but the sender once everything saved so far is durable.
    pub fn multicast(&mut self, to: &Group, message: P::Message) {
        self.put(Effect::Multicast { to: to.clone(), message, order: Order::AfterSaves });
    }

    /// Sends a message to every member but the sender without waiting for the disk.
    pub fn multicast_ahead(&mut self, to: &Group, message: P::Message) {
        self.put(Effect::Multicast { to: to.clone(), message, order: Order::Ahead });
    }

    /// Saves a write.
    pub fn save(&mut self, write: WriteOf<P>) {
        self.put(Effect::Save(write));
    }

    /// Sets a timer; replaces the previous setting of the same timer.
    pub fn set_timer(&mut self, timer: P::Timer, span: Span) {
        self.put(Effect::SetTimer { timer, span });
    }

    /// Cancels a timer. Has no effect if it is not set.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.put(Effect::CancelTimer(timer));
    }

    /// Emits an event to the client once all saves so far are durable.
    pub fn emit(&mut self, event: P::Event) {
        self.put(Effect::Emit { event, order: Order::AfterSaves });
    }

    /// Emits an event to the client without waiting for the disk.
    pub fn emit_ahead(&mut self, event: P::Event) {
        self.put(Effect::Emit { event, order: Order::Ahead });
    }

    /// Notes which rule was applied and its result: `out.note("RA-2", format_args!("…"))`.
    pub fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.sink.note(Note::Rule { rule, text });
    }

    /// Notes that a wrapper delivers a payload to the protocol inside it.
    pub fn note_delivered(&mut self, from: NodeId, payload: PayloadId) {
        self.sink.note(Note::Delivered { from, payload });
    }

    /// Notes a view or lease that the membership part of a node passes to the other parts.
    pub fn note_membership(&mut self, note: MembershipNote<'_>) {
        self.sink.note(Note::Membership(note));
    }

    /// Notes how many messages the hold-back queue holds, and their names.
    pub fn note_hold_back(&mut self, count: usize, names: fmt::Arguments<'_>) {
        self.sink.note(Note::HoldBack { count, names });
    }

    /// Passes on a note of the protocol inside a wrapper.
    pub fn pass_note(&mut self, note: Note<'_>) {
        self.sink.note(note);
    }

    /// Adds an effect as it is.
    pub fn put(&mut self, effect: Effect<P>) {
        self.sink.effect(effect);
    }
}

// These impls are written by hand, because derives would require the traits of the protocol itself.
impl<P: Protocol> Clone for Effect<P>
where
    P::Event: Clone,
    WriteOf<P>: Clone,
{
    fn clone(&self) -> Self {
        match self {
            Self::Send { to, message, order } => Self::Send { to: *to, message: message.clone(), order: *order },
            Self::Multicast { to, message, order } => {
                Self::Multicast { to: to.clone(), message: message.clone(), order: *order }
            }
            Self::Save(write) => Self::Save(write.clone()),
            Self::SetTimer { timer, span } => Self::SetTimer { timer: timer.clone(), span: *span },
            Self::CancelTimer(timer) => Self::CancelTimer(timer.clone()),
            Self::Emit { event, order } => Self::Emit { event: event.clone(), order: *order },
        }
    }
}

impl<P: Protocol> fmt::Debug for Effect<P>
where
    P::Message: fmt::Debug,
    P::Timer: fmt::Debug,
    P::Event: fmt::Debug,
    WriteOf<P>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, message, order } => {
                f.debug_struct("Send").field("to", to).field("message", message).field("order", order).finish()
            }
            Self::Multicast { to, message, order } => {
                f.debug_struct("Multicast").field("to", to).field("message", message).field("order", order).finish()
            }
            Self::Save(write) => f.debug_tuple("Save").field(write).finish(),
            Self::SetTimer { timer, span } => {
                f.debug_struct("SetTimer").field("timer", timer).field("span", span).finish()
            }
            Self::CancelTimer(timer) => f.debug_tuple("CancelTimer").field(timer).finish(),
            Self::Emit { event, order } => f.debug_struct("Emit").field("event", event).field("order", order).finish(),
        }
    }
}

// The checker compares and hashes effects that wait for a disk.
impl<P: Protocol> PartialEq for Effect<P>
where
    P::Message: PartialEq,
    P::Event: PartialEq,
    WriteOf<P>: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Send { to, message, order },
                Self::Send { to: other_to, message: other_message, order: other_order },
            ) => (to, message, order) == (other_to, other_message, other_order),
            (
                Self::Multicast { to, message, order },
                Self::Multicast { to: other_to, message: other_message, order: other_order },
            ) => (to, message, order) == (other_to, other_message, other_order),
            (Self::Save(write), Self::Save(other)) => write == other,
            (Self::SetTimer { timer, span }, Self::SetTimer { timer: other_timer, span: other_span }) => {
                (timer, span) == (other_timer, other_span)
            }
            (Self::CancelTimer(timer), Self::CancelTimer(other)) => timer == other,
            (Self::Emit { event, order }, Self::Emit { event: other_event, order: other_order }) => {
                (event, order) == (other_event, other_order)
            }
            (
                Self::Send { .. }
                | Self::Multicast { .. }
                | Self::Save(_)
                | Self::SetTimer { .. }
                | Self::CancelTimer(_)
                | Self::Emit { .. },
                _,
            ) => false,
        }
    }
}

impl<P: Protocol> Eq for Effect<P>
where
    P::Message: Eq,
    P::Event: Eq,
    WriteOf<P>: Eq,
{
}

impl<P: Protocol> Hash for Effect<P>
where
    P::Message: Hash,
    P::Timer: Hash,
    P::Event: Hash,
    WriteOf<P>: Hash,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        core::mem::discriminant(self).hash(state);
        match self {
            Self::Send { to, message, order } => (to, message, order).hash(state),
            Self::Multicast { to, message, order } => (to, message, order).hash(state),
            Self::Save(write) => write.hash(state),
            Self::SetTimer { timer, span } => (timer, span).hash(state),
            Self::CancelTimer(timer) => timer.hash(state),
            Self::Emit { event, order } => (event, order).hash(state),
        }
    }
}
