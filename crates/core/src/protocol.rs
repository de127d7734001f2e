//! The one trait: a protocol is a state machine that turns an input into effects.

use crate::effects::Effects;
use crate::node::{Incarnation, NodeId};
use crate::time::Time;
use crate::view::View;
use core::fmt;

/// One node of a distributed algorithm, as a pure state machine.
///
/// The same state, time and input always give the same effects in the same order. A protocol has no clock,
/// no dice, no threads and no IO: a driver feeds it inputs and carries out its effects. The simulator, the
/// checker and the runtime are three such drivers, so what is watched and checked is what runs.
///
/// Where a protocol lacks something (it sets no timer, saves nothing), its type for that is [`Never`], and
/// the arm for it vanishes: `Input::Timer(never) => match never {}`.
pub trait Protocol: Sized {
    /// What its user asks of it. A family of algorithms shares one command type.
    type Command;
    /// What nodes send each other.
    type Message: Clone;
    /// The names of its timers. Setting a timer replaces the one of the same name.
    type Timer: Clone + Eq;
    /// What it tells its user. A family of algorithms shares one event type.
    type Event;
    /// What survives a crash, as a fold of the writes it saved.
    type Durable: Durable;

    /// Takes one input at the instant `now` of this node's own clock.
    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>);
}

/// What survives a crash: an empty start, and writes applied to it one by one in the order they were saved.
pub trait Durable: Default {
    /// The version of the form in which this and its writes are kept. A store refuses a newer one.
    const VERSION: u32 = 1;
    /// One change to what is kept.
    type Write;
    /// Adds one write.
    fn apply(&mut self, write: Self::Write);

    /// What a node finds whose disk was lost: by default what one finds that never lived. A protocol that promised
    /// its peers to remember something tells the two apart here, so that it does not break that promise unawares.
    fn wiped() -> Self {
        Self::default()
    }
}

impl Durable for () {
    type Write = Never;
    fn apply(&mut self, write: Never) {
        match write {}
    }
}

/// The write that a protocol saves.
pub type WriteOf<P> = <<P as Protocol>::Durable as Durable>::Write;

/// Everything that can happen to a node.
pub enum Input<P: Protocol> {
    /// The node boots, or boots again, with what was durable when it went down.
    Start {
        /// The fold of all writes that survived.
        durable: P::Durable,
        incarnation: Incarnation,
    },
    /// Its user asks something of it.
    Command(P::Command),
    /// A message arrives.
    Message { from: NodeId, message: P::Message },
    /// A timer that was set, and neither replaced nor cancelled since, fires.
    Timer(P::Timer),
    /// The first so many saves since `Start` are durable now.
    Saved(u64),
    /// The failure detector takes this node for dead.
    Suspect(NodeId),
    /// The failure detector takes it back, or finds that it has begun another life.
    Trust(NodeId),
    /// The disk takes no more writes; what was saved since waits, and nothing is lost.
    DiskFull,
    /// The disk takes writes again, and those that waited first.
    DiskFree,
    /// The group has a new view.
    View(View),
    /// It may act in its view up to this instant of its own clock. An instant that has passed says: no longer.
    Lease(Time),
}

// Written by hand, because a derive would ask Clone and Debug of the protocol itself.
impl<P: Protocol> Clone for Input<P>
where
    P::Command: Clone,
    P::Durable: Clone,
{
    fn clone(&self) -> Self {
        match self {
            Self::Start { durable, incarnation } => Self::Start { durable: durable.clone(), incarnation: *incarnation },
            Self::Command(command) => Self::Command(command.clone()),
            Self::Message { from, message } => Self::Message { from: *from, message: message.clone() },
            Self::Timer(timer) => Self::Timer(timer.clone()),
            Self::Saved(count) => Self::Saved(*count),
            Self::Suspect(node) => Self::Suspect(*node),
            Self::Trust(node) => Self::Trust(*node),
            Self::DiskFull => Self::DiskFull,
            Self::DiskFree => Self::DiskFree,
            Self::View(view) => Self::View(view.clone()),
            Self::Lease(until) => Self::Lease(*until),
        }
    }
}

impl<P: Protocol> fmt::Debug for Input<P>
where
    P::Command: fmt::Debug,
    P::Message: fmt::Debug,
    P::Timer: fmt::Debug,
    P::Durable: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { durable, incarnation } => {
                f.debug_struct("Start").field("durable", durable).field("incarnation", incarnation).finish()
            }
            Self::Command(command) => f.debug_tuple("Command").field(command).finish(),
            Self::Message { from, message } => {
                f.debug_struct("Message").field("from", from).field("message", message).finish()
            }
            Self::Timer(timer) => f.debug_tuple("Timer").field(timer).finish(),
            Self::Saved(count) => f.debug_tuple("Saved").field(count).finish(),
            Self::Suspect(node) => f.debug_tuple("Suspect").field(node).finish(),
            Self::Trust(node) => f.debug_tuple("Trust").field(node).finish(),
            Self::DiskFull => f.write_str("DiskFull"),
            Self::DiskFree => f.write_str("DiskFree"),
            Self::View(view) => f.debug_tuple("View").field(view).finish(),
            Self::Lease(until) => f.debug_tuple("Lease").field(until).finish(),
        }
    }
}

/// The type of what a protocol does not have. No value of it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}
