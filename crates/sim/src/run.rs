//! Runs a world with its clients until all requests are served, nothing more can happen, or the run
//! reaches a limit.

use crate::world::World;
use quorate_core::{Duration, Time, WriteOf};
use quorate_journal::Recordable;
use quorate_journal::moment::Observer;
use quorate_journal::settings::TimedFault;
use quorate_journal::workload::{Ending, Plan, Planned, PlannedAction, Workload};
use serde::Serialize;

/// Limits at which a run stops although it could continue.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum simulated time.
    pub max_time: Option<Time>,
    /// Maximum number of inputs that nodes take.
    pub max_inputs: u64,
    /// After the end of the workload, the run ends when the world becomes quiet, or at the first
    /// event more than this later. Zero ends the run with the workload.
    pub max_settling: Duration,
    /// Maximum time without a notification to any client while only timers, crash notices and the
    /// membership service can cause one. Beyond it, the run counts as stuck.
    pub max_silence: Duration,
}

/// Runs a world that has started, and returns how the run ended.
pub fn run<P, O, W>(world: &mut World<P, O>, workload: &mut W, limits: Limits) -> Ending
where
    P: Recordable,
    WriteOf<P>: Serialize,
    O: Observer<P::Command, P::Event>,
    W: Workload<P::Command, P::Event>,
{
    let mut plan = Plan::new();
    // Clients learn which nodes are down at the start before they plan any commands.
    while let Some((node, notification)) = world.next_client_event() {
        workload.on_event(world.time(), node, &notification, &mut plan);
    }
    workload.begin(&mut plan);
    let mut done_at = None;
    let mut last_notified_at = world.time();
    loop {
        while let Some((node, notification)) = world.next_client_event() {
            last_notified_at = world.time();
            workload.on_event(world.time(), node, &notification, &mut plan);
        }
        for Planned { at, action } in plan.drain() {
            match action {
                PlannedAction::CommandThisIncarnation { node, command } => {
                    world.schedule_command_this_incarnation(at, node, command);
                }
                PlannedAction::CommandAnyIncarnation { node, command } => world.schedule_command(at, node, command),
                PlannedAction::Alarm { node } => world.set_alarm(at, node),
                PlannedAction::Depart { node } => world.depart(node),
                PlannedAction::Fault { fault, duration } => {
                    world.schedule_fault(TimedFault { at: at.since(Time::ZERO), fault: *fault, duration });
                }
            }
        }
        if workload.is_done() && !world.has_plans() {
            let done_since = *done_at.get_or_insert(world.time());
            let has_waited_enough =
                limits.max_settling == Duration::ZERO || world.time().since(done_since) > limits.max_settling;
            if world.is_quiet() || has_waited_enough {
                return Ending::Done;
            }
        } else {
            done_at = None;
        }
        let is_past_limit = |max_time| world.next_time().is_some_and(|next| next > max_time);
        if limits.max_time.is_some_and(is_past_limit) || world.taken_inputs() >= limits.max_inputs {
            return Ending::Stopped;
        }
        if done_at.is_none()
            && world.has_only_timers_left()
            && world.time().since(last_notified_at) > limits.max_silence
        {
            return Ending::Stuck;
        }
        if !world.advance() {
            return if workload.is_done() { Ending::Done } else { Ending::Stuck };
        }
    }
}
