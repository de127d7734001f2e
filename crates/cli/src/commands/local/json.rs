//! JSON reports of `local`: two threads race to update a shared counter, with or without a lock.

use super::LockOutcomes;
use crate::args::LocalSimArgs;
use quorate_demos::local::{End, Ending, PROFILE, Race, Run, Schedule, Step};
use serde::Serialize;

/// Report of one run.
#[derive(Serialize)]
pub(super) struct LocalRunReport {
    algorithm: &'static str,
    lock: &'static str,
    seed: u64,
    /// Number of the thread that took each step.
    schedule: Vec<usize>,
    steps: Vec<String>,
    #[serde(rename = "ending")]
    end: &'static str,
    counter: i64,
    #[serde(rename = "right")]
    expected: i64,
    holds: bool,
}

impl LocalRunReport {
    pub(super) fn new(args: &LocalSimArgs, race: &Race, run: &Run) -> Self {
        let end = match run.end {
            End::Completed => "done",
            End::Stuck => "stuck",
            End::Unfinished => "stopped",
        };
        Self {
            algorithm: PROFILE.name,
            lock: args.lock.name(),
            seed: args.seed,
            schedule: thread_numbers(&run.schedule),
            steps: run.steps.iter().map(Step::to_string).collect(),
            end,
            counter: run.counter,
            expected: race.expected_counter(),
            holds: run.end == End::Completed && run.counter == race.expected_counter(),
        }
    }
}

/// Report of all interleavings with the lock that `--lock` names; by default, without a lock and
/// with each correct lock.
#[derive(Serialize)]
pub(super) struct LocalCheckReport {
    algorithm: &'static str,
    /// For several locks, whether updates are lost without a lock and each lock is correct. For
    /// one, whether it is correct, as [`LockReport::holds`] defines it.
    holds: bool,
    locks: Vec<LockReport>,
}

#[derive(Serialize)]
struct LockReport {
    lock: &'static str,
    /// Whether every result is correct, the threads are never both in the critical section, and no
    /// order deadlocks.
    holds: bool,
    #[serde(rename = "right")]
    expected: i64,
    outcomes: Vec<OutcomeReport>,
    /// A schedule after which both threads are in the critical section; null if there is none.
    two_inside: Option<Vec<usize>>,
    /// A schedule that deadlocks; null if there is none.
    stuck: Option<Vec<usize>>,
    states: usize,
    transitions: usize,
}

/// A final value of the counter: the number of interleavings that lead to it, and a shortest
/// schedule that does, with its steps.
#[derive(Serialize)]
struct OutcomeReport {
    counter: i64,
    interleavings: u64,
    schedule: Vec<usize>,
    steps: Vec<String>,
}

impl LocalCheckReport {
    pub(super) fn new(explored: &[LockOutcomes], holds: bool) -> Self {
        Self { algorithm: PROFILE.name, holds, locks: explored.iter().map(LockReport::new).collect() }
    }
}

impl LockReport {
    fn new(explored: &LockOutcomes) -> Self {
        let LockOutcomes { locking, race, outcomes } = explored;
        let outcome = |(counter, ending): (&i64, &Ending)| OutcomeReport {
            counter: *counter,
            interleavings: ending.interleavings,
            schedule: thread_numbers(&ending.schedule),
            steps: race.run_schedule(&ending.schedule).steps.iter().map(Step::to_string).collect(),
        };
        Self {
            lock: locking.name(),
            holds: explored.is_correct(),
            expected: race.expected_counter(),
            outcomes: outcomes.endings.iter().map(outcome).collect(),
            two_inside: outcomes.overlap_schedule.as_ref().map(thread_numbers),
            stuck: outcomes.stuck_schedule.as_ref().map(thread_numbers),
            states: outcomes.states,
            transitions: outcomes.transitions,
        }
    }
}

fn thread_numbers(schedule: &Schedule) -> Vec<usize> {
    schedule.0.iter().map(|thread| thread.number()).collect()
}
