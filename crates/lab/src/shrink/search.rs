//! The search: the best run so far, and the candidates to replace it.

use super::pace::Pace;
use super::size::{Size, figures_of_run, size_of_run, without_unused_parts};
use super::trial::{self, Failure, ProgressBlockers};
use super::{Progress, RunFigures, SearchEnd, Shrunk, has_fixed_choices, record_choices, with_smaller_settings};
use crate::family::FamilyLab;
use crate::spec::{LinkChoice, Spec};
use quorate_core::Duration;
use quorate_journal::property::PropertyKind;
use quorate_journal::settings::{Latency, Length, Script};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Runs with random choices left may use at most the maximum number of runs divided by this.
const RANDOM_RUNS_DIVISOR: u64 = 2;
/// Maximum number of failing runs that the search keeps besides the best one, to restart from them.
const MAX_OTHER_FAILURES: usize = 4;
/// Maximum number of events in all runs with random choices left, taken together.
const MAX_RANDOM_EVENTS: u64 = 3_000_000;

/// The state of the search. The *first run* is the failing run to shrink; a *candidate* is a
/// possible replacement of the best run so far.
pub(super) struct Search<'a, F: FamilyLab> {
    pub(super) best: Spec<F>,
    /// The failure of the best run.
    pub(super) failure: Failure,
    /// The size of the best run.
    pub(super) size: Size,
    first_figures: RunFigures,
    /// The circumstances that may explain a liveness failure of the first run.
    first_blockers: ProgressBlockers,
    /// Whether the first run stayed within the fault tolerance that its algorithm promises.
    is_within_fault_tolerance: bool,
    /// The longest durations of the first run, which candidates must not exceed. `None` for safety
    /// properties, which do not depend on speed.
    pace: Option<Pace>,
    /// Number of candidates run so far.
    tried_runs: u64,
    max_runs: u64,
    /// Why the search must end, unless it ends because nothing more can be removed.
    end: Option<SearchEnd>,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
    /// Fingerprints of tried candidates, which are not run again.
    tried_fingerprints: BTreeSet<u64>,
    /// Whether candidates have random choices left, so that another seed gives another run.
    pub(super) has_random_choices: bool,
    /// Number of seeds to try for each candidate with random choices left, besides its own.
    pub(super) seeds_per_candidate: u64,
    /// Whether to try many values for each time. This is worth its cost only when nothing more can
    /// be removed.
    pub(super) tries_many_values: bool,
    /// Number of events so far in all runs with random choices left.
    random_events: u64,
    /// Other failing runs from which the search can restart.
    other_failures: Vec<(Size, Spec<F>, Failure)>,
}

impl<'a, F: FamilyLab> Search<'a, F> {
    pub(super) fn new(
        spec: Spec<F>,
        failure: Failure,
        max_runs: u64,
        progress: &'a mut dyn FnMut(&Progress) -> bool,
    ) -> Self {
        Self {
            size: size_of_run(&spec, &failure),
            first_figures: figures_of_run(&spec, &failure),
            first_blockers: failure.blockers,
            is_within_fault_tolerance: F::is_within_fault_tolerance(&spec),
            pace: (failure.kind == PropertyKind::Eventually).then(|| record_choices(&spec, &failure).pace),
            best: spec,
            failure,
            tried_runs: 0,
            max_runs,
            end: None,
            progress,
            tried_fingerprints: BTreeSet::new(),
            has_random_choices: false,
            seeds_per_candidate: 0,
            tries_many_values: false,
            random_events: 0,
            other_failures: Vec::new(),
        }
    }

    /// Sets the figures of the first run. A journal needs this, because the script that repeats it
    /// has other figures.
    pub(super) fn set_first_figures(&mut self, figures: RunFigures) {
        self.first_figures = figures;
    }

    pub(super) fn finish(self) -> Shrunk<F> {
        let Failure { property, kind, ref violation, .. } = self.failure;
        Shrunk {
            after: figures_of_run(&self.best, &self.failure),
            violation: violation.clone(),
            property,
            kind,
            spec: self.best,
            before: self.first_figures,
            tried_runs: self.tried_runs,
            end: self.end.unwrap_or(SearchEnd::Smallest),
        }
    }

    /// Whether the search must end: it was interrupted, or reached the maximum number of runs.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The script of the best run; empty if it has none.
    pub(super) fn script(&self) -> Script {
        self.best.script.clone().unwrap_or_default()
    }

    /// Like [`try_spec`](Self::try_spec), for the best run with another script.
    pub(super) fn try_script(&mut self, script: Script) -> bool {
        let candidate = Spec { script: Some(script), ..self.best.clone() };
        self.try_spec(candidate)
    }

    /// Makes a candidate the best run, if it fails in the same way and is smaller. Returns whether
    /// it did. With random choices left, tries several seeds.
    pub(super) fn try_spec(&mut self, candidate: Spec<F>) -> bool {
        if !self.has_random_choices {
            return self.try_with_seed(candidate);
        }
        // Another seed may fail later.
        let doubled = candidate.until.map(|Length(until)| Length(until.times(2)));
        let until = if self.failure.kind == PropertyKind::Always { doubled } else { candidate.until };
        let seeds = std::iter::once(candidate.seed).chain(1..=self.seeds_per_candidate);
        seeds.into_iter().any(|seed| self.try_with_seed(Spec { seed, until, ..candidate.clone() }))
    }

