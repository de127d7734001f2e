//! The clients of a group, for any driver.

use crate::settings::Fault;
use quorate_core::{Duration, NodeId, Time};
use serde::{Deserialize, Serialize};

/// The clients of a group: they give commands to nodes and receive the resulting events.
pub trait Workload<C, E> {
    /// Plans the first commands.
    fn begin(&mut self, plan: &mut Plan<C>);
    /// Gives the client of `node` a notification. The client may then plan further actions.
    fn on_event(&mut self, now: Time, node: NodeId, notification: &ClientEvent<E>, plan: &mut Plan<C>);
    /// Returns whether all requests were made and answered.
    fn is_done(&self) -> bool;
}

/// Actions that clients have planned. A driver drains the plan after it has called `begin`, and
/// after it has given the workload one or more notifications.
pub struct Plan<C>(Vec<Planned<C>>);

/// An action that a client has planned, with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned<C> {
    pub at: Time,
    pub action: PlannedAction<C>,
}

/// An action of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedAction<C> {
    /// Give the node this command, unless the node has crashed since the action was planned.
    CommandThisIncarnation { node: NodeId, command: C },
    /// Give the node this command in any incarnation.
    CommandAnyIncarnation { node: NodeId, command: C },
    /// Notify the client of the node with [`ClientEvent::Alarm`], whether the node is up or down.
    Alarm { node: NodeId },
    /// Remove the node from its group until it restarts, as soon as the driver drains the plan.
    /// Drivers ignore this for nodes that run the membership protocol themselves.
    Depart { node: NodeId },
    /// Inject this fault. It ends after the duration, if it has one. Only the simulator does this;
    /// drivers of real processes ignore it, because they draw their faults before the run.
    Fault { fault: Box<Fault>, duration: Option<Duration> },
}

impl<C> Default for Plan<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> Plan<C> {
    /// Creates an empty plan.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Removes and returns all actions in the order in which they were planned.
    pub fn drain(&mut self) -> impl Iterator<Item = Planned<C>> + '_ {
        self.0.drain(..)
    }

    /// Plans a command at the time `at`, unless the node crashes before.
    pub fn command(&mut self, at: Time, node: NodeId, command: C) {
        self.0.push(Planned { at, action: PlannedAction::CommandThisIncarnation { node, command } });
    }

    /// Plans a command at the time `at`, in any incarnation of the node.
    pub fn command_any_incarnation(&mut self, at: Time, node: NodeId, command: C) {
        self.0.push(Planned { at, action: PlannedAction::CommandAnyIncarnation { node, command } });
    }

    /// Plans the removal of a node from its group. `at` must be the present: the driver does not
    /// wait.
    pub fn depart(&mut self, at: Time, node: NodeId) {
        self.0.push(Planned { at, action: PlannedAction::Depart { node } });
    }

    /// Plans a [`ClientEvent::Alarm`] for a node's client at the time `at`, whether the node is up
    /// or down.
    pub fn set_alarm(&mut self, at: Time, node: NodeId) {
        self.0.push(Planned { at, action: PlannedAction::Alarm { node } });
    }

    /// Plans a fault at the time `at`, which ends after `duration`. Clients that see what a run
    /// does can thus aim faults at it, such as at the current leader.
    pub fn fault(&mut self, at: Time, fault: Fault, duration: Option<Duration>) {
        self.0.push(Planned { at, action: PlannedAction::Fault { fault: Box::new(fault), duration } });
    }
}

/// A notification that a driver gives to a node's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientEvent<E> {
    /// The node emitted an event.
    Emitted(E),
    /// The node crashed, or was down at the start. It will answer none of its pending requests.
    Crashed,
    /// The node restarted and knows none of the earlier requests.
    Restarted,
    /// The client's alarm fired, whether the node is up or down.
    Alarm,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All requests were answered. The run then continued until nothing was left to do, or for its
    /// settling time.
    Done,
    /// A client still waits, but nothing more happens, except perhaps timers without effect.
    Stuck,
    /// The run reached its limit of time or events, or was interrupted.
    Stopped,
}
