//! Runs many seeds of one experiment on several threads.

use crate::error::LabError;
use crate::experiment::judge;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_journal::property::{PropertyKind, Verdict};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// Number of seeds that a worker takes in one batch.
const BATCH_SEEDS: u64 = 32;

/// A sweep over the seeds of one experiment.
#[derive(Clone, Debug)]
pub struct Sweep<F: FamilyLab> {
    /// The experiment with the first seed.
    pub spec: Spec<F>,
    /// Number of seeds to run, starting with the seed of `spec`.
    pub seeds: u64,
    /// Maximum number of worker threads.
    pub threads: usize,
    /// Whether to continue after a failure and count all failures.
    pub keep_going: bool,
}

/// The results of all seeds so far.
#[derive(Clone, Debug, Default)]
pub struct SweepSummary {
    /// Number of seeds counted: all of them, or those until the sweep ended early.
    pub seeds: u64,
    /// Number of inputs in all runs.
    pub inputs: u64,
    /// Number of seeds that violated a property.
    pub failed_seeds: u64,
    /// The first failing seed in the order of the sweep, with the violated property.
    pub first_failure: Option<(u64, Verdict)>,
    /// Number of seeds that did not fail but left a property undecided.
    pub undecided_seeds: u64,
    pub first_undecided: Option<(u64, Verdict)>,
    pub properties: Vec<PropertyTally>,
}

/// The results of one property over all seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyTally {
    pub name: &'static str,
    pub kind: PropertyKind,
    /// Number of seeds in which it held (for `sometimes`: happened).
    pub held_seeds: u64,
    /// Number of seeds that left it undecided.
    pub undecided_seeds: u64,
}

impl PropertyTally {
    /// The tally of a single seed.
    fn from_verdict(verdict: &Verdict) -> Self {
        let Verdict { name, kind, holds, .. } = *verdict;
        Self { name, kind, held_seeds: u64::from(holds == Some(true)), undecided_seeds: u64::from(holds.is_none()) }
    }

    /// Whether the property held in all `seeds` runs (for `sometimes`: happened in one). `None` if
    /// undecided seeds could change the answer.
    pub fn holds(&self, seeds: u64) -> Option<bool> {
        match self.kind {
            PropertyKind::Sometimes => Some(self.held_seeds > 0),
            PropertyKind::Always | PropertyKind::Eventually if self.held_seeds + self.undecided_seeds < seeds => {
                Some(false)
            }
            PropertyKind::Always | PropertyKind::Eventually => (self.undecided_seeds == 0).then_some(true),
        }
    }
}

impl SweepSummary {
    /// Whether no decided property failed and every `sometimes` property happened.
    pub fn holds(&self) -> bool {
        self.failed_seeds == 0 && self.never_happened().next().is_none()
    }

    /// The `sometimes` properties that never happened.
    pub fn never_happened(&self) -> impl Iterator<Item = &'static str> {
        let has_never_happened =
            |tally: &&PropertyTally| tally.kind == PropertyKind::Sometimes && tally.held_seeds == 0;
        self.properties.iter().filter(has_never_happened).map(|tally| tally.name)
    }

    /// Adds the summary of later seeds. The order matters for the first failing and the first
    /// undecided seed.
    pub fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.inputs += other.inputs;
        self.failed_seeds += other.failed_seeds;
        self.first_failure = self.first_failure.take().or(other.first_failure);
        self.undecided_seeds += other.undecided_seeds;
        self.first_undecided = self.first_undecided.take().or(other.first_undecided);
        other.properties.into_iter().for_each(|tally| self.add_tally(tally));
    }

    fn add_tally(&mut self, tally: PropertyTally) {
        match self.properties.iter_mut().find(|total| total.name == tally.name) {
            Some(total) => {
                total.held_seeds += tally.held_seeds;
                total.undecided_seeds += tally.undecided_seeds;
            }
            None => self.properties.push(tally),
        }
    }
}

