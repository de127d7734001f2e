//! The effect of a node failure on the other nodes: they continue, they stop, or they become
//! unsafe.
//!
//! The literature gives no figures for this, so the lab simulates it. All nodes send requests at
//! random times. Each seed runs once without faults, which shows which node holds the lock, waits
//! or is idle at every instant. Then the same seed runs again with one of these nodes as the
//! victim, which crashes at an instant when it has that role: until then both runs are identical.
//! Algorithms are in their textbook form, over bare links and without failure detection.
//!
//! ```
//! use quorate_lab::mutex::compare::{Variants, select_algorithms};
//! use quorate_lab::mutex::failures::{FailureEffect, FailureMode, FailureStudy, Victim, run_study};
//!
//! let [central] = select_algorithms(&["central".into()], Variants::Default)?[..] else { panic!() };
//! // Five runs of each kind of failure, with four nodes.
//! let findings = run_study(&FailureStudy { runs: 5, ..FailureStudy::new(central, 4) }, &mut || true)?;
//! let worst_effect = |victim, mode| {
//!     let finding = findings.iter().find(|finding| finding.victim == victim && finding.mode == mode)?;
//!     finding.tally.worst_effect()
//! };
//! assert_eq!(worst_effect(Victim::Idle, FailureMode::Dies), Some(FailureEffect::Continues));
//! assert_eq!(worst_effect(Victim::Coordinator, FailureMode::Dies), Some(FailureEffect::Stops));
//! # Ok::<(), quorate_lab::LabError>(())
//! ```

mod fault_free_run;
#[cfg(test)]
mod tests;

use crate::mutex::MutexEntry;
use crate::mutex::{Mutex, Settings};
use crate::{JudgeFamily, JudgingLevel, LabError, LinkChoice, Spec, experiment};
use fault_free_run::{FaultFreeRun, RequestsAfterFault};
use quorate_core::{Duration, NodeId};
use quorate_journal::property::Verdict;
use quorate_journal::settings::{Fault, Latency, Length, TimedFault, UnsyncedSaves};
use quorate_journal::workload::Ending;
use serde::Serialize;

/// The role of the failing node. The coordinator is a victim only in the role `Coordinator`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Victim {
    /// The coordinator, itself idle, while one other node holds the lock and another waits.
    Coordinator,
    /// The node that holds the lock, while another waits.
    Holder,
    /// A node that waits for the lock.
    Waiter,
    /// An idle node, while another holds the lock.
    Idle,
}

impl Victim {
    pub const ALL: [Self; 4] = [Self::Coordinator, Self::Holder, Self::Waiter, Self::Idle];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Coordinator => "coordinator",
            Self::Holder => "holder",
            Self::Waiter => "waiter",
            Self::Idle => "idle node",
        }
    }
}

/// How the victim fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureMode {
    /// The node crashes and does not restart.
    Dies,
    /// The node crashes, and soon restarts without its state.
    Restarts,
}

impl FailureMode {
    pub const ALL: [Self; 2] = [Self::Dies, Self::Restarts];
}

/// The effect on all live nodes, in order of increasing severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureEffect {
    /// Every live requester is granted entry.
    #[serde(rename = "goes-on")]
    Continues,
    /// A live requester waits forever.
    Stops,
    /// Two nodes hold the lock at the same time.
    Unsafe,
}

impl FailureEffect {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Continues => "continues",
            Self::Stops => "stops",
            Self::Unsafe => "unsafe",
        }
    }
}

/// A study of failures of one algorithm in a group of one size.
#[derive(Clone, Copy)]
pub struct FailureStudy {
    pub algorithm: &'static MutexEntry,
    pub nodes: usize,
    /// Number of runs for each victim and failure mode.
    pub runs: u64,
    pub seed: u64,
}

impl FailureStudy {
    /// Creates a study of 200 runs for each victim and failure mode, starting with seed 1.
    pub fn new(algorithm: &'static MutexEntry, nodes: usize) -> Self {
        Self { algorithm, nodes, runs: 200, seed: 1 }
    }

    fn coordinator(&self) -> Option<NodeId> {
        (self.algorithm.facts.coordinator)(&quorate_core::Group::of_size(self.nodes))
    }

    fn spec(&self, seed: u64) -> Spec<Mutex> {
        let latency = Latency::Uniform { min: Duration::from_micros(200), max: MAX_MESSAGE_TIME };
        // Some holders stay long enough for the victim to restart before they release.
        let hold = Latency::Uniform { min: MAX_MESSAGE_TIME, max: MAX_MESSAGE_TIME.times(20) };
        let entries = REQUESTS_PER_NODE * self.nodes as u64;
        Spec {
            nodes: self.nodes,
            seed,
            latency,
            links: LinkChoice::Bare,
            // Ample time per entry: 40 message times, of which a hold takes at most 20.
            until: Some(Length(MAX_MESSAGE_TIME.times(MAX_WAIT + 40 * entries))),
            settings: Settings { entries, hold: Some(hold), ..Settings::default() },
            ..Spec::new(self.algorithm)
        }
    }
}

/// The longest latency, which is the unit of hold times, restart delays and time limits.
const MAX_MESSAGE_TIME: Duration = Duration::from_millis(1);
/// Requests per node in a run, on average: enough that every node usually sends one after the
/// fault.
const REQUESTS_PER_NODE: u64 = 8;
/// Number of message times that a run may take beyond the ample time for its entries. A request
/// that still waits then counts as waiting forever. Some algorithms retry meanwhile.
const MAX_WAIT: u64 = 4_000;
/// Maximum number of seeds to try per requested run. In some seeds no node ever has the victim's
/// role.
const SEEDS_PER_RUN: u64 = 4;

