//! The clients of a group, whichever driver runs it.

use quorate_core::{NodeId, Time};
use serde::{Deserialize, Serialize};

/// The users of a group: they give commands, and hear what comes of them.
pub trait Workload<C, E> {
    /// The first commands.
    fn begin(&mut self, plan: &mut Plan<C>);
    /// A node's user hears something, and may plan more.
    fn hear(&mut self, now: Time, node: NodeId, news: &News<E>, plan: &mut Plan<C>);
    /// Whether all was asked and answered.
    fn is_done(&self) -> bool;
}

/// Commands and alarms to come. A driver drains it after everything that it lets a workload hear.
pub struct Plan<C>(Vec<Planned<C>>);

/// Something that users mean to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned<C> {
    pub at: Time,
    pub node: NodeId,
    pub what: What<C>,
}

/// What users can mean to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What<C> {
    /// Give the node this command, unless the life ends before that it had when this was planned.
    CommandThisLife(C),
    /// Give the node this command, whichever life of it that finds.
    CommandAnyLife(C),
    /// Hear [`News::Alarm`], whether the node is up or down.
    Alarm,
    /// Have the node let out of its group, for good in its present life. A node that keeps its membership itself sees to that itself.
    Depart,
}

impl<C> Default for Plan<C> {
    fn default() -> Self {
        Self::new()
    }
}

impl<C> Plan<C> {
    /// Nothing is planned.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Takes everything out, in the order in which it was planned.
    pub fn drain(&mut self) -> impl Iterator<Item = Planned<C>> + '_ {
        self.0.drain(..)
    }

    /// Gives a node this command at that instant, unless its present life ends before.
    pub fn command(&mut self, at: Time, node: NodeId, command: C) {
        self.0.push(Planned { at, node, what: What::CommandThisLife(command) });
    }

    /// Gives a node this command at that instant, whichever life of it that finds.
    pub fn command_any_life(&mut self, at: Time, node: NodeId, command: C) {
        self.0.push(Planned { at, node, what: What::CommandAnyLife(command) });
    }

    /// Has a node let out of its group at that instant.
    pub fn depart(&mut self, at: Time, node: NodeId) {
        self.0.push(Planned { at, node, what: What::Depart });
    }

    /// Lets a node's user hear [`News::Alarm`] at that instant, whether the node is up or down.
    pub fn wake(&mut self, at: Time, node: NodeId) {
        self.0.push(Planned { at, node, what: What::Alarm });
    }
}

/// What a node's user learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<E> {
    /// The node told it something.
    Told(E),
    /// The node went down, and every request with it.
    Crashed,
    /// The node is back, and knows of no request.
    Restarted,
    /// The user's alarm clock rings, whether the node is up or down.
    Alarm,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Everything asked was answered, and the network is quiet or was given time to be.
    Done,
    /// Somebody waits, and nothing more can happen, or nothing but timers that change nothing.
    Stuck,
    /// The time or the number of events ran out.
    Stopped,
}