/// Runs a sweep. Calls `progress` with the summary so far after each batch of seeds, and stops if
/// it returns `false`. Fails if the experiment is invalid or a worker thread cannot start.
///
/// The summary does not depend on thread scheduling: results are added in the order of seeds, up to
/// and including the first failure unless the sweep keeps going.
pub fn run<F: FamilyLab>(
    sweep: &Sweep<F>,
    progress: impl FnMut(&SweepSummary) -> bool,
) -> Result<SweepSummary, LabError> {
    sweep.spec.validate()?;
    let next_index = AtomicU64::new(0);
    // Workers skip the seeds from this index on. Without `keep_going`, a failure lowers it to the
    // index after the failing seed, so all seeds before the first failure run. 0 stops the workers.
    let end_index = AtomicU64::new(sweep.seeds);
    let threads = sweep.seeds.div_ceil(BATCH_SEEDS).clamp(1, sweep.threads.max(1) as u64);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next_index, end_index) = (sender.clone(), &next_index, &end_index);
            let work = move || {
                loop {
                    let first_index = next_index.fetch_add(BATCH_SEEDS, Ordering::Relaxed);
                    if first_index >= end_index.load(Ordering::Relaxed) {
                        return;
                    }
                    if sender.send((first_index, run_batch(sweep, first_index, end_index))).is_err() {
                        return;
                    }
                }
            };
            if let Err(reason) = std::thread::Builder::new().spawn_scoped(scope, work) {
                // Stop the threads that did start.
                end_index.store(0, Ordering::Relaxed);
                return Err(LabError::Threads { threads: sweep.threads, reason });
            }
        }
        drop(sender);
        Ok(add_batches(receiver, sweep.keep_going, &end_index, progress))
    })
}

/// Adds batches in the order of seeds. They arrive in any order, each with the index of its first
/// seed.
fn add_batches(
    batches: impl IntoIterator<Item = (u64, SweepSummary)>,
    keep_going: bool,
    end_index: &AtomicU64,
    mut progress: impl FnMut(&SweepSummary) -> bool,
) -> SweepSummary {
    let mut summary = SweepSummary::default();
    let mut out_of_order = BTreeMap::new();
    let mut next_first_index = 0;
    let mut should_continue = true;
    for (first_index, batch) in batches {
        out_of_order.insert(first_index, batch);
        while let Some(batch) = out_of_order.remove(&next_first_index) {
            next_first_index += BATCH_SEEDS;
            if should_continue && (keep_going || summary.failed_seeds == 0) {
                summary.add(batch);
                should_continue = progress(&summary);
                if !should_continue {
                    end_index.store(0, Ordering::Relaxed);
                }
            }
        }
    }
    summary
}

/// Runs one batch of seeds. Without `keep_going`, the first failure lowers `end_index`, so that no
/// worker runs later seeds.
fn run_batch<F: FamilyLab>(sweep: &Sweep<F>, first_index: u64, end_index: &AtomicU64) -> SweepSummary {
    let mut summary = SweepSummary::default();
    let mut spec = sweep.spec.clone();
    for index in first_index..first_index + BATCH_SEEDS {
        if index >= end_index.load(Ordering::Relaxed) {
            break;
        }
        spec.seed = sweep.spec.seed.wrapping_add(index);
        let (verdicts, inputs) = judge(&spec);
        summary.seeds += 1;
        summary.inputs += inputs;
        for verdict in &verdicts {
            summary.add_tally(PropertyTally::from_verdict(verdict));
        }
        let undecided = verdicts.iter().find(|verdict| verdict.holds.is_none()).cloned();
        let violation = verdicts.into_iter().find(Verdict::is_violated);
        if let (None, Some(undecided)) = (&violation, undecided) {
            summary.undecided_seeds += 1;
            summary.first_undecided.get_or_insert((spec.seed, undecided));
        }
        if let Some(violation) = violation {
            summary.failed_seeds += 1;
            summary.first_failure.get_or_insert((spec.seed, violation));
            if !sweep.keep_going {
                end_index.fetch_min(index + 1, Ordering::Relaxed);
            }
        }
    }
    summary
}
