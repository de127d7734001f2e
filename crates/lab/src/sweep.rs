//! Many seeds of one experiment, on all cores, until one fails.

use crate::error::LabError;
use crate::experiment::judge;
use crate::family::FamilyLab;
use crate::spec::Spec;
use quorate_journal::property::{Kind, Verdict};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

/// Number of seeds that a worker takes at once.
const BATCH: u64 = 32;

/// A sweep over the seeds of one experiment.
#[derive(Clone, Debug)]
pub struct Sweep<F: FamilyLab> {
    /// The experiment with the first seed.
    pub spec: Spec<F>,
    pub seeds: u64,
    pub threads: usize,
    /// Whether to continue after a failure and count all failures.
    pub keep_going: bool,
}

/// The results of all seeds so far.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Number of seeds counted: all of them, or those up to the first failure.
    pub seeds: u64,
    pub events: u64,
    pub failed: u64,
    /// The lowest failing seed, with the violated property.
    pub first_failure: Option<(u64, Verdict)>,
    /// Number of seeds that did not fail but left a property undecided.
    pub undecided: u64,
    pub first_undecided: Option<(u64, Verdict)>,
    pub properties: Vec<Tally>,
}

/// The results of one property over all seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    pub name: &'static str,
    pub kind: Kind,
    /// Number of seeds in which it held (for `sometimes`: happened).
    pub held: u64,
    pub undecided: u64,
}

impl Tally {
    fn of(verdict: &Verdict) -> Self {
        let Verdict { name, kind, holds, .. } = *verdict;
        Self { name, kind, held: u64::from(holds == Some(true)), undecided: u64::from(holds.is_none()) }
    }

    /// Whether the property held in all `seeds` runs (for `sometimes`: happened in one). `None` if
    /// undecided seeds could change the answer.
    pub fn holds(&self, seeds: u64) -> Option<bool> {
        match self.kind {
            Kind::Sometimes => Some(self.held > 0),
            Kind::Always | Kind::Eventually if self.held + self.undecided < seeds => Some(false),
            Kind::Always | Kind::Eventually => (self.undecided == 0).then_some(true),
        }
    }
}

impl Summary {
    /// Whether no decided property failed and every `sometimes` property happened.
    pub fn holds(&self) -> bool {
        self.failed == 0 && self.never_happened().next().is_none()
    }

    /// The `sometimes` properties that never happened.
    pub fn never_happened(&self) -> impl Iterator<Item = &'static str> {
        let never = |tally: &&Tally| tally.kind == Kind::Sometimes && tally.held == 0;
        self.properties.iter().filter(never).map(|tally| tally.name)
    }

    /// Adds the summary of the seeds that follow.
    pub fn add(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.events += other.events;
        self.failed += other.failed;
        self.first_failure = self.first_failure.take().or(other.first_failure);
        self.undecided += other.undecided;
        self.first_undecided = self.first_undecided.take().or(other.first_undecided);
        other.properties.into_iter().for_each(|tally| self.count(tally));
    }

    fn count(&mut self, tally: Tally) {
        match self.properties.iter_mut().find(|known| known.name == tally.name) {
            Some(total) => {
                total.held += tally.held;
                total.undecided += tally.undecided;
            }
            None => self.properties.push(tally),
        }
    }
}

/// Runs a sweep. `progress` gets the summary so far from time to time and returns whether to
/// continue.
///
/// The summary does not depend on thread scheduling: results are added in the order of seeds, up to
/// and including the first failure unless the sweep keeps going.
pub fn run<F: FamilyLab>(sweep: &Sweep<F>, progress: impl FnMut(&Summary) -> bool) -> Result<Summary, LabError> {
    sweep.spec.validate()?;
    let next = AtomicU64::new(0);
    // Seeds from this one on need not run, because an earlier one failed. All seeds below it run.
    let stop = AtomicU64::new(sweep.seeds);
    let threads = sweep.seeds.div_ceil(BATCH).clamp(1, sweep.threads.max(1) as u64);
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..threads {
            let (sender, next, stop) = (sender.clone(), &next, &stop);
            let work = move || {
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    if first >= stop.load(Ordering::Relaxed) {
                        return;
                    }
                    if sender.send((first, batch(sweep, first, stop))).is_err() {
                        return;
                    }
                }
            };
            if let Err(reason) = std::thread::Builder::new().spawn_scoped(scope, work) {
                // The threads that did start have no more work.
                stop.store(0, Ordering::Relaxed);
                return Err(LabError::Threads { threads: sweep.threads, reason });
            }
        }
        drop(sender);
        Ok(add_up(receiver, sweep.keep_going, &stop, progress))
    })
}

/// Adds batches in the order of seeds. They arrive in any order, each with the index of its first
/// seed.
fn add_up(
    batches: impl IntoIterator<Item = (u64, Summary)>,
    keep_going: bool,
    stop: &AtomicU64,
    mut progress: impl FnMut(&Summary) -> bool,
) -> Summary {
    let mut summary = Summary::default();
    let mut early = BTreeMap::new();
    let mut due = 0;
    let mut continues = true;
    for (first, batch) in batches {
        early.insert(first, batch);
        while let Some(batch) = early.remove(&due) {
            due += BATCH;
            if continues && (keep_going || summary.failed == 0) {
                summary.add(batch);
                continues = progress(&summary);
                if !continues {
                    stop.store(0, Ordering::Relaxed);
                }
            }
        }
    }
    summary
}

/// Runs one batch of seeds.
fn batch<F: FamilyLab>(sweep: &Sweep<F>, first: u64, stop: &AtomicU64) -> Summary {
    let mut summary = Summary::default();
    let mut spec = sweep.spec.clone();
    for index in first..first + BATCH {
        if index >= stop.load(Ordering::Relaxed) {
            break;
        }
        spec.seed = sweep.spec.seed.wrapping_add(index);
        let (verdicts, events) = judge(&spec);
        summary.seeds += 1;
        summary.events += events;
        for verdict in &verdicts {
            summary.count(Tally::of(verdict));
        }
        let undecided = verdicts.iter().find(|verdict| verdict.holds.is_none()).cloned();
        let violation = verdicts.into_iter().find(Verdict::is_violated);
        if let (None, Some(undecided)) = (&violation, undecided) {
            summary.undecided += 1;
            summary.first_undecided.get_or_insert((spec.seed, undecided));
        }
        if let Some(violation) = violation {
            summary.failed += 1;
            summary.first_failure.get_or_insert((spec.seed, violation));
            if !sweep.keep_going {
                stop.fetch_min(index + 1, Ordering::Relaxed);
            }
        }
    }
    summary
}