    /// Like [`try_spec`](Self::try_spec), with the candidate's own seed only. As long as random
    /// choices are left, keeps an unscripted candidate that fails but is not smaller, to restart
    /// from it later.
    fn try_with_seed(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.run_candidate(&candidate) else { return false };
        let size = size_of_run(&candidate, &failure);
        if size < self.size {
            self.accept(candidate, failure);
            return true;
        }
        if self.has_random_choices && !candidate.is_scripted() {
            self.other_failures.push((size, candidate, failure));
            self.other_failures.sort_by(|(left, _, _), (right, _, _)| left.cmp(right));
            self.other_failures.truncate(MAX_OTHER_FAILURES);
        }
        false
    }

    /// Makes a failing candidate the best run, whatever its size, and removes its parts without
    /// effect if it fails without them.
    pub(super) fn accept(&mut self, candidate: Spec<F>, failure: Failure) {
        self.size = size_of_run(&candidate, &failure);
        (self.best, self.failure) = (candidate, failure);
        let reduced = without_unused_parts(&self.best, &self.failure);
        if reduced != self.best
            && let Some(failure) = self.run_candidate(&reduced)
            && size_of_run(&reduced, &failure) <= self.size
        {
            self.size = size_of_run(&reduced, &failure);
            (self.best, self.failure) = (reduced, failure);
        }
    }

    /// Runs a candidate, which counts towards the maximum number of runs, and returns its failure.
    ///
    /// Returns `None` without a run if the search should stop, the candidate is invalid or not
    /// [comparable](Self::is_comparable), or it was tried before. Returns `None` after the run if
    /// the property that the first run violates does not fail, or if it may fail for a [new
    /// reason](Self::has_new_blocker).
    pub(super) fn run_candidate(&mut self, candidate: &Spec<F>) -> Option<Failure> {
        if self.should_stop() || !self.is_valid(candidate) || !self.is_comparable(candidate) {
            return None;
        }
        let is_new = self.tried_fingerprints.insert(fingerprint(candidate));
        if !is_new {
            return None;
        }
        self.tried_runs += 1;
        let best = figures_of_run(&self.best, &self.failure);
        if !(self.progress)(&Progress { tried_runs: self.tried_runs, best }) {
            self.end = Some(SearchEnd::Interrupted);
        } else if self.tried_runs >= self.max_runs {
            self.end = Some(SearchEnd::OutOfRuns);
        }
        let (failure, inputs) = trial::find_failure_and_count(candidate, Some(self.failure.property));
        self.random_events += if self.has_random_choices { inputs } else { 0 };
        failure.filter(|failure| !self.has_new_blocker(failure))
    }

    fn is_valid(&self, candidate: &Spec<F>) -> bool {
        // With an empty script, the workload would act instead.
        let keeps_script =
            candidate.is_scripted() || !self.best.is_scripted() || F::has_idle_clients(&candidate.settings);
        keeps_script
            && F::validate(candidate).is_ok()
            && candidate.faults.iter().all(|fault| fault.validate(candidate.nodes).is_ok())
            && candidate.script.as_ref().is_none_or(|script| script.validate(candidate.nodes).is_ok())
    }

    /// Whether a failure of the candidate would show the same bug as the first run: the candidate
    /// is not slower, and exceeds the fault tolerance of its algorithm only if the first run did.
    fn is_comparable(&self, candidate: &Spec<F>) -> bool {
        let is_as_fast = self.pace.is_none_or(|pace| pace.allows_spec(candidate));
        is_as_fast && (!self.is_within_fault_tolerance || F::is_within_fault_tolerance(candidate))
    }

    /// Whether a circumstance that the first run did not have, such as a node that stays down, may
    /// explain why a liveness property fails.
    fn has_new_blocker(&self, failure: &Failure) -> bool {
        failure.kind == PropertyKind::Eventually && !failure.blockers.is_subset_of(self.first_blockers)
    }

    /// Whether to run no more candidates: the search must end, or runs with random choices left
    /// have used their share of the runs or events.
    pub(super) fn should_stop(&self) -> bool {
        let is_random_share_used =
            self.tried_runs >= self.max_runs / RANDOM_RUNS_DIVISOR || self.random_events >= MAX_RANDOM_EVENTS;
        self.has_ended() || (self.has_random_choices && is_random_share_used)
    }

    /// Removes parts of the best run until nothing more can be removed, then does the same with the
    /// other failing runs found on the way.
    pub(super) fn refine(&mut self) {
        self.remove_parts();
        while self.reduce_and_redraw() {}
        for (_, other, failure) in std::mem::take(&mut self.other_failures) {
            let tries_other_seeds = false;
            self.restart_from(other, failure, tries_other_seeds);
        }
    }

