//! The search: the best run so far, and what is tried in its place.

use super::pace::Pace;
use super::size::{Size, figures, size, tidied};
use super::trial::{self, Excuses, Failure};
use super::{End, Figures, Progress, Shrunk, is_explicit, note, smaller};
use crate::family::FamilyLab;
use crate::spec::{LinkChoice, Spec};
use quorate_core::Duration;
use quorate_journal::property::Kind;
use quorate_journal::settings::{Latency, Length, Script};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// What part of all tries may go into runs in which chance is left.
const ROUGH_SHARE: u64 = 2;
/// From how many other runs the search begins anew at most.
const MOST_OTHERS: usize = 4;
/// How many events such runs may have in all.
const ROUGH_EVENTS: u64 = 3_000_000;

pub(super) struct Search<'a, F: FamilyLab> {
    pub(super) best: Spec<F>,
    pub(super) failure: Failure,
    pub(super) size: Size,
    before: Figures,
    excuses: Excuses,
    /// Whether the first run had no more to bear than its algorithm promises.
    is_bearable: bool,
    /// How long things took in the first run, where what never happened must not be missing because they take longer.
    pace: Option<Pace>,
    tries: u64,
    most: u64,
    end: Option<End>,
    progress: &'a mut dyn FnMut(&Progress) -> bool,
    /// What was tried: nothing is run twice.
    tried: BTreeSet<u64>,
    /// Whether chance is left in candidates, and how many seeds they are given then.
    pub(super) is_loose: bool,
    pub(super) seeds: u64,
    /// Whether nothing more can be left out for now, so that it is worth while to try many values for each time.
    pub(super) is_fine: bool,
    rough_events: u64,
    /// Other runs that fail, from which another search can begin.
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
            is_bearable: F::is_bearable(&spec),
            pace: (failure.kind == Kind::Eventually).then(|| note(&spec, &failure).pace),
            best: spec,
            failure,
            tries: 0,
            most,
            end: None,
            progress,
            tried: BTreeSet::new(),
            is_loose: false,
            seeds: 0,
            is_fine: false,
            rough_events: 0,
            others: Vec::new(),
        }
    }

    /// What is called the first run.
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

    /// Takes a candidate for the best run, if it fails the same way and is smaller; where chance is left, with one seed or
    /// another.
    pub(super) fn try_spec(&mut self, candidate: Spec<F>) -> bool {
        if !self.is_loose {
            return self.try_one(candidate);
        }
        // What is over by the breach of one seed need not be by that of another.
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
        if self.is_loose && !candidate.is_scripted() {
            self.others.push((size, candidate, failure));
            self.others.sort_by(|(one, _, _), (other, _, _)| one.cmp(other));
            self.others.truncate(MOST_OTHERS);
        }
        false
    }

    pub(super) fn accept(&mut self, candidate: Spec<F>, failure: Failure) {
        self.size = size(&candidate, &failure);
        (self.best, self.failure) = (candidate, failure);
        let tidy = tidied(&self.best, &self.failure);
        if tidy != self.best
            && let Some(failure) = self.fails(&tidy)
            && size(&tidy, &failure) <= self.size
        {
            self.size = size(&tidy, &failure);
            (self.best, self.failure) = (tidy, failure);
        }
    }

    /// How a candidate fails, if it does so in the same way. Nothing is known of it if it was tried before.
    pub(super) fn fails(&mut self, candidate: &Spec<F>) -> Option<Failure> {
        let is_sound = F::validate(candidate).is_ok()
            && candidate.faults.iter().all(|fault| fault.validate(candidate.nodes).is_ok())
            && candidate.script.as_ref().is_none_or(|script| script.validate(candidate.nodes).is_ok());
        // Where a script says nothing, the workload would speak again.
        let is_sound =
            is_sound && (candidate.is_scripted() || !self.best.is_scripted() || F::is_silent(&candidate.settings));
        if self.is_tired() || !is_sound || !self.is_fair(candidate) || !self.tried.insert(fingerprint(candidate)) {
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
        self.rough_events += if self.is_loose { events } else { 0 };
        let failure = failure?;
        let excused = failure.kind == Kind::Eventually && !failure.excuses.are_among(self.excuses);
        (!excused).then_some(failure)
    }

    /// Whether it fails for no reason that the first run had not.
    fn is_fair(&self, candidate: &Spec<F>) -> bool {
        let is_as_fast = self.pace.is_none_or(|pace| pace.suits(candidate));
        is_as_fast && (!self.is_bearable || F::is_bearable(candidate))
    }

    /// Whether enough was tried with chance left.
    pub(super) fn is_tired(&self) -> bool {
        let enough = self.tries >= self.most / ROUGH_SHARE || self.rough_events >= ROUGH_EVENTS;
        self.is_over() || (self.is_loose && enough)
    }

    /// Leaves out all that can be left out, until nothing can.
    pub(super) fn refine(&mut self) {
        self.leave_out();
        while self.shake() {}
        for (_, other, failure) in std::mem::take(&mut self.others) {
            self.begin_anew(other, failure, false);
        }
    }

    /// Begins with another run, if it fails at all. Tells whether it does.
    pub(super) fn consider(&mut self, other: Spec<F>) -> bool {
        if self.is_over() || !self.is_fair(&other) {
            return false;
        }
        self.tries += 1;
        let excused = |failure: &Failure| failure.kind == Kind::Eventually && !failure.excuses.are_among(self.excuses);
        let failure = trial::fails(&other, Some(self.failure.name));
        let Some(failure) = failure.filter(|failure| !excused(failure)) else { return false };
        self.begin_anew(other, failure, true);
        true
    }

    /// Begins with another run that fails, made smaller with other seeds first if it is rough, and takes what comes of it for the best if that is smaller.
    fn begin_anew(&mut self, other: Spec<F>, failure: Failure, is_rough: bool) {
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

    /// Begins with a candidate, and goes back to the best run unless something smaller comes of it that will do.
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

    fn leave_out(&mut self) {
        for is_fine in [false, true] {
            self.is_fine = is_fine;
            self.leave_out_all();
        }
        self.is_fine = false;
    }

    fn leave_out_all(&mut self) {
        let mut before: Option<Size> = None;
        // At first, what is merely sooner is no reason to try everything again.
        let is_same =
            |before: &Size, now: &Size, is_fine: bool| before.bulk() == now.bulk() && (!is_fine || before == now);
        while !before.as_ref().is_some_and(|before| is_same(before, &self.size, self.is_fine)) && !self.is_over() {
            before = Some(self.size.clone());
            self.fewer_nodes();
            self.fewer_lines();
            self.simpler_settings();
            self.sooner_leaders();
            self.less_time();
            self.quieter();
            self.fewer_lines();
            self.less_time();
        }
    }

    /// Makes a run small in which chance is left, and takes it for the best if it becomes smaller than that.
    pub(super) fn settle(&mut self, candidate: Spec<F>) -> bool {
        let Some(failure) = self.fails(&candidate) else { return false };
        self.keep_if_smaller(candidate, failure, |search| {
            search.make_explicit();
            search.leave_out();
            is_explicit(&search.best)
        })
    }

    /// Tries other settings, by themselves or with fewer lines.
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
