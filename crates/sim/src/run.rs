//! Runs a world with its users until everything asked for is done, or nothing more can happen.

use crate::moment::Observer;
use crate::world::{News, Simulated, World};
use quorate_core::{Duration, NodeId, Time, WriteOf};
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
    /// When.
    pub at: Time,
    /// Whose user.
    pub node: NodeId,
    /// What.
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

/// When a run is stopped although it could go on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// At this instant, if one is given.
    pub until: Option<Time>,
    /// After so many events.
    pub events: u64,
    /// This long after everything was done, if the network does not fall quiet by itself; at once if that is no time.
    pub settle: Duration,
    /// This long after any user last heard anything, if only timers are left to change that.
    pub patience: Duration,
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

/// Runs a world that has started.
pub fn run<P, O, W>(world: &mut World<P, O>, workload: &mut W, limits: Limits) -> Ending
where
    P: Simulated,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
    W: Workload<P::Command, P::Event>,
{
    let mut plan = Plan::new();
    // Who is down from the start is known before anybody asks.
    while let Some((node, news)) = world.next_news() {
        workload.hear(world.time(), node, &news, &mut plan);
    }
    workload.begin(&mut plan);
    let mut done_at = None;
    let mut heard_at = world.time();
    loop {
        while let Some((node, news)) = world.next_news() {
            heard_at = world.time();
            workload.hear(world.time(), node, &news, &mut plan);
        }
        for Planned { at, node, what } in plan.drain() {
            match what {
                What::CommandThisLife(command) => world.command_this_life(at, node, command),
                What::CommandAnyLife(command) => world.command(at, node, command),
                What::Alarm => world.wake(at, node),
                What::Depart => world.depart(node),
            }
        }
        if workload.is_done() && !world.has_plans() {
            let since = *done_at.get_or_insert(world.time());
            let is_settled = limits.settle == Duration::ZERO || world.time().since(since) > limits.settle;
            if world.is_quiet() || is_settled {
                return Ending::Done;
            }
        } else {
            done_at = None;
        }
        let is_over = |until| world.next_time().is_some_and(|next| next > until);
        if limits.until.is_some_and(is_over) || world.events() >= limits.events {
            return Ending::Stopped;
        }
        if done_at.is_none() && world.is_left_to_timers() && world.time().since(heard_at) > limits.patience {
            return Ending::Stuck;
        }
        if !world.advance() {
            return if workload.is_done() { Ending::Done } else { Ending::Stuck };
        }
    }
}