/// The effect of one kind of failure of one kind of victim.
#[derive(Clone, Debug)]
pub struct Finding {
    pub victim: Victim,
    pub mode: FailureMode,
    pub tally: Tally,
}

/// The number of runs with each effect on the live nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub continuing_runs: u64,
    pub stopped_runs: u64,
    pub unsafe_runs: u64,
    /// Number of runs in which a fence was not larger than an earlier one: a resource that checks
    /// fences would have rejected an entry.
    pub fence_regressions: u64,
    pub example: Option<Example>,
}

/// One of the worst runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    pub spec: Spec<Mutex>,
    pub effect: FailureEffect,
    /// Text of the violation; `None` if no property was violated.
    pub violation: Option<String>,
}

impl Tally {
    pub const fn runs(&self) -> u64 {
        self.continuing_runs + self.stopped_runs + self.unsafe_runs
    }

    pub const fn count(&self, effect: FailureEffect) -> u64 {
        match effect {
            FailureEffect::Continues => self.continuing_runs,
            FailureEffect::Stops => self.stopped_runs,
            FailureEffect::Unsafe => self.unsafe_runs,
        }
    }

    /// The worst effect; `None` if there were no runs.
    pub fn worst_effect(&self) -> Option<FailureEffect> {
        [FailureEffect::Unsafe, FailureEffect::Stops, FailureEffect::Continues]
            .into_iter()
            .find(|effect| self.count(*effect) > 0)
    }

    fn add(&mut self, example: Example, has_fence_regression: bool) {
        let count = match example.effect {
            FailureEffect::Continues => &mut self.continuing_runs,
            FailureEffect::Stops => &mut self.stopped_runs,
            FailureEffect::Unsafe => &mut self.unsafe_runs,
        };
        *count += 1;
        self.fence_regressions += u64::from(has_fence_regression);
        if self.example.as_ref().is_none_or(|worst| worst.effect < example.effect) {
            self.example = Some(example);
        }
    }
}

/// Simulates every kind of failure. Calls `should_continue` before each seed; if that returns
/// `false`, returns the findings so far.
pub fn run_study(study: &FailureStudy, should_continue: &mut dyn FnMut() -> bool) -> Result<Vec<Finding>, LabError> {
    let coordinator = study.coordinator();
    let victims = Victim::ALL.into_iter().filter(|victim| *victim != Victim::Coordinator || coordinator.is_some());
    let mut findings: Vec<_> = victims
        .flat_map(|victim| FailureMode::ALL.map(|mode| Finding { victim, mode, tally: Tally::default() }))
        .collect();
    for seed in (0..SEEDS_PER_RUN * study.runs).map(|index| study.seed.wrapping_add(index)) {
        let mut unfinished = findings.iter_mut().filter(|finding| finding.tally.runs() < study.runs).peekable();
        if unfinished.peek().is_none() || !should_continue() {
            break;
        }
        let spec = study.spec(seed);
        spec.validate()?;
        let fault_free_run = FaultFreeRun::simulate(&spec, coordinator);
        for Finding { victim, mode, tally } in unfinished {
            if let Some(fault) = fault_free_run.choose_fault(*victim, *mode) {
                let spec = Spec { faults: vec![fault], ..spec.clone() };
                if let Some((example, has_fence_regression)) = run(spec) {
                    tally.add(example, has_fence_regression);
                }
            }
        }
    }
    Ok(findings)
}

/// Runs a seed with its fault. Also returns whether a fence was not larger than an earlier one.
/// `None` if all requests were granted, but not every live node sent one after the fault: such a
/// run does not show whether that node could still enter.
fn run(spec: Spec<Mutex>) -> Option<(Example, bool)> {
    let properties = Mutex::properties(&spec, JudgingLevel::Verdicts);
    let run = experiment::simulate(&spec, (properties, RequestsAfterFault::new(spec.nodes)));
    let (properties, after_fault) = run.observer;
    let verdicts = properties.verdicts();
    let failed_property =
        |name: &str| verdicts.iter().find(|verdict| verdict.name == name && verdict.holds == Some(false));
    let (effect, violated) = match (failed_property("exclusion"), run.ending) {
        (Some(verdict), _) => (FailureEffect::Unsafe, Some(verdict)),
        (None, Ending::Stuck | Ending::Stopped) => (FailureEffect::Stops, failed_property("served")),
        (None, Ending::Done) if after_fault.has_all_requests() => (FailureEffect::Continues, None),
        (None, Ending::Done) => return None,
    };
    let has_fence_regression = failed_property("fences-grow").is_some();
    Some((Example { spec, effect, violation: violated.and_then(violation_text) }, has_fence_regression))
}

fn violation_text(verdict: &Verdict) -> Option<String> {
    verdict.violation.as_ref().map(|violation| violation.text.clone())
}

/// A crash of the node at an instant. The node restarts after `duration`, if given.
fn crash_fault(node: NodeId, at: Duration, duration: Option<Duration>) -> TimedFault {
    TimedFault { at, duration, fault: Fault::Crash { node, unsynced: UnsyncedSaves::Lost } }
}