    /// Runs another experiment, which counts towards the maximum number of runs. If it fails in the
    /// same way, shrinks it, and makes the result the best run if that is smaller. Returns whether
    /// it failed.
    pub(super) fn try_other_run(&mut self, other: Spec<F>) -> bool {
        if self.has_ended() || !self.is_comparable(&other) {
            return false;
        }
        self.tried_runs += 1;
        let failure = trial::find_failure(&other, Some(self.failure.property));
        let Some(failure) = failure.filter(|failure| !self.has_new_blocker(failure)) else { return false };
        let tries_other_seeds = true;
        self.restart_from(other, failure, tries_other_seeds);
        true
    }

    /// Shrinks another failing run, and makes the result the best run if it is smaller.
    /// `tries_other_seeds` tells whether to shrink it with other seeds before a script fixes its
    /// random choices.
    fn restart_from(&mut self, other: Spec<F>, failure: Failure, tries_other_seeds: bool) {
        if self.has_ended() {
            return;
        }
        self.keep_if_smaller(other, failure, |search| {
            if tries_other_seeds {
                search.reduce_random_run();
            }
            search.script_commands_and_faults();
            search.fix_random_choices();
            search.remove_parts();
            has_fixed_choices(&search.best)
        });
    }

    /// Makes a failing candidate the best run and shrinks it. Restores the previous best run unless
    /// `shrink` returns `true` and the result is smaller. Returns whether the result was kept.
    fn keep_if_smaller(
        &mut self,
        candidate: Spec<F>,
        failure: Failure,
        shrink: impl FnOnce(&mut Self) -> bool,
    ) -> bool {
        let (best, best_failure, best_size) = (self.best.clone(), self.failure.clone(), self.size.clone());
        self.accept(candidate, failure);
        let is_usable = shrink(self);
        let is_kept = is_usable && self.size < best_size;
        if !is_kept {
            (self.best, self.failure, self.size) = (best, best_failure, best_size);
        }
        is_kept
    }

    /// Removes every part that can be removed. Tries few values for each time at first, then many.
    fn remove_parts(&mut self) {
        for tries_many_values in [false, true] {
            self.tries_many_values = tries_many_values;
            self.remove_until_stable();
        }
        self.tries_many_values = false;
    }

    /// Repeats all kinds of removal until a round changes nothing.
    fn remove_until_stable(&mut self) {
        let mut before: Option<Size> = None;
        // With few values for each time, a shorter time alone does not justify another round.
        let is_same = |before: &Size, now: &Size, tries_many_values: bool| {
            before.leading_parts() == now.leading_parts() && (!tries_many_values || before == now)
        };
        while !before.as_ref().is_some_and(|before| is_same(before, &self.size, self.tries_many_values))
            && !self.has_ended()
        {
            before = Some(self.size.clone());
            self.try_fewer_nodes();
            self.try_fewer_lines();
            self.try_simpler_settings();
            self.try_earlier_leaders();
            self.shorten_times();
            self.try_fewer_events();
            self.try_fewer_lines();
            self.shorten_times();
        }
    }

    /// Runs a candidate with random choices left. If it fails, fixes its choices in a script,
    /// shrinks that, and makes the result the best run if it is smaller. Returns whether it is.
    pub(super) fn try_shrunk(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.run_candidate(&candidate) else { return false };
        self.keep_if_smaller(candidate, failure, |search| {
            search.fix_random_choices();
            search.remove_parts();
            has_fixed_choices(&search.best)
        })
    }

    /// Tries a candidate with simpler settings. If it fails but is not smaller, also removes lines
    /// of its script.
    fn try_simpler(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.run_candidate(&candidate) else { return false };
        let best_size = self.size.clone();
        self.keep_if_smaller(candidate, failure, |search| {
            if search.size >= best_size {
                search.try_fewer_lines();
            }
            true
        })
    }

    /// Tries simple settings one by one, then smaller settings of the family.
    fn try_simpler_settings(&mut self) {
        let millisecond = Latency::Fixed(Duration::from_millis(1));
        let zero = Latency::Fixed(Duration::ZERO);
        for change in [
            |spec: &mut Spec<F>, millisecond, _| spec.latency = millisecond,
            |spec: &mut Spec<F>, _, zero| spec.disk = zero,
            // If no sync completes before the violation, no direction needs to delay one.
            |spec: &mut Spec<F>, _, _| spec.disk = Latency::Fixed(Duration::from_secs(1)),
            |spec: &mut Spec<F>, _, zero| spec.processing = zero,
            |spec: &mut Spec<F>, _, _| spec.fifo = false,
            |spec: &mut Spec<F>, _, _| spec.links = LinkChoice::Auto,
            |spec: &mut Spec<F>, _, _| spec.seed = 1,
        ] {
            let mut candidate = self.best.clone();
            change(&mut candidate, millisecond, zero);
            self.try_simpler(candidate);
        }
        while with_smaller_settings(&self.best).into_iter().any(|candidate| self.try_simpler(candidate)) {}
    }
}

fn fingerprint<F: FamilyLab>(spec: &Spec<F>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (spec.command("sim"), &spec.script).hash(&mut hasher);
    hasher.finish()
}
