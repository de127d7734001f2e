//! What a step does to the world, as ordered data that a driver carries out.

use crate::group::Group;
use crate::node::{Incarnation, NodeId};
use crate::protocol::{Protocol, WriteOf};
use crate::time::{Span, Time};
use crate::view::View;
use core::fmt;
use core::hash::{Hash, Hasher};

/// One effect of a step.
pub enum Effect<P: Protocol> {
    /// A message to one node.
    Send { to: NodeId, message: P::Message, order: Order },
    /// One message to every member of a group but the sender itself, as one effect: a driver may encode it once.
    Multicast { to: Group, message: P::Message, order: Order },
    /// A write that must survive a crash.
    Save(WriteOf<P>),
    /// Sets the timer of this name, in place of the one that was set before.
    SetTimer {
        timer: P::Timer,
        /// When it may fire, from now.
        span: Span,
    },
    /// The timer of this name will not fire.
    CancelTimer(P::Timer),
    /// Tells the client something.
    Emit { event: P::Event, order: Order },
}

/// Whether an effect that others can see waits until everything saved before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// It waits. This is what a promise needs: what others see must survive a crash.
    AfterSaves,
    /// It goes ahead of the disk. The protocol learns of durability by `Input::Saved` and answers for the rest.
    Ahead,
}

/// What a step says for the journal alone. Notes change nothing, and cost nothing where nobody reads them.
#[derive(Clone, Copy, Debug)]
pub enum Note<'a> {
    /// A rule of the algorithm was applied.
    Rule {
        /// Its id as in the algorithm's header, such as `RA-2`.
        rule: &'static str,
        text: fmt::Arguments<'a>,
    },
    /// A wrapper hands a message on to the protocol inside it, perhaps long after the network brought it.
    Handed { from: NodeId, parcel: Parcel },
    /// The part of a node that keeps the membership tells the rest of it something.
    Told(Told<'a>),
    /// What waits in a node's hold-back queue has changed.
    HoldBack { count: usize, names: fmt::Arguments<'a> },
}

/// What a node learns of its membership.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    View(&'a View),
    /// It may act in its view up to this instant of its clock.
    Lease(Time),
}

/// The identity of a payload on a link, whatever number of copies of it the network carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parcel {
    pub incarnation: Incarnation,
    /// Its number among the sender's parcels to the same receiver.
    pub number: u64,
}

/// Where effects go. A driver implements it, and so does a wrapper, for the protocol inside it.
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

/// The effects of the step under way, in the order the protocol asks for them.
pub struct Effects<'a, P: Protocol> {
    sink: &'a mut dyn Sink<P>,
}

impl<'a, P: Protocol> Effects<'a, P> {
    /// Effects that go into this sink.
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

    /// Sets a timer, in place of the one of the same name.
    pub fn set_timer(&mut self, timer: P::Timer, span: Span) {
        self.put(Effect::SetTimer { timer, span });
    }

    /// Cancels a timer. It does not matter whether it was set.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.put(Effect::CancelTimer(timer));
    }

    /// Tells the user something once everything saved so far is durable.
    pub fn emit(&mut self, event: P::Event) {
        self.put(Effect::Emit { event, order: Order::AfterSaves });
    }

    /// Tells the user something without waiting for the disk.
    pub fn emit_ahead(&mut self, event: P::Event) {
        self.put(Effect::Emit { event, order: Order::Ahead });
    }

    /// Notes for the journal which rule was applied and what it did: `out.note("RA-2", format_args!("…"))`.
    pub fn note(&mut self, rule: &'static str, text: fmt::Arguments<'_>) {
        self.sink.note(Note::Rule { rule, text });
    }

    /// Notes for the journal that a wrapper hands a parcel on.
    pub fn note_handed(&mut self, from: NodeId, parcel: Parcel) {
        self.sink.note(Note::Handed { from, parcel });
    }

    /// Notes for the journal what the part of a node that keeps the membership tells the rest.
    pub fn note_told(&mut self, told: Told<'_>) {
        self.sink.note(Note::Told(told));
    }

    /// Notes for the journal what waits in the hold-back queue now.
    pub fn note_hold_back(&mut self, count: usize, names: fmt::Arguments<'_>) {
        self.sink.note(Note::HoldBack { count, names });
    }

    /// Passes on a note that came from further inside.
    pub fn pass_note(&mut self, note: Note<'_>) {
        self.sink.note(note);
    }

    /// Asks for an effect that is already data.
    pub fn put(&mut self, effect: Effect<P>) {
        self.sink.effect(effect);
    }
}

// Written by hand, because a derive would ask Clone and Debug of the protocol itself.
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

// The checker compares and hashes what waits for a disk.
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
