//! The trait `Protocol`: a state machine that turns inputs into effects.

use crate::effects::Effects;
use crate::node::{Incarnation, NodeId};
use crate::time::Time;
use crate::view::View;
use core::fmt;

/// One node of a distributed algorithm, as a pure state machine.
///
/// The same state, time and input always give the same effects in the same order. A protocol has no
/// clock, no randomness, no threads and no IO: a driver feeds it inputs and executes its effects.
/// The simulator, the checker and the runtime for real processes are three such drivers, so the
/// code that is simulated and checked is the code that runs.
///
/// A protocol without timers has the timer type [`Never`], and its match arm is empty:
/// `Input::Timer(never) => match never {}`. A protocol that saves nothing has the durable state
/// `()`.
pub trait Protocol: Sized {
    /// Commands of the client. A family of algorithms shares one command type.
    type Command;
    /// Messages between nodes.
    type Message: Clone;
    /// The protocol's timers. Setting a timer replaces its previous setting.
    type Timer: Clone + Eq;
    /// Events for the client. A family of algorithms shares one event type.
    type Event;
    /// The state that survives a crash, as a fold of the saved writes.
    type Durable: Durable;

    /// Handles one input at the instant `now` of this node's own clock.
    fn step(&mut self, now: Time, input: Input<Self>, out: &mut Effects<'_, Self>);

    /// Returns whether the node gets [`Input::EndOfTurn`]. The answer must not change while the
    /// node runs.
    fn uses_end_of_turn(&self) -> bool {
        false
    }
}

/// The state that survives a crash: the default value, with the saved writes applied in order.
pub trait Durable: Default {
    /// The version of the stored format. A store refuses a newer one.
    const VERSION: u32 = 1;
    /// One change of the durable state.
    type Write;
    /// Applies one write, in the order in which the node saved them.
    fn apply(&mut self, write: Self::Write);

    /// The state of a node whose disk was lost; by default the same as that of a new node. A
    /// protocol that promised its peers to remember something distinguishes the two here, so that
    /// it does not break that promise.
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

/// The type of a protocol's writes.
pub type WriteOf<P> = <<P as Protocol>::Durable as Durable>::Write;

/// The input of one step: something that happens to a node.
pub enum Input<P: Protocol> {
    /// The node starts or restarts, with the state that was durable when it went down.
    Start {
        /// The fold of all writes that survived.
        durable: P::Durable,
        incarnation: Incarnation,
    },
    /// The client gives a command.
    Command(P::Command),
    /// A message arrives.
    Message { from: NodeId, message: P::Message },
    /// A timer fires. It was neither set again nor cancelled since it was set.
    Timer(P::Timer),
    /// This many saves since `Start` are durable: the first ones, in order.
    Saved(u64),
    /// The failure detector suspects this peer.
    Suspect(NodeId),
    /// The failure detector trusts this peer again, or reports a new incarnation of it.
    Trust(NodeId),
    /// The disk accepts no more writes. Pending saves wait, and none is lost.
    DiskFull,
    /// The disk accepts writes again, the pending ones first.
    DiskFree,
    /// The group has a new view.
    View(View),
    /// The node may act in its view until this instant of its own clock. An instant in the past
    /// ends the lease.
    Lease(Time),
    /// The driver has given all inputs of this turn. Afterwards it carries out the effects that
    /// leave the node. Only a node that [uses it](Protocol::uses_end_of_turn) gets this input. A
    /// protocol inside a wrapper may get it without another input before it.
    EndOfTurn,
}

// Written by hand, because a derive would require Clone and Debug of the protocol itself.
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
            Self::EndOfTurn => Self::EndOfTurn,
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
            Self::EndOfTurn => f.write_str("EndOfTurn"),
        }
    }
}

/// The type of something that a protocol does not have. It has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Never {}
