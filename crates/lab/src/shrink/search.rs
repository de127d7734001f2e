//! The search: the best run so far, and the candidates to replace it.

use super::pace::Pace;
use super::size::{Size, figures, size, without_unused_parts};
use super::trial::{self, Excuses, Failure};
use super::{End, Figures, Progress, Shrunk, is_explicit, record_choices, smaller};
use crate::family::FamilyLab;
use crate::spec::{LinkChoice, Spec};
use quorate_core::Duration;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Latency, Length, Script};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Divisor of the total number of tries: the share of tries with random choices left.
const ROUGH_SHARE: u64 = 2;
/// Maximum number of other failing runs from which the search restarts.
const MAX_OTHERS: usize = 4;
/// Maximum number of events in all runs with random choices left.
const ROUGH_EVENTS: u64 = 3_000_000;

/// The state of the search.
pub(super) struct Search<'a, F: FamilyLab> {
    pub(super) best: Spec<F>,
    pub(super) failure: Failure,
    pub(super) size: Size,
    before: Figures,
    excuses: Excuses,
    /// Whether the first run stayed within the fault tolerance that its algorithm promises.
    is_within_fault_tolerance: bool,
    /// Durations of the first run, if a liveness property must not fail because of longer ones.
    pace: Option<Pace>,
    tries: u64,
    most: u64,
    end: Option<End>,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
    /// Fingerprints of tried candidates, which are not run again.
    tried: BTreeSet<u64>,
    /// Whether candidates have random choices left, and how many seeds to try for each.
    pub(super) has_random_choices: bool,
    pub(super) seeds: u64,
    /// Whether nothing more can be removed for now, so that it is worth trying many values for each
    /// time.
    pub(super) is_fine: bool,
    rough_events: u64,
    /// Other failing runs from which the search can restart.
    others: Vec<(Size, Spec<F>, Failure)>,
}

impl<'a, F: FamilyLab> Search<'a, F> {
    pub(super) fn new(
        spec: Spec<F>,
        failure: Failure,
        most: u64,
        progress: &'a mut dyn FnMut(&Progress) -> bool,
    ) -> Self {
        Self {
            size: size(&spec, &failure),
            before: figures(&spec, &failure),
            excuses: failure.excuses,
            is_within_fault_tolerance: F::is_within_fault_tolerance(&spec),
            pace: (failure.kind == Kind::Eventually).then(|| record_choices(&spec, &failure).pace),
            best: spec,
            failure,
            tries: 0,
            most,
            end: None,
            progress,
            tried: BTreeSet::new(),
            has_random_choices: false,
            seeds: 0,
            is_fine: false,
            rough_events: 0,
            others: Vec::new(),
        }
    }

    /// Sets the figures of the first run.
    pub(super) fn begin_with(&mut self, before: Figures) {
        self.before = before;
    }

