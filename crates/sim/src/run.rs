//! Runs a world with its users until everything asked for is done, or nothing more can happen.

use crate::moment::Observer;
use crate::world::{News, Simulated, World};
use quorate_core::{Duration, NodeId, Time, WriteOf};
use serde::Serialize;

/// The users of a group: they give commands, and hear what comes of them.
pub trait Workload<C, E> {
    /// The first commands.
    fn begin(&mut self, plan: &mut Plan<C>);
    /// A node's user hears something, and may plan more.
    fn hear(&mut self, now: Time, node: NodeId, news: &News<E>, plan: &mut Plan<C>);
    /// Whether all was asked and answered.
    fn is_done(&self) -> bool;
}

/// Commands to come.
pub struct Plan<C>(Vec<(Time, NodeId, C)>);

impl<C> Plan<C> {
    /// Gives a node this command at that instant.
    pub fn command(&mut self, at: Time, node: NodeId, command: C) {
        self.0.push((at, node, command));
    }
}

/// When a run is stopped although it could go on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// At this instant.
    pub until: Time,
    /// After so many events.
    pub events: u64,
    /// This long after everything was done, if the network does not fall quiet by itself.
    pub settle: Duration,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Everything asked was answered, and the network is quiet or was given time to be.
    Done,
    /// Nothing more can happen, though somebody waits.
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
    let mut plan = Plan(Vec::new());
    workload.begin(&mut plan);
    let mut done_at = None;
    loop {
        while let Some((node, news)) = world.next_news() {
            workload.hear(world.time(), node, &news, &mut plan);
        }
        for (at, node, command) in plan.0.drain(..) {
            world.command(at, node, command);
        }
        if workload.is_done() {
            let since = *done_at.get_or_insert(world.time());
            if world.is_quiet() || world.time().since(since) > limits.settle {
                return Ending::Done;
            }
        } else {
            done_at = None;
        }
        if world.time() > limits.until || world.events() >= limits.events {
            return Ending::Stopped;
        }
        if !world.advance() {
            return if workload.is_done() { Ending::Done } else { Ending::Stuck };
        }
    }
}
