//! Runs a world with its users until everything asked for is done, or nothing more can happen.

use crate::world::World;
use quorate_core::{Duration, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::Observer;
use quorate_journal::workload::{Ending, Plan, Planned, What, Workload};
use serde::Serialize;

/// When a run is stopped although it could go on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub until: Option<Time>,
    /// After so many events.
    pub events: u64,
    /// This long after everything was done, if the network does not fall quiet by itself; at once if that is no time.
    pub settle: Duration,
    /// This long after any user last heard anything, if only timers are left to change that.
    pub patience: Duration,
}

/// Runs a world that has started.
pub fn run<P, O, W>(world: &mut World<P, O>, workload: &mut W, limits: Limits) -> Ending
where
    P: Recordable,
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