    pub(super) fn finish(self) -> Shrunk<F> {
        let Failure { name, kind, ref violation, .. } = self.failure;
        Shrunk {
            after: figures(&self.best, &self.failure),
            violation: violation.clone(),
            property: name,
            kind,
            spec: self.best,
            before: self.before,
            tries: self.tries,
            end: self.end.unwrap_or(End::Smallest),
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn script(&self) -> Script {
        self.best.script.clone().unwrap_or_default()
    }

    pub(super) fn try_script(&mut self, script: Script) -> bool {
        let candidate = Spec { script: Some(script), ..self.best.clone() };
        self.try_spec(candidate)
    }

    /// Makes a candidate the best run, if it fails in the same way and is smaller. With random
    /// choices left, tries several seeds.
    pub(super) fn try_spec(&mut self, candidate: Spec<F>) -> bool {
        if !self.has_random_choices {
            return self.try_one(candidate);
        }
        // Another seed may fail later.
        let patient = candidate.until.map(|Length(until)| Length(until.times(2)));
        let until = if self.failure.kind == Kind::Always { patient } else { candidate.until };
        let seeds = std::iter::once(candidate.seed).chain(1..=self.seeds);
        seeds.into_iter().any(|seed| self.try_one(Spec { seed, until, ..candidate.clone() }))
    }

    fn try_one(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.fails(&candidate) else { return false };
        let size = size(&candidate, &failure);
        if size < self.size {
            self.accept(candidate, failure);
            return true;
        }
        if self.has_random_choices && !candidate.is_scripted() {
            self.others.push((size, candidate, failure));
            self.others.sort_by(|(one, _, _), (other, _, _)| one.cmp(other));
            self.others.truncate(MAX_OTHERS);
        }
        false
    }

    /// Makes a candidate the best run, and removes parts without effect.
    pub(super) fn accept(&mut self, candidate: Spec<F>, failure: Failure) {
        self.size = size(&candidate, &failure);
        (self.best, self.failure) = (candidate, failure);
        let reduced = without_unused_parts(&self.best, &self.failure);
        if reduced != self.best
            && let Some(failure) = self.fails(&reduced)
            && size(&reduced, &failure) <= self.size
        {
            self.size = size(&reduced, &failure);
            (self.best, self.failure) = (reduced, failure);
        }
    }

    /// Runs a candidate and returns its failure, if the same property fails. `None` if it was tried
    /// before.
    pub(super) fn fails(&mut self, candidate: &Spec<F>) -> Option<Failure> {
        let is_valid = F::validate(candidate).is_ok()
            && candidate.faults.iter().all(|fault| fault.validate(candidate.nodes).is_ok())
            && candidate.script.as_ref().is_none_or(|script| script.validate(candidate.nodes).is_ok());
        // With an empty script, the workload would act instead.
        let is_valid =
            is_valid && (candidate.is_scripted() || !self.best.is_scripted() || F::is_silent(&candidate.settings));
        if self.is_exhausted() || !is_valid || !self.is_fair(candidate) || !self.tried.insert(fingerprint(candidate)) {
            return None;
        }
        self.tries += 1;
        let best = figures(&self.best, &self.failure);
        if !(self.progress)(&Progress { tries: self.tries, best }) {
            self.end = Some(End::Interrupted);
        } else if self.tries >= self.most {
            self.end = Some(End::OutOfTries);
        }
        let (failure, events) = trial::tried(candidate, Some(self.failure.name));
        self.rough_events += if self.has_random_choices { events } else { 0 };
        let failure = failure?;
        let excused = failure.kind == Kind::Eventually && !failure.excuses.are_among(self.excuses);
        (!excused).then_some(failure)
    }

    /// Whether the candidate has no more reasons to fail than the first run.
    fn is_fair(&self, candidate: &Spec<F>) -> bool {
        let is_as_fast = self.pace.is_none_or(|pace| pace.allows_spec(candidate));
        is_as_fast && (!self.is_within_fault_tolerance || F::is_within_fault_tolerance(candidate))
    }

    /// Whether enough runs with random choices left were tried.
    pub(super) fn is_exhausted(&self) -> bool {
        let enough = self.tries >= self.most / ROUGH_SHARE || self.rough_events >= ROUGH_EVENTS;
        self.is_over() || (self.has_random_choices && enough)
    }

    /// Removes everything that can be removed, until nothing can.
    pub(super) fn refine(&mut self) {
        self.leave_out();
        while self.shake() {}
        for (_, other, failure) in std::mem::take(&mut self.others) {
            self.restart_from(other, failure, false);
        }
    }

    /// Restarts from another run, if it fails. Returns whether it does.
    pub(super) fn consider(&mut self, other: Spec<F>) -> bool {
        if self.is_over() || !self.is_fair(&other) {
            return false;
        }
        self.tries += 1;
        let excused = |failure: &Failure| failure.kind == Kind::Eventually && !failure.excuses.are_among(self.excuses);
        let failure = trial::fails(&other, Some(self.failure.name));
        let Some(failure) = failure.filter(|failure| !excused(failure)) else { return false };
        self.restart_from(other, failure, true);
        true
    }

    /// Restarts from another failing run, shrinks it with other seeds first if `is_rough`, and
    /// keeps the result if it is smaller than the best.
    fn restart_from(&mut self, other: Spec<F>, failure: Failure, is_rough: bool) {
        if self.is_over() {
            return;
        }
        self.keep_if_smaller(other, failure, |search| {
            if is_rough {
                search.make_fewer();
            }
            search.begin_scripted();
            search.make_explicit();
            search.leave_out();
            is_explicit(&search.best)
        });
    }

    /// Starts from a candidate, and returns to the best run unless `act` succeeds with a smaller
    /// one.
    fn keep_if_smaller(&mut self, candidate: Spec<F>, failure: Failure, act: impl FnOnce(&mut Self) -> bool) -> bool {
        let before = (self.best.clone(), self.failure.clone(), self.size.clone());
        self.accept(candidate, failure);
        let will_do = act(self);
        let smaller = self.size < before.2 && will_do;
        if !smaller {
            (self.best, self.failure, self.size) = before;
        }
        smaller
    }

    /// Removes everything that can be removed, with few and then with many values for each time.
    fn leave_out(&mut self) {
        for is_fine in [false, true] {
            self.is_fine = is_fine;
            self.leave_out_all();
        }
        self.is_fine = false;
    }

    fn leave_out_all(&mut self) {
        let mut before: Option<Size> = None;
        // At first, a shorter time alone is no reason to try everything again.
        let is_same = |before: &Size, now: &Size, is_fine: bool| {
            before.leading_parts() == now.leading_parts() && (!is_fine || before == now)
        };
        while !before.as_ref().is_some_and(|before| is_same(before, &self.size, self.is_fine)) && !self.is_over() {
            before = Some(self.size.clone());
            self.fewer_nodes();
            self.fewer_lines();
            self.simpler_settings();
            self.earlier_leaders();
            self.shorten_times();
            self.remove_events();
            self.fewer_lines();
            self.shorten_times();
        }
    }

    /// Shrinks a run with random choices left, and keeps the result if it is smaller than the best.
    pub(super) fn settle(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.fails(&candidate) else { return false };
        self.keep_if_smaller(candidate, failure, |search| {
            search.make_explicit();
            search.leave_out();
            is_explicit(&search.best)
        })
    }

    /// Tries other settings, alone or with fewer lines.
    fn try_simpler(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.fails(&candidate) else { return false };
        let before = self.size.clone();
        self.keep_if_smaller(candidate, failure, |search| {
            if search.size >= before {
                search.fewer_lines();
            }
            true
        })
    }

    /// Tries default settings.
    fn simpler_settings(&mut self) {
        let millisecond = Latency::Fixed(Duration::from_millis(1));
        let still = Latency::Fixed(Duration::ZERO);
        for change in [
            |spec: &mut Spec<F>, millisecond, _| spec.latency = millisecond,
            |spec: &mut Spec<F>, _, still| spec.disk = still,
            |spec: &mut Spec<F>, _, _| spec.disk = Latency::Fixed(Duration::from_secs(1)),
            |spec: &mut Spec<F>, _, still| spec.processing = still,
            |spec: &mut Spec<F>, _, _| spec.fifo = false,
            |spec: &mut Spec<F>, _, _| spec.links = LinkChoice::Auto,
            |spec: &mut Spec<F>, _, _| spec.seed = 1,
        ] {
            let mut candidate = self.best.clone();
            change(&mut candidate, millisecond, still);
            self.try_simpler(candidate);
        }
        while smaller(&self.best).into_iter().any(|candidate| self.try_simpler(candidate)) {}
    }
}

fn fingerprint<F: FamilyLab>(spec: &Spec<F>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (spec.command("sim"), &spec.script).hash(&mut hasher);
    hasher.finish()
}
